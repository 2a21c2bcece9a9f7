"""What users put into banks themselves: tables, columns, saved relations, views."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.ingest.merge.sources import Source, Table
from attnbank.ingest.store.saved import SavedRelation, create_view, is_of_trees
from attnbank.sql import id_map, registry
from attnbank.sql.bank import upgrading
from attnbank.sql.bank.opening import reinstall
from attnbank.sql.errors import CallError
from attnbank.sql.id_map import OF, SOURCE
from attnbank.sql.matching import Matched, Part, unique
from attnbank.sql.outputs.tables import further
from attnbank.sql.quoting import literal, qualified_name, quoted

_IDS = {name: kind for name, kind in id_map.KIND_OF.items() if kind not in ("entity", "batch")}
_IDS |= {"model": "model", "probe": "probe"}
_WHOLE = ("SMALLINT", "INTEGER", "BIGINT")


def columns_of(
    connection: DuckDBPyConnection, sources: Sequence[Source], apart: Sequence[str] = ("bank",)
) -> dict[str, dict[str, str]]:
    """The columns of the new bank's tables, with their types; what users added is made.

    To the tables `apart` nothing is added. Raises CallError if a column has another type in two
    sources.
    """
    usual = {("main", name): own for name, own in upgrading.columns_of_this_format().items()}
    tables = {table: dict(own) for table, own in usual.items()}
    for source in sources:
        for table, types in source.tables.items():
            columns = tables.setdefault(table, {})
            for name, type_ in types.items():
                if table[1] not in apart and columns.setdefault(name, type_) != type_:
                    raise CallError(
                        f"The column {_shown(table)}.{name} is {type_} in {source.shown}, and"
                        f" {columns[name]} in another bank.",
                        "Rename it in one of them (the DuckDB shell does), or leave that bank out.",
                    )
    for statement in further(tables):
        connection.execute(statement)
    of_every_bank = {table: tables[table] for table in usual}
    if of_every_bank != usual:
        reinstall(connection)  # the bank's views show columns of users too
    return {name: columns for (_, name), columns in of_every_bank.items()}


def begin(connection: DuckDBPyConnection, matched: Matched, parts: Sequence[Part]) -> None:
    """Make `merge_shift`: what is added to the ids of a kind, from `first` to `last`, of a source.

    Users' own tables name any kind of id. Probes are added as they come.
    """
    connection.execute(registry.internal_statement("merge/shift"))
    for part in parts:
        own = (part.source, "sequence", part.first, part.last, part.shifts["sequence"])
        _add(connection, "merge_shift", own)
    for number in range(len(matched.catalogs)):
        for kind in ("corpus", "model", "run"):
            add_shifts(connection, number, kind, matched.ids(kind, number))


def add_shifts(
    connection: DuckDBPyConnection, source: int, kind: str, ids: Mapping[int, int]
) -> None:
    """Note the new id of some rows of a source, by the old one."""
    for old, new in ids.items():
        _add(connection, "merge_shift", (source, kind, old, old, new - old))


def _add(connection: DuckDBPyConnection, table: str, row: Sequence[Any]) -> None:
    connection.execute(f"insert into {table} values ({', '.join('?' * len(row))})", row)


def tables(connection: DuckDBPyConnection, source: Source, notes: list[str]) -> None:
    """Copy the tables that users made, with the ids of the new bank; note the views, which stay.

    A column refers to a table as `sql.bank.references` says: by its name. Rows that refer to what
    is left out are left out.
    """
    run_names = registry.internal_statement("merge/run_names")
    connection.execute(run_names, {"source": source.number})
    for table, types in source.tables.items():
        if table[0] == "main" and table[1] in upgrading.columns_of_this_format():
            continue
        new, kinds = qualified_name(*table), _kinds(types)
        values = {name: f"own.{quoted(name)}" for name in types}
        rest, lost = f"from {SOURCE}.{new} as own", "false"
        for number, (name, kind) in enumerate(kinds.items()):
            old, home = values[name], f"home_{number}"
            if types[name] == "VARCHAR":
                rest += f" left join merge_run as {home} on {home}.told = {old}"
                values[name] = f"{home}.now"
            else:
                rest += f" left join merge_shift as {home} on {home}.kind = '{kind}'"
                rest += f" and {old} between {home}.first and {home}.last"
                rest += f" and {home}.source = {source.number}"
                values[name] = f"({old} + {home}.shift)"
            lost += f" or ({old} is not null and {values[name]} is null)"
        connection.execute(
            f"insert into {new} select it.* from (from {new} where false union all by name select"
            f" {id_map.listed(values)} {rest} where not ({lost})) as it"
            f" where not exists (from {new} as there where there is not distinct from it)"
        )
        shown = f"{_shown(table)} of {source.shown}"
        if others := [name for name in types if name not in kinds and types[name] in _WHOLE]:
            notes.append(
                f"In {shown} the numbers in {', '.join(others)} were copied unchanged: ids are"
                " recognised by the names of their columns (word, run, ...)."
            )
        if kinds:
            notes.append(
                f"In {shown} the ids in {', '.join(kinds)} were changed to those of the new bank."
            )
        ((gone,),) = connection.execute(f"select count(*) {rest} where {lost}").fetchall()
        if gone:
            notes.append(
                f"{gone:,} rows of {shown} were not copied: they refer to nothing in the new bank."
            )
    if views := connection.execute(registry.internal_statement("merge/own_views")).fetchall():
        shown = ", ".join(map(_shown, views))
        notes.append(f"Views and macros of {source.shown} were not copied: {shown}.")


def _shown(table: Table) -> str:
    return table[1] if table[0] == "main" else ".".join(table)


def _kinds(types: Mapping[str, str]) -> dict[str, str]:
    """The columns that hold ids, and of what."""
    relations = {}
    for name, type_ in types.items():
        kind = "run" if name.endswith("_run") else _IDS.get(name)
        if kind and (type_ in _WHOLE or (kind == "run" and type_ == "VARCHAR")):
            relations[name] = kind
    return relations


def relations(connection: DuckDBPyConnection, source: Source, notes: list[str]) -> None:
    """Copy the relations that users saved; those of one name and request are one.

    The text of all sources is there already: a name that its trees, or another request, have gets
    a number.
    """
    columns = "name, request, from_node, to_node, meaning, statement"
    for name, *own, last in connection.execute(
        f"select {columns}, last_sentence from {OF}saved_relation order by name"
    ).fetchall():
        select = "select name, request, from_node, to_node from saved_relation order by name"
        known = {name: other for name, *other in connection.execute(select).fetchall()}
        numbered = re.compile(rf"{re.escape(name)}(_\d+)?")
        same = (name for name in known if known[name] == own[:3] and numbered.fullmatch(name))
        now = next(same, "")
        if not now:
            taken = [*known]
            while is_of_trees(connection, now := unique(name, taken, "_")):
                taken.append(now)
            connection.execute(
                f"insert into saved_relation by name select * replace ({literal(now)} as name)"
                f" from {OF}saved_relation where name = {literal(name)}"
            )
            create_view(connection, SavedRelation(now, *own))
        if now != name:
            notes.append(
                f"The saved relation {name} of {source.shown} is called {now} here: another one or"
                " a relation of the trees has that name."
            )
        _add(connection, "merge_looked", (now, source.number, last))
        changed, rest = id_map.moved("saved_pair", source.number)
        connection.execute(
            "insert into saved_pair (relation, word, head_word) select $now,"
            f" {changed['word']}, {changed['head_word']} {rest} where own.relation = $name"
            " except select relation, word, head_word from saved_pair",
            {"name": name, "now": now},
        )
