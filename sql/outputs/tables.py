"""The program of a separate process that writes the tables of a bank as Parquet files.

DuckDB can hang or crash on a damaged bank, and then does not notice a Ctrl-C; but a process can be
ended whatever it does. It ends by itself when the process that started it is gone.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from attnbank.sql import macros, provenance, registry
from attnbank.sql.bank import formats, kept
from attnbank.sql.bank.explaining import explain, is_full_disk
from attnbank.sql.bank.opening import fingerprint, open_to_export
from attnbank.sql.errors import AttnbankError, BankError, CallError
from attnbank.sql.outputs.files import unwritten
from attnbank.sql.outputs.manifests import (
    MANIFEST,
    ExportedFile,
    ExportedTable,
    Manifest,
    exported_file,
)
from attnbank.sql.outputs.origins import KEY
from attnbank.sql.quoting import literal, quoted
from attnbank.sql.suggest import did_you_mean, listed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LOAD, SCHEMA = "load.sql", "schema.sql"

_OF_RUNS = {
    "corpus": "id in ({corpora})",
    "document": "corpus in ({corpora})",
    "sentence": "document in (select id from document where corpus in ({corpora}))",
    "word": "sentence in (select sentence.id from sentence inner join document"
    " on document.id = sentence.document where document.corpus in ({corpora}))",
    "mention": "document in (select id from document where corpus in ({corpora}))",
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
"""Which rows of a table are exported with some runs. Any other table is divided by its column `run`
or by the runs of its column `sequence`; if it has neither, all its rows are exported."""

_ROWS_IN_A_GROUP = 20_480  # a row of a long document has 512 weights
_LONGEST = 100


@dataclass(frozen=True)
class _Run:
    id: int
    corpus: int
    is_unrounded: bool


@dataclass
class _Table:
    """A table, the types of its columns by name, and its files, relative to the folder."""

    schema: str
    name: str
    columns: dict[str, str]
    files: list[ExportedFile]

    @property
    def place(self) -> str:
        """The table's qualified name, quoted for SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def stem(self) -> str:
        """The name of its files, without their ending: the table's own name if that is plain.

        Anything except letters, digits, _ and - is percent-encoded (%20), since a foreign bank's
        names could otherwise lead out of the folder. A long name is cut, and a digest added.
        """
        names = [self.name] if self.schema == "main" else [self.schema, self.name]
        stem = ".".join(quote(each, safe="").replace(".", "%2E") for each in names)
        if len(stem) > _LONGEST:
            stem = f"{stem[:_LONGEST]}-{sha256(self.place.encode()).hexdigest()[:16]}"
        return stem


def main() -> None:
    """Write the tables as one line of JSON on standard input says.

    Standard output stays empty, or gets the error as a JSON list: its kind, fact and remedy.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one will end it
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        write_tables(
            Path(asked["bank"]), Path(asked["folder"]), asked["run"], asked["named"],
            asked.get("origin"),
        )  # fmt: skip
    except AttnbankError as error:
        _tell(type(error).__name__, error.fact, error.remedy)
    except Exception:
        _tell("", traceback.format_exc(), "")
    os._exit(0)


def _tell(*words: str) -> None:
    sys.stdout.write(json.dumps([each[-4000:] for each in words]))
    sys.stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


def write_tables(
    path: Path,
    folder: Path,
    run: str | None,
    named: str,
    origin: str | None = None,
    written: Mapping[str, Sequence[ExportedFile]] | None = None,
) -> None:
    """Write the tables of a bank, or of one run of it, into an empty folder, the manifest last.

    `named` is the folder as the user named it, for the errors; `origin` is put into the metadata of
    every Parquet file, if it is given. `written` are the files, in order, of tables divided by run
    that others have written into the folder.

    Raises CallError for an unknown run, BankError for a bank that cannot be read, AttnbankError if
    the disk is full.
    """
    import duckdb

    try:
        connection = open_to_export(path, folder)
        try:
            chosen = _chosen_runs(connection, path, run)
            tables = [*_write(connection, folder, chosen, origin, written, everything=run is None)]
        finally:
            connection.close()
    except duckdb.Error as error:
        if is_full_disk(error):
            raise _full(named) from error
        raise explain(error, path, "nothing was exported", "type the same command again") from error
    except OSError as error:  # a file could not be read again for its digest
        raise unwritten(named, error) from error
    try:
        (folder / SCHEMA).write_text(_schema(tables), encoding="utf-8")
        (folder / LOAD).write_text(_load(tables), encoding="utf-8")
        (folder / MANIFEST).write_text(_manifest(tables).text(), encoding="utf-8")
    except OSError as error:
        raise unwritten(named, error) from error


def _full(named: str) -> AttnbankError:
    return unwritten(named, OSError(errno.ENOSPC, "No space left on device"))


def _chosen_runs(connection: DuckDBPyConnection, path: Path, run: str | None) -> list[_Run]:
    """All runs, or the one that is asked for by name or id.

    Raises CallError if there is no such run, BankError if ids of runs are not numbers.
    """
    rows = connection.execute(
        "select id, name, corpus, decimals is null from run order by id"
    ).fetchall()
    try:
        found = [
            _Run(int(id), int(corpus), unrounded)
            for id, name, corpus, unrounded in rows
            if run in (None, name, str(id))
        ]
    except (TypeError, ValueError) as error:
        raise BankError(f"The bank {path} has runs whose ids are no numbers.") from error
    if run is not None and not found:
        names = [str(row[1]) for row in rows]
        raise CallError(
            f"There is no run {run} in {path}.",
            f"{did_you_mean(run, names)} It has: {listed(names)}.".strip(),
        )
    return found


def _write(
    connection: DuckDBPyConnection,
    folder: Path,
    chosen: list[_Run],
    origin: str | None,
    written: Mapping[str, Sequence[ExportedFile]] | None,
    *,
    everything: bool,
) -> Iterator[_Table]:
    """Write every table, or its rows of the chosen runs, and yield it with its files."""
    lists = {
        "runs": ", ".join(str(run.id) for run in chosen) or "null",
        "corpora": ", ".join(str(run.corpus) for run in chosen) or "null",
    }
    lists["of_runs"] = (
        "(train_run is null or train_run in ({runs})) and test_run in ({runs})".format(**lists)
    )
    for table in _tables(connection):
        select = f"select * from {table.place}"
        whole = f"{table.stem}.parquet"
        if (table.schema, table.name) == ("main", "bank"):
            now = literal(fingerprint())
            select = f"select * replace ({now} as analyses) from bank"
        elif is_by_run(table.columns):
            table.files += (written or {}).get(table.name, ())
            if not table.files:
                _write_by_run(connection, table, folder, chosen, origin)
            yield table
            continue
        elif not everything:
            default = "run in ({runs})" if "run" in table.columns else "true"
            own = _OF_RUNS.get(table.name, default) if table.schema == "main" else default
            select = f"{select} where {own.format(**lists)}"
        rows = copy(connection, select, folder / whole, origin)
        table.files.append(exported_file(folder, whole, rows))
        yield table


def is_by_run(columns: Collection[str]) -> bool:
    """Whether an export has a folder for each run of a table of these columns.

    So it is for rows that belong to an input and do not say which run that is of.
    """
    return "sequence" in columns and "run" not in columns


def _tables(connection: DuckDBPyConnection) -> list[_Table]:
    """The tables of the bank with their columns, those of the schema main first."""
    found: dict[tuple[str, str], _Table] = {}
    for schema, name, column, type_ in connection.execute(
        "select own.schema_name, own.table_name, duckdb_columns.column_name,"
        " duckdb_columns.data_type from duckdb_tables() as own inner join duckdb_columns()"
        " on duckdb_columns.table_oid = own.table_oid"
        " and duckdb_columns.database_name = own.database_name"
        " where own.database_name = current_database() and not own.internal and not own.temporary"
        f" and own.schema_name <> '{kept.SCHEMA}'"  # kept answers can be computed again
        " order by own.schema_name <> 'main', own.schema_name, own.table_name,"
        " duckdb_columns.column_index"
    ).fetchall():
        table = found.setdefault((schema, name), _Table(schema, name, {}, []))
        table.columns[column] = type_
    return [*found.values()]


def _write_by_run(
    connection: DuckDBPyConnection,
    table: _Table,
    folder: Path,
    chosen: list[_Run],
    origin: str | None,
) -> None:
    """Write a big table, one file per run."""
    for run in chosen:
        name = f"{table.stem}/run={run.id}/rows.parquet"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        rows = copy(
            connection,
            f"select * from {table.place}"
            f" where sequence in (select id from sequence where run = {run.id})",
            folder / name,
            origin,
            splits_floats=run.is_unrounded or table.name != "attention",
        )
        table.files.append(exported_file(folder, name, rows))


def copy(
    connection: DuckDBPyConnection,
    select: str,
    file: Path,
    origin: str | None = None,
    *,
    splits_floats: bool = False,
) -> int:
    """Write the rows of a SELECT to a Parquet file, and return their number.

    With `splits_floats` it is written in version 2 of the format, in which DuckDB splits floats
    into streams of their bytes. That makes unrounded ones a tenth smaller, and rounded ones larger.
    """
    version = "v2" if splits_floats else "v1"
    told = "" if origin is None else f", kv_metadata {{{KEY}: {literal(origin)}}}"
    ((rows,),) = connection.execute(
        f"copy ({select}) to {literal(str(file))} (format parquet, compression zstd,"
        f" compression_level 3, row_group_size {_ROWS_IN_A_GROUP}, parquet_version {version}{told})"
    ).fetchall()
    return int(rows)


def _manifest(tables: list[_Table]) -> Manifest:
    return Manifest(
        registry.FORMAT,
        provenance.version(),
        tuple(
            ExportedTable(
                each.schema,
                each.name,
                sum(file.rows for file in each.files),
                each.columns,
                tuple(each.files),
            )
            for each in tables
        ),
    )


def _schema(tables: list[_Table]) -> str:
    head = (
        "-- The tables, views and analyses of a bank, for a new file. Read load.sql after it.\n"
        "begin transaction;\n"
    )
    installed = "".join(f"{statement};\n\n" for statement in macros.install())
    return "\n".join([head, *registry.schema(), *_further(tables), installed, "commit;\n"])


def _further(tables: list[_Table]) -> Iterator[str]:
    """Statements for the tables and columns of the bank that the schema does not have."""
    usual = formats.tables_of_this_format()
    for schema in sorted({each.schema for each in tables} - {"main"}):
        yield f"create schema {quoted(schema)};\n"
    for table in tables:
        known = usual.get(table.name) if table.schema == "main" else None
        if known is None:
            columns = ", ".join(f"{quoted(name)} {type_}" for name, type_ in table.columns.items())
            yield f"create table {table.place} ({columns});\n"
            continue
        for name, type_ in table.columns.items():
            if name not in known.columns:
                yield f"alter table {table.place} add column {quoted(name)} {type_};\n"


def _load(tables: list[_Table]) -> str:
    """The text of load.sql, which fills the tables in one transaction."""
    lines = [
        "-- Fills the tables of schema.sql from the Parquet files beside it. In this folder:",
        '--   duckdb new.duckdb -c ".read schema.sql" -c ".read load.sql"',
        "-- All of it or nothing: into a bank that holds rows nothing is loaded.",
        "begin transaction;",
    ]
    counts = "\n    + ".join(f"(select count(*) from {table.place})" for table in tables)
    lines.append(
        "select case when (\n"
        f"    {counts}\n"
        ") > 0 then error('This bank holds rows already, and nothing was loaded. Load into a new"
        " file.') end as loading;"
    )
    for table in tables:
        if not table.files:
            continue
        columns = ", ".join(quoted(column) for column in table.columns)
        files = ", ".join(literal(each.path) for each in table.files)
        lines.append(
            f"insert into {table.place} ({columns})\nselect {columns}\n"
            f"from read_parquet([{files}], hive_partitioning = false);"
        )
    return "\n".join([*lines, "commit;", ""])
