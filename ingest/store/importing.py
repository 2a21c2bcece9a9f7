"""Making a bank of an export: the tables of the manifest, from the Parquet files that it names.

Of the folder only the manifest and the Parquet files are read. Its SQL is not run: the tables, the
views and the analyses are this version's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.sql import provenance, registry
from attnbank.sql.bank import formats, kept
from attnbank.sql.bank.explaining import is_full_disk
from attnbank.sql.bank.making import check_free, new_bank
from attnbank.sql.bank.opening import reinstall
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
from attnbank.sql.quoting import literal, place, quoted

_AGAIN = "Write it anew from its bank: attnbank export DIR"


@dataclass(frozen=True)
class Imported:
    """What an import did: the version of attnbank that wrote the export, and rows by table."""

    written_by: str
    rows: dict[str, int]


def import_export(folder: str | Path, bank: str | Path) -> Imported:
    """Make a new bank of the folder that `attnbank export` wrote.

    The folder is checked against its manifest first: its format, every file's size and SHA-256,
    then the columns and the rows of every table. The bank appears only when it is whole.

    Raises CallError if there is no such folder, or a bank already; BankError if the export is not
    whole or not as it was written, if it has another format, or if the bank cannot be written. Then
    nothing is left of it.
    """
    import_from, path = expanded(folder), Path(bank)
    check_free(path)
    found = read_manifest(import_from)
    _check_format(import_from, found)
    check_files(import_from, found)
    with new_bank(path, provenance.version(), import_from.resolve()) as connection:
        _fill(connection, import_from, found)
    rows = {table.name: table.rows for table in found.tables if table.schema == "main"}
    return Imported(found.written_by, rows)


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


def _fill(connection: DuckDBPyConnection, folder: Path, found: Manifest) -> None:
    """Fill an empty bank with the tables of an export, and check what came."""
    usual = formats.columns_of_this_format()
    missing = usual.keys() - {each.name for each in found.tables if each.schema == "main"}
    if missing:
        raise _unfit(folder, f"it lacks the table {min(missing)}")
    connection.execute("delete from bank")
    has_further = False
    for table in found.tables:
        with _reading(folder, table):
            has_further |= _make(connection, folder, table, usual)
            _insert(connection, folder, table, usual)
    _check_bank(connection, folder)
    if has_further:
        reinstall(connection)  # a view of all columns of a table must know its further ones
    connection.execute("update bank set analyses = ?", [formats.fingerprint()])


def _make(
    connection: DuckDBPyConnection,
    folder: Path,
    table: ExportedTable,
    usual: dict[str, dict[str, str]],
) -> bool:
    """Make a table that people made, or the columns that they added; whether there was one."""
    own = usual.get(table.name) if table.schema == "main" else None
    if own is None:
        if table.schema in (kept.SCHEMA, "paper"):
            raise _unfit(folder, f"it has a table in the schema {table.schema}")
        columns = ", ".join(
            f"{quoted(name)} {_type(connection, folder, table, name)}" for name in table.columns
        )
        connection.execute(f"create schema if not exists {quoted(table.schema)}")
        connection.execute(f"create table {place(table.schema, table.name)} ({columns})")
        return False
    for name, type_ in own.items():
        if table.columns.get(name) != type_:
            is_there = name in table.columns
            what = f"is {table.columns[name]}, not {type_}" if is_there else "is missing"
            raise _unfit(folder, f"{table.name}.{name} {what}")
    further = [name for name in table.columns if name not in own]
    for name in further:
        connection.execute(
            f"alter table {quoted(table.name)} add column {quoted(name)}"
            f" {_type(connection, folder, table, name)}"
        )
    return bool(further)


def _type(connection: DuckDBPyConnection, folder: Path, table: ExportedTable, column: str) -> str:
    """The type of a column as SQL: DuckDB reads the text as a type and writes it out itself."""
    given = table.columns[column]
    try:
        found = str(connection.sqltype(given))
    except duckdb.Error:
        found = ""
    if found != given:
        raise _unfit(folder, f"{table.name}.{column} is {given}, which is no type")
    return found


def _insert(
    connection: DuckDBPyConnection,
    folder: Path,
    table: ExportedTable,
    usual: dict[str, dict[str, str]],
) -> None:
    """Insert the rows of a table in the order of its files.

    Raises BankError if the columns of the files, or the number of rows, are not those of the
    manifest. The types of columns that people made may differ, as Parquet does not have every type.
    """
    if not table.files:
        return
    files = ", ".join(literal(str(folder.resolve() / file.path)) for file in table.files)
    source = f"read_parquet([{files}], hive_partitioning = false)"
    have = {
        name: type_ for name, type_, *_ in connection.execute(f"describe from {source}").fetchall()
    }
    own = usual.get(table.name, {}) if table.schema == "main" else {}
    for name in {**table.columns, **have}:
        if name not in have or name not in table.columns:
            what = "is not in its files" if name not in have else f"is not in {MANIFEST}"
            raise _unfit(folder, f"{table.name}.{name} {what}")
        if own.get(name, have[name]) != have[name]:
            raise _unfit(folder, f"{table.name}.{name} is {have[name]}, not {own[name]}")
    columns = ", ".join(quoted(name) for name in table.columns)
    ((rows,),) = connection.execute(
        f"insert into {place(table.schema, table.name)} ({columns}) select {columns} from {source}"
    ).fetchall()
    if rows != table.rows:
        raise _unfit(folder, f"{table.name} has {rows:,} rows, and was written with {table.rows:,}")


def _check_bank(connection: DuckDBPyConnection, folder: Path) -> None:
    """Raise BankError if the row of table `bank` is not one of this format."""
    rows = connection.execute("select format from bank").fetchall()
    if rows != [(registry.FORMAT,)]:
        raise _unfit(folder, "its table bank says another format than the manifest")


@contextmanager
def _reading(folder: Path, table: ExportedTable) -> Iterator[None]:
    """Within, an error of DuckDB is about the files of a table, unless the disk is full."""
    try:
        yield
    except duckdb.Error as error:
        if is_full_disk(error):
            raise
        reason = first_line(error).replace(f"{folder.resolve()}/", "")
        raise _unfit(folder, f"{table.name} cannot be read: {reason.rstrip('.')}") from error


def _unfit(folder: Path, reason: str) -> BankError:
    told = shown(reason)[:400]
    return BankError(f"The export {folder} cannot be imported: {told}.", _AGAIN)
