"""Connections of DuckDB: what they are allowed to reach, transactions on them, and their end.

DuckDB gives back only the unused end of a file, no blocks within it. So, after writing, a file of
which more than a tenth is unused, and enough to be worth a copy, is copied into a new one beside
it, which takes its name in one step.
"""

from __future__ import annotations

import errno
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakKeyDictionary, WeakSet

from attnbank.sql.bank.paths import check_is_duckdb
from attnbank.sql.errors import (
    AttnbankWarning,
    BankError,
    is_ending,
    is_full_disk,
    is_locked,
    translate_errors,
)
from attnbank.sql.interrupts import postponed
from attnbank.sql.names import literal, qualified_name, quoted
from attnbank.sql.outputs import (
    files_of_bank,
    keep_owner_and_mode,
    new_part,
    part_names,
    remove_parts,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# DuckDB 1.5 shells, which people have, can read such a bank; its blocks keep it small.
STORAGE = {"storage_compatibility_version": "v1.5.0", "default_block_size": "65536"}

# No vacuuming at checkpoints, since that writes existing rows once more beside the old ones: a bank
# of 153 MB grew to 270 MB. `checkpoint_and_compact` gives back unused space at the end.
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


# The largest share of a file that may stay unused, in [0, 1].
MOST_UNUSED = 0.1

# Fewer unused bytes than this may stay: a small bank would be copied after every command.
LEAST_UNUSED = 4_000_000

# Bytes that may become unused when DuckDB writes its lists of blocks once more, on closing.
_LEFT_BY_CLOSING = 8 * 65_536


class KeptInLogWarning(AttnbankWarning):
    """What was committed is in the log beside the bank, and could not be moved into its file."""


class UnusedSpaceWarning(AttnbankWarning):
    """More than a tenth of a bank's file is unused, and there is no room to copy the rest."""


class ReplacedWarning(AttnbankWarning):
    """Another file was put at the place of a bank while it was written to."""


def checkpoint_and_compact(
    connection: DuckDBPyConnection, path: Path, *, has_deleted: bool = False
) -> None:
    """Close a bank that was written to: move its log into the file, and give back unused space.

    A full disk only warns, with KeptInLogWarning or UnusedSpaceWarning, and so does another file
    at the place of the bank, with ReplacedWarning. With `has_deleted` the space of deleted rows is
    estimated too, by a look at every table. Raises BankError if the bank was removed meanwhile.
    """
    import duckdb

    opened = _opened[connection]
    with connection:
        try:
            connection.execute("checkpoint")
        except duckdb.Error as error:  # everything is committed, so that a warning is enough
            reason = "the disk is full" if is_full_disk(error) else str(error).splitlines()[0]
            warnings.warn(
                f"Everything is committed, but still in the write-ahead log {path}.wal: {reason}."
                " Keep it with the bank and free some space; the next command that writes merges"
                " it.",
                KeptInLogWarning,
                stacklevel=2,
            )
            return
        if not opened.is_there:
            _tell_of_replacement(path, opened.place)
            return
        remove_parts(opened.place)  # of a process that was killed while it compacted
        total, unused = space(connection, has_deleted=has_deleted)
        if unused >= LEAST_UNUSED and unused + _LEFT_BY_CLOSING > MOST_UNUSED * total:
            _copy_database(connection, path, opened, total, unused)


def _tell_of_replacement(path: Path, place: Path) -> None:
    """Warn that another file is at the place of a bank; raise BankError if none is."""
    if not place.exists():
        raise BankError(
            f"{path} was moved or deleted while it was written to.",
            "What was committed is in the file that was moved; if it was deleted, type the same"
            " command again.",
        )
    warnings.warn(
        f"Another file was put at {path} while the bank was written to. It was left as it is: what"
        " was committed is in the file that was there before.",
        ReplacedWarning,
        stacklevel=3,
    )


def space(connection: DuckDBPyConnection, *, has_deleted: bool = False) -> tuple[int, int]:
    """The bytes of the file, and how many of them are unused; with `has_deleted` an estimate."""
    block, total, free = connection.execute(
        "select block_size, total_blocks, free_blocks from pragma_database_size()"
        " where database_name = current_database()"
    ).fetchall()[0]
    unused = free + (_blocks_of_deleted(connection) if has_deleted else 0)
    return block * total, round(block * unused)


def _blocks_of_deleted(connection: DuckDBPyConnection) -> float:
    """An estimate of the blocks that deleted rows take in row groups that have other rows."""
    tables = connection.execute(
        "select schema_name, table_name from duckdb_tables()"
        " where database_name = current_database() and not temporary and not internal"
    ).fetchall()
    blocks = 0.0
    for name in tables:
        table = qualified_name(*name)
        stored, blocks_taken = connection.execute(
            "select coalesce(sum(count) filter (where column_id = 0 and column_path = '[0]'), 0),"
            f" count(distinct block_id) from pragma_storage_info({literal(table)})"
        ).fetchall()[0]
        if stored:
            (alive,) = connection.execute(f"select count(*) from {table}").fetchall()[0]
            blocks += blocks_taken * (1 - alive / stored)
    return blocks


def _copy_database(
    connection: DuckDBPyConnection, path: Path, opened: OpenedFile, total: int, unused: int
) -> None:
    import duckdb

    place = opened.place
    (name,) = connection.execute("select current_database()").fetchall()[0]
    try:
        if shutil.disk_usage(place.parent).free < (total - unused) * 1.1:
            raise OSError(errno.ENOSPC, "No space left for a copy")
        # A Ctrl-C must not stop the removal of the part.
        with postponed() as interrupts, new_part(place) as part:
            copy = part / place.name
            with interrupts.at_once():
                connection.execute(f"attach {literal(str(copy))} as attnbank_copy")
                connection.execute(f"copy from database {quoted(name)} to attnbank_copy")
                connection.execute("checkpoint attnbank_copy")
                connection.execute("detach attnbank_copy")
            if not opened.is_there:  # which took as long as the copy
                _tell_of_replacement(path, place)
                return
            keep_owner_and_mode(copy, place.stat())
            # The old file is still open, and so locked: no other process can have begun to write.
            copy.replace(place)
    except (duckdb.Error, OSError):  # the bank is whole, only larger than it need be
        warnings.warn(
            f"{unused / 1e6:.1f} MB of {path} are unused, and the disk has no space for the copy"
            " that would free them.",
            UnusedSpaceWarning,
            stacklevel=3,
        )
