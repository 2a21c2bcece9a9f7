"""The format of a bank: the number in its table `bank`, and the tables of the present format."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql import macros, registry
from attnbank.sql.errors import BankError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_COLUMNS = "columns.json"

Types = Mapping[str, Mapping[str, str]]
"""Tables, and the types of their columns by name."""


@dataclass(frozen=True)
class Column:
    """A column of a table, as DuckDB describes it."""

    type: str
    is_nullable: bool
    default: str | None
    comment: str | None


@dataclass(frozen=True)
class Table:
    """A table: the statement that makes it, its comment, and its columns in order."""

    statement: str
    comment: str | None
    columns: dict[str, Column]


def fingerprint() -> str:
    """SHA-256 of the functions, views and analyses of this version, in hexadecimal."""
    return macros.fingerprint()


def installed(connection: DuckDBPyConnection) -> str:
    """The fingerprint of the functions, views and analyses that the file carries."""
    # A result that is not read to its end would block the connection, hence fetchall.
    found = connection.execute("select analyses from bank").fetchall()
    return str(found[0][0]) if found else ""


def types_of(connection: DuckDBPyConnection) -> Types:
    """The tables of the file's schema `main`, without views, and the types of their columns."""
    found: dict[str, dict[str, str]] = {}
    for table, column, type_ in connection.execute(
        "select own.table_name, duckdb_columns.column_name, duckdb_columns.data_type"
        " from duckdb_tables() as own inner join duckdb_columns()"
        " using (database_oid, table_oid) where own.schema_name = 'main' and not own.temporary"
        " and own.database_name = current_database()"
    ).fetchall():
        found.setdefault(table, {})[column] = type_
    return found


def is_empty(connection: DuckDBPyConnection, own: Types) -> bool:
    """Whether nothing was ever made in the database: no table, view, function, type or schema.

    `own` is what `types_of` found there.
    """
    if own:
        return False  # as in any bank: listing DuckDB's own functions takes longer than opening it
    found = connection.execute(
        "select"
        " (select count(*) from duckdb_tables() where database_name = current_database())"
        " + (select count(*) from duckdb_views() where not internal"
        "  and database_name = current_database())"
        " + (select count(*) from duckdb_functions() where not internal"
        "  and database_name = current_database())"
        " + (select count(*) from duckdb_sequences() where database_name = current_database())"
        " + (select count(*) from duckdb_types() where not internal"
        "  and database_name = current_database())"
        " + (select count(*) from duckdb_schemas() where not internal"
        "  and database_name = current_database())"
    ).fetchall()
    return found == [(0,)]


def written_in(connection: DuckDBPyConnection, path: Path, own: Types) -> tuple[int, str]:
    """The format of a bank, whose tables are `own`, and the version of attnbank that made it.

    Raises BankError if the file is no bank, or if its table `bank` does not have exactly one row.
    """
    columns = own.get("bank", {})
    if columns.get("created_by") != "VARCHAR" or columns.get("format") != "INTEGER":
        what = "an empty DuckDB database" if is_empty(connection, own) else "a DuckDB file"
        raise BankError(
            f"{path} is {what}, but no bank.", "Give the path of a bank, or of a new file."
        )
    found = connection.execute("select format, created_by from bank").fetchall()
    if len(found) != 1 or None in found[0]:
        reason = "is empty" if not found else "has no such row as attnbank writes"
        raise BankError(
            f"{path} does not say which format it has: its table bank {reason}.",
            "It was not filled to its end: ingest again, or load its export again, into a new"
            " file.",
        )
    return int(found[0][0]), str(found[0][1])


def check_format(connection: DuckDBPyConnection, path: Path, own: Types) -> None:
    """Raise BankError, with what to type, if a file is no bank or has another format."""
    format_, created_by = written_in(connection, path, own)
    if format_ < registry.FORMAT:
        raise BankError(
            f"{path} is of format {format_}, made by attnbank {created_by}; this version reads"
            f" format {registry.FORMAT}.",
            how_to_upgrade(path),
        )
    if format_ > registry.FORMAT:
        raise newer(path, format_)


def newer(path: Path, format_: int) -> BankError:
    """The error for a bank whose format is newer than this version can read."""
    return BankError(
        f"{path} is of format {format_}, which a newer attnbank wrote; this version reads format"
        f" {registry.FORMAT}.",
        "Use that version, or name another bank (-b FILE).",
    )


def check_carried(connection: DuckDBPyConnection, path: Path, what: str) -> None:
    """Raise BankError if the file carries another version's analyses, which `what` would run.

    `install_beside` hides those behind this version's, in memory. But that does not help with the
    views of the schema `paper`, nor with other programs, which see only what is in the file.
    """
    if installed(connection) != fingerprint():
        raise BankError(
            f"{path} carries the analyses of another version of attnbank, and {what} would run"
            " those.",
            how_to_upgrade(path),
        )


def how_to_upgrade(path: Path) -> str:
    """What to type for a bank that an earlier version wrote."""
    return f"Bring it up to date; its rows stay: attnbank -b {shlex.quote(str(path))} upgrade"


def tables(connection: DuckDBPyConnection) -> dict[str, Table]:
    """The tables of the file's schema `main`, by name, in the order in which they were made."""
    found = {
        name: Table(statement, comment, {})
        for name, statement, comment in connection.execute(
            "select table_name, sql, comment from duckdb_tables()"
            " where schema_name = 'main' and database_name = current_database()"
            " and not temporary and not internal order by table_oid"
        ).fetchall()
    }
    for table, name, *column in connection.execute(
        "select table_name, column_name, data_type, is_nullable, column_default, comment"
        " from duckdb_columns() where schema_name = 'main' and database_name = current_database()"
        " and not internal order by table_oid, column_index"
    ).fetchall():
        if table in found:
            found[table].columns[name] = Column(*column)
    return found


def check_tables(path: Path, own: Types) -> None:
    """Raise BankError if a bank of this format lacks a table or column, or if a type differs.

    `own` are its tables. A view that has the name of a table is refused too, since it could read
    anything.
    """
    for table, columns in columns_of_this_format().items():
        found = own.get(table)
        if found is None:
            raise _incomplete(path, f"its {table} is no table")
        for column, type_ in columns.items():
            if found.get(column) != type_:
                has = f"is {found[column]}, not {type_}" if column in found else "is missing"
                raise _incomplete(path, f"{table}.{column} {has}")


def _incomplete(path: Path, what: str) -> BankError:
    return BankError(
        f"{path} is not a bank as this version makes it: {what}.", how_to_upgrade(path)
    )


@cache
def columns_of_this_format() -> dict[str, dict[str, str]]:
    """The type of every column of every table of a new bank, by table and column.

    They are kept in a file, because making the tables in order to look at them takes longer than
    most commands. `python -m attnbank.sql.bank.formats` writes that file.
    """
    text = (registry.root() / "schema" / _COLUMNS).read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


def columns_as_text() -> str:
    """The text that `columns.json` must hold, as made from the schema."""
    whole = {
        name: {column: each.type for column, each in table.columns.items()}
        for name, table in tables_of_this_format().items()
    }
    return json.dumps(whole, indent=1) + "\n"


def tables_of_this_format() -> dict[str, Table]:
    """The tables of a new bank, read from an empty one that is made in memory."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        for statement in registry.schema():
            connection.execute(statement)
        return tables(connection)


if __name__ == "__main__":
    kept = Path(str(registry.root())) / "schema" / _COLUMNS
    kept.write_text(columns_as_text(), encoding="utf-8")
