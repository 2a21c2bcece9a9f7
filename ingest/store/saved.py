"""Saved relations: the pairs that a request finds, stored in a bank under a name."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duckdb import DuckDBPyConnection

from attnbank.ingest.store.writer import insert_row, open_for_changes
from attnbank.queries.bank import Bank
from attnbank.sql import provenance
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import CallError
from attnbank.sql.messages import unknown_name
from attnbank.sql.names import literal, quoted

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
# The schema of the views of saved relations, which any client of DuckDB can query.
SCHEMA = "saved"


@dataclass(frozen=True)
class SavedRelation:
    """A row of `saved_relation`; `statement` is the SELECT that finds the pairs.

    `is_circular`: the request refers to attention, so heads cannot be tested on its pairs.
    """

    name: str
    request: str
    from_node: str
    to_node: str
    meaning: str | None
    statement: str
    is_circular: bool | None = None


class SavingBank(Bank):
    """A bank that is open for reading, in which `save` stores relations."""

    def save(self, name: str, request: str, *, dependent: str, head: str, **options: Any) -> int:
        """Save the pairs that a request finds, as `save_relation`; return their number."""
        return save_relation(self, name, request, dependent=dependent, head=head, **options)


def save_relation(
    bank: Bank,
    name: str,
    request: str,
    *,
    dependent: str,
    head: str,
    meaning: str | None = None,
    run: str | int | None = None,
    within: str = "sentence",
    timeout: float = 30.0,
    replace: bool = False,
) -> int:
    """Save the pairs that a request finds as a relation of an open bank; return their number.

    Analyses then accept `name` as a relation. `dependent` and `head` are nodes of the request,
    `meaning` is a description; `run`, `within` and `timeout` (seconds) are those of `bank.score`.
    Raises what that raises; CallError for an invalid name, or that of another saved request (unless
    `replace`); BankError if the bank cannot be written.
    """
    check_name(name)
    pairs, statement, is_circular = bank.pairs(
        request, dependent=dependent, head=head, run=run, within=within, timeout=timeout
    )
    relation = SavedRelation(name, request, dependent, head, meaning, statement, is_circular)
    return save_pairs(bank.path, relation, pairs.to_arrow(), replace=replace)


def check_name(name: str) -> None:
    """Raise CallError for a name that is invalid in any bank."""
    if not _NAME.fullmatch(name) or name.lower() == "all":
        raise CallError(
            f"A relation cannot be saved as {name}.",
            "Use up to 63 letters, digits and _, starting with a letter; the name all is reserved.",
        )


def save_pairs(
    bank: Path, relation: SavedRelation, pairs: pa.Table, *, replace: bool = False
) -> int:
    """Save pairs of words as a relation, with a view; return their number.

    `pairs` has the columns word (the dependent's word.id) and head_word (its head's). Raises
    CallError for the name of a relation of the trees, or of another saved request (unless
    `replace`); BankError if the bank cannot be written.
    """
    check_name(relation.name)
    with open_for_changes(bank, "nothing was saved") as connection:
        _check_free(connection, relation, replace=replace)
        connection.register("pairs_to_save", pairs)
        with transaction(connection):
            _remove(connection, relation.name)
            # Sentences that are ingested later have no pairs until it is saved again.
            ((last,),) = connection.execute("select coalesce(max(id), 0) from sentence").fetchall()
            insert_row(
                connection, "saved_relation", **asdict(relation), last_sentence=last,
                code_version=provenance.version(), saved=provenance.now(),
            )  # fmt: skip
            connection.execute(
                "insert into saved_pair (relation, word, head_word) select distinct ?, word,"
                " head_word from pairs_to_save",
                [relation.name],
            )
            create_view(connection, relation)
        connection.unregister("pairs_to_save")
        counted = "select count(*) from saved_pair where relation = ?"
        ((count,),) = connection.execute(counted, [relation.name]).fetchall()
    return int(count)


def forget(bank: Path, name: str) -> None:
    """Delete a saved relation. Raises CallError if there is none of this name."""
    with open_for_changes(bank, "nothing was saved") as connection:
        rows = connection.execute("select name from saved_relation order by name").fetchall()
        known = [row[0] for row in rows]
        if name not in known:
            raise unknown_name("saved relation", name, bank, known)
        with transaction(connection):
            _remove(connection, name)


def _check_free(connection: DuckDBPyConnection, relation: SavedRelation, *, replace: bool) -> None:
    if is_of_trees(connection, relation.name):
        raise CallError(
            f"The trees of the bank already have a relation {relation.name}.",
            "Save it under another name.",
        )
    known = "select request, from_node, to_node from saved_relation where name = ?"
    rows = connection.execute(known, [relation.name]).fetchall()
    same = [(relation.request, relation.from_node, relation.to_node)]
    if rows and rows != same and not replace:
        raise CallError(
            f"{relation.name} is already saved, for another request: {rows[0][0]}",
            "Save it under another name, or --replace that one.",
        )


def is_of_trees(connection: DuckDBPyConnection, name: str) -> bool:
    """Return whether the trees of the bank have a relation of this name."""
    used = "select 1 from word where deprel = $name or without_subtype(deprel) = $name limit 1"
    return bool(connection.execute(used, {"name": name}).fetchall())


def create_view(connection: DuckDBPyConnection, relation: SavedRelation) -> None:
    """Create the view of a saved relation: its pairs, with their sentences and forms."""
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
    connection.execute(f"comment on view {view} is {literal(relation.meaning or relation.request)}")


def _remove(connection: DuckDBPyConnection, name: str) -> None:
    connection.execute("delete from saved_pair where relation = ?", [name])
    connection.execute("delete from saved_relation where name = ?", [name])
    connection.execute(f"create schema if not exists {SCHEMA}")
    connection.execute(f"drop view if exists {SCHEMA}.{quoted(name)}")
