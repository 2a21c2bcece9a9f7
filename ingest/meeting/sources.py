"""What is merged: a bank, or an export, that a connection attaches under the name `source`.

Either is checked before anything is read of it. An export is attached as views of its Parquet
files, so that one code reads both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.ingest.meeting.exports import Export, check_rows, checked_export, parquet_of
from attnbank.sql.bank import formats, kept
from attnbank.sql.bank.explaining import explain, is_damage, is_full_disk
from attnbank.sql.bank.making import connect_beside
from attnbank.sql.bank.opening import existing, open_to_read
from attnbank.sql.bank.room import own_files
from attnbank.sql.errors import BankError, first_line
from attnbank.sql.outputs.files import expanded
from attnbank.sql.outputs.lines import shown
from attnbank.sql.quoting import literal, place, quoted

Table = tuple[str, str]
"""The schema and the name of a table."""

SOURCE = "source"
"""The name that the bank or export is attached under."""


@dataclass(frozen=True)
class Source:
    """A bank or an export that was checked.

    `shown` is its path as the user gave it, `reads` are the files or the folder that a connection
    must be allowed to open, `statements` attach it. `tables` has the types of the columns of each
    table; `columns` those that people added to a table of the bank. `own` are the views and
    macros of the file, and `answers` counts the kept answers.
    """

    number: int
    shown: str
    reads: tuple[Path, ...]
    statements: tuple[str, ...]
    tables: dict[Table, dict[str, str]]
    own: tuple[Table, ...]
    answers: int
    stamp: tuple[tuple[int, int], ...]

    @property
    def added(self) -> dict[Table, dict[str, str]]:
        """The tables that people made."""
        usual = formats.columns_of_this_format()
        return {
            table: columns
            for table, columns in self.tables.items()
            if not (table[0] == "main" and table[1] in usual)
        }

    def added_columns(self, table: str) -> dict[str, str]:
        """The columns that people added to a table of every bank, with their types."""
        usual = formats.columns_of_this_format()[table]
        return {
            name: type_ for name, type_ in self.tables["main", table].items() if name not in usual
        }

    @contextmanager
    def attached(self, connection: DuckDBPyConnection) -> Iterator[None]:
        """Within, the connection has it as the database `source`, read-only.

        An error of DuckDB within becomes a BankError about it, unless the disk is full. Raises
        BankError too if it has changed since it was checked.
        """
        try:
            if self.stamp != _stamp(self.reads):
                raise BankError(
                    f"{self.shown} has changed while it was merged.",
                    "Wait for what writes to it, then type the same command.",
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
        told = shown(reason.rstrip("."))[:400]
        return BankError(
            f"{self.shown} cannot be merged: {told}.",
            "Its tables do not fit together as attnbank writes them: use a copy that is whole.",
        )


def source_of(number: int, path: str | Path) -> Source:
    """A bank's file or the folder of an export, checked; `number` is its place among the others.

    Raises CallError if the path can be neither; BankError if there is nothing, or what is there is
    no bank or export of this format, is not whole, or is being written to.
    """
    folder = expanded(path)
    return _of_export(number, path, folder) if folder.is_dir() else _of_bank(number, path)


def _of_bank(number: int, path: str | Path) -> Source:
    with open_to_read(path) as connection:
        tables = _tables(connection)
        own = _own(connection)
        answers = 0
        if kept.exists(connection):
            ((answers,),) = connection.execute(f"select count(*) from {kept.TABLE}").fetchall()
    file = existing(path)
    reads = own_files(file)
    statement = f"attach {literal(str(file))} as {SOURCE} (read_only)"
    return Source(number, str(path), reads, (statement,), tables, own, answers, _stamp(reads))


def _of_export(number: int, path: str | Path, folder: Path) -> Source:
    found = checked_export(folder)
    with connect_beside((found.folder.resolve(),)) as connection:
        statements = [f"attach ':memory:' as {SOURCE}", *_views(connection, found)]
    return Source(
        number, str(path), (found.folder.resolve(),), tuple(statements),
        {(each.schema, each.name): each.columns for each in found.manifest.tables}, (), 0, (),
    )  # fmt: skip


def _views(connection: DuckDBPyConnection, found: Export) -> Iterator[str]:
    """Statements that make a view of each table of an export, checked against its files."""
    for schema in sorted({each.schema for each in found.manifest.tables} - {"main"}):
        yield f"create schema {place(SOURCE, schema)}"
    for table in found.manifest.tables:
        with found.reading(table):
            select = parquet_of(connection, found, table)
            ((rows,),) = connection.execute(f"select count(*) from ({select})").fetchall()
        check_rows(found, table, rows)
        yield f"create view {quoted(SOURCE)}.{place(table.schema, table.name)} as {select}"


def _tables(connection: DuckDBPyConnection) -> dict[Table, dict[str, str]]:
    found: dict[Table, dict[str, str]] = {}
    for schema, name, column, type_ in connection.execute(
        "select own.schema_name, own.table_name, duckdb_columns.column_name,"
        " duckdb_columns.data_type from duckdb_tables() as own inner join duckdb_columns()"
        " on duckdb_columns.table_oid = own.table_oid"
        " and duckdb_columns.database_name = own.database_name"
        " where own.database_name = current_database() and not own.internal and not own.temporary"
        f" and own.schema_name <> '{kept.SCHEMA}'"
        " order by own.table_oid, duckdb_columns.column_index"
    ).fetchall():
        found.setdefault((schema, name), {})[column] = type_
    return found


def _own(connection: DuckDBPyConnection) -> tuple[Table, ...]:
    """The views and macros of the file, but for the analyses of another version of attnbank."""
    found: list[Table] = connection.execute(
        "select schema_name, view_name from duckdb_views() where not internal"
        " and database_name = current_database() and schema_name not in ('paper', 'saved')"
        " union select schema_name, function_name from duckdb_functions()"
        " where not internal and database_name = current_database() and schema_name <> 'paper'"
        " and coalesce(comment, '') not like 'The statement of %' order by all"
    ).fetchall()
    return tuple(found)


def _stamp(files: tuple[Path, ...]) -> tuple[tuple[int, int], ...]:
    """Size and time of change of each file that is there; nothing of folders, which were read."""
    found = []
    for each in files:
        try:
            status = each.stat()
        except FileNotFoundError:
            continue
        if not each.is_dir():
            found.append((status.st_size, status.st_mtime_ns))
    return tuple(found)
