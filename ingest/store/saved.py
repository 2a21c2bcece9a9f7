"""Relations of the user's own: the pairs that a request found, kept in the bank under a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from duckdb import DuckDBPyConnection

from attnbank.sql import provenance
from attnbank.sql.bank.explaining import explained
from attnbank.sql.bank.opening import existing, open_to_write
from attnbank.sql.bank.room import close_tidily
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.errors import CallError
from attnbank.sql.quoting import literal, quoted
from attnbank.sql.suggest import did_you_mean, listed

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
SCHEMA = "saved"
"""The schema of the views that show saved relations to any client of DuckDB."""


@dataclass(frozen=True)
class Relation:
    """What is to be saved: a name, the request, two of its nodes, what it means, its SELECT."""

    name: str
    request: str
    dependent: str
    head: str
    meaning: str | None
    statement: str


def check_name(name: str) -> None:
    """Raise CallError for a name that no relation can be saved under, whatever the bank."""
    if not _NAME.fullmatch(name) or name.lower() == "all":
        raise CallError(
            f"A relation cannot be saved as {name}.",
            "Use up to 63 letters, digits and _, a letter first; all means every relation.",
        )


def save(bank: Path, relation: Relation, pairs: pa.Table, *, replace: bool = False) -> int:
    """Keep the pairs of words as a relation that analyses take, with a view; how many they are.

    `pairs` has the columns word (the dependent's word.id) and head_word (its head's). The same
    request under the same name is looked at anew. Raises CallError for a name that a relation of
    the bank's trees has, or that another saved request has unless `replace`; BankError where the
    bank cannot be written.
    """
    check_name(relation.name)
    bank = existing(bank)
    with _writing(bank) as connection:
        _check_free(connection, relation, replace=replace)
        connection.register("pairs_to_save", pairs)
        with transaction(connection):
            _remove(connection, relation.name)
            connection.execute(
                "insert into saved_relation (name, request, from_node, to_node, meaning, statement,"
                " last_sentence, code_version, saved) select ?, ?, ?, ?, ?, ?,"
                " coalesce((select max(id) from sentence), 0), ?, cast(? as timestamp)",
                [
                    relation.name, relation.request, relation.dependent, relation.head,
                    relation.meaning, relation.statement, provenance.version(), provenance.now(),
                ],
            )  # fmt: skip
            connection.execute(
                "insert into saved_pair (relation, word, head_word) select distinct ?, word,"
                " head_word from pairs_to_save",
                [relation.name],
            )
            show(connection, relation)
        connection.unregister("pairs_to_save")
        counted = connection.execute(
            "select count(*) from saved_pair where relation = ?", [relation.name]
        ).fetchall()
        close_tidily(connection, bank)
    return int(counted[0][0])


def forget(bank: Path, name: str) -> None:
    """Take a saved relation out of a bank. Raises CallError where there is none of that name."""
    bank = existing(bank)
    with _writing(bank) as connection:
        rows = connection.execute("select name from saved_relation order by name").fetchall()
        known = [row[0] for row in rows]
        if name not in known:
            raise CallError(
                f"There is no saved relation {name} in {bank}.",
                f"{did_you_mean(name, known)} It has: {listed(known) or 'none'}.".strip(),
            )
        with transaction(connection):
            _remove(connection, name)
        close_tidily(connection, bank)


def _check_free(connection: DuckDBPyConnection, relation: Relation, *, replace: bool) -> None:
    """Raise CallError where the name means something else."""
    taken = connection.execute(
        "select 1 from word where deprel = $name or without_subtype(deprel) = $name limit 1",
        {"name": relation.name},
    ).fetchall()
    if taken:
        raise CallError(
            f"The trees of the bank have a relation {relation.name}.", "Save it under another name."
        )
    found = connection.execute(
        "select request, from_node, to_node from saved_relation where name = ?", [relation.name]
    ).fetchall()
    same = [(relation.request, relation.dependent, relation.head)]
    if found and found != same and not replace:
        raise CallError(
            f"{relation.name} is the name of another request: {found[0][0]}",
            "Save it under another name, or --replace that one.",
        )


def show(connection: DuckDBPyConnection, relation: Relation) -> None:
    """Make the view of a saved relation: its pairs, with their sentences and forms."""
    connection.execute(f"create schema if not exists {SCHEMA}")
    view = f"{SCHEMA}.{quoted(relation.name)}"
    connection.execute(
        f"create or replace view {view} as select dependent.sentence, sentence.name as sent_id,"
        " dependent.id as dependent, governor.id as head,"
        " dependent.index as dependent_index, governor.index as head_index,"
        " dependent.form as dependent_form, governor.form as head_form"
        " from saved_pair inner join word as dependent on dependent.id = saved_pair.word"
        " inner join word as governor on governor.id = saved_pair.head_word"
        " inner join sentence on sentence.id = dependent.sentence"
        f" where saved_pair.relation = {literal(relation.name)}"
    )
    told = relation.meaning or relation.request
    connection.execute(f"comment on view {view} is {literal(told)}")


def _remove(connection: DuckDBPyConnection, name: str) -> None:
    connection.execute("delete from saved_pair where relation = ?", [name])
    connection.execute("delete from saved_relation where name = ?", [name])
    connection.execute(f"create schema if not exists {SCHEMA}")
    connection.execute(f"drop view if exists {SCHEMA}.{quoted(name)}")


@contextmanager
def _writing(bank: Path) -> Iterator[DuckDBPyConnection]:
    """The bank, open for writing; errors of DuckDB become BankErrors."""
    connection = open_to_write(bank, provenance.version(), makes=False)
    try:
        with explained(bank, "nothing was saved", "type the same command again"):
            yield connection
    finally:
        connection.close()
