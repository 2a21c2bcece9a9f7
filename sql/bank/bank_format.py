"""The format of a bank: the number in its table `bank`, and its tables."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql import registry
from attnbank.sql.errors import BankError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COLUMNS = "columns.json"
_NEW = "into a new file (-b FILE)."

# Tables, and the types of their columns by name.
Types = Mapping[str, Mapping[str, str]]


class EmptyDatabaseError(BankError):
    """Nothing was ever made in a database."""


def has_current_analyses(connection: DuckDBPyConnection) -> bool:
    """Whether the file carries the functions, views and analyses of this version."""
    # A result that is not read to its end would block the connection, hence fetchall.
    return connection.execute("select analyses from bank").fetchall() == [(registry.fingerprint(),)]


def types_of(connection: DuckDBPyConnection) -> Types:
    """The tables of the file's schema `main`, without views, and the types of their columns."""
    own = "schema_name = 'main' and database_name = current_database()"
    # Not one statement with a join: that takes four times as long in a database just opened.
    tables = connection.execute(
        f"select table_name from duckdb_tables() where {own} and not temporary order by table_oid"
    ).fetchall()
    columns = connection.execute(
        f"select column_index, table_name, column_name, data_type from duckdb_columns() where {own}"
    ).fetchall()
    types: dict[str, dict[str, str]] = {table: {} for (table,) in tables}
    for _, table, column, type_ in sorted(columns):
        if table in types:
            types[table][column] = type_
    return types


def is_empty(connection: DuckDBPyConnection, own: Types) -> bool:
    """Whether nothing was ever made in the database, whose tables are `own` (see `types_of`)."""
    if own:
        return False  # as in any bank: listing DuckDB's own functions takes longer than opening it
    kinds = ("tables", "views", "functions", "types", "schemas")
    lists = [f"duckdb_{kind}() where not internal and" for kind in kinds]
    return not any(
        connection.execute(f"from {relation} database_name = current_database() limit 1").fetchall()
        for relation in (*lists, "duckdb_sequences() where")
    )


def check_format(connection: DuckDBPyConnection, path: Path, own: Types) -> None:
    """Raise BankError if the file, whose tables are `own`, is not a bank of this format."""
    columns = own.get("bank", {})
    if columns.get("created_by") != "VARCHAR" or columns.get("format") != "INTEGER":
        remedy = "Give the path of a bank, or of a new file."
        if is_empty(connection, own):
            raise EmptyDatabaseError(f"{path} is an empty DuckDB database, not a bank.", remedy)
        raise BankError(f"{path} is a DuckDB file, not a bank.", remedy)
    rows = connection.execute("select format, created_by from bank").fetchall()
    if len(rows) != 1 or None in rows[0]:
        reason = "is empty" if not rows else "does not have the one row that attnbank writes"
        raise BankError(
            f"{path} does not say which format it has: its table bank {reason}.",
            "It is incomplete: ingest again, or load its export again, into a new file.",
        )
    ((format_, created_by),) = rows
    if format_ != registry.FORMAT:
        raise BankError(
            f"{path} has format {format_}, written by attnbank {created_by}; this version reads"
            f" format {registry.FORMAT}.",
            f"Use the version that wrote it, or ingest again {_NEW}",
        )
    _check_tables(path, own)


def check_carried(connection: DuckDBPyConnection, path: Path, what: str) -> None:
    """Raise BankError if the file carries another version's analyses, which `what` would run.

    `install_temporarily` hides them, but not the views of `paper`, nor from other programs.
    """
    if not has_current_analyses(connection):
        raise BankError(
            f"{path} contains the analyses of another version of attnbank, which {what} would run.",
            f"Upgrade it; its rows do not change: attnbank -b {shlex.quote(str(path))} upgrade",
        )


def _check_tables(path: Path, own: Types) -> None:
    """Raise BankError if a table, or the type of a column, is not that of this format."""
    for table, columns in columns_of_this_format().items():
        stored = own.get(table, {})
        for column, type_ in columns.items():
            if stored.get(column) != type_:
                has = f"is {stored[column]}, not {type_}" if column in stored else "is missing"
                what = f"{table}.{column} {has}" if stored else f"it has no table {table}"
                raise BankError(
                    f"{path} does not have the tables of format {registry.FORMAT}: {what}.",
                    f"Another program or an unreleased attnbank made them: ingest again {_NEW}",
                )


@cache
def columns_of_this_format() -> dict[str, dict[str, str]]:
    """The types of the columns of a new bank's tables."""
    # Making the tables in memory takes longer than opening a bank.
    text = (registry.root() / "schema" / _COLUMNS).read_text(encoding="utf-8")
    return dict(json.loads(text))


def columns_as_text() -> str:
    """The text that `columns.json` must hold, as made from the schema."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        for statement in registry.schema_scripts():
            connection.execute(statement)
        return json.dumps(types_of(connection), indent=1) + "\n"


if __name__ == "__main__":  # after a change of the schema: python -m attnbank.sql.bank.bank_format
    columns_file = Path(str(registry.root())) / "schema" / _COLUMNS
    columns_file.write_text(columns_as_text(), encoding="utf-8")
