"""What an error of DuckDB on a bank means, and what to do."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from attnbank.sql.errors import BankError

_HOLDER = re.compile(r"lock is held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")
_FULL = ("No space left", "not enough free disk space", "File too large")


def is_full_disk(error: BaseException) -> bool:
    """Whether an error of DuckDB says that the disk (or what may be written to it) is full."""
    text = str(error).lower()
    return any(each.lower() in text for each in _FULL)


def explain(
    error: Exception,
    path: Path,
    kept: str = "what was committed is safe",
    again: str = "type the same command: it goes on where it stopped",
) -> BankError:
    """What an error of DuckDB on opening or writing a bank means, and what to do.

    `kept` and `again` are what is said of a full disk: what is in the bank all the same, and what
    to do when there is room.
    """
    text = str(error).splitlines()[0]
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
    if "replaying WAL" in text:
        return damaged_log(path, text.rsplit(": ", 1)[-1].rstrip("."))
    if "not a valid DuckDB database" in text or "newer version" in text:
        return BankError(
            f"{path} is not a bank: {text.split('Error: ', 1)[-1]}", "Give the path of a bank (-b)."
        )
    if "No such file or directory" in text:
        return BankError(
            f"The folder of {path} does not exist.", f"Make it: mkdir -p {path.parent}"
        )
    if "Permission denied" in text or "Read-only file system" in text:
        return BankError(
            f"No permission to open {path}.", "Check its owner, or use another path (-b)."
        )
    return BankError(f"The bank {path} cannot be used: {text}", "See the whole error with --debug.")


def damaged_log(path: Path, reason: str) -> BankError:
    """The word about a write-ahead log beside a bank that cannot belong to it as it is."""
    log = f"{path}.wal"
    return BankError(
        f"The log beside the bank cannot be used ({log}: {reason}).",
        "The bank without it is as it was before the log began:"
        f" mv {shlex.quote(log)} {shlex.quote(log + '.damaged')}",
    )
