"""The format of a bank: the number in its table `bank`, and the tables of the current format."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql import macros, registry
from attnbank.sql.errors import BankError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COLUMNS = "columns.json"

# Tables, and the types of their columns by name.
Types = Mapping[str, Mapping[str, str]]


def installed(connection: DuckDBPyConnection) -> str:
    """The fingerprint of the functions, views and analyses that the file carries."""
    # A result that is not read to its end would block the connection, hence fetchall.
    rows = connection.execute("select analyses from bank").fetchall()
    return str(rows[0][0]) if rows else ""


def types_of(connection: DuckDBPyConnection) -> Types:
    """The tables of the file's schema `main`, without views, and the types of their columns."""
    types: dict[str, dict[str, str]] = {}
    for table, column, type_ in connection.execute(
        "select own.table_name, duckdb_columns.column_name, duckdb_columns.data_type"
        " from duckdb_tables() as own inner join duckdb_columns()"
        " using (database_oid, table_oid) where own.schema_name = 'main' and not own.temporary"
        " and own.database_name = current_database() order by table_oid, column_index"
    ).fetchall():
        types.setdefault(table, {})[column] = type_
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


def check_format(
    connection: DuckDBPyConnection, path: Path, own: Types, *, upgrades: bool = False
) -> int:
    """The format of a bank whose tables are `own`.

    Raises BankError if the file is not a bank, if its table `bank` has not exactly one row, or if
    it has another format; with `upgrades` an earlier one is accepted.
    """
    columns = own.get("bank", {})
    if columns.get("created_by") != "VARCHAR" or columns.get("format") != "INTEGER":
        what = "an empty DuckDB database" if is_empty(connection, own) else "a DuckDB file"
        raise BankError(
            f"{path} is {what}, not a bank.", "Give the path of a bank, or of a new file."
        )
    rows = connection.execute("select format, created_by from bank").fetchall()
    if len(rows) != 1 or None in rows[0]:
        reason = "is empty" if not rows else "does not have the one row that attnbank writes"
        raise BankError(
            f"{path} does not say which format it has: its table bank {reason}.",
            "It is incomplete: ingest again, or load its export again, into a new file.",
        )
    format_, created_by = int(rows[0][0]), rows[0][1]
    if format_ < registry.FORMAT and not upgrades:
        raise BankError(
            f"{path} has format {format_}, written by attnbank {created_by}; this version reads"
            f" format {registry.FORMAT}.",
            _how_to_upgrade(path),
        )
    if format_ > registry.FORMAT:  # 3 to 5 were used in development, before there was a release
        raise BankError(
            f"{path} has format {format_}; this version reads format {registry.FORMAT}.",
            "If a newer attnbank wrote it, use that version; if one from before 0.1.0 did, ingest"
            " again into a new file (-b FILE).",
        )
    return format_


def check_carried(connection: DuckDBPyConnection, path: Path, what: str) -> None:
    """Raise BankError if the file carries another version's analyses, which `what` would run.

    `install_temporarily` hides them, but not the views of `paper`, nor from other programs.
    """
    if installed(connection) != macros.fingerprint():
        raise BankError(
            f"{path} contains the analyses of another version of attnbank, which {what} would run.",
            _how_to_upgrade(path),
        )


def _how_to_upgrade(path: Path) -> str:
    return f"Upgrade it; its rows do not change: attnbank -b {shlex.quote(str(path))} upgrade"


def check_tables(path: Path, own: Types) -> None:
    """Raise BankError if a table, or the type of a column, is not that of this format."""
    for table, columns in columns_of_this_format().items():
        stored = own.get(table)
        if stored is None:
            raise _incomplete(path, f"it has no table {table}")
        for column, type_ in columns.items():
            if stored.get(column) != type_:
                has = f"is {stored[column]}, not {type_}" if column in stored else "is missing"
                raise _incomplete(path, f"{table}.{column} {has}")


def _incomplete(path: Path, what: str) -> BankError:
    return BankError(
        f"{path} does not have the tables of format {registry.FORMAT}: {what}.",
        "Another program changed it, or an attnbank from before 0.1.0 wrote it: ingest again into a"
        " new file (-b FILE).",
    )


@cache
def columns_of_this_format() -> dict[str, dict[str, str]]:
    """The types of the columns of a new bank's tables.

    Read from columns.json, since making the tables in memory takes longer than opening a bank; a
    test compares the file with the schema.
    """
    text = (registry.root() / "schema" / _COLUMNS).read_text(encoding="utf-8")
    tables: dict[str, dict[str, str]] = json.loads(text)
    return tables


def columns_as_text() -> str:
    """The text that `columns.json` must hold, as made from the schema."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        for statement in registry.schema_scripts():
            connection.execute(statement)
        return json.dumps(types_of(connection), indent=1) + "\n"


if __name__ == "__main__":  # after a change of the schema: python -m attnbank.sql.bank.upgrading
    columns_file = Path(str(registry.root())) / "schema" / _COLUMNS
    columns_file.write_text(columns_as_text(), encoding="utf-8")
