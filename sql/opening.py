"""The two ways to open a bank: to read, with other readers, or to write, alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank import sql
from attnbank.sql.errors import BankError
from attnbank.sql.explaining import explain as explain
from attnbank.sql.formats import check_format, fingerprint, has_tables, how_to_upgrade, installed
from attnbank.sql.log import check_log
from attnbank.sql.room import remove_leftover
from attnbank.sql.transactions import transaction

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["explain", "fingerprint", "install_beside", "open_to_read", "open_to_write"]

STORAGE = {"storage_compatibility_version": "v1.5.0", "default_block_size": "65536"}
"""DuckDB 1.5 shells, which people have, read a bank; 64 KiB blocks keep small ones small."""

_WRITER = {"max_vacuum_tasks": "0"}
"""Vacuuming at a checkpoint writes what is in the bank already once more, beside the old: computing
2,556 rows grew a bank of 153 MB to 270. What is unused is given back at the end, by
`close_tidily`."""

_RESERVED = frozenset({"main", "paper", "temp", "system", "information_schema", "pg_catalog"})


def open_to_read(path: str | Path) -> DuckDBPyConnection:
    """Open a bank read-only.

    Raises BankError where the file is missing, is no bank, is of another format, has a log beside
    it that is not its own, or is held by a process that writes to it.
    """
    path = Path(path)
    if not path.exists():
        raise BankError(f"There is no bank {path}.", _how_to_make_one(path))
    connection = connect(path, read_only=True)
    try:
        check_log(path)
        check_format(connection, path)
        if installed(connection) != fingerprint():
            # Written by another version: this one's analyses shadow the file's, in memory.
            install_beside(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_export(path: str | Path, folder: Path) -> DuckDBPyConnection:
    """Open a bank read-only, to write files below one folder.

    Without DuckDB's threads for writing: where reading fails in the middle of a COPY, they wait for
    each other for ever (AsyncWriteQueue::AbortWrites).
    """
    connection = open_to_read(path)
    connection.execute("set async_threads = 0")
    return connection


def open_to_write(
    path: str | Path, created_by: str, settings: dict[str, str] | None = None
) -> DuckDBPyConnection:
    """Open a bank for writing; make it where there is none; bring its analyses up to date.

    Close it with `close_tidily`, which gives back the room that is unused. Raises BankError as
    open_to_read does, and where any other process has it open.
    """
    path = Path(path)
    if path.stem.lower() in _RESERVED:
        raise BankError(
            f"A bank cannot be called {path.stem}: DuckDB would confuse it with its schema.",
            "Give it another name (-b FILE).",
        )
    made = not path.exists() or path.stat().st_size == 0
    if made and path.exists():
        path.unlink()
    connection = connect(path, read_only=False, settings=_WRITER | (settings or {}))
    try:
        check_log(path)
        remove_leftover(path)
        if made or not has_tables(connection):
            with transaction(connection):
                for statement in (*sql.schema(), *sql.install()):
                    connection.execute(statement)
                connection.execute(
                    "insert into bank (format, created_by, analyses) values (?, ?, ?)",
                    [sql.FORMAT, created_by, fingerprint()],
                )
            connection.execute("checkpoint")
        else:
            check_format(connection, path)
            if installed(connection) != fingerprint():
                with transaction(connection):
                    reinstall(connection)
    except BaseException:
        connection.close()
        if made:
            path.unlink(missing_ok=True)
        raise
    return connection


def reinstall(connection: DuckDBPyConnection) -> None:
    """Put this version's functions, views and analyses into a bank, and take its old ones out."""
    for name in _vanished(connection):
        connection.execute(f'drop macro table if exists "{name}"')
        connection.execute(f'drop macro table if exists "_{name}"')
    for statement in (*sql.functions(), *sql.install()):
        connection.execute(statement)
    connection.execute("update bank set analyses = ?", [fingerprint()])


def _vanished(connection: DuckDBPyConnection) -> list[str]:
    """The analyses of the file that this version does not have, known by their comments."""
    rows = connection.execute(
        "select substr(function_name, 2) from duckdb_functions()"
        " where not internal and database_name = current_database()"
        " and function_type = 'table_macro' and starts_with(function_name, '_')"
        " and comment = concat("
        "'The statement of ', substr(function_name, 2), ', with every parameter given.')"
    ).fetchall()
    return [name for (name,) in rows if name not in sql.shared() | sql.analyses()]


def install_beside(connection: DuckDBPyConnection, path: Path) -> None:
    """Make this version's functions and analyses for one connection, before the file's own.

    Raises BankError where the file lacks a table or a column that they read.
    """
    import duckdb

    try:
        for statement in (*sql.functions(temporary=True), *sql.install(temporary=True)):
            connection.execute(statement)
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise BankError(
            f"{path} was written by an earlier attnbank and lacks tables or columns of this one.",
            how_to_upgrade(path),
        ) from error


def connect(
    path: Path, *, read_only: bool, settings: Mapping[str, str] | None = None
) -> DuckDBPyConnection:
    """The file, open and otherwise as it is. Raises BankError where DuckDB cannot open it."""
    import duckdb

    config: Mapping[str, str] = (settings or {}) if read_only else STORAGE | {**(settings or {})}
    try:
        return duckdb.connect(str(path), read_only=read_only, config={**config})
    except duckdb.Error as error:
        raise explain(error, path) from error


def _how_to_make_one(path: Path) -> str:
    return f"Fill one (attnbank -b {path} ingest CORPUS...), or name another (-b FILE)."
