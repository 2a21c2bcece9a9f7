"""Connections of DuckDB: what they are allowed to reach, and transactions on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakKeyDictionary, WeakSet

from attnbank.sql.errors import (
    BankError,
    is_ending,
    is_locked,
    translate_errors,
)
from attnbank.sql.names import literal
from attnbank.sql.outputs import (
    files_of_bank,
    part_names,
)
from attnbank.sql.paths import check_is_duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# DuckDB 1.5 shells, which people have, can read such a bank; its blocks keep it small.
STORAGE = {"storage_compatibility_version": "v1.5.0", "default_block_size": "65536"}

# No vacuuming at checkpoints, since that writes existing rows once more beside the old ones: a bank
# of 153 MB grew to 270 MB. `compaction` gives back unused space at the end.
WRITER = {"max_vacuum_tasks": "0"}

# What keeps a statement from extensions, Python variables and stored secrets.
GUARDED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "allow_persistent_secrets": "false",
}

# The name of an open bank within DuckDB.
ALIAS = "attnbank"

# Seconds to wait for a lock, and between two tries: the process that worked for a command which was
# killed holds one for milliseconds longer.
_LOCK_PATIENCE, _LOCK_STEP = 0.5, 0.02

# The same for one that is being ended: first the system takes back its memory, which may be GB.
_ENDING_PATIENCE = 20.0


class Reader(Protocol):
    """What reads a bank in this process, and can release its file until the next query."""

    path: Path

    def release(self) -> None:
        """Close the file. Raises BankError where another thread is reading it."""


# The open banks of this process: they release a file before it is opened for writing. DuckDB
# would refuse to open it twice, and the system would then forget its lock.
readers: WeakSet[Reader] = WeakSet()


class OpenedFile(NamedTuple):
    """The file that a connection writes to: its place, and what the system knows it by.

    Meanwhile another file may be put at the place.
    """

    place: Path
    identity: tuple[int, int] | None

    @property
    def is_there(self) -> bool:
        """Whether the file at the place is still this one."""
        return self.identity == _identity(self.place)


_opened: MutableMapping[DuckDBPyConnection, OpenedFile] = WeakKeyDictionary()


def _identity(place: Path) -> tuple[int, int] | None:
    """The device and the inode of a file; None if there is none."""
    try:
        status = place.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def connected(settings: Mapping[str, str] | None = None) -> DuckDBPyConnection:
    """Connect to a database in memory; no progress is drawn, which DuckDB does in notebooks."""
    import duckdb

    connection = duckdb.connect(config=dict(settings or {}))
    connection.execute("set enable_progress_bar = false")
    return connection


def once_unlocked(open_file: Callable[[], DuckDBPyConnection]) -> DuckDBPyConnection:
    """Call `open_file`, again for a moment while another process has the file locked.

    Raises DuckDB's error if the file stays locked, or cannot be opened for another reason.
    """
    import duckdb

    began = time.monotonic()
    while True:
        waited = time.monotonic() - began
        try:
            return open_file()
        except duckdb.Error as error:
            patience = _ENDING_PATIENCE if is_ending(error) else _LOCK_PATIENCE
            if waited > patience or not is_locked(error):
                raise
        time.sleep(_LOCK_STEP)


def connect(
    place: Path,
    settings: Mapping[str, str] | None = None,
    named: str | Path | None = None,
    reads: Sequence[Path] = (),
    full_disk: tuple[str, ...] = (),
) -> DuckDBPyConnection:
    """Open the file at a place (`bank_file`) for writing, without checking or changing it.

    It reaches the bank, its log and a part of it, and what `reads` names. `named` is the path as
    the user wrote it, `full_disk` the `outcome` and `again` of `translate_errors`. Raises BankError
    if DuckDB cannot open it.
    """
    named = Path(place if named is None else named)
    check_is_duckdb(named, place)
    for reader in list(readers):
        if reader.path.absolute().resolve() == place.resolve():
            reader.release()
    all_settings = STORAGE | WRITER | GUARDED | dict(settings or {})
    while True:
        before = _identity(place)
        with translate_errors(named, *full_disk):
            connection = once_unlocked(lambda: _attached(place, all_settings))
        # Before it was locked, another process may have put a compacted copy in its place.
        _opened[connection] = OpenedFile(place, _identity(place))
        if before is None or before == _opened[connection].identity:
            break
        connection.close()
        if not place.exists():
            raise BankError(f"{named} was moved or deleted while it was opened.", "Check the path.")
    with closed_on_error(connection):
        _restrict(connection, (*files_of_bank(place), *reads), (next(part_names(place)),))
    return connection


def _attached(place: Path, settings: Mapping[str, str]) -> DuckDBPyConnection:
    """A connection to a file under a name that is none of its schemas, as its own may be."""
    connection = connected(settings=settings)
    with closed_on_error(connection):
        connection.execute(f"attach {literal(str(place))} as {ALIAS}")
        connection.execute(f"use {ALIAS}")
        connection.execute("detach memory")
    return connection


def connect_beside(reads: Sequence[Path]) -> DuckDBPyConnection:
    """A database in memory that can reach nothing except the files and folders of `reads`."""
    connection = connected(settings=GUARDED | {"memory_limit": "4GB"})
    _restrict(connection, reads)
    return connection


def _restrict(
    connection: DuckDBPyConnection, reads: Sequence[Path], makes: Sequence[Path] = ()
) -> None:
    """Let a connection reach only these files and folders; `makes` may not exist yet."""
    folders = [*makes, *(path for path in reads if path.is_dir())]
    files = [path for path in reads if path not in folders]
    for setting, paths in (("allowed_paths", files), ("allowed_directories", folders)):
        listed = ", ".join(literal(str(path)) for path in paths)
        connection.execute(f"set {setting} = [{listed}]")
    connection.execute("set enable_external_access = false")


def opened_file(connection: DuckDBPyConnection) -> OpenedFile:
    """The file that a connection of `connect` writes to."""
    return _opened[connection]


@contextmanager
def closed_on_error(connection: DuckDBPyConnection) -> Iterator[None]:
    """Close a connection if anything is raised within the block."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


def begin(connection: DuckDBPyConnection) -> None:
    """Begin a transaction that changes the bank, after which no cached answer is valid."""
    connection.execute("begin")
    connection.execute("update bank set changes = changes + 1")


@contextmanager
def transaction(connection: DuckDBPyConnection, *, is_change: bool = True) -> Iterator[None]:
    """Commit what is done within the block, or roll it back if anything is raised.

    With `is_change` the bank changes; everything that does goes through here, or `begin`.
    """
    import duckdb

    if is_change:
        begin(connection)
    else:
        connection.execute("begin")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise
