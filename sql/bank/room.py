"""The unused room in a bank's file, and how it is given back to the disk.

DuckDB gives back only the end of a file. Unused blocks within it stay, and so do deleted rows if
other rows of their row group remain. So if more than a tenth of a file is unused, it is copied into
a new file beside it, which then takes its name. If the process is killed at any moment, the bank is
either the old file or the new one, and whole.
"""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql.bank.explaining import is_full_disk
from attnbank.sql.errors import AttnbankWarning
from attnbank.sql.quoting import literal, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_UNUSED = 0.1
"""The largest share of a file that may stay unused, in [0, 1]."""


class KeptInLogWarning(AttnbankWarning):
    """What was committed is in the log beside the bank, and could not be moved into its file."""


class UnusedRoomWarning(AttnbankWarning):
    """More than a tenth of a bank's file is unused, and there is no room to copy the rest."""


def close_tidily(connection: DuckDBPyConnection, path: Path, *, has_deleted: bool = False) -> None:
    """Close a bank that was written to: move its log into the file, and give back unused room.

    Everything is committed already, so a full disk is no error here: it warns with KeptInLogWarning
    or UnusedRoomWarning. With `has_deleted` the room of deleted rows is estimated and counted too,
    which takes a look at every table.
    """
    import duckdb

    try:
        try:
            connection.execute("checkpoint")
        except duckdb.Error as error:
            _warn_of_log(path, error)
            return
        total, unused = room(connection, has_deleted=has_deleted)
        if unused > MOST_UNUSED * total:
            _copy(connection, path.resolve(), total, unused)
    finally:
        connection.close()


def room(connection: DuckDBPyConnection, *, has_deleted: bool = False) -> tuple[int, int]:
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
    for schema, table in tables:
        place = f"{quoted(schema)}.{quoted(table)}"
        stored, taken = connection.execute(
            "select coalesce(sum(count) filter (where column_id = 0 and column_path = '[0]'), 0),"
            f" count(distinct block_id) from pragma_storage_info({literal(place)})"
        ).fetchall()[0]
        if stored:
            (alive,) = connection.execute(f"select count(*) from {place}").fetchall()[0]
            blocks += taken * (1 - alive / stored)
    return blocks


def remove_leftover(path: Path) -> None:
    """Remove the copy that a killed process left beside a bank that is open for writing."""
    for each in _with_logs(_copy_of(path.resolve())):
        each.unlink(missing_ok=True)


def own_files(path: Path) -> tuple[Path, ...]:
    """A bank, the copy that may take its place, and the logs that DuckDB writes beside each."""
    return _with_logs(path) + _with_logs(_copy_of(path))


def _with_logs(path: Path) -> tuple[Path, ...]:
    return (path, Path(f"{path}.wal"), Path(f"{path}.wal.checkpoint"))


def _copy_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.copying")


def _copy(connection: DuckDBPyConnection, path: Path, total: int, unused: int) -> None:
    """Copy what is in use into a new file that takes the bank's name; warn if there is no room."""
    import duckdb

    copy = _copy_of(path)
    remove_leftover(path)
    if shutil.disk_usage(path.parent).free < (total - unused) * 1.1:
        _warn(path, unused)
        return
    (name,) = connection.execute("select current_database()").fetchall()[0]
    try:
        connection.execute(f"attach {literal(str(copy))} as attnbank_copy")
        connection.execute(f"copy from database {quoted(name)} to attnbank_copy")
        connection.execute("checkpoint attnbank_copy")
        connection.execute("detach attnbank_copy")
        shutil.copymode(path, copy)
        with suppress(OSError, AttributeError):  # not everyone may, and not everywhere
            os.chown(copy, path.stat().st_uid, path.stat().st_gid)
        # The old file is still open, and so locked: no other process can have begun to write to it.
        copy.replace(path)
    except (duckdb.Error, OSError):
        remove_leftover(path)
        _warn(path, unused)
    except BaseException:
        remove_leftover(path)
        raise


def _warn_of_log(path: Path, error: Exception) -> None:
    reason = "the disk is full" if is_full_disk(error) else str(error).splitlines()[0]
    warnings.warn(
        f"All is committed, but lies in {path}.wal still, which belongs to the bank: {reason}."
        " Free some space; the next command that writes folds it in.",
        KeptInLogWarning,
        stacklevel=3,
    )


def _warn(path: Path, unused: int) -> None:
    warnings.warn(
        f"{unused / 1e6:.1f} MB of {path} are unused, and the disk has no room for the copy that"
        " would give them back.",
        UnusedRoomWarning,
        stacklevel=4,
    )
