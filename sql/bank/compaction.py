"""The end of writing to a bank: its log goes into its file, which gives back unused space.

DuckDB gives back only the unused end of a file, no blocks within it. So, after writing, a file of
which more than a tenth is unused, and enough to be worth a copy, is copied into a new one beside
it, which takes its name in one step.
"""

from __future__ import annotations

import errno
import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql.bank.connections import OpenedFile, opened_file
from attnbank.sql.errors import AttnbankWarning, BankError, is_full_disk
from attnbank.sql.interrupts import postponed
from attnbank.sql.names import literal, qualified_name, quoted
from attnbank.sql.outputs import keep_owner_and_mode, new_part, remove_parts

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

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

    opened = opened_file(connection)
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
