"""What users put into banks themselves: tables, columns, saved relations, views."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from duckdb import DuckDBPyConnection

from attnbank.ingest.merge.sources import Source, Table, is_type
from attnbank.ingest.store.saved import Relation, is_of_trees, show
from attnbank.sql import id_map, registry
from attnbank.sql.bank import formats
from attnbank.sql.bank.opening import reinstall
from attnbank.sql.errors import CallError
from attnbank.sql.id_map import OF, SOURCE, Part
from attnbank.sql.matching import Matched, unique
from attnbank.sql.outputs.tables import tables_of
from attnbank.sql.quoting import literal, place, quoted

_IDS = {name: kind for name, kind in id_map.KIND_OF.items() if kind not in ("entity", "batch")}
_IDS |= {"model": "model", "probe": "probe"}
_WHOLE = ("SMALLINT", "INTEGER", "BIGINT")
_RENAME = "Rename it in one of them (the DuckDB shell does), or leave that bank out."


def columns_of(
    connection: DuckDBPyConnection, sources: Sequence[Source], apart: Sequence[str] = ("bank",)
) -> dict[str, dict[str, str]]:
    """The columns of the new bank's tables, with their types; those that users added are made.

    Of the tables `apart` none is. Raises CallError if a column has different types in two sources.
    """
    found = {table: dict(own) for table, own in formats.columns_of_this_format().items()}
    for source in sources:
        for table, columns in found.items():
            added = {} if table in apart else source.added_columns(table)
            for name, type_ in added.items():
                if name not in columns:
                    columns[name] = _type(connection, source, type_)
                    connection.execute(
                        f"alter table main.{table} add column {quoted(name)} {columns[name]}"
                    )
                elif columns[name] != type_:
                    raise CallError(
                        f"The column {table}.{name} is {type_} in {source.shown}, and"
                        f" {columns[name]} in another bank.",
                        _RENAME,
                    )
    return found


def _type(connection: DuckDBPyConnection, source: Source, type_: str) -> str:
    if not is_type(connection, type_):
        raise source.unfit(f"{type_} is not a valid type")
    return type_


def begin(connection: DuckDBPyConnection, matched: Matched, parts: Sequence[Part]) -> None:
    """Make `merge_shift`: what is added to the ids of a kind, from `first` to `last`, of a source.

    Users' own tables name any kind of id. Probes are added as they come.
    """
    ranges = ["select source, 'document', old, old, document - old from merge_id_map"]
    ranges += [
        f"select source, '{kind}', first_{kind}, last_{kind}, {kind}_shift from merge_id_map"
        for kind in id_map.KINDS
    ]
    connection.execute(
        "create temp table merge_shift"
        " (source integer, kind varchar, first integer, last integer, shift integer)"
    )
    connection.execute(f"insert into merge_shift {' union all '.join(ranges)}")
    for part in parts:
        connection.execute(
            "insert into merge_shift values (?, 'sequence', ?, ?, ?)",
            [part.source, part.inputs.first, part.inputs.last, part.sequence_shift],
        )
    for number in range(len(matched.catalogs)):
        for kind in ("corpus", "model", "run"):
            add_shifts(connection, number, kind, matched.ids(kind, number))
    connection.execute(
        "create temp table merge_looked (relation varchar, source integer, last integer)"
    )


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
    is left out are left out. Raises CallError if an earlier source has another table of the name.
    """
    for table, types in source.added.items():
        make(connection, source, table, types)
        found = dict(_references(types))
        values = {name: f"own.{quoted(name)}" for name in types}
        rest, lost = f"from {SOURCE}.{place(*table)} as own", ["false"]
        for number, (name, kind) in enumerate(found.items()):
            values[name], join = _moved(source, quoted(name), kind, types[name], f"home_{number}")
            rest += f" {join}"
            lost.append(f"(own.{quoted(name)} is not null and {values[name]} is null)")
        selected = ", ".join(f"{value} as {quoted(name)}" for name, value in values.items())
        same = " and ".join(
            f"there.{each} is not distinct from it.{each}" for each in map(quoted, types)
        )
        connection.execute(
            f"insert into {place(*table)} by name select it.* from (select {selected} {rest}"
            f" where not ({' or '.join(lost)})) as it"
            f" where not exists (from {place(*table)} as there where {same})"
        )
        shown = f"{_shown(table)} of {source.shown}"
        if others := [name for name in types if name not in found and types[name] in _WHOLE]:
            notes.append(
                f"In {shown} the numbers in {', '.join(others)} were copied unchanged: ids are"
                " recognised by the names of their columns (word, run, ...)."
            )
        if found:
            notes.append(
                f"In {shown} the ids in {', '.join(found)} were changed to those of the new bank."
            )
            counted = f"select count(*) {rest} where {' or '.join(lost)}"
            ((gone,),) = connection.execute(counted).fetchall()
            if gone:
                notes.append(
                    f"{gone:,} rows of {shown} were not copied: they refer to nothing in the new"
                    " bank."
                )


def _shown(table: Table) -> str:
    return table[1] if table[0] == "main" else ".".join(table)


def make(
    connection: DuckDBPyConnection, source: Source, table: Table, types: dict[str, str]
) -> None:
    """Make a table that users made, unless it is there. Raises CallError for one that differs."""
    there = tables_of(connection).get(table)
    if there and there != types:
        raise CallError(
            f"The table {_shown(table)} of {source.shown} has different columns than in an earlier"
            " bank.",
            _RENAME,
        )
    if not there:
        columns = ", ".join(
            f"{quoted(name)} {_type(connection, source, type_)}" for name, type_ in types.items()
        )
        connection.execute(f"create schema if not exists {quoted(table[0])}")
        connection.execute(f"create table {place(*table)} ({columns})")


def _references(types: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The columns that hold ids, and of what."""
    for name, type_ in types.items():
        is_run = name == "run" or name.endswith("_run")
        if is_run and type_ in (*_WHOLE, "VARCHAR"):
            yield name, "run"
        elif type_ in _WHOLE and name in _IDS:
            yield name, _IDS[name]


def _moved(source: Source, column: str, kind: str, type_: str, alias: str) -> tuple[str, str]:
    """The new value of a column of ids, and the join that it needs."""
    shifts = f"from merge_shift where source = {source.number} and kind = '{kind}'"
    if type_ != "VARCHAR":
        return f"(own.{column} + {alias}.shift)", (
            f"left join (select first, last, shift {shifts}) as {alias}"
            f" on own.{column} between {alias}.first and {alias}.last"
        )
    names = (  # a run by its name, or by its id as text
        f"select cast(first as varchar) as told, cast(first + shift as varchar) as now {shifts}"
        f" union all select before.name, after.name from (select first, shift {shifts}) as ids"
        f" inner join {OF}run as before on before.id = ids.first"
        " inner join main.run as after on after.id = ids.first + ids.shift"
    )
    return f"{alias}.now", f"left join ({names}) as {alias} on {alias}.told = own.{column}"


def relations(connection: DuckDBPyConnection, source: Source, notes: list[str]) -> None:
    """Copy the relations that users saved; those of one name and request are one."""
    request = "request, from_node, to_node"
    for name, last, *own in connection.execute(
        f"select name, last_sentence, {request} from {OF}saved_relation order by name"
    ).fetchall():
        known = connection.execute(
            f"select name, {request} from saved_relation order by name"
        ).fetchall()
        same = (each for each, *other in known if other == own)
        named = re.compile(rf"{re.escape(name)}(_\d+)?")
        now = next(filter(named.fullmatch, same), None)
        if now is None:
            now = unique(name, [each for each, *_ in known]).replace("-", "_")
            connection.execute(
                f"insert into saved_relation by name select * replace ({literal(now)} as name)"
                f" from {OF}saved_relation where name = {literal(name)}"
            )
        if now != name:
            notes.append(f"The saved relation {name} of {source.shown} is called {now} here.")
        connection.execute("insert into merge_looked values (?, ?, ?)", [now, source.number, last])
        changed, rest = id_map.moved("saved_pair", source.number)
        connection.execute(
            "insert into saved_pair (relation, word, head_word) with found as"
            f" (select distinct {changed['word']} as word, {changed['head_word']} as head_word"
            f" {rest} where own.relation = $name) select $now, word, head_word from found where"
            " (word, head_word) not in"
            " (select (word, head_word) from saved_pair where relation = $now)",
            {"name": name, "now": now},
        )


def finish_relations(connection: DuckDBPyConnection, notes: list[str]) -> None:
    """Make the views of the saved relations, and say up to which sentence each was looked for.

    A relation that the trees of another bank have too gets another name.
    """
    rows = connection.execute(
        "select name, request, from_node, to_node, meaning, statement from saved_relation"
        " order by name"
    ).fetchall()
    names = [row[0] for row in rows]
    looked_for = registry.statement("merge/looked_for")
    for row in rows:
        relation = Relation(*row)
        if is_of_trees(connection, relation.name):
            now = unique(relation.name, names).replace("-", "_")
            notes.append(
                f"The saved relation {relation.name} is called {now} here: a relation of the"
                " trees has that name."
            )
            for table, column in (
                ("saved_relation", "name"), ("saved_pair", "relation"),
                ("merge_looked", "relation"),
            ):  # fmt: skip
                connection.execute(
                    f"update {table} set {column} = $now where {column} = $name",
                    {"now": now, "name": relation.name},
                )
            relation = Relation(now, *row[1:])
        connection.execute(
            f"update saved_relation set last_sentence = ({looked_for}) where name = $name",
            {"name": relation.name},
        )
        show(connection, relation)


def finish_views(
    connection: DuckDBPyConnection, sources: Sequence[Source], notes: list[str]
) -> None:
    """Note the views and macros that are left out; show columns of users in the bank's views."""
    usual = connection.execute(
        "select schema_name, view_name from duckdb_views() union"
        " select schema_name, function_name from duckdb_functions()"
    ).fetchall()
    for source in sources:
        if own := [_shown(each) for each in source.own if each not in usual]:
            notes.append(f"Views and macros of {source.shown} were not copied: {', '.join(own)}.")
    tables = formats.columns_of_this_format()
    if any(source.added_columns(table) for source in sources for table in tables):
        reinstall(connection)
