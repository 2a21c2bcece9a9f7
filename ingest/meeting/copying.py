"""Copying rows of an attached bank into the new one, with the ids that they get there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.ingest.meeting.documents import TEXT, from_text, moved, relative
from attnbank.ingest.meeting.held import Held
from attnbank.ingest.meeting.runs import Part, Run
from attnbank.ingest.meeting.same import Corpus, Model, Place
from attnbank.ingest.meeting.sources import SOURCE, Source
from attnbank.sql.bank import formats
from attnbank.sql.errors import BankError
from attnbank.sql.quoting import literal, quoted

Columns = Mapping[str, Mapping[str, str]]
"""The columns of the tables of the new bank, with their types, those that people added too."""

_MAPS = ("options", "libraries")


def insert(
    connection: DuckDBPyConnection,
    source: Source,
    table: str,
    columns: Columns,
    changed: Mapping[str, str],
    rest: str,
    values: Mapping[str, Any] | None = None,
) -> int:
    """Insert rows of a table of the attached source, called `own`; how many they were.

    `changed` has the columns that are not taken as they are, as SQL; `rest` is the SELECT from its
    FROM on; `values` are its parameters. A column that the source lacks is null.
    """
    has = source.tables["main", table]
    selected = ", ".join(
        changed.get(name, f"own.{quoted(name)}" if name in has else "null")
        for name in columns[table]
    )
    names = ", ".join(map(quoted, columns[table]))
    ((rows,),) = connection.execute(
        f"insert into main.{table} ({names}) select {selected} {rest}", dict(values or {})
    ).fetchall()
    return int(rows)


def text(connection: DuckDBPyConnection, source: Source, columns: Columns) -> None:
    """Copy the documents that are the source's own to give, with all that is in them."""
    number = {"source": source.number}
    for table, ids in TEXT.items():
        changed = {name: moved(f"own.{name}", kind) for name, kind in ids.items()}
        first = next(iter(changed))
        rest = f"{from_text(table)} where home.is_own order by own.{first}"
        insert(connection, source, table, columns, changed, rest, number)
    ((lost,),) = connection.execute(
        f"select (select count(*) from {SOURCE}.main.departure)"
        f" - (select count(*) {from_text('departure')})",
        number,
    ).fetchall()
    if lost:
        raise source.unfit("its table departure has rows that belong to no sentence")


def digests(connection: DuckDBPyConnection, source: Source, columns: Columns) -> None:
    """Note what is in those documents of the attached source that another source has, too."""
    connection.execute(
        "create temp table if not exists met_digest"
        " (source integer, corpus integer, index integer, digest varchar)"
    )
    parts = []
    for table, ids in TEXT.items():
        has = source.tables["main", table]
        told = [
            relative(f"own.{name}", ids[name])
            if name in ids
            else _alike(table, name)
            if name in has
            else "null"
            for name in columns[table]
        ]
        parts.append(
            f"select home.corpus, home.index, {literal(table)} as part,"
            f" hash({', '.join(told)}) as each {from_text(table)}"
        )
    connection.execute(
        "insert into met_digest with every as ("
        + " union all ".join(parts)
        + "), counted as (select corpus, index, part, count(*) as n, sum(each) as total,"
        " bit_xor(each) as mixed from every where (corpus, index) in"
        " (select (corpus, index) from met_home as home where not is_own) group by all)"
        " select $source, corpus, index, string_agg(concat_ws(' ', part, n, total, mixed), ', '"
        " order by part) from counted group by corpus, index",
        {"source": source.number},
    )


def _alike(table: str, column: str) -> str:
    """A column as it is compared: a file by its name alone, since folders differ by machine."""
    if (table, column) == ("document", "file"):
        return "parse_filename(own.file)"
    if (table, column) == ("departure", "place"):
        return "null"
    return f"own.{quoted(column)}"


def check_digests(
    connection: DuckDBPyConnection, sources: Sequence[Held], corpora: Sequence[Corpus]
) -> None:
    """Raise BankError if a document is not the same in two sources."""
    found = connection.execute(
        "select first.corpus, first.index, first.source, other.source"
        " from met_digest as first inner join met_digest as other on other.corpus = first.corpus"
        " and other.index = first.index and other.source > first.source"
        " and other.digest <> first.digest order by all limit 1"
    ).fetchall()
    for corpus, index, first, other in found:
        name = next(each.name for each in corpora if each.id == corpus)
        raise BankError(
            f"The document at {index} of the corpus {name} is not the same in"
            f" {sources[first].source.shown} and in {sources[other].source.shown}.",
            "It was read with other options (--split, --strict), or changed: ingest one anew.",
        )


def small_rows(
    connection: DuckDBPyConnection,
    source: Source,
    columns: Columns,
    corpora: Sequence[Corpus],
    models: Sequence[Model],
    runs: Sequence[Run],
) -> None:
    """Write the corpora, models and runs whose first row is in the attached source."""
    for corpus in corpora:
        if corpus.rows[0][0] == source.number:
            own = {
                "id": corpus.id, "name": corpus.name, "shard": corpus.parts.text,
                "language": corpus.language,
            }  # fmt: skip
            _row(connection, source, "corpus", columns, corpus.rows[0][1], own)
    for model in models:
        if model.rows[0][0] == source.number:
            _row(connection, source, "model", columns, model.rows[0][1], {"id": model.id})
    for run in runs:
        if run.places[0][0] == source.number:
            ids = {"id": run.id, "corpus": run.corpus.id, "model": run.model.id}
            _row(connection, source, "run", columns, run.places[0][1], ids | run.values)


def _row(
    connection: DuckDBPyConnection,
    source: Source,
    table: str,
    columns: Columns,
    id: int,
    own: Mapping[str, Any],
) -> None:
    """Write a row of the attached source with some values of its own."""
    values: dict[str, Any] = {"old": id}
    changed = {}
    for name, given in own.items():
        if name in _MAPS:
            values |= {f"{name}_keys": [*given], f"{name}_values": [*given.values()]}
            changed[name] = f"map(${name}_keys, ${name}_values)"
        else:
            values[name] = given
            changed[name] = f"${name}"
    rest = f"from {SOURCE}.main.{table} as own where own.id = $old"
    insert(connection, source, table, columns, changed, rest, values)


def inputs(
    connection: DuckDBPyConnection, held: Held, columns: Columns, run: Run, part: Part
) -> None:
    """Copy the inputs of a run of the attached source, with all that hangs on them.

    Raises BankError if an input is of no document, or a position of a word elsewhere.
    """
    source, old = held.source, part.place[1]
    told = held.inputs_of(old)
    shift = f"own.sequence + {part.sequence_shift}"
    among = f"own.sequence between {told.first} and {told.last}"
    number = {"source": source.number}
    rows = insert(
        connection, source, "sequence", columns,
        {
            "id": f"own.id + {part.sequence_shift}", "run": str(run.id),
            "batch": f"own.batch + {part.batch_shift}", "document": "home.document",
            "sentence": "own.sentence + home.sentence_shift",
        },
        f"from {SOURCE}.main.sequence as own inner join met_home as home on home.old = own.document"
        f" and home.source = $source where own.run = {old} order by own.id", number,
    )  # fmt: skip
    if rows != told.count:
        raise source.unfit(f"inputs of its run {held.runs[old]['name']} are of no document")
    inside = {
        name: f"case when own.{name} between home.first_word and home.last_word then own.{name}"
        f" + home.word_shift when own.{name} is not null"
        " then error('a position has a word of another document') end"
        for name in ("word", "last_word")
    }
    rows = insert(
        connection, source, "position", columns, {"sequence": shift, **inside},
        f"from {SOURCE}.main.position as own inner join {SOURCE}.main.sequence as inside"
        " on inside.id = own.sequence inner join met_home as home on home.old = inside.document"
        f" and home.source = $source where {among}", number,
    )  # fmt: skip
    ((positions,),) = connection.execute(
        f"select count(*) from {SOURCE}.main.position as own where {among}"
    ).fetchall()
    if rows != positions:
        raise source.unfit("its table position has rows that belong to no input")
    for table in by_sequence():
        rest = f"from {SOURCE}.main.{table} as own where {among}"
        insert(connection, source, table, columns, {"sequence": shift}, rest)


def by_sequence() -> list[str]:
    """The tables whose rows hang on an input, but for the positions: weights, peaks, gradients."""
    usual = formats.columns_of_this_format()
    return [
        table
        for table, columns in usual.items()
        if "sequence" in columns and "run" not in columns and table != "position"
    ]


def of_no_run(connection: DuckDBPyConnection, held: Held) -> dict[str, int]:
    """How many rows of the attached source hang on no input of a run, by table."""
    ranges = " or ".join(
        f"sequence between {each.first} and {each.last}" for each in held.inputs.values()
    )
    among = f"coalesce({ranges or 'false'}, false)"
    found = {}
    for table in (*by_sequence(), "position"):
        ((rows,),) = connection.execute(
            f"select count(*) from {SOURCE}.main.{table} where not {among}"
        ).fetchall()
        if rows:
            found[table] = rows
    return found


def skipped(
    connection: DuckDBPyConnection,
    source: Source,
    columns: Columns,
    corpus_of: Mapping[int, int],
    run_of: Mapping[int, tuple[int, int]],
) -> None:
    """Copy what was left out: by the runs that are taken, and what could not be read at all.

    `run_of` has the id of each run in the new bank, and what is added to its batches. What could
    not be read, and another source has already, is not there twice.
    """
    moved_sentence = (
        "case when own.sentence is null then null when home.sentence_shift is null"
        " then error('it skipped a sentence that it has not') else own.sentence +"
        " home.sentence_shift end"
    )
    joined = (
        f"from {SOURCE}.main.skipped as own left join {SOURCE}.main.sentence as inside"
        " on inside.id = own.sentence left join met_home as home on home.old = inside.document"
        " and home.source = $source"
    )
    number = {"source": source.number}
    for old, new in corpus_of.items():
        insert(
            connection, source, "skipped", columns,
            {"corpus": str(new), "sentence": moved_sentence},
            f"{joined} where own.corpus = {old} and own.run is null and not exists"
            f" (from main.skipped as there where there.corpus = {new} and there.run is null"
            " and there.name is not distinct from own.name and there.reason = own.reason"
            " and parse_filename(there.place) is not distinct from parse_filename(own.place)"
            " and there.detail = own.detail)", number,
        )  # fmt: skip
    for old, (new, batches) in run_of.items():
        insert(
            connection, source, "skipped", columns,
            {
                "corpus": f"(select run.corpus from main.run where run.id = {new})",
                "run": str(new), "batch": f"own.batch + {batches}", "sentence": moved_sentence,
            },
            f"{joined} where own.run = {old}", number,
        )  # fmt: skip


def losses(
    connection: DuckDBPyConnection, source: Source, columns: Columns, run_of: Mapping[int, int]
) -> None:
    """Copy the losses of runs with heads disabled; those of shards are put together at the end."""
    for old, new in run_of.items():
        rest = f"from {SOURCE}.main.ablation as own where own.run = {old}"
        insert(connection, source, "ablation", columns, {"run": str(new)}, rest)


def join_losses(connection: DuckDBPyConnection, runs: Collection[int], columns: Columns) -> None:
    """Make one row of the losses of the shards of a run: their mean over all masked tokens."""
    keys = ("run", "disabled", "layer", "head", "replacement")
    joined = {
        "loss": "sum(loss * tokens) / greatest(sum(tokens), 1)",
        "tokens": "sum(tokens)",
    }
    names = ", ".join(map(quoted, columns["ablation"]))
    selected = ", ".join(
        quoted(name) if name in keys else f"{joined.get(name, f'any_value({quoted(name)})')}"
        for name in columns["ablation"]
    )
    for run in runs:
        connection.execute("drop table if exists met_joined_loss")
        connection.execute(
            f"create temp table met_joined_loss as select {selected}"
            f" from main.ablation where run = {run} group by {', '.join(keys)}"
        )
        connection.execute(f"delete from main.ablation where run = {run}")
        connection.execute(f"insert into main.ablation ({names}) from met_joined_loss")


def check_inputs(
    connection: DuckDBPyConnection, sources: Sequence[Held], runs: Sequence[Run]
) -> None:
    """Raise BankError if a run that is in several sources is not of the same inputs in them.

    The weights are not compared, since another machine rounds otherwise.
    """
    doubtful = [run for run in runs if run.alike]
    found: dict[Place, tuple[int, int]] = {}
    for held in sources:
        own = {
            old
            for run in doubtful
            for number, old in (*run.places, *run.alike)
            if number == held.source.number
        }
        if own:
            with held.source.attached(connection):
                for old in own:
                    found[held.source.number, old] = _given(connection, held, old)
    for run in doubtful:
        rows, total = (sum(each) for each in zip(*(found[at] for at in run.places), strict=True))
        for number, old in run.alike:
            if found[number, old] != (rows, total):
                first = sources[run.places[0][0]].source.shown
                raise BankError(
                    f"The run {sources[number].runs[old]['name']} of"
                    f" {sources[number].source.shown} is not of the same inputs as in {first}.",
                    "One of them is damaged, or read by another tokenizer: ingest it anew.",
                )


def _given(connection: DuckDBPyConnection, held: Held, run: int) -> tuple[int, int]:
    """How many positions the inputs of a run have, and a digest of them, whatever their ids."""
    ((rows, total),) = connection.execute(
        "select count(*), coalesce(sum(hash(home.corpus, home.index, own.position, own.kind,"
        " own.segment, own.word - home.first_word, own.last_word - home.first_word, own.text,"
        f" own.pieces)), 0) from {SOURCE}.main.position as own"
        f" inner join {SOURCE}.main.sequence as inside on inside.id = own.sequence"
        " inner join met_home as home on home.old = inside.document and home.source = $source"
        f" where inside.run = {run}",
        {"source": held.source.number},
    ).fetchall()
    return int(rows), int(total)
