"""The folder of an export: checked against its manifest, its tables as SQL that reads files.

Of the folder only the manifest and the Parquet files are read; its SQL is not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.sql import registry
from attnbank.sql.bank import formats, kept
from attnbank.sql.bank.explaining import is_full_disk
from attnbank.sql.errors import BankError, first_line
from attnbank.sql.outputs.files import expanded
from attnbank.sql.outputs.lines import shown
from attnbank.sql.outputs.manifests import (
    MANIFEST,
    ExportedTable,
    Manifest,
    check_files,
    read_manifest,
)
from attnbank.sql.quoting import literal, quoted

_AGAIN = "Write it anew from its bank: attnbank export DIR"


@dataclass(frozen=True)
class Export:
    """A folder whose files are as its manifest says, and the manifest."""

    folder: Path
    manifest: Manifest

    def unfit(self, reason: str) -> BankError:
        """The error for an export whose tables are not those of a bank."""
        told = shown(reason)[:400]
        return BankError(f"The export {self.folder} cannot be imported: {told}.", _AGAIN)

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

    Raises CallError if there is no such folder, BankError if the export is not whole or not as it
    was written, or if it has another format.
    """
    place = expanded(folder)
    found = Export(place, read_manifest(place))
    _check_format(place, found.manifest)
    check_files(place, found.manifest)
    usual = formats.columns_of_this_format()
    missing = usual.keys() - {each.name for each in found.manifest.tables if each.schema == "main"}
    if missing:
        raise found.unfit(f"it lacks the table {min(missing)}")
    for table in found.manifest.tables:
        own = usual.get(table.name) if table.schema == "main" else None
        if own is None and table.schema in (kept.SCHEMA, "paper"):
            raise found.unfit(f"it has a table in the schema {table.schema}")
        for name, type_ in (own or {}).items():
            if table.columns.get(name) != type_:
                is_there = name in table.columns
                what = f"is {table.columns[name]}, not {type_}" if is_there else "is missing"
                raise found.unfit(f"{table.name}.{name} {what}")
    return found


def _check_format(folder: Path, found: Manifest) -> None:
    """Raise BankError if the tables of an export are not those of this version."""
    if found.format > registry.FORMAT:
        raise BankError(
            f"The export {folder} is of format {found.format}, which a newer attnbank wrote; this"
            f" version reads format {registry.FORMAT}.",
            "Use that version.",
        )
    if found.format < registry.FORMAT:
        raise BankError(
            f"The export {folder} is of format {found.format}; this version reads format"
            f" {registry.FORMAT}.",
            'In that folder: duckdb new.duckdb -c ".read schema.sql" -c ".read load.sql"; then'
            " attnbank -b new.duckdb upgrade",
        )


def type_of(
    connection: DuckDBPyConnection, found: Export, table: ExportedTable, column: str
) -> str:
    """The type of a column as SQL: DuckDB reads the text as a type and writes it out itself.

    Raises BankError if the text is no type.
    """
    given = table.columns[column]
    try:
        read = str(connection.sqltype(given))
    except duckdb.Error:
        read = ""
    if read != given:
        raise found.unfit(f"{table.name}.{column} is {given}, which is no type")
    return read


def parquet_of(connection: DuckDBPyConnection, found: Export, table: ExportedTable) -> str:
    """A SELECT of the columns of a table, in the order of its files, which the connection may read.

    Raises BankError if the columns of the files are not those of the manifest. The types of columns
    that people made may differ, as Parquet does not have every type.
    """
    columns = ", ".join(quoted(name) for name in table.columns)
    if not table.files:
        nothing = ", ".join(
            f"cast(null as {type_of(connection, found, table, name)}) as {quoted(name)}"
            for name in table.columns
        )
        return f"select {nothing} where false"
    files = ", ".join(literal(str(found.folder.resolve() / file.path)) for file in table.files)
    source = f"read_parquet([{files}], hive_partitioning = false)"
    have = {
        name: type_ for name, type_, *_ in connection.execute(f"describe from {source}").fetchall()
    }
    usual = formats.columns_of_this_format()
    own = usual.get(table.name, {}) if table.schema == "main" else {}
    for name in {**table.columns, **have}:
        if name not in have or name not in table.columns:
            what = "is not in its files" if name not in have else f"is not in {MANIFEST}"
            raise found.unfit(f"{table.name}.{name} {what}")
        if own.get(name, have[name]) != have[name]:
            raise found.unfit(f"{table.name}.{name} is {have[name]}, not {own[name]}")
    return f"select {columns} from {source}"


def check_rows(found: Export, table: ExportedTable, rows: int) -> None:
    """Raise BankError unless a table has as many rows as its manifest says."""
    if rows != table.rows:
        raise found.unfit(f"{table.name} has {rows:,} rows, and was written with {table.rows:,}")
