"""The ways to open a bank: for reading, which many may do at once, or for writing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql import macros, registry
from attnbank.sql.bank.explaining import explain as explain
from attnbank.sql.bank.explaining import explained
from attnbank.sql.bank.formats import (
    Types,
    check_format,
    check_tables,
    fingerprint,
    how_to_upgrade,
    installed,
    is_empty,
    types_of,
)
from attnbank.sql.bank.log import check_log
from attnbank.sql.bank.making import GUARDED, WRITER, connect, fill, make, unreserved
from attnbank.sql.bank.places import bank_place, check_is_duckdb
from attnbank.sql.bank.room import remove_leftover
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.errors import BankError
from attnbank.sql.interrupts import postponed
from attnbank.sql.quoting import literal, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["explain", "fingerprint", "install_beside", "open_to_read", "open_to_write"]

_ALIAS = "attnbank"


def open_to_read(
    path: str | Path,
    settings: Sequence[str] = (),
    *,
    spills: bool = True,
    writes_below: Path | None = None,
) -> DuckDBPyConnection:
    """Open a bank read-only; the connection can reach nothing except the bank.

    The bank is attached to an in-memory database made for it, so that it may be open elsewhere in
    the process with other settings. `settings` are SQL statements that run before everything else
    is shut out. With `spills`, what does not fit into memory goes to a temporary folder beside the
    bank; without it, no local file can be opened any more. Files can be written only below the
    folder `writes_below`, if there is one.

    Raises CallError if the path can be no file, and BankError if the file is missing, is no bank,
    has another format, has a log beside it that is not its own, or is held by a process that writes
    to it.
    """
    return open_to_ask(path, settings, spills=spills, writes_below=writes_below)[0]


def open_to_ask(
    path: str | Path,
    settings: Sequence[str] = (),
    *,
    spills: bool = True,
    writes_below: Path | None = None,
    seconds: float | None = None,
) -> tuple[DuckDBPyConnection, bool]:
    """Open a bank like `open_to_read`; the second value says if another version wrote its analyses.

    If so, this connection has this version's analyses in memory, and every further cursor of it
    needs `install_beside`. `seconds` is how long each later statement may take; opening itself has
    no limit. Raises as `open_to_read` does, and DuckDB's InterruptException if `seconds` are so few
    that not even the settings can be locked in time.
    """
    place = existing(path)
    check_is_duckdb(path, place)
    found = _open(path, place, settings, spills, writes_below, seconds)
    assert found is not None
    return found


def open_unless_new(path: str | Path) -> DuckDBPyConnection | None:
    """Open a bank like `open_to_read`; None where an ingest would make a new one.

    That is where nothing is, or only an empty database. Raises CallError or BankError if there can
    be no bank at the path, or as `open_to_read` does.
    """
    place = bank_place(path)
    if not place.exists() or not place.stat().st_size:
        return None
    check_is_duckdb(path, place)
    found = _open(path, place, may_be_empty=True)
    return None if found is None else found[0]


def _open(
    path: str | Path,
    place: Path,
    settings: Sequence[str] = (),
    spills: bool = True,
    writes_below: Path | None = None,
    seconds: float | None = None,
    may_be_empty: bool = False,
) -> tuple[DuckDBPyConnection, bool] | None:
    """Open the file at a place; None for a database with nothing in it, if it may be that."""
    import duckdb

    connection = duckdb.connect(":memory:", config={**GUARDED})
    run = connection.execute
    try:
        with explained(Path(path)):
            run(f"attach {literal(str(place))} as {_ALIAS} (read_only)")
            run(f"use {_ALIAS}")
            run("detach memory")  # a statement could write to it, since it is not read-only
            for setting in settings:
                run(setting)
            run(f"set temp_directory = {literal(f'{place}.tmp' if spills else '')}")
            if writes_below is not None:
                run(f"set allowed_directories = [{literal(str(writes_below.absolute()))}]")
            run("set enable_external_access = false")
            if not spills:
                run("set disabled_filesystems = 'LocalFileSystem'")
            check_log(place)
            own = types_of(connection)
            if may_be_empty and is_empty(connection, own):
                connection.close()
                return None
            is_of_another = _check(connection, Path(path), own)
        if seconds is not None:
            run(f"set global max_execution_time = {max(1, round(seconds * 1000))}")
        run("set lock_configuration = true")  # which may itself take longer than a few milliseconds
    except BaseException:
        connection.close()
        raise
    return connection, is_of_another


def open_to_export(path: str | Path, folder: Path) -> DuckDBPyConnection:
    """Open a bank read-only, to write files below one folder. Raises as open_to_read does.

    DuckDB's threads for writing are turned off: if reading fails in the middle of a COPY, they wait
    for each other for ever (AsyncWriteQueue::AbortWrites).
    """
    return open_to_read(path, ("set async_threads = 0",), writes_below=folder)


def _check(connection: DuckDBPyConnection, path: Path, own: Types) -> bool:
    """Check what was opened, whose tables are `own`; whether another version wrote its analyses.

    If so, this version's are made in memory, where they hide those of the file. Raises BankError
    if it is no bank of this format, or if its log is not its own.
    """
    check_format(connection, path, own)
    check_tables(path, own)
    is_of_another = installed(connection) != fingerprint()
    if is_of_another:
        install_beside(connection, path)
    return is_of_another


def open_to_write(
    path: str | Path,
    created_by: str,
    settings: dict[str, str] | None = None,
    *,
    makes: bool = True,
) -> DuckDBPyConnection:
    """Open a bank for writing, and bring its analyses up to date.

    With `makes` a bank is made if there is none; an empty file, or a DuckDB database with nothing
    in it, becomes a bank too. A new bank appears under its name only when it is complete, so that a
    process that is killed leaves a whole bank or nothing. `created_by` is the version of attnbank
    that a new bank records.

    Close it with `close_tidily`, which gives back unused room. Raises CallError or BankError as
    open_to_read does, and BankError if any other process has the bank open.
    """
    place = unreserved(bank_place(path) if makes else existing(path))
    if makes and not (place.exists() and place.stat().st_size):
        with postponed():  # it takes less than a second, and may leave nothing behind
            make(place, Path(path), created_by)
    connection = connect(place, WRITER | (settings or {}), path)
    try:
        check_log(place)
        remove_leftover(place)
        with explained(Path(path), "the bank is as it was", "type the same command again"):
            own = types_of(connection)
            if makes and is_empty(connection, own):
                fill(connection, created_by)
                own = types_of(connection)
            check_format(connection, Path(path), own)
            check_tables(Path(path), own)
            if installed(connection) != fingerprint():
                with transaction(connection):
                    reinstall(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def existing(path: str | Path) -> Path:
    """The absolute path of a bank that exists; raises BankError if it does not, or is empty.

    Raises CallError as `bank_place` does.
    """
    place = bank_place(path)
    if not place.exists():
        raise BankError(f"There is no bank {path}.", _how_to_make_one(path))
    if not place.stat().st_size:
        raise BankError(f"{path} is an empty file, and no bank yet.", _how_to_make_one(path))
    return place


def empty() -> DuckDBPyConnection:
    """A database in memory that holds nothing, for what reads and writes no bank."""
    import duckdb

    return duckdb.connect(":memory:")


def reinstall(connection: DuckDBPyConnection) -> None:
    """Put this version's functions, views and analyses into a bank; drop those that are no more."""
    for name in _vanished(connection):
        connection.execute(f"drop macro table if exists {quoted(name)}")
        connection.execute(f"drop macro table if exists {quoted(f'_{name}')}")
    for statement in (*registry.functions(), *macros.install()):
        connection.execute(statement)
    connection.execute("update bank set analyses = ?", [fingerprint()])


def _vanished(connection: DuckDBPyConnection) -> list[str]:
    """The analyses of the file that this version does not have.

    They are known by the comment that attnbank gives its macros, so that no macro of the user's is
    taken for one.
    """
    rows = connection.execute(
        "select substr(function_name, 2) from duckdb_functions()"
        " where not internal and database_name = current_database()"
        " and function_type = 'table_macro' and starts_with(function_name, '_')"
        " and comment = concat("
        "'The statement of ', substr(function_name, 2), ', with every parameter given.')"
    ).fetchall()
    return [name for (name,) in rows if name not in registry.shared() | registry.analyses()]


def install_beside(connection: DuckDBPyConnection, path: Path) -> None:
    """Make this version's functions and analyses for one connection, where they hide the file's.

    Raises BankError if the file lacks a table or a column that they read.
    """
    import duckdb

    try:
        for statement in (*registry.functions(temporary=True), *macros.install(temporary=True)):
            connection.execute(statement)
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise BankError(
            f"{path} was written by an earlier attnbank and lacks tables or columns of this one.",
            how_to_upgrade(path),
        ) from error


def _how_to_make_one(path: str | Path) -> str:
    named = shlex.quote(str(path))
    return f"Fill one (attnbank -b {named} ingest CORPUS...), or name another (-b FILE)."
