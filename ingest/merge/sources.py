"""What is merged or imported: a bank, or an export, attached to a connection as `source`.

An export is attached as views of its Parquet files, so that one code reads both; of its folder only
the manifest and these files are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.sql import registry
from attnbank.sql.bank import formats, result_cache
from attnbank.sql.bank.connections import connect_beside
from attnbank.sql.bank.error_messages import explain, is_damage, is_full_disk
from attnbank.sql.bank.opening import existing, open_to_read
from attnbank.sql.errors import BankError, first_line
from attnbank.sql.id_map import SOURCE
from attnbank.sql.matching import unfit
from attnbank.sql.outputs.atomic import expanded, files_of_bank
from attnbank.sql.outputs.manifests import (
    MANIFEST,
    ExportedTable,
    Manifest,
    check_files,
    read_manifest,
)
from attnbank.sql.outputs.tables import tables_of
from attnbank.sql.quoting import literal, place, quoted
from attnbank.sql.suggest import shown

Table = tuple[str, str]
"""The schema and the name of a table."""


@dataclass(frozen=True)
class Source:
    """A bank or an export that was checked.

    `shown` is its path as the user gave it, `reads` are the files or the folder that a connection
    must be allowed to open, `statements` attach it. `tables` has the types of the columns of each
    table, `own` are the views and macros of the file, and `answers` counts the kept answers.
    """

    number: int
    shown: str
    reads: tuple[Path, ...]
    statements: tuple[str, ...]
    tables: dict[Table, dict[str, str]]
    own: tuple[Table, ...] = ()
    answers: int = 0
    stamp: tuple[tuple[int, int], ...] = ()

    @property
    def added(self) -> dict[Table, dict[str, str]]:
        """The tables that users made."""
        usual = {("main", table) for table in formats.columns_of_this_format()}
        return {table: columns for table, columns in self.tables.items() if table not in usual}

    def added_columns(self, table: str) -> dict[str, str]:
        """The columns that users added to a table of every bank, with their types."""
        usual = formats.columns_of_this_format()[table]
        columns = self.tables["main", table]
        return {name: type_ for name, type_ in columns.items() if name not in usual}

    @contextmanager
    def attached(self, connection: DuckDBPyConnection) -> Iterator[None]:
        """Within, the connection has it as the database `source`, read-only.

        Raises BankError if it has changed since it was checked, or for an error of DuckDB within,
        unless the disk is full.
        """
        try:
            if self.stamp != _stamp(self.reads):
                raise BankError(
                    f"{self.shown} changed during the merge.",
                    "Wait until nothing writes to it, then run the same command again.",
                )
            for statement in self.statements:
                connection.execute(statement)
            yield
            connection.execute(f"detach {SOURCE}")
        except duckdb.Error as error:
            if is_full_disk(error):
                raise
            if is_damage(error):
                raise explain(error, Path(self.shown)) from error
            raise self.unfit(first_line(error)) from error

    def unfit(self, reason: str) -> BankError:
        """The error for a bank whose rows cannot be merged."""
        return unfit(self.shown, reason)


@dataclass(frozen=True)
class Export:
    """A folder whose files are as its manifest says, and the manifest."""

    folder: Path
    manifest: Manifest

    def unfit(self, reason: str) -> BankError:
        """The error for an export whose tables are not those of a bank."""
        return BankError(
            f"The export {self.folder} cannot be imported: {shown(reason)[:400]}.",
            "Write it again from its bank: attnbank export DIR",
        )

    @contextmanager
    def reading(self, table: ExportedTable) -> Iterator[None]:
        """Within, an error of DuckDB is about the files of a table, unless the disk is full."""
        try:
            yield
        except duckdb.Error as error:
            if is_full_disk(error):
                raise
            reason = first_line(error).replace(f"{self.folder.resolve()}/", "")
            raise self.unfit(f"{table.name} cannot be read: {reason.rstrip('.')}") from error


def checked_export(folder: str | Path) -> Export:
    """The export in a folder, of this format, with every table, file, size and digest checked.

    Raises CallError if there is no such folder, BankError if the export is not as it was written,
    or has another format.
    """
    folder = expanded(folder)
    found = Export(folder, read_manifest(folder))
    if (format_ := found.manifest.format) != registry.FORMAT:
        by = ", which a newer attnbank wrote" if format_ > registry.FORMAT else ""
        raise BankError(
            f"The export {folder} is of format {format_}{by}; this version reads format"
            f" {registry.FORMAT}.",
            "Use that version."
            if by
            else 'In that folder: duckdb new.duckdb -c ".read schema.sql" -c ".read load.sql"; then'
            " attnbank -b new.duckdb upgrade",
        )
    check_files(folder, found.manifest)
    usual = formats.columns_of_this_format()
    missing = usual.keys() - {each.name for each in found.manifest.tables if each.schema == "main"}
    if missing:
        raise found.unfit(f"it has no table {min(missing)}")
    for table in found.manifest.tables:
        own = usual.get(table.name, {}) if table.schema == "main" else {}
        if not own and table.schema in (result_cache.SCHEMA, "paper"):
            raise found.unfit(f"it has a table in the schema {table.schema}")
        for name, type_ in own.items():
            if table.columns.get(name) != type_:
                is_there = name in table.columns
                what = f"is {table.columns[name]}, not {type_}" if is_there else "is missing"
                raise found.unfit(f"{table.name}.{name} {what}")
    return found


def source_of(number: int, path: str | Path) -> Source:
    """A bank's file or the folder of an export, checked; `number` is its place among the others.

    Raises CallError if the path can be neither; BankError if it is not a complete bank or export of
    this format, or is being written to.
    """
    folder = expanded(path)
    if folder.is_dir():
        return of_export(number, path, checked_export(folder))
    with open_to_read(path) as connection:
        tables = tables_of(connection)
        own = _own(connection)
        answers = 0
        if result_cache.exists(connection):
            counted = f"select count(*) from {result_cache.TABLE}"
            ((answers,),) = connection.execute(counted).fetchall()
    file = existing(path)
    reads = files_of_bank(file)
    statement = f"attach {literal(str(file))} as {SOURCE} (read_only)"
    return Source(number, str(path), reads, (statement,), tables, own, answers, _stamp(reads))


def of_export(number: int, path: str | Path, found: Export) -> Source:
    """An export that was checked, as a source; raises BankError if its tables cannot be read."""
    folder = found.folder.resolve()
    with connect_beside((folder,)) as connection:
        statements = (f"attach ':memory:' as {SOURCE}", *_views(connection, found))
    tables = {(each.schema, each.name): each.columns for each in found.manifest.tables}
    return Source(number, str(path), (folder,), statements, tables)


def _views(connection: DuckDBPyConnection, found: Export) -> Iterator[str]:
    for schema in sorted({each.schema for each in found.manifest.tables} - {"main"}):
        yield f"create schema {place(SOURCE, schema)}"
    for table in found.manifest.tables:
        with found.reading(table):
            select = _parquet_of(connection, found, table)
            ((rows,),) = connection.execute(f"select count(*) from ({select})").fetchall()
        if rows != table.rows:
            raise found.unfit(
                f"{table.name} has {rows:,} rows, but was written with {table.rows:,}"
            )
        yield f"create view {quoted(SOURCE)}.{place(table.schema, table.name)} as {select}"


def _parquet_of(connection: DuckDBPyConnection, found: Export, table: ExportedTable) -> str:
    """A SELECT of the columns of a table, checked: its files must have those of the manifest.

    The types of columns that users made may differ, as Parquet does not have every type.
    """
    for name, type_ in table.columns.items():
        if not is_type(connection, type_):
            raise found.unfit(f"{table.name}.{name} is {type_}, which is not a valid type")
    if not table.files:
        nothing = ", ".join(
            f"cast(null as {type_}) as {quoted(name)}" for name, type_ in table.columns.items()
        )
        return f"select {nothing} where false"
    files = ", ".join(literal(str(found.folder.resolve() / file.path)) for file in table.files)
    source = f"read_parquet([{files}], hive_partitioning = false)"
    described = connection.execute(f"describe from {source}").fetchall()
    have = {name: type_ for name, type_, *_ in described}
    usual = formats.columns_of_this_format()
    own = usual.get(table.name, {}) if table.schema == "main" else {}
    for name in {**table.columns, **have}:
        if name not in have or name not in table.columns:
            what = "its files" if name not in have else MANIFEST
            raise found.unfit(f"{table.name}.{name} is not in {what}")
        if own.get(name, have[name]) != have[name]:
            raise found.unfit(f"{table.name}.{name} is {have[name]}, not {own[name]}")
    return f"select {', '.join(map(quoted, table.columns))} from {source}"


def is_type(connection: DuckDBPyConnection, text: str) -> bool:
    """Whether a text is a type as DuckDB itself writes it, so that it can stand in a statement."""
    try:
        return str(connection.sqltype(text)) == text
    except duckdb.Error:
        return False


def _own(connection: DuckDBPyConnection) -> tuple[Table, ...]:
    """The views and macros of the file, but for the analyses of another version of attnbank."""
    return tuple(
        connection.execute(
            "select schema_name, view_name from duckdb_views() where not internal"
            " and database_name = current_database() and schema_name not in ('paper', 'saved')"
            " union select schema_name, function_name from duckdb_functions()"
            " where not internal and database_name = current_database() and schema_name <> 'paper'"
            " and coalesce(comment, '') not like 'The statement of %' order by all"
        ).fetchall()
    )


def _stamp(files: tuple[Path, ...]) -> tuple[tuple[int, int], ...]:
    """Size and time of change of each file that is there; folders were read already."""
    found = []
    for each in files:
        with suppress(FileNotFoundError):
            status = each.stat()
            if not S_ISDIR(status.st_mode):
                found.append((status.st_size, status.st_mtime_ns))
    return tuple(found)
