"""What is merged or imported: a bank, or an export, attached to a connection as `source`.

An export is attached as views of its Parquet files, so that one code reads both; of its folder only
the manifest and these files are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.sql import answer_cache
from attnbank.sql.bank import bank_format
from attnbank.sql.bank.connections import connect_beside, once_unlocked
from attnbank.sql.bank.opening import existing, fault_of_rows, open_to_read
from attnbank.sql.errors import (
    BankError,
    bank_error,
    cause_of,
    first_line,
    is_damage,
    is_full_disk,
)
from attnbank.sql.export_format import (
    ExportedTable,
    Manifest,
    check_files,
    check_format,
    read_manifest,
    tables_of,
)
from attnbank.sql.matching import invalid_source
from attnbank.sql.names import literal, qualified_name, quoted
from attnbank.sql.outputs import MANIFEST, expanded, files_of_bank

# The name that a source is attached under.
SOURCE = "source"
OF = f"{SOURCE}.main."

# A table may unpack to so many bytes, or so many times those of its files: Parquet writes a text or
# a number that is repeated only once, and a bank of such rows would fill any disk.
MOST_UNPACKED, MOST_TIMES = 10**9, 100
# The least bytes of a value, an element of a list included.
_LEAST = 4
# SQL for the bytes of a value, by its type.
_BYTES = {
    "VARCHAR": "strlen({})",
    "VARCHAR[]": "list_sum(list_transform({}, lambda part: strlen(part)))",
    "MAP(VARCHAR, VARCHAR)": "list_sum(list_transform(map_values({}), lambda part: strlen(part)))",
}

Table = tuple[str, str]  # the schema and the name


@dataclass(frozen=True)
class Source:
    """A bank or an export that was checked.

    `label` is its path as the user gave it, `reads` are the files or the folder that a connection
    must be allowed to open, `statements` attach it. `tables` has the types of the columns of each
    table, `has_answers` says whether there are kept answers, and an export has a `manifest`.
    """

    number: int
    label: str
    reads: tuple[Path, ...]
    statements: tuple[str, ...]
    tables: dict[Table, dict[str, str]]
    has_answers: bool = False
    stamp: tuple[tuple[int, int], ...] = ()
    manifest: Manifest | None = None

    @contextmanager
    def attached(self, connection: DuckDBPyConnection) -> Iterator[None]:
        """Context manager that attaches it to a connection as the database `source`, read-only.

        Raises BankError if it has changed since it was checked, if another process has it open to
        write, and for an error of DuckDB meanwhile, unless the disk is full.
        """
        try:
            if self.stamp != _stamp(self.reads):
                raise BankError(
                    f"{self.label} changed during the merge.",
                    "Wait until nothing writes to it, then run the same command again.",
                )
            for statement in self.statements:
                once_unlocked(partial(connection.execute, statement))
            yield
            connection.execute(f"detach {SOURCE}")
        except duckdb.Error as error:
            if is_full_disk(error):
                raise
            is_of_file = self.manifest is None and isinstance(error, duckdb.IOException)
            if is_of_file or is_damage(error):
                raise bank_error(error, Path(self.label)) from error
            raise _read_error(self.label, first_line(error), error) from error


def _read_error(label: str, reason: str, error: duckdb.Error) -> BankError:
    """The error for a source that DuckDB cannot read: it is damaged, unless memory is short."""
    if cause := cause_of(error):
        return cause
    if isinstance(error, duckdb.OutOfMemoryException):
        return BankError(
            f"{label} needs more memory than there is: {reason.rstrip('.')}.",
            "Export its runs one by one (attnbank export DIR --run NAME), and merge these.",
        )
    return invalid_source(label, reason)


def check_rows(connection: DuckDBPyConnection, source: Source) -> None:
    """Raise BankError unless the rows of an attached source hold together."""
    connection.execute(f"use {SOURCE}")
    fault = fault_of_rows(connection)
    connection.execute("use memory")
    if fault:
        raise invalid_source(source.label, fault)


def source_of(number: int, path: str | Path) -> Source:
    """Check the file of a bank or the folder of an export; `number` is its place among the others.

    Raises CallError if the path can be neither; BankError if it is not a complete bank or export of
    this format, or is being written to.
    """
    if expanded(path).is_dir():
        return of_export(number, path)
    with open_to_read(path) as connection:
        tables = tables_of(connection)
        _check_types(connection, str(path), tables)
        answers = f"from {answer_cache.TABLE} limit 1"
        has_answers = answer_cache.has_cache(connection) and bool(
            connection.execute(answers).fetchall()
        )
    file = existing(path)
    reads = files_of_bank(file)
    statement = f"attach {literal(str(file))} as {SOURCE} (read_only)"
    return Source(number, str(path), reads, (statement,), tables, has_answers, _stamp(reads))


def of_export(number: int, path: str | Path) -> Source:
    """Check the folder of an export: every table, file, size and digest.

    Raises CallError if there is no such folder, BankError if the export is not as it was written,
    or has another format.
    """
    folder = expanded(path)
    manifest = read_manifest(folder)
    check_format(f"The export {folder}", manifest.format)
    check_files(folder, manifest)
    tables = {(table.schema, table.name): table.columns for table in manifest.tables}
    missing = {("main", table) for table in bank_format.columns_of_this_format()} - tables.keys()
    if missing:
        raise invalid_source(str(path), f"it has no table {min(missing)[1]}")
    schemas = sorted({schema for schema, _ in tables} - {"main"})
    for schema in (answer_cache.SCHEMA, "paper"):
        if schema in schemas:
            raise invalid_source(str(path), f"it has a table in the schema {schema}")
    home = folder.resolve()
    statements = [f"attach ':memory:' as {SOURCE}"]
    statements += [f"create schema {qualified_name(SOURCE, schema)}" for schema in schemas]
    with connect_beside((home,)) as connection:
        _check_types(connection, str(path), tables)
        statements += [_view(connection, str(path), home, table) for table in manifest.tables]
    source = Source(number, str(path), (home,), tuple(statements), tables, manifest=manifest)
    with connect_beside((home,)) as connection, source.attached(connection):
        if connection.execute(f"select format from {OF}bank").fetchall() != [(manifest.format,)]:
            raise invalid_source(
                str(path), "its table bank and its manifest name different formats"
            )
    return source


@contextmanager
def reading(export: str, table: ExportedTable) -> Iterator[None]:
    """Context manager for errors of DuckDB about the files of a table, unless the disk is full."""
    try:
        yield
    except duckdb.Error as error:
        if is_full_disk(error):
            raise
        reason = first_line(error).replace(f"{expanded(export).resolve()}/", "")
        raise _read_error(export, f"{table.name} cannot be read: {reason}", error) from error


def _view(connection: DuckDBPyConnection, export: str, home: Path, table: ExportedTable) -> str:
    """Return the statement for a view of a table's files, which must match the manifest.

    The types of columns that users made may differ, as Parquet does not have every type.
    """
    size = sum(file.bytes for file in table.files)
    most = max(MOST_UNPACKED, MOST_TIMES * size)
    if table.files:
        files = ", ".join(literal(str(home / file.path)) for file in table.files)
        source = f"read_parquet([{files}], hive_partitioning = false)"
        with reading(export, table):  # before a value is read: a list of 10^9 takes minutes
            ((values,),) = connection.execute(
                f"select coalesce(sum(num_values), 0) from parquet_metadata([{files}])"
            ).fetchall()
        if values * _LEAST > most:
            fault = f"{table.name} has {size:,} bytes, but unpacks to {values:,} values"
            raise invalid_source(export, fault)
    else:
        nulls = (f"null::{type_} as {quoted(name)}" for name, type_ in table.columns.items())
        source = f"(select {', '.join(nulls)} where false)"
    with reading(export, table):
        described = connection.execute(f"describe from {source}").fetchall()
        text = " + ".join(
            f"coalesce(sum({_BYTES[type_].format(quoted(name))}), 0)"
            for name, type_, *_ in described
            if type_ in _BYTES
        )
        ((rows, text_bytes),) = connection.execute(
            f"select count(*), {text or 0} from {source}"
        ).fetchall()
    if text_bytes > most:
        fault = f"{table.name} has {size:,} bytes, but unpacks to {text_bytes:,} bytes of text"
        raise invalid_source(export, fault)
    have = {name: type_ for name, type_, *_ in described}
    usual = bank_format.columns_of_this_format() if table.schema == "main" else {}
    own = usual.get(table.name, {})
    for columns, where in ((table.columns, MANIFEST), (have, "its files")):
        for name in {**own, **table.columns, **have}:
            if name not in columns:
                raise invalid_source(export, f"{table.name}.{name} is not in {where}")
            if own.get(name, columns[name]) != columns[name]:
                fault = f"{table.name}.{name} is {columns[name]}, not {own[name]}"
                raise invalid_source(export, fault)
    if rows != table.rows:
        fault = f"{table.name} has {rows:,} rows, but was written with {table.rows:,}"
        raise invalid_source(export, fault)
    name = f"{SOURCE}.{qualified_name(table.schema, table.name)}"
    return f"create view {name} as select {', '.join(map(quoted, table.columns))} from {source}"


def _check_types(
    connection: DuckDBPyConnection, label: str, tables: dict[Table, dict[str, str]]
) -> None:
    """Raise BankError for an invalid type, since types are put into statements."""
    for (_, table), columns in tables.items():
        for name, type_ in columns.items():
            with suppress(duckdb.Error):
                if str(connection.sqltype(type_)) == type_:
                    continue
            raise invalid_source(label, f"{table}.{name} is {type_}, which is not a valid type")


def _stamp(files: tuple[Path, ...]) -> tuple[tuple[int, int], ...]:
    """Return size and time of change of each file that exists; folders were read already."""
    stats = (file.stat() for file in files if file.is_file())
    return tuple((stat.st_size, stat.st_mtime_ns) for stat in stats)
