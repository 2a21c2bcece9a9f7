"""What people put into banks themselves: tables, columns, saved relations, views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.ingest.meeting.runs import Run
from attnbank.ingest.meeting.same import Model, unique
from attnbank.ingest.meeting.sources import SOURCE, Source, Table
from attnbank.ingest.store.saved import Relation, show
from attnbank.sql.bank import formats
from attnbank.sql.errors import CallError
from attnbank.sql.quoting import literal, place, quoted

_OF_TEXT = ("sentence", "word", "mention")
_WORDS = ("first_word", "last_word", "head_word")
_WHOLE = ("SMALLINT", "INTEGER", "BIGINT")
_RENAME = "Rename it in one of them (the DuckDB shell does), or leave that bank out."


def columns_of(
    connection: DuckDBPyConnection, sources: Sequence[Source]
) -> dict[str, dict[str, str]]:
    """The columns of the new bank's tables, those that people added made in it, with their types.

    Raises CallError if a column has different types in two sources.
    """
    found = {table: dict(own) for table, own in formats.columns_of_this_format().items()}
    for source in sources:
        for table, columns in found.items():
            if table == "bank":
                continue
            for name, type_ in source.added_columns(table).items():
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
    """A type as SQL: DuckDB reads the text as a type and writes it out itself."""
    try:
        found = str(connection.sqltype(type_))
    except duckdb.Error:
        found = ""
    if found != type_:
        raise source.unfit(f"{type_} is no type")
    return found


def begin(connection: DuckDBPyConnection, runs: Sequence[Run], models: Sequence[Model]) -> None:
    """Make the tables of the connection that say which id became which, but for documents."""
    for statement in (
        "create temp table met_model_home (source integer, old integer, new integer)",
        "create temp table met_run_home (source integer, old integer, new integer)",
        "create temp table met_probe_home (source integer, old integer, new integer)",
        "create temp table met_sequence_home"
        " (source integer, first integer, last integer, shift integer)",
        "create temp table met_looked (relation varchar, source integer, last integer)",
    ):
        connection.execute(statement)
    for model in models:
        for source, old in model.rows:
            connection.execute(
                "insert into met_model_home values (?, ?, ?)", [source, old, model.id]
            )
    for run in runs:
        for source, old in (*run.places, *run.alike):
            connection.execute("insert into met_run_home values (?, ?, ?)", [source, old, run.id])


def tables(connection: DuckDBPyConnection, source: Source, notes: list[str]) -> None:
    """Copy the tables that people made, with the ids that their columns have in the new bank.

    A column refers to a table as `sql.bank.references` says: by its name. Rows that an earlier
    source has too are not there twice; rows that refer to what is left out are left out, and that
    is noted. Raises CallError if an earlier source has another table of the name.
    """
    for table, columns in source.added.items():
        types = {name: _type(connection, source, type_) for name, type_ in columns.items()}
        _make(connection, source, table, types)
        own = f"{SOURCE}.{place(*table)}"
        found = dict(_references(table, types))
        selected, joined, lost = [], [], []
        for number, name in enumerate(types):
            column = f"own.{quoted(name)}"
            if name not in found:
                selected.append(f"{column} as {quoted(name)}")
                continue
            value, join = _moved(column, found[name], types[name], f"home_{number}")
            selected.append(f"{value} as {quoted(name)}")
            joined.append(join)
            lost.append(f"({column} is not null and {value} is null)")
        rest = f"from {own} as own {' '.join(joined)}"
        values = {"source": source.number} if joined else {}
        kept = f"where not ({' or '.join(lost)})" if lost else ""
        same = " and ".join(
            f"there.{each} is not distinct from it.{each}" for each in map(quoted, types)
        )
        connection.execute(
            f"insert into {place(*table)} by name select it.* from (select {', '.join(selected)}"
            f" {rest} {kept}) as it where not exists (from {place(*table)} as there where {same})",
            values,
        )
        if lost:
            ((gone,),) = connection.execute(
                f"select count(*) {rest} where {' or '.join(lost)}", values
            ).fetchall()
            shown = f"{_shown(table)} of {source.shown}"
            notes.append(f"In {shown} the ids of {', '.join(found)} are those of the new bank.")
            if gone:
                notes.append(f"{gone:,} rows of {shown} are left out: they refer to nothing here.")


def _shown(table: Table) -> str:
    return table[1] if table[0] == "main" else ".".join(table)


def _make(
    connection: DuckDBPyConnection, source: Source, table: Table, types: dict[str, str]
) -> None:
    there = dict(
        connection.execute(
            "select column_name, data_type from duckdb_columns() where schema_name = ?"
            " and table_name = ? and database_name = current_database() order by column_index",
            [*table],
        ).fetchall()
    )
    if there and there != types:
        raise CallError(
            f"The table {_shown(table)} of {source.shown} has other columns than that of a bank"
            " before it.",
            _RENAME,
        )
    if not there:
        columns = ", ".join(f"{quoted(name)} {type_}" for name, type_ in types.items())
        connection.execute(f"create schema if not exists {quoted(table[0])}")
        connection.execute(f"create table {place(*table)} ({columns})")


def _references(table: Table, types: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The columns that hold ids, and of what."""
    for name, type_ in types.items():
        if name == "run" or name.endswith("_run"):
            if type_ in (*_WHOLE, "VARCHAR"):
                yield name, "run"
        elif type_ in _WHOLE and name in (
            "corpus",
            "document",
            "model",
            "probe",
            "sequence",
            *_OF_TEXT,
        ):
            yield name, name
        elif type_ in _WHOLE and name in _WORDS:
            yield name, "word"


def _moved(column: str, kind: str, type_: str, alias: str) -> tuple[str, str]:
    """The new value of a column of ids, and the join that it needs."""
    of = f"{alias}.source = $source"
    if kind in _OF_TEXT:
        ends = f"between {alias}.first_{kind} and {alias}.last_{kind}"
        return f"({column} + {alias}.{kind}_shift)", (
            f"left join met_home as {alias} on {of} and {column} {ends}"
        )
    if kind == "sequence":
        ends = f"between {alias}.first and {alias}.last"
        return f"({column} + {alias}.shift)", (
            f"left join met_sequence_home as {alias} on {of} and {column} {ends}"
        )
    if kind == "document":
        return (
            f"{alias}.document",
            f"left join met_home as {alias} on {of} and {alias}.old = {column}",
        )
    if kind == "corpus":
        return f"{alias}.corpus", (
            f"left join met_corpus_home as {alias} on {of} and {alias}.old = {column}"
        )
    if type_ == "VARCHAR":  # a run by its name, or by its id as text
        names = "select cast(old as varchar) as told, cast(new as varchar) as now from met_run_home"
        names += (
            " where source = $source union all select before.name, after.name from met_run_home"
        )
        names += f" inner join {SOURCE}.main.run as before on before.id = old"
        names += " inner join main.run as after on after.id = new where source = $source"
        return f"{alias}.now", f"left join ({names}) as {alias} on {alias}.told = {column}"
    return (
        f"{alias}.new",
        f"left join met_{kind}_home as {alias} on {of} and {alias}.old = {column}",
    )


def relations(connection: DuckDBPyConnection, source: Source, notes: list[str]) -> None:
    """Copy the relations that people saved; those of one name and request are one."""
    rows = connection.execute(
        f"select name, request, from_node, to_node, last_sentence from {SOURCE}.main.saved_relation"
        " order by name"
    ).fetchall()
    for name, *request, last in rows:
        known = connection.execute(
            "select name, request, from_node, to_node from saved_relation order by name"
        ).fetchall()
        now = next(
            (each for each, *other in known if other == request and _is_named(each, name)), None
        )
        if now is None:
            now = unique(name, [each for each, *_ in known]).replace("-", "_")
            connection.execute(
                f"insert into saved_relation by name select * replace ({literal(now)} as name)"
                f" from {SOURCE}.main.saved_relation where name = {literal(name)}"
            )
        if now != name:
            notes.append(f"The saved relation {name} of {source.shown} is {now} here.")
        connection.execute("insert into met_looked values (?, ?, ?)", [now, source.number, last])
        connection.execute(
            "insert into saved_pair (relation, word, head_word)"
            " with found as (select distinct own.word + home.word_shift as word,"
            " own.head_word + home.word_shift as head_word"
            f" from {SOURCE}.main.saved_pair as own inner join {SOURCE}.main.word"
            f" on word.id = own.word inner join {SOURCE}.main.sentence as inside"
            " on inside.id = word.sentence inner join met_home as home"
            " on home.old = inside.document and home.source = $source where own.relation = $name)"
            " select $now, word, head_word from found where (word, head_word) not in"
            " (select (word, head_word) from saved_pair where relation = $now)",
            {"source": source.number, "name": name, "now": now},
        )


def _is_named(now: str, name: str) -> bool:
    return now == name or (now.startswith(f"{name}_") and now.removeprefix(f"{name}_").isdecimal())


def finish_relations(connection: DuckDBPyConnection, notes: list[str]) -> None:
    """Make the views of the saved relations, and say up to which sentence each was looked for.

    A relation that the trees of another bank have too gets another name.
    """
    rows = connection.execute(
        "select name, request, from_node, to_node, meaning, statement from saved_relation"
        " order by name"
    ).fetchall()
    names = [row[0] for row in rows]
    for row in rows:
        relation = Relation(*row)
        taken = connection.execute(
            "select 1 from word where deprel = $name or without_subtype(deprel) = $name limit 1",
            {"name": relation.name},
        ).fetchall()
        if taken:
            now = unique(relation.name, names).replace("-", "_")
            notes.append(f"The saved relation {relation.name} is {now} here: trees have that name.")
            for table, column in (
                ("saved_relation", "name"), ("saved_pair", "relation"), ("met_looked", "relation"),
            ):  # fmt: skip
                connection.execute(
                    f"update {table} set {column} = $now where {column} = $name",
                    {"now": now, "name": relation.name},
                )
            relation = Relation(now, *row[1:])
        connection.execute(
            f"update saved_relation set last_sentence = ({_LOOKED}) where name = $name",
            {"name": relation.name},
        )
        show(connection, relation)


_LOOKED = """
with

done as (
    select
        home.corpus, home.index,
        max(
            greatest(least(home.last_sentence, looked.last) - home.first_sentence + 1, 0)
        ) as sentences
    from met_home as home
    inner join met_looked as looked on looked.source = home.source and looked.relation = $name
    group by home.corpus, home.index
)

select coalesce(
    min(home.first_sentence + home.sentence_shift + coalesce(done.sentences, 0)) - 1,
    (select coalesce(max(sentence.id), 0) from sentence)
)
from met_home as home
left join done on done.corpus = home.corpus and done.index = home.index
where home.is_own and coalesce(done.sentences, 0) < home.sentences
"""


def told_of_views(
    connection: DuckDBPyConnection, sources: Sequence[Source], notes: list[str]
) -> None:
    """Note the views and macros that people made, which are left out."""
    usual = set(
        connection.execute(
            "select schema_name, view_name from duckdb_views() union"
            " select schema_name, function_name from duckdb_functions()"
        ).fetchall()
    )
    for source in sources:
        own = [_shown(each) for each in source.own if each not in usual]
        if own:
            notes.append(f"Views and macros of {source.shown} are left out: {', '.join(own)}.")
