"""Where a bank may be: every path is checked here before DuckDB sees it.

DuckDB does not take every name for a file (`:memory:`, `md:x`), and it opens the files of some
other programs with an extension that it fetches from the network. Neither may happen here.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from attnbank.sql.errors import BankError, CallError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # one letter is a drive of Windows
_MAGIC = (8, b"DUCK")
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def bank_place(path: str | Path) -> Path:
    """The absolute path of a bank's file, with links followed and `~` expanded.

    Links are followed because DuckDB keeps the log beside the name that it is given, so that a link
    would get a log of its own. The file need not exist. Raises CallError if the path cannot name a
    file, BankError if what is there is not a file or cannot be reached.
    """
    text = os.fspath(path)
    if not text:
        raise CallError("The bank has no name.", "Give the path of a file (-b FILE).")
    if text.startswith(":memory:"):
        raise CallError(
            "A bank in memory would be gone when the command ends.", "Give a file (-b FILE)."
        )
    if _SCHEME.match(text):
        raise CallError(
            f"{text} is no path: a bank is a file on this machine.",
            f"Give the path of a file; one that is called so is ./{text}",
        )
    if "?" in Path(text).name:  # DuckDB reads what follows as options, as in a URL
        raise CallError(
            f"A bank's name can have no question mark: {text}.", "Give it another name (-b FILE)."
        )
    try:
        text.encode()
        place = Path(text).expanduser().resolve()
        mode = place.stat().st_mode
    except UnicodeEncodeError:
        raise CallError(
            f"The name of the bank is not UTF-8: {text}.", "Give it a name that is (mv)."
        ) from None
    except FileNotFoundError:
        return place
    except NotADirectoryError:
        raise BankError(
            f"{text} cannot be there: a part of its path is a file.", "Check the path."
        ) from None
    except (OSError, RuntimeError, ValueError) as error:  # no permission, a circle of links, a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise BankError(f"{text} cannot be opened: {reason}.", "Check the path.") from None
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise BankError(f"{text} is {kind}, and a bank is a file.", "Give another path (-b FILE).")
    return place


def check_is_duckdb(path: str | Path, place: Path) -> None:
    """Raise BankError if the file at a bank's place is not empty and not a DuckDB database.

    By the first bytes of other files, DuckDB would look for an extension that can open them.
    """
    at, magic = _MAGIC
    try:
        with place.open("rb") as file:
            start = file.read(at + len(magic))
    except FileNotFoundError:
        return
    except PermissionError:
        raise BankError(
            f"No permission to open {path}.", "Check its owner, or use another path (-b)."
        ) from None
    except OSError as error:
        raise BankError(f"{path} cannot be read: {error.strerror}.", "Check the disk.") from None
    if start and start[at:] != magic:
        raise BankError(
            f"{path} is not a bank: it is no DuckDB file.", "Give the path of a bank (-b)."
        )


def is_alive(process: int) -> bool:
    """Whether there is a process with this id; if that cannot be known, True."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
