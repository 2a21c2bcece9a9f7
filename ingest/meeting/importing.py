"""Making a bank of an export: the tables of the manifest, from the Parquet files that it names.

The tables, the views and the analyses are this version's own: no SQL of the folder is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from attnbank.ingest.meeting.exports import (
    Export,
    check_rows,
    checked_export,
    parquet_of,
    type_of,
)
from attnbank.ingest.meeting.merging import merge_banks
from attnbank.sql import provenance, registry
from attnbank.sql.bank import formats
from attnbank.sql.bank.making import check_free, new_bank
from attnbank.sql.bank.opening import reinstall
from attnbank.sql.errors import CallError
from attnbank.sql.outputs.files import expanded
from attnbank.sql.outputs.manifests import ExportedTable
from attnbank.sql.quoting import place, quoted


@dataclass(frozen=True)
class Imported:
    """What an import did.

    `written_by` is the version of attnbank that wrote the tables as they are now (of several
    exports, this one), `rows` counts them by table, and `notes` say what is to be known of it.
    """

    written_by: str
    rows: dict[str, int]
    notes: tuple[str, ...] = ()


def import_export(folder: str | Path, bank: str | Path) -> Imported:
    """Make a new bank of the folder that `attnbank export` wrote.

    The folder is checked against its manifest first: its format, every file's size and SHA-256,
    then the columns and the rows of every table. The bank appears only when it is whole.

    Raises CallError if there is no such folder, or a bank already; BankError if the export is not
    whole or not as it was written, if it has another format, or if the bank cannot be written. Then
    nothing is left of it.
    """
    path = Path(bank)
    check_free(path)
    found = checked_export(folder)
    with new_bank(path, provenance.version(), (found.folder.resolve(),)) as connection:
        _fill(connection, found)
    rows = {table.name: table.rows for table in found.manifest.tables if table.schema == "main"}
    return Imported(found.manifest.written_by, rows)


def import_exports(
    folders: Sequence[str | Path], bank: str | Path, *, partial: bool = False
) -> Imported:
    """Make a new bank of one or several folders that `attnbank export` wrote.

    One is imported as it is, shards and ids included; several are merged, as `merge_banks` does
    with banks, and `partial` is as there.

    Raises as `import_export` and `merge_banks` do, and CallError if a folder is none.
    """
    if len(folders) == 1:
        return import_export(folders[0], bank)
    for each in folders:
        if not expanded(each).is_dir():
            raise CallError(
                f"There is no folder {each}.",
                "Name folders that export wrote; attnbank merge takes banks, too.",
            )
    done = merge_banks(bank, folders, partial=partial)
    return Imported(provenance.version(), done.rows, done.notes)


def _fill(connection: DuckDBPyConnection, found: Export) -> None:
    """Fill an empty bank with the tables of an export, and check what came."""
    usual = formats.columns_of_this_format()
    connection.execute("delete from bank")
    has_further = False
    for table in found.manifest.tables:
        with found.reading(table):
            has_further |= _make(connection, found, table, usual)
            _insert(connection, found, table)
    _check_bank(connection, found)
    if has_further:
        reinstall(connection)  # a view of all columns of a table must know its further ones
    connection.execute("update bank set analyses = ?", [formats.fingerprint()])


def _make(
    connection: DuckDBPyConnection,
    found: Export,
    table: ExportedTable,
    usual: dict[str, dict[str, str]],
) -> bool:
    """Make a table that people made, or the columns that they added; whether there was one."""
    own = usual.get(table.name) if table.schema == "main" else None
    further = {
        name: type_of(connection, found, table, name)
        for name in table.columns
        if own is None or name not in own
    }
    if own is None:
        columns = ", ".join(f"{quoted(name)} {type_}" for name, type_ in further.items())
        connection.execute(f"create schema if not exists {quoted(table.schema)}")
        connection.execute(f"create table {place(table.schema, table.name)} ({columns})")
        return False
    for name, type_ in further.items():
        connection.execute(f"alter table {quoted(table.name)} add column {quoted(name)} {type_}")
    return bool(further)


def _insert(connection: DuckDBPyConnection, found: Export, table: ExportedTable) -> None:
    """Insert the rows of a table in the order of its files; raises BankError unless all came."""
    select = parquet_of(connection, found, table)
    columns = ", ".join(quoted(name) for name in table.columns)
    ((rows,),) = connection.execute(
        f"insert into {place(table.schema, table.name)} ({columns}) {select}"
    ).fetchall()
    check_rows(found, table, rows)


def _check_bank(connection: DuckDBPyConnection, found: Export) -> None:
    """Raise BankError if the row of table `bank` is not one of this format."""
    rows = connection.execute("select format from bank").fetchall()
    if rows != [(registry.FORMAT,)]:
        raise found.unfit("its table bank says another format than the manifest")
