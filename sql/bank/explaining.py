"""What an error of DuckDB on a bank means, and what to do."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attnbank.sql.errors import BankError

_HOLDER = re.compile(r"lock is held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")
_LEAST = 65_536
"""Free bytes below which a disk counts as full when DuckDB only says that a transaction has ended.
A log, a header and one block take more than that."""

_DAMAGED = (
    "corrupt",
    "checksum",
    "could not read enough bytes",
    ": invalid argument",  # a place that no file has
    "no more data remaining",
    "read from closed file",
    "failed to deserialize",
    "deserializ",
    "database has been invalidated",
    "a mode that is not recognized",
    "unrecognized storage",
    "invalid bitpacking mode",
    "invalid unicode (byte sequence mismatch) detected in segment",
)
"""Parts of DuckDB's messages about a file whose bytes make no sense, in lower case."""

_OF_SYSTEM = tuple({os.strerror(code).lower() for code in errno.errorcode})
"""What the system says of a file that it does not open, read or write; DuckDB passes this on."""

_OF_CPP = ("vector::", "basic_string", "bad_alloc", "codec can't decode", "std::")
"""Parts of messages that come from C++ or Python, where DuckDB has no message of its own."""

_FULL = ("No space left", "not enough free disk space", "File too large")


def is_full_disk(error: BaseException) -> bool:
    """Whether an error of DuckDB, or one of those that caused it, says that the disk is full.

    The causes matter because the errors after a transaction that a full disk has ended do not
    mention the disk: "Current transaction is aborted" or "cannot rollback - no transaction is
    active".
    """
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        text = str(each).lower()
        if any(word.lower() in text for word in _FULL):
            return True
        seen.add(id(each))
        each = each.__cause__ or each.__context__
    return False


def is_damage(error: BaseException) -> bool:
    """Whether an error says that the file is damaged, or has no better explanation.

    DuckDB verifies a checksum of each block. Damage that passes this check shows as an error that
    DuckDB thinks impossible (InternalException), or as texts and numbers that make no sense.
    """
    import duckdb

    sure = (duckdb.InternalException, duckdb.FatalException, duckdb.SerializationException)
    if isinstance(error, sure):
        return True
    words = _DAMAGED if isinstance(error, duckdb.Error) else (*_DAMAGED, *_OF_CPP)
    text = str(error).lower()
    return any(word in text for word in words)


@contextmanager
def explained(
    path: Path,
    kept: str = "what was committed is safe",
    again: str = "type the same command: it goes on where it stopped",
) -> Iterator[None]:
    """Within, an error of DuckDB on a bank becomes a BankError that says what to do.

    The parameters are those of `explain`. Do not run a statement that a user typed within: its
    errors are about the statement, not about the bank.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise explain(error, path, kept, again) from error
    except (RuntimeError, ValueError, OverflowError, IndexError, MemoryError) as error:
        if not is_damage(error):  # for some damage, DuckDB passes on a plain error of C++
            raise
        raise damaged(path, error) from error


def explain(
    error: Exception,
    path: Path,
    kept: str = "what was committed is safe",
    again: str = "type the same command: it goes on where it stopped",
) -> BankError:
    """What an error of DuckDB on opening, reading or writing a bank means, and what to do.

    `kept` and `again` are used if the disk is full: they say what is in the bank nevertheless, and
    what to do when there is room again.
    """
    import duckdb

    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    holder = _HOLDER.search(text)
    if holder is not None:
        return BankError(
            f"The bank {path} is held by another process: {Path(holder['program']).name}, "
            f"process {holder['pid']}.",
            f"Wait for it, or end it (kill {holder['pid']}); only readers can share a bank.",
        )
    if "Could not set lock" in text or "being used by another process" in text:
        return BankError(
            f"The bank {path} is held by another process.",
            "Close the program that has it open; only readers can share a bank.",
        )
    if "different configuration than existing connections" in text or "already attached" in text:
        return BankError(
            f"The bank {path} is open in this process already, to read or to write.",
            "Close it first (bank.close()), then do the same again.",
        )
    if is_full_disk(error):
        return BankError(f"The disk of {path} is full; {kept}.", f"Free some space, then {again}.")
    if "transaction" in text.lower() and _free(path) < _LEAST:
        return BankError(f"The disk of {path} is full; {kept}.", f"Free some space, then {again}.")
    if "replaying WAL" in text:
        return damaged_log(path, text.rsplit(": ", 1)[-1].rstrip("."))
    if is_damage(error):
        return damaged(path, error)
    if "not a valid DuckDB database" in text or "newer version" in text:
        return BankError(
            f"{path} is not a bank: {text.split('Error: ', 1)[-1]}", "Give the path of a bank (-b)."
        )
    if "encrypted database" in text:
        return BankError(
            f"The bank {path} is encrypted, and attnbank has no key to it.",
            "Give a copy of it that is not encrypted (-b FILE).",
        )
    if "No such file or directory" in text:
        return BankError(
            f"The folder of {path} does not exist.", f"Make it: mkdir -p {path.parent}"
        )
    if "Permission denied" in text or "Read-only file system" in text:
        return BankError(
            f"No permission to open {path}.", "Check its owner, or use another path (-b)."
        )
    if isinstance(error, duckdb.IOException) and not _is_of_system(text):
        return damaged(path, error)  # the system read the file: what stands in it makes no sense
    return BankError(f"The bank {path} cannot be used: {text}", "See the whole error with --debug.")


def _is_of_system(text: str) -> bool:
    return any(reason in text.lower() for reason in _OF_SYSTEM)


def damaged(path: Path, error: BaseException) -> BankError:
    """The error for a bank whose file is damaged."""
    reason = re.sub(r"^([A-Za-z ]+ Error: )+", "", (str(error).strip() or "?").splitlines()[0])
    return BankError(
        f"The bank {path} is damaged: {reason[:300].rstrip('. ')}.",
        "Use a copy of it that is whole, or ingest again into a new file (-b FILE).",
    )


def broken_off(path: Path, status: int) -> BankError:
    """The error for a process that a signal ended while it read a bank.

    `status` is the exit status as subprocess gives it: the negative number of the signal. DuckDB
    follows addresses in the blocks of a bank; if one of them is wrong, the system ends the process.
    It also kills a process for which it has no memory left.
    """
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"status {status}"
    if name == "SIGKILL":
        return BankError(
            f"The process that read {path} was killed (SIGKILL).",
            "If nobody did that, the system has no memory left: close other programs, and try"
            " again.",
        )
    return BankError(
        f"The bank {path} is damaged, or DuckDB failed on it: reading it ended with {name}.",
        "Use a copy of it that is whole, or ingest again into a new file (-b FILE).",
    )


def _free(path: Path) -> int:
    """Free bytes on the disk of a path; `_LEAST`, which is not full, if that cannot be known."""
    try:
        return shutil.disk_usage(path.absolute().parent).free
    except OSError:
        return _LEAST


def damaged_log(path: Path, reason: str) -> BankError:
    """The error for a write-ahead log that is damaged, or does not belong to the bank beside it."""
    log = f"{path}.wal"
    return BankError(
        f"The log beside the bank cannot be used ({log}: {reason}).",
        "The bank without it is as it was before the log began:"
        f" mv {shlex.quote(log)} {shlex.quote(log + '.damaged')}",
    )
