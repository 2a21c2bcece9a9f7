"""The only way in which a file that a user named is written.

There may be a regular file at its place, or nothing. What is written goes into a hidden file beside
it, the part, which takes its name when it is complete. So if the process is killed at any moment,
the file is either the old one or the new one. A part that a killed process left is removed by the
next process that writes to the same place; a part that is still being written is known by its lock.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.interrupts import postponed

try:
    import fcntl
except ImportError:  # on Windows, where no lock is needed: an open file cannot be removed there
    fcntl = None  # type: ignore[assignment]

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
_NAMED = "Give the name of a file in a folder that exists."
_LONGEST = 200
"""The longest name, in bytes, that a part can contain: file systems allow 255 bytes, and a part's
name has a process id, a number and an ending besides."""


def check_output(path: str | Path, bank: Path | None = None) -> Path:
    """The file that is to be written, with links followed and `~` expanded. Nothing is written.

    Raises CallError if something is there that is no regular file or is write-protected, if its
    folder does not exist or may not be written to, or if it is `bank` or a file that belongs to it.
    """
    named = os.fspath(path)
    place = expanded(named)
    found = _status(place, named)
    if found is None and (named.endswith(("/", os.sep)) or place.name in ("", "..")):
        raise CallError(f"{named} is a folder, and none that exists.", _NAMED)
    if found is None and place.is_symlink():
        raise CallError(f"{named} is a link to nothing.", "Remove it, or give another name.")
    resolved = place.resolve()
    if found is not None and not stat.S_ISREG(found.st_mode):
        kind = next((name for is_one, name in _KINDS if is_one(found.st_mode)), "no regular file")
        raise CallError(
            f"{named} is {kind}.",
            _NAMED if kind == "a folder" else "Give the name of a file, or redirect (> FILE).",
        )
    if bank is not None and _is_of_bank(resolved, bank):
        raise CallError(f"{named} is the bank itself.", "Give another name.")
    if not resolved.parent.is_dir():
        raise CallError(f"There is no folder {resolved.parent}.", _NAMED)
    if not os.access(resolved.parent, os.W_OK | os.X_OK):
        raise CallError(f"No permission to write in {resolved.parent}.", "Choose another folder.")
    if found is not None and not os.access(resolved, os.W_OK):
        raise CallError(f"{named} is write-protected.", "Give another name, or remove it first.")
    return resolved


def expanded(path: str | Path) -> Path:
    """A path with its `~` expanded; as it is if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # a folder called ~anything
        return Path(path)


@contextmanager
def output_file(path: str | Path, bank: Path | None = None) -> Iterator[BinaryIO]:
    """A file to write into, which takes its place when the block ends, and is gone if it raises.

    It gets the owner and the permissions of the file that it replaces. Raises CallError as
    check_output does, and AttnbankError if the disk is full or writing fails; then what was there
    before is unchanged.
    """
    target = check_output(path, bank)
    remove_parts(target)
    with postponed() as interrupts:  # a second Ctrl-C must not stop the removal of the part
        try:
            part, file = _make_part(target)
            try:
                with interrupts.at_once():
                    yield file
                file.flush()
                os.fsync(file.fileno())
                _make_free(file)
                part.replace(target)
            finally:
                with suppress(OSError):  # closing flushes again what could not be flushed above
                    file.close()
                part.unlink(missing_ok=True)
        except OSError as error:
            raise unwritten(path, error) from error


def unwritten(path: str | Path, error: OSError) -> AttnbankError:
    """The error for an output that could not be written, and is therefore as it was before."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return AttnbankError(
            f"The disk of {path} is full; what was there is as it was.",
            "Free some space, or choose another place, then type the same command again.",
        )
    return AttnbankError(f"{path} cannot be written: {error.strerror or error}.")


def remove_parts(target: Path) -> None:
    """Remove the parts, files and folders, that killed processes left of an output."""
    start = _start(target)
    with suppress(OSError):  # in a folder that cannot be listed they stay
        for each in target.parent.iterdir():
            name = each.name
            if name.startswith(start) and name.endswith(".part") and _is_number(name, start):
                _remove_unheld(each)


def part_names(target: Path) -> Iterator[Path]:
    """Names for a part of an output, without end; the caller takes the first that is free."""
    for number in count(1):
        yield target.with_name(f"{_start(target)}{os.getpid()}-{number}.part")


def hold(descriptor: int) -> bool:
    """Lock an open part, so that no other process removes it; False if another has locked it.

    True also where there are no locks.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _is_number(name: str, start: str) -> bool:
    """Whether the middle of a name is what part_names puts there: a process id and a number."""
    pid, _, number = name.removeprefix(start).removesuffix(".part").partition("-")
    return pid.isdecimal() and number.isdecimal()


def _start(target: Path) -> str:
    """The beginning of the names of an output's parts."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}."


def _make_part(target: Path) -> tuple[Path, BinaryIO]:
    """A new part, open and locked, with the owner and permissions of what it will replace."""
    old = target.stat() if target.exists() else None
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777
    for part in part_names(target):
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            descriptor = os.open(part, flags, mode)
        except FileExistsError:
            continue
        if hold(descriptor) and _is_there(descriptor, part):
            if old is not None:
                keep_owner_and_mode(part, old)
            return part, os.fdopen(descriptor, "wb")
        os.close(descriptor)  # another process took it for a leftover
    raise AssertionError("unreachable: the names of parts do not end")


def keep_owner_and_mode(path: Path, old: os.stat_result) -> None:
    """Give a new file or folder the owner and the permissions of what it replaces."""
    with suppress(OSError, AttributeError):  # not everyone may, and not everywhere
        os.chown(path, old.st_uid, old.st_gid)
    path.chmod(stat.S_IMODE(old.st_mode))


def _is_there(descriptor: int, part: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), part.stat())
    except FileNotFoundError:
        return False


def _remove_unheld(part: Path) -> None:
    """Remove a part that no process holds."""
    try:
        descriptor = os.open(part, os.O_RDONLY)
    except OSError:  # it is gone, or a folder on Windows
        if not part.is_dir():
            return
        descriptor = -1
    try:
        if descriptor >= 0 and not hold(descriptor):
            return
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            with suppress(OSError):
                part.unlink(missing_ok=True)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _make_free(file: BinaryIO) -> None:
    """Close a part on Windows, which cannot rename an open file; elsewhere it keeps its lock."""
    if fcntl is None:
        file.close()


def _status(place: Path, named: str) -> os.stat_result | None:
    """The file status of what is at a path, with links followed; None if nothing is there.

    Raises CallError if that cannot be known.
    """
    try:
        return place.stat()
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise CallError(f"There is no folder {place.parent}.", _NAMED) from error
    except (OSError, ValueError, RuntimeError) as error:  # a circle of links, a name too long
        reason = getattr(error, "strerror", None) or str(error)
        raise CallError(f"{named} cannot be written: {reason}.", _NAMED) from error


def _is_of_bank(place: Path, bank: Path) -> bool:
    """Whether a path is a bank, its log or its copy, even if that does not exist yet."""
    own = bank.resolve()
    endings = ("", ".wal", ".wal.checkpoint", ".copying", ".copying.wal")
    for each in (Path(f"{own}{ending}") for ending in endings):
        if place == each:
            return True
        with suppress(OSError):
            if place.samefile(each):
                return True
    return False
