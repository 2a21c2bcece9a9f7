"""Connections that write, and new banks, each made beside its place, which it takes when whole."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql import macros, registry
from attnbank.sql.bank.explaining import explain
from attnbank.sql.bank.formats import fingerprint
from attnbank.sql.bank.places import bank_place, check_is_duckdb, is_alive
from attnbank.sql.bank.room import own_files
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.interrupts import postponed
from attnbank.sql.quoting import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STORAGE = {"storage_compatibility_version": "v1.5.0", "default_block_size": "65536"}
"""How a bank is stored, so that the DuckDB 1.5 shells that people have can read it. Blocks of
64 KiB keep small banks small."""

WRITER = {"max_vacuum_tasks": "0"}
"""No vacuuming at checkpoints, since that writes existing rows once more beside the old ones:
computing 2,556 rows made a bank of 153 MB grow to 270 MB. `close_tidily` gives back unused room at
the end."""

GUARDED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "allow_persistent_secrets": "false",
}
"""Settings of every connection, so that a statement cannot reach extensions, Python variables or
stored secrets."""

_NEW = ".new"
_AGAIN = "type the same command"
_RESERVED = frozenset({"main", "paper", "temp", "system", "information_schema", "pg_catalog"})


def connect(
    place: Path,
    settings: Mapping[str, str] | None = None,
    shown: str | Path | None = None,
    reads: Sequence[Path] = (),
    told: tuple[str, ...] = (),
) -> DuckDBPyConnection:
    """Open the file at a place (`bank_place`) for writing, without checking or changing it.

    No extension is fetched or loaded, and nothing except the bank, its log and its copy can be
    reached, and what `reads` names: files, and folders with all that is below them. `shown` is the
    path as the user wrote it, `told` is what an error says if the disk is full (as `explain` takes
    it). Raises BankError if DuckDB cannot open it.
    """
    import duckdb

    named = Path(place if shown is None else shown)
    check_is_duckdb(named, place)
    try:
        connection = duckdb.connect(str(place), config={**STORAGE, **GUARDED, **(settings or {})})
    except duckdb.Error as error:
        raise explain(error, named, *told) from error
    try:
        _shut(connection, (*own_files(place), *reads))
    except BaseException:
        connection.close()
        raise
    return connection


def connect_beside(reads: Sequence[Path]) -> DuckDBPyConnection:
    """A database in memory that can reach nothing except the files and folders of `reads`."""
    import duckdb

    connection = duckdb.connect(":memory:", config={**GUARDED})
    _shut(connection, reads)
    return connection


def _shut(connection: DuckDBPyConnection, reads: Sequence[Path]) -> None:
    """Let a connection reach files, and folders with all that is below them, and nothing else."""
    folders = [each for each in reads if each.is_dir()]
    files = [each for each in reads if each not in folders]
    for setting, paths in (("allowed_paths", files), ("allowed_directories", folders)):
        listed = ", ".join(literal(str(each)) for each in paths)
        connection.execute(f"set {setting} = [{listed}]")
    connection.execute("set enable_external_access = false")


def unreserved(place: Path) -> Path:
    """The place of a bank; raises BankError if DuckDB would confuse its name with a schema."""
    if place.stem.lower() in _RESERVED:
        raise BankError(
            f"A bank cannot be called {place.stem}: DuckDB would confuse it with its schema.",
            "Give it another name (-b FILE).",
        )
    return place


@contextmanager
def new_bank(
    path: Path,
    created_by: str,
    reads: Sequence[Path],
    kept: str = "nothing was imported",
    settings: Mapping[str, str] | None = None,
) -> Iterator[DuckDBPyConnection]:
    """A bank without rows, to be filled from the files and the folders that `reads` names.

    It appears under its name when the block ends, and is gone if the block raises; what a killed
    process left of one is removed by the next that makes a bank here. Errors of DuckDB become
    BankErrors; `kept` says what is so if the disk is full. Raises CallError or BankError if there
    can be no bank at the path, and CallError if something is there already.
    """
    place = check_free(path)
    with (
        postponed() as interrupts,
        _beside(place, path, kept) as new,
        connect(new, WRITER | dict(settings or {}), path, reads, (kept, _AGAIN)) as connection,
    ):
        fill(connection, created_by)
        with interrupts.at_once():
            yield connection
        connection.execute("checkpoint")
        connection.close()
        if not _take_name(new, place):
            check_free(path)


def check_free(path: Path) -> Path:
    """The place of a bank that is to be made; raises as `new_bank` does before it makes one."""
    place = unreserved(bank_place(path))
    if place.exists() and place.stat().st_size:
        raise CallError(
            f"There is a bank {path} already; it is as it was.",
            "Name a new file (-b FILE).",
        )
    return place


def make(place: Path, shown: Path, created_by: str) -> None:
    """Make a bank with no rows, if there is none at the place; `shown` is the path as given.

    Raises BankError if it cannot be made.
    """
    with _beside(place, shown, "no bank was made") as new:
        with connect(new, WRITER, shown) as connection:
            fill(connection, created_by)
        _take_name(new, place)  # if another process was faster, its bank is the bank


@contextmanager
def _beside(place: Path, shown: Path, kept: str) -> Iterator[Path]:
    """A path for a new bank beside its place, of which nothing is left at the end."""
    import duckdb

    new = place.with_name(f".{place.name}.{os.getpid()}{_NEW}")
    try:
        _remove_dead(place)
        _remove_with_log(new)  # left by an earlier process with the same number
        try:
            yield new
        except duckdb.Error as error:
            raise explain(error, shown, kept, _AGAIN) from error
    except OSError as error:
        raise BankError(f"{shown} cannot be made: {error.strerror}.", "Check the path.") from error
    finally:
        _remove_with_log(new)


def _take_name(new: Path, place: Path) -> bool:
    """Give a new bank its name; False if a bank has that name already, which then stays."""
    if place.exists() and not place.stat().st_size:
        place.unlink()
    try:
        place.hardlink_to(new)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        new.rename(place)
    return True


def _remove_with_log(path: Path) -> None:
    for each in (path, Path(f"{path}.wal"), Path(f"{path}.wal.checkpoint")):
        each.unlink(missing_ok=True)
    shutil.rmtree(f"{path}.tmp", ignore_errors=True)  # what did not fit into memory


def fill(connection: DuckDBPyConnection, created_by: str) -> None:
    """Make an empty database a bank without rows."""
    with transaction(connection):
        for statement in (*registry.schema(), *macros.install()):
            connection.execute(statement)
        connection.execute(
            "insert into bank (format, created_by, analyses) values (?, ?, ?)",
            [registry.FORMAT, created_by, fingerprint()],
        )
    connection.execute("checkpoint")


def _remove_dead(place: Path) -> None:
    """Remove unfinished banks that killed processes left beside this place."""
    for each in place.parent.glob(f".{glob.escape(place.name)}.*{_NEW}*"):
        process = each.name.removeprefix(f".{place.name}.").partition(".")[0]
        if process.isdecimal() and not is_alive(int(process)):
            if each.is_dir():  # what did not fit into memory
                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)
