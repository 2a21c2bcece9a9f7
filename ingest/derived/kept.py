"""Keeping answers of analyses in the bank, so that they need not be computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql import provenance
from attnbank.sql.bank import kept
from attnbank.sql.bank.explaining import explained
from attnbank.sql.bank.opening import existing, open_to_write
from attnbank.sql.bank.room import close_tidily
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.registry import find

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Answer:
    """An answer to be kept, with the analysis, the parameters and the run that it is for.

    `run` is run.id, or None for an analysis that does not read one run. `answer` has the rows as an
    Arrow stream; `seconds` is how long computing them took.
    """

    analysis: str
    run: int | None
    row_count: int
    answer: bytes
    seconds: float
    parameters: Mapping[str, Any] = field(default_factory=dict)


def keep(bank: str | Path, answers: Sequence[Answer]) -> None:
    """Keep answers in the bank, in place of earlier ones for the same analysis, run and parameters.

    The earlier ones are deleted whether or not they are still valid. Raises BankError if the bank
    cannot be written, CallError for an unknown analysis.
    """
    path = existing(bank)
    connection = open_to_write(path, provenance.version(), {"memory_limit": "1GB"}, makes=False)
    try:
        with explained(path), transaction(connection):
            for statement in kept.CREATE:
                connection.execute(statement)
            for each in answers:
                _keep(connection, each)
        close_tidily(connection, path, has_deleted=True)
    finally:
        connection.close()


def _keep(connection: DuckDBPyConnection, given: Answer) -> None:
    """Replace the kept answer for the same analysis, run and parameters; the caller commits."""
    analysis = find(given.analysis)
    parameters = kept.parameters_text(connection, analysis, given.parameters)
    reads = kept.reads(connection, analysis, given.parameters)
    same = [analysis.name, parameters, given.run]
    connection.execute(
        f"delete from {kept.TABLE} where analysis = ? and parameters = ?"
        " and run is not distinct from ?",
        same,
    )
    connection.execute(
        f"insert into {kept.TABLE} (analysis, parameters, run, reads, row_count, answer, seconds,"
        " code_version, finished) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            *same, reads, given.row_count, given.answer, given.seconds,
            provenance.version(), provenance.now(),
        ],
    )  # fmt: skip
