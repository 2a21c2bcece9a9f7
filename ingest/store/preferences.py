"""The run that a bank takes where none is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from duckdb import DuckDBPyConnection

from attnbank.sql import provenance
from attnbank.sql.bank.explaining import explained
from attnbank.sql.bank.opening import existing, open_to_write
from attnbank.sql.bank.room import close_tidily
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.errors import CallError


def prefer(bank: Path, run: str | int) -> str:
    """Make a run the one that the bank's analyses take unasked, where it fits; its name.

    It takes the place of the preferred run of the same context and unit, if there is one.
    Raises CallError where there is no such run, or where it may not answer unasked: because it
    is unfinished or its weights are random. Raises BankError where the bank cannot be written.
    """
    bank = existing(bank)
    with _writing(bank) as connection:
        rows = connection.execute(
            "select fit.id, fit.name, fit.reserve from run_fit() as fit order by fit.id"
        ).fetchall()
        found = [row for row in rows if str(run) in (str(row[0]), row[1])]
        if not found:
            raise CallError(
                f"There is no run {run} in {bank}.",
                f"It has: {', '.join(row[1] for row in rows) or 'none'}.",
            )
        number, name, reserve = found[0]
        if reserve is not None:
            raise CallError(
                f"The run {name} cannot answer unasked: {reserve}.",
                "Name it where you want it: --run, or run := in SQL.",
            )
        with transaction(connection):
            connection.execute(
                "delete from preferred_run where run in ("
                " select other.id from run as other inner join run as new"
                " on new.context = other.context and new.unit = other.unit where new.id = ?)",
                [number],
            )
            connection.execute("insert into preferred_run values (?)", [number])
        close_tidily(connection, bank)
        return str(name)


def prefer_none(bank: Path) -> None:
    """Let the newest run that fits answer again. Raises BankError where it cannot be written."""
    bank = existing(bank)
    with _writing(bank) as connection:
        connection.execute("delete from preferred_run")
        close_tidily(connection, bank)


@contextmanager
def _writing(bank: Path) -> Iterator[DuckDBPyConnection]:
    """The bank, open for writing; errors of DuckDB become BankErrors."""
    connection = open_to_write(bank, provenance.version(), makes=False)
    try:
        with explained(bank, "the choice is as it was", "type the same command again"):
            yield connection
    finally:
        connection.close()
