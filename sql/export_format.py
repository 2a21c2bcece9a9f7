"""An export: a bank's tables as Parquet files, the SQL that loads them, and a manifest.

The manifest says what was exported, and by which digests its files are known. It is written last,
so that a folder with one is a whole export, and read as foreign text, of which nothing is believed
that was not checked.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints
from urllib.parse import quote

from attnbank.sql import answer_cache, provenance, registry
from attnbank.sql.bank import bank_format
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import AttnbankError, BankError, CallError, bank_error, is_full_disk
from attnbank.sql.ids import BITS, refers_to
from attnbank.sql.messages import escape_control
from attnbank.sql.names import literal, qualified_name, quoted
from attnbank.sql.outputs import MANIFEST, check_folder, file_digest, output_folder, unwritten
from attnbank.sql.paths import address_of, located
from attnbank.sql.provenance import KEY
from attnbank.sql.registry import FORMAT
from attnbank.sql.run_choice import find_run
from attnbank.sql.worker import Worker

if TYPE_CHECKING:
    import psutil
    from duckdb import DuckDBPyConnection

LOAD, SCHEMA = "load.sql", "schema.sql"

# The version of the manifest itself; that of the tables is `Manifest.format`.
VERSION = 1

# Tables whose floats are rounded where those of a run are (run.decimals).
ROUNDED = frozenset({"attention", "attention_top"})

# Which rows of a table belong to runs and to their corpora. Of other tables they are those whose
# run is one of them, or whose id is of one of the corpora; one without such ids is exported whole.
_OF_RUNS = {
    "corpus": "id in ({corpora})",
    "departure": "corpus in ({corpora})",
    "model": "id in (select model from run where id in ({runs}))",
    "run": "id in ({runs})",
    "skipped": "corpus in ({corpora}) and (run is null or run in ({runs}))",
    "probe": "{of_runs}",
    "probe_score": "probe in (select id from probe where {of_runs})",
    "probe_weight": "probe in (select id from probe where {of_runs})",
}

# Seconds without a byte read or written after which a process that exports is ended.
PATIENCE = 120.0

# The GB of memory that DuckDB may take, as for a statement; what it wrote needs not stay.
_MEMORY = 2
_MOST_THREADS = 8
_ROWS_IN_A_GROUP = 20_480  # a row of a long document has 512 weights
_LONGEST_STEM = 100

# The id of a run, that of its corpus, and whether its weights are unrounded.
_Run = tuple[int, int, bool]

_KIND = "attnbank export"
_MOST_TABLES = 2_000

# The most bytes of a manifest: one of 100,000 files has a third of that.
_LARGEST = 2**26

# Paths as an export writes them: no backslashes, and nothing that DuckDB takes for a pattern.
_PATH = re.compile(r"[A-Za-z0-9_.%=~-]+(/[A-Za-z0-9_.%=~-]+)*\.parquet")
_DIGEST = re.compile("[0-9a-f]{64}")
_HALVES = re.compile("[\ud800-\udfff]")  # of characters: JSON can write them
_types = cache(get_type_hints)
_AGAIN = "Copy the folder again, or export it again: attnbank export DIR"


@dataclass(frozen=True)
class ExportedFile:
    """A file: its path relative to the folder, its rows, its bytes, and its SHA-256."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class ExportedTable:
    """A table: the types of its columns by name, as DuckDB writes them, and its files in order."""

    schema: str
    name: str
    rows: int
    columns: dict[str, str]
    files: tuple[ExportedFile, ...]


@dataclass(frozen=True)
class Manifest:
    """What an export holds: `format` is that of the bank, `written_by` the version of attnbank."""

    format: int
    written_by: str
    tables: tuple[ExportedTable, ...]

    def text(self) -> str:
        """The manifest as JSON. The same export gives the same text."""
        whole = {"kind": _KIND, "manifest": VERSION, **asdict(self)}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def export(
    bank: Path,
    folder: Path,
    *,
    run: str | None = None,
    force: bool = False,
    origin: str | None = None,
) -> list[Path]:
    """Write a bank, or one run of it with its corpus and model, as Parquet files.

    Beside them are `schema.sql` and `load.sql`, with which any DuckDB shell makes a bank from the
    folder, and `manifest.json`, with the rows and the digest of every file. With `force` an earlier
    export is replaced, and other files stay. `origin`, a text, goes into the metadata of every
    Parquet file, under the key attnbank. Returns the paths that were written. Raises CallError for
    an unknown run, or if `folder` is not a folder, or not empty (unless `force`); BankError if the
    bank is damaged; AttnbankError if the folder cannot be written.
    """
    target = check_export(folder, bank, force=force)
    with output_folder(target, owns=_owns) as part:
        # In a process of its own, since DuckDB can hang or crash on a damaged bank.
        arguments = (located(bank), part, run, str(folder), origin)
        check = _check_progress(bank, part)
        with Worker(bank, write_tables, *arguments, check=check) as worker:
            for _ in worker:
                pass
        names = [file.relative_to(part) for file in sorted(part.rglob("*.*"))]
    return [folder / name for name in names]


def check_export(folder: Path, bank: Path, *, force: bool) -> Path:
    """The folder to export into; CallError as `export`, and if the bank itself is in it."""
    target = check_folder(folder, last=LOAD, force=force)
    if address_of(bank) is None and bank.resolve().is_relative_to(target):
        raise CallError(f"The bank {bank} is in the folder {folder}.", "Name another folder.")
    return target


def _owns(folder: Path) -> Callable[[Path], bool]:
    """Which files of a folder an export wrote: by its manifest, which says what is beside it."""
    own: set[str] = set()
    with suppress(AttnbankError):  # there is none, or it is of something else, or damaged
        tables = read_manifest(folder).tables
        own = {SCHEMA, LOAD, MANIFEST, *(file.path for table in tables for file in table.files)}
    return lambda path: path.as_posix() in own


def _check_progress(bank: Path, folder: Path) -> Callable[[psutil.Process], BankError | None]:
    """What returns an error once a process has read and written nothing for PATIENCE seconds."""
    import psutil

    before, since = -1, time.monotonic()

    def check(process: psutil.Process) -> BankError | None:
        nonlocal before, since
        try:
            done = sum(process.io_counters())
        except (AttributeError, psutil.AccessDenied):  # no counters: the sizes of what it wrote
            done = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
        if done != before:
            before, since = done, time.monotonic()
        if time.monotonic() - since <= PATIENCE:
            return None
        return BankError(
            f"The bank {bank} seems to be damaged: DuckDB has read and written nothing"
            f" for {PATIENCE:.0f} s; nothing was exported.",
            "Use an intact copy of it, or ingest again into a new file.",
        )

    return check


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
            chosen: list[_Run] = connection.execute(
                "select id, corpus, decimals is null from run"
                " where $id is null or id = $id order by id",
                {"id": None if run is None else find_run(connection, path, run)[0]},
            ).fetchall()
            tables = [*_write(connection, folder, chosen, origin, written, everything=run is None)]
        (folder / SCHEMA).write_text(_schema(tables), encoding="utf-8")
        (folder / LOAD).write_text(_load(tables), encoding="utf-8")
        manifest = Manifest(FORMAT, provenance.version(), tuple(tables))
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
            now = literal(registry.fingerprint())
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
    of_runs = f"(train_run is null or train_run in ({runs})) and test_run in ({runs})"
    if table in _OF_RUNS:
        return _OF_RUNS[table].format(runs=runs, corpora=corpora, of_runs=of_runs)
    if "run" in columns:
        return f"run in ({runs})"
    if is_by_run(columns):
        return f"sequence in (select id from sequence where run in ({runs}))"
    ids = [column for column in columns if table and refers_to(table, column) == "corpus"]
    return f"({ids[0]} >> {BITS}) + 1 in ({corpora})" if ids else "true"


def is_by_run(columns: Collection[str]) -> bool:
    """Whether an export has a folder for each run of a table of these columns."""
    return "sequence" in columns and "run" not in columns


def _stem(schema: str, name: str) -> str:
    """The name of a table's files, percent-encoded to stay in the folder; a long one is cut."""
    names = [name] if schema == "main" else [schema, name]
    stem = ".".join(quote(name, safe="").replace(".", "%2E") for name in names)
    if len(stem) > _LONGEST_STEM:
        digest = sha256(qualified_name(schema, name).encode()).hexdigest()
        stem = f"{stem[:_LONGEST_STEM]}-{digest[:16]}"
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
        f" and own.schema_name <> '{answer_cache.SCHEMA}'"  # cached answers can be computed again
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
    metadata = "" if origin is None else f", kv_metadata {{{KEY}: {literal(origin)}}}"
    ((rows,),) = connection.execute(
        f"copy ({select}) to {literal(str(file))} (format parquet, parquet_version {version},"
        f" compression zstd, compression_level 3, row_group_size {_ROWS_IN_A_GROUP}{metadata})"
    ).fetchall()
    return int(rows)


def _schema(tables: list[ExportedTable]) -> str:
    head = (
        "-- The tables, views and analyses of a bank, for a new file. Read load.sql after it.\n"
        "begin transaction;\n"
    )
    columns = {(table.schema, table.name): table.columns for table in tables}
    installed = "".join(f"{statement};\n\n" for statement in registry.install())
    return "\n".join([head, *registry.schema_scripts(), *further(columns), installed, "commit;\n"])


def further(tables: Mapping[tuple[str, str], Mapping[str, str]]) -> Iterator[str]:
    """Statements that make, in a bank without rows, the tables and columns that no other bank has.

    `tables` has the types of the columns of each table, by schema and name.
    """
    usual = bank_format.columns_of_this_format()
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


def exported_file(folder: Path, path: str, rows: int) -> ExportedFile:
    """A file that was written, with its size and its digest."""
    place = folder / path
    return ExportedFile(path, rows, place.stat().st_size, file_digest(place))


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an export, not checked against the files.

    Raises CallError if `folder` is not one, BankError if it has no manifest of this version.
    """
    if not folder.is_dir():
        raise CallError(
            f"Folder {folder} does not exist.",
            "Name a folder that export wrote; to merge banks, use attnbank merge.",
        )
    file = folder / MANIFEST
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable(folder, "it is not a file")
        if status.st_size > _LARGEST:
            raise _unreadable(folder, f"it is larger than {_LARGEST:,} bytes")
        read = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BankError(
            f"{folder} is not a complete export: it has no {MANIFEST}.",
            "Name a folder that attnbank export wrote.",
        ) from None
    except OSError as error:
        raise _unreadable(folder, error.strerror or "it cannot be opened") from error
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, a number of 5,000 digits
        raise _unreadable(folder, "it is damaged or cut off") from error
    if not isinstance(read, dict) or read.get("kind") != _KIND:
        raise _unreadable(folder, "it is not that of an export")
    version = read.get("manifest")
    if isinstance(version, int) and version > VERSION:
        raise BankError(
            f"The export {folder} was written by a newer attnbank.", "Use that version."
        )
    try:
        manifest: Manifest = _parsed(Manifest, read, "manifest")
        _check(manifest)
    except ValueError as error:
        raise _unreadable(folder, escape_control(str(error))[:200]) from error
    return manifest


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raise BankError unless every file of a manifest is in the folder, unchanged."""
    home = folder.resolve()
    for table in manifest.tables:
        for file in table.files:
            place = folder / file.path
            try:
                leads_out = not place.resolve().is_relative_to(home)
                status = place.stat()
                if leads_out or not stat.S_ISREG(status.st_mode):
                    reason = "leads out of the folder" if leads_out else "is not a file"
                elif status.st_size != file.bytes:
                    reason = f"has {status.st_size:,} bytes, and was written with {file.bytes:,}"
                elif file_digest(place) != file.sha256:
                    reason = "has changed since it was written: its SHA-256 differs"
                else:
                    continue
            except FileNotFoundError:
                reason = "is missing"
            except (OSError, RuntimeError) as error:
                reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            raise BankError(f"{file.path} of the export {folder} {reason}.", _AGAIN)


def check_format(named: str, format_: int) -> None:
    """Raise BankError unless an export is of this format."""
    if format_ != FORMAT:
        raise BankError(
            f"{named} is of format {format_}; this version reads format {FORMAT}.",
            "Use the version that wrote it, or name another folder.",
        )


def _parsed(kind: Any, read: Any, name: str) -> Any:
    """What JSON has for a field of a type; raises ValueError with its name if it is another."""
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(read, dict):
        types = _types(kind)
        return kind(**{key: _parsed(type_, read.get(key), key) for key, type_ in types.items()})
    if get_origin(kind) is tuple and isinstance(read, list):
        return tuple(_parsed(get_args(kind)[0], item, name) for item in read)
    if get_origin(kind) is dict and isinstance(read, dict) and read:
        return {_parsed(str, key, name): _parsed(str, item, name) for key, item in read.items()}
    is_number = kind is int and type(read) is int and 0 <= read < 2**63
    is_text = kind is str and isinstance(read, str) and not _HALVES.search(read)
    if not (is_number or is_text):
        raise ValueError(f"{name} is missing or invalid")
    return read


def _check(manifest: Manifest) -> None:
    """Raise ValueError for a path that no export writes, and for what contradicts itself."""
    for table in manifest.tables:
        for file in table.files:
            if not _PATH.fullmatch(file.path) or ".." in file.path.split("/"):
                raise ValueError(f"path {file.path} is invalid")
            if not _DIGEST.fullmatch(file.sha256):
                raise ValueError(f"sha256 of {file.path} is invalid")
        if table.rows != sum(file.rows for file in table.files):
            raise ValueError(f"rows of {table.name} do not add up")
    for what, number, most in (
        ("tables", len(manifest.tables), _MOST_TABLES),
        ("columns", sum(len(table.columns) for table in manifest.tables), 10 * _MOST_TABLES),
    ):
        if number > most:
            raise ValueError(f"it has {number:,} {what}, and at most {most:,} are read")
    names = [(table.schema, table.name) for table in manifest.tables]
    paths = [file.path for table in manifest.tables for file in table.files]
    for what, every in (("table", names), ("path", paths)):
        if len(set(every)) != len(every):
            raise ValueError(f"it names a {what} twice")


def _unreadable(folder: Path, reason: str) -> BankError:
    return BankError(f"{MANIFEST} of the export {folder} cannot be used: {reason}.", _AGAIN)
