"""Writes the tables of a bank as Parquet files."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from attnbank.sql import macros, provenance, registry
from attnbank.sql.bank import result_cache, upgrading
from attnbank.sql.bank.error_messages import bank_error, is_full_disk
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import BankError
from attnbank.sql.manifests import (
    MANIFEST,
    ExportedFile,
    ExportedTable,
    Manifest,
    exported_file,
)
from attnbank.sql.messages import unknown_name
from attnbank.sql.outputs import unwritten
from attnbank.sql.provenance import KEY
from attnbank.sql.quoting import literal, qualified_name, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LOAD, SCHEMA = "load.sql", "schema.sql"

_IN_SENTENCES = (
    "sentence in (select sentence.id from sentence inner join document"
    " on document.id = sentence.document where document.corpus in ({corpora}))"
)
_OF_RUNS = {
    "corpus": "id in ({corpora})",
    "document": "corpus in ({corpora})",
    "sentence": "document in (select id from document where corpus in ({corpora}))",
    "word": _IN_SENTENCES,
    "enhanced_dependency": _IN_SENTENCES,
    "constituent": _IN_SENTENCES,
    "mention": "document in (select id from document where corpus in ({corpora}))",
    "departure": "corpus in ({corpora})",
    "model": "id in (select model from run where id in ({runs}))",
    "run": "id in ({runs})",
    "skipped": "corpus in ({corpora}) and (run is null or run in ({runs}))",
    "saved_pair": "word in (select word.id from word inner join sentence"
    " on sentence.id = word.sentence inner join document on document.id = sentence.document"
    " where document.corpus in ({corpora}))",
    "probe": "{of_runs}",
    "probe_score": "probe in (select id from probe where {of_runs})",
    "probe_weight": "probe in (select id from probe where {of_runs})",
}
"""Which rows of a table are exported with some runs. Others are divided by their column `run` or
`sequence`, or are exported whole."""

ROUNDED = frozenset({"attention", "attention_top"})
"""Tables whose floats are rounded where those of a run are (run.decimals)."""
_ROWS_IN_A_GROUP = 20_480  # a row of a long document has 512 weights
_MEMORY = 2
"""The GB of memory that DuckDB may take, as for a statement; what it wrote needs not stay."""
_MOST_THREADS = 8
_LONGEST = 100


_Run = tuple[int, int, bool]
"""The id of a run, that of its corpus, and whether its weights are unrounded."""


def write_tables(
    path: Path,
    folder: Path,
    run: str | None,
    named: str,
    origin: str | None = None,
    written: Mapping[str, Sequence[ExportedFile]] | None = None,
) -> None:
    """Write the tables of a bank, or of one run of it, into an empty folder, the manifest last.

    `named` is the folder in errors; `origin` goes into the metadata of every Parquet file;
    `written` are the files, in order, of tables divided by run that others have written. Raises
    CallError for an unknown run, BankError for a bank that cannot be read, AttnbankError if the
    disk is full.
    """
    import duckdb

    # Each thread holds a group of rows until it is written.
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    limits = (f"set memory_limit = '{_MEMORY}GB'", f"set threads = {threads}")
    try:
        with open_to_read(path, limits, writes_below=folder) as connection:
            chosen = _chosen_runs(connection, path, run)
            tables = [*_write(connection, folder, chosen, origin, written, everything=run is None)]
        (folder / SCHEMA).write_text(_schema(tables), encoding="utf-8")
        (folder / LOAD).write_text(_load(tables), encoding="utf-8")
        manifest = Manifest(registry.FORMAT, provenance.version(), tuple(tables))
        (folder / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    except duckdb.OutOfMemoryException as error:
        raise BankError(
            f"The rows of {path} need more memory than an export may take ({_MEMORY} GB); nothing"
            " was exported.",
            "A cell of megabytes needs so much: select sum(strlen(COLUMN)) from TABLE",
        ) from error
    except duckdb.Error as error:
        if is_full_disk(error):
            raise unwritten(named, OSError(errno.ENOSPC, "No space left on device")) from error
        raise bank_error(
            error, path, "nothing was exported", "type the same command again"
        ) from error
    except OSError as error:
        raise unwritten(named, error) from error


def _chosen_runs(connection: DuckDBPyConnection, path: Path, run: str | None) -> list[_Run]:
    """All runs, or the one of a name or id; raises CallError if there is none, and BankError."""
    rows = connection.execute(
        "select id, name, corpus, decimals is null from run order by id"
    ).fetchall()
    try:
        columns = [
            (int(id), int(corpus), unrounded)
            for id, name, corpus, unrounded in rows
            if run in (None, name, str(id))
        ]
    except (TypeError, ValueError) as error:
        raise BankError(f"The bank {path} has runs whose ids are not numbers.") from error
    if run is not None and not columns:
        raise unknown_name("run", run, path, [str(row[1]) for row in rows])
    return columns


def _write(
    connection: DuckDBPyConnection,
    folder: Path,
    chosen: list[_Run],
    origin: str | None,
    written: Mapping[str, Sequence[ExportedFile]] | None,
    *,
    everything: bool,
) -> Iterator[ExportedTable]:
    runs = ", ".join(str(id) for id, _, _ in chosen) or "null"
    corpora = ", ".join(str(corpus) for _, corpus, _ in chosen) or "null"
    for (schema, name), columns in tables_of(connection).items():
        source, stem = qualified_name(schema, name), _stem(schema, name)
        select, parts = f"select * from {source}", []
        if is_by_run(columns):
            for id, _, is_unrounded in chosen:
                of_run = f"sequence in (select id from sequence where run = {id})"
                splits = is_unrounded or name not in ROUNDED
                file = f"{stem}/run={id}/rows.parquet"
                parts.append((file, f"{select} where {of_run}", splits))
        elif (schema, name) == ("main", "bank"):
            now = literal(macros.fingerprint())
            parts = [(f"{stem}.parquet", f"select * replace ({now} as analyses) from bank", False)]
        else:
            own = condition(name if schema == "main" else None, columns, runs, corpora)
            where = "" if everything else f" where {own}"
            parts = [(f"{stem}.parquet", select + where, False)]
        files = list((written or {}).get(name, ()))
        for file, rows_of, splits in [] if files else parts:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            rows = copy(connection, rows_of, folder / file, origin, splits_floats=splits)
            files.append(exported_file(folder, file, rows))
        yield ExportedTable(schema, name, sum(file.rows for file in files), columns, tuple(files))


def condition(table: str | None, columns: Collection[str], runs: str, corpora: str) -> str:
    """SQL for the rows of a table that belong to some runs and to their corpora, both as lists.

    `table` is None for one of the user's own.
    """
    usual = "run in ({runs})" if "run" in columns else "true"
    if is_by_run(columns):
        usual = "sequence in (select id from sequence where run in ({runs}))"
    of_runs = "(train_run is null or train_run in ({runs})) and test_run in ({runs})"
    select = _OF_RUNS.get(table or "", usual).format(runs=runs, corpora=corpora, of_runs=of_runs)
    return select.format(runs=runs)


def is_by_run(columns: Collection[str]) -> bool:
    """Whether an export has a folder for each run of a table of these columns."""
    return "sequence" in columns and "run" not in columns


def _stem(schema: str, name: str) -> str:
    """The name of a table's files, percent-encoded to stay in the folder; a long one is cut."""
    names = [name] if schema == "main" else [schema, name]
    stem = ".".join(quote(name, safe="").replace(".", "%2E") for name in names)
    if len(stem) > _LONGEST:
        stem = f"{stem[:_LONGEST]}-{sha256(qualified_name(schema, name).encode()).hexdigest()[:16]}"
    return stem


def tables_of(connection: DuckDBPyConnection) -> dict[tuple[str, str], dict[str, str]]:
    """The types of the columns of every table of the bank, those of the schema main first."""
    tables_by_name: dict[tuple[str, str], dict[str, str]] = {}
    for schema, name, column, type_ in connection.execute(
        "select own.schema_name, own.table_name, duckdb_columns.column_name,"
        " duckdb_columns.data_type from duckdb_tables() as own inner join duckdb_columns()"
        " on duckdb_columns.table_oid = own.table_oid"
        " and duckdb_columns.database_name = own.database_name"
        " where own.database_name = current_database() and not own.internal and not own.temporary"
        f" and own.schema_name <> '{result_cache.SCHEMA}'"  # kept answers can be computed again
        " order by own.schema_name <> 'main', own.schema_name, own.table_name,"
        " duckdb_columns.column_index"
    ).fetchall():
        tables_by_name.setdefault((schema, name), {})[column] = type_
    return tables_by_name


def copy(
    connection: DuckDBPyConnection,
    select: str,
    file: Path,
    origin: str | None = None,
    *,
    splits_floats: bool = False,
) -> int:
    """Write the rows of a SELECT to a Parquet file, and return their number.

    `splits_floats` writes version 2 of the format, in which unrounded floats take a tenth less
    space, rounded ones more.
    """
    version = "v2" if splits_floats else "v1"
    told = "" if origin is None else f", kv_metadata {{{KEY}: {literal(origin)}}}"
    ((rows,),) = connection.execute(
        f"copy ({select}) to {literal(str(file))} (format parquet, compression zstd,"
        f" compression_level 3, row_group_size {_ROWS_IN_A_GROUP}, parquet_version {version}{told})"
    ).fetchall()
    return int(rows)


def _schema(tables: list[ExportedTable]) -> str:
    head = (
        "-- The tables, views and analyses of a bank, for a new file. Read load.sql after it.\n"
        "begin transaction;\n"
    )
    columns = {(table.schema, table.name): table.columns for table in tables}
    installed = "".join(f"{statement};\n\n" for statement in macros.install())
    return "\n".join([head, *registry.schema_scripts(), *further(columns), installed, "commit;\n"])


def further(tables: Mapping[tuple[str, str], Mapping[str, str]]) -> Iterator[str]:
    """Statements that make, in a bank without rows, the tables and columns that no other bank has.

    `tables` has the types of the columns of each table, by schema and name.
    """
    usual = upgrading.columns_of_this_format()
    for schema in sorted({schema for schema, _ in tables} - {"main"}):
        yield f"create schema if not exists {quoted(schema)};\n"
    for (schema, name), types in tables.items():
        known = usual.get(name) if schema == "main" else None
        columns = {column: f"{quoted(column)} {type_}" for column, type_ in types.items()}
        if known is None:
            yield f"create table {qualified_name(schema, name)} ({', '.join(columns.values())});\n"
        else:
            new = (column for name_, column in columns.items() if name_ not in known)
            yield from (
                f"alter table {qualified_name(schema, name)} add column {column};\n"
                for column in new
            )


def _load(tables: list[ExportedTable]) -> str:
    lines = [
        "-- Fills the tables of schema.sql from the Parquet files beside it. In this folder:",
        '--   duckdb new.duckdb -c ".read schema.sql" -c ".read load.sql"',
        "-- All of it or nothing: into a bank that holds rows nothing is loaded.",
        "begin transaction;",
    ]
    places = [qualified_name(table.schema, table.name) for table in tables]
    counts = "\n    + ".join(f"(select count(*) from {place})" for place in places)
    lines.append(
        "select case when (\n"
        f"    {counts}\n"
        ") > 0 then error('This bank holds rows already, and nothing was loaded. Load into a new"
        " file.') end as loading;"
    )
    for target, table in zip(places, tables, strict=True):
        if table.files:
            columns = ", ".join(map(quoted, table.columns))
            files = ", ".join(literal(file.path) for file in table.files)
            lines.append(
                f"insert into {target} ({columns})\nselect {columns}\n"
                f"from read_parquet([{files}], hive_partitioning = false);"
            )
    return "\n".join([*lines, "commit;", ""])
