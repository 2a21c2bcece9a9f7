"""What users put into banks themselves: tables, columns, saved relations, views."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from attnbank.ingest.merge.sources import Source, Table
from attnbank.ingest.store.saved import Relation, show
from attnbank.sql import id_map, registry
from attnbank.sql.bank import formats
from attnbank.sql.bank.opening import reinstall
from attnbank.sql.errors import CallError
from attnbank.sql.id_map import OF, SOURCE, Part
from attnbank.sql.matching import Matched, unique
from attnbank.sql.outputs.tables import further
from attnbank.sql.quoting import literal, place, quoted

_IDS = {name: kind for name, kind in id_map.KIND_OF.items() if kind not in ("entity", "batch")}
_IDS |= {"model": "model", "probe": "probe"}
_WHOLE = ("SMALLINT", "INTEGER", "BIGINT")
_RENAME = "Rename it in one of them (the DuckDB shell does), or leave that bank out."


def columns_of(
    connection: DuckDBPyConnection, sources: Sequence[Source], apart: Sequence[str] = ("bank",)
) -> dict[str, dict[str, str]]:
    """The columns of the new bank's tables, with their types; what users added is made.

    To the tables `apart` nothing is added. Raises CallError if a column, or a table that users
    made, is not the same in two sources.
    """
    usual = {("main", name): own for name, own in formats.columns_of_this_format().items()}
    found = {table: dict(own) for table, own in usual.items()}
    for source in sources:
        for table, types in source.tables.items():
            columns = found.setdefault(table, types)
            if table not in usual and columns != types:
                raise CallError(
                    f"The table {_shown(table)} of {source.shown} has different columns than in an"
                    " earlier bank.",
                    _RENAME,
                )
            for name, type_ in types.items():
                if table[1] not in apart and columns.setdefault(name, type_) != type_:
                    raise CallError(
                        f"The column {table[1]}.{name} is {type_} in {source.shown}, and"
                        f" {columns[name]} in another bank.",
                        _RENAME,
                    )
    for statement in further(found):
        connection.execute(statement)
    of_every_bank = {table: found[table] for table in usual}
    if of_every_bank != usual:
        reinstall(connection)  # the bank's views show columns of users too
    return {name: columns for (_, name), columns in of_every_bank.items()}


def begin(connection: DuckDBPyConnection, matched: Matched, parts: Sequence[Part]) -> None:
    """Make `merge_shift`: what is added to the ids of a kind, from `first` to `last`, of a source.

    Users' own tables name any kind of id. Probes are added as they come. A column of texts names a
    run by its name or its id, as `merge_run` has them.
    """
    connection.execute(registry.statement("merge/shift"))
    for part in parts:
        connection.execute(
            "insert into merge_shift values (?, 'sequence', ?, ?, ?)",
            [part.source, part.inputs.first, part.inputs.last, part.sequence_shift],
        )
    names = {row["id"]: row["name"] for row in matched.rows("run")}
    for catalog in matched.catalogs:
        for kind in ("corpus", "model", "run"):
            add_shifts(connection, catalog.number, kind, matched.ids(kind, catalog.number))
        runs = matched.ids("run", catalog.number)
        told = {str(old): str(new) for old, new in runs.items()}
        told |= {catalog.rows["run"][old]["name"]: names[new] for old, new in runs.items()}
        for row in told.items():
            connection.execute("insert into merge_run values (?, ?, ?)", [catalog.number, *row])


def add_shifts(
    connection: DuckDBPyConnection, source: int, kind: str, ids: Mapping[int, int]
) -> None:
    """Note the new id of some rows of a source, by the old one."""
    for old, new in ids.items():
        connection.execute(
            "insert into merge_shift values (?, ?, ?, ?, ?)", [source, kind, old, old, new - old]
        )


def tables(connection: DuckDBPyConnection, source: Source, notes: list[str]) -> None:
    """Copy the tables that users made, with the ids that their columns have in the new bank.

    A column refers to a table as `sql.bank.references` says: by its name. Rows that refer to what
    is left out are left out.
    """
    for table, types in source.added.items():
        kinds = _kinds(types)
        values = {name: f"own.{quoted(name)}" for name in types}
        rest, lost = f"from {SOURCE}.{place(*table)} as own", "false"
        for number, (name, kind) in enumerate(kinds.items()):
            old, home = values[name], f"home_{number}"
            if types[name] == "VARCHAR":
                found, values[name] = f"merge_run as {home} on {home}.told = {old}", f"{home}.now"
            else:
                found = f"merge_shift as {home} on {home}.kind = '{kind}'"
                found += f" and {old} between {home}.first and {home}.last"
                values[name] = f"({old} + {home}.shift)"
            rest += f" left join {found} and {home}.source = {source.number}"
            lost += f" or ({old} is not null and {values[name]} is null)"
        same = " and ".join(
            f"there.{each} is not distinct from it.{each}" for each in map(quoted, types)
        )
        connection.execute(
            f"insert into {place(*table)} by name select it.* from (select"
            f" {id_map.listed(values)} {rest} where not ({lost})) as it"
            f" where not exists (from {place(*table)} as there where {same})"
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


def _shown(table: Table) -> str:
    return table[1] if table[0] == "main" else ".".join(table)


def _kinds(types: Mapping[str, str]) -> dict[str, str]:
    """The columns that hold ids, and of what."""
    found = {}
    for name, type_ in types.items():
        kind = "run" if name.endswith("_run") else _IDS.get(name)
        if kind and (type_ in _WHOLE or (kind == "run" and type_ == "VARCHAR")):
            found[name] = kind
    return found


def relations(connection: DuckDBPyConnection, source: Source, notes: list[str]) -> None:
    """Copy the relations that users saved; those of one name and request are one.

    The text of all sources is there already: a name that its trees, or another request, have gets
    a number.
    """
    request = "request, from_node, to_node"
    for name, last, *own in connection.execute(
        f"select name, last_sentence, {request} from {OF}saved_relation order by name"
    ).fetchall():
        known = connection.execute(
            f"select name, {request} from saved_relation order by name"
        ).fetchall()
        numbered = re.compile(rf"{re.escape(name)}(_\d+)?")
        same = (each for each, *other in known if other == own and numbered.fullmatch(each))
        now = next(same, None)
        if now is None:
            trees = connection.execute(
                "select deprel from word union select without_subtype(deprel) from word"
            ).fetchall()
            now = unique(name, [row[0] for row in (*known, *trees)], "_")
            connection.execute(
                f"insert into saved_relation by name select * replace ({literal(now)} as name)"
                f" from {OF}saved_relation where name = {literal(name)}"
            )
        if now != name:
            notes.append(
                f"The saved relation {name} of {source.shown} is called {now} here: another one or"
                " a relation of the trees has that name."
            )
        connection.execute("insert into merge_looked values (?, ?, ?)", [now, source.number, last])
        changed, rest = id_map.moved("saved_pair", source.number)
        connection.execute(
            "insert into saved_pair (relation, word, head_word) select $now,"
            f" {changed['word']}, {changed['head_word']} {rest} where own.relation = $name"
            " except select relation, word, head_word from saved_pair",
            {"name": name, "now": now},
        )


def finish_relations(connection: DuckDBPyConnection) -> None:
    """Make the views of the saved relations, and say up to which sentence each was looked for."""
    looked_for = registry.statement("merge/looked_for")
    for row in connection.execute(
        "select name, request, from_node, to_node, meaning, statement from saved_relation"
        " order by name"
    ).fetchall():
        connection.execute(
            f"update saved_relation set last_sentence = ({looked_for}) where name = $name",
            {"name": row[0]},
        )
        show(connection, Relation(*row))


def name_views(connection: DuckDBPyConnection, sources: Sequence[Source], notes: list[str]) -> None:
    """Note the views and macros that are left out."""
    usual = connection.execute(
        "select schema_name, view_name from duckdb_views() union"
        " select schema_name, function_name from duckdb_functions()"
    ).fetchall()
    for source in sources:
        if own := [_shown(each) for each in source.own if each not in usual]:
            notes.append(f"Views and macros of {source.shown} were not copied: {', '.join(own)}.")
