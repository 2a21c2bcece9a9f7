"""Files and folders that appear when they are whole: the only way in which one is written.

What is written goes into a hidden folder beside the target, the part, which takes the name, or the
file in it does, when it is complete. An earlier folder is renamed first, so that for a moment
nothing may have its name. The next process that writes to the same place removes the part that a
killed one left, and gives an earlier folder its name back; a part in use is known by its lock.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
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

# The file of an export that says what it holds; the last one that is written.
MANIFEST = "manifest.json"

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_NAMED = "Give the name of a file in an existing folder."

# The longest name, in bytes, that the name of a part contains: file systems allow 255 in all.
_LONGEST = 200

# Of a folder, what says of a path relative to it whether such a command wrote it.
Owns = Callable[[Path], Callable[[Path], bool]]


def check_output(path: str | Path, bank: Path | None = None) -> Path:
    """The file that is to be written, with links followed and `~` expanded. Nothing is written.

    Raises CallError if what is there is not a regular file, is write-protected, or is `bank` or its
    log, or if its folder does not exist or may not be written to.
    """
    named = os.fspath(path)
    place = expanded(named)
    status = None
    try:
        status = place.stat()
    except FileNotFoundError:
        if named.endswith(("/", os.sep)) or place.name in ("", ".."):
            raise CallError(f"The folder {named} does not exist.", _NAMED) from None
        if place.is_symlink():
            raise CallError(
                f"{named} is a broken link.", "Remove it, or give another name."
            ) from None
    except NotADirectoryError as error:
        raise CallError(f"There is no folder {place.parent}.", _NAMED) from error
    except (OSError, ValueError, RuntimeError) as error:  # a circle of links, a name too long
        reason = getattr(error, "strerror", None) or str(error)
        raise CallError(f"{named} cannot be written: {reason}.", _NAMED) from error
    resolved = place.resolve()
    if status is not None and (kind := kind_of_file(status.st_mode)):
        raise CallError(
            f"{named} is {kind}.",
            _NAMED if kind == "a folder" else "Give the name of a file, or redirect (> FILE).",
        )
    if bank is not None and any(
        resolved == file or (resolved.exists() and file.exists() and resolved.samefile(file))
        for file in files_of_bank(bank.resolve())
    ):
        raise CallError(f"{named} is the bank itself.", "Give another name.")
    if not resolved.parent.is_dir():
        raise CallError(f"There is no folder {resolved.parent}.", _NAMED)
    if not os.access(resolved.parent, os.W_OK | os.X_OK):
        raise CallError(f"No permission to write to {resolved.parent}.", "Choose another folder.")
    if status is not None and not os.access(resolved, os.W_OK):
        raise CallError(f"{named} is write-protected.", "Give another name, or remove it first.")
    return resolved


def kind_of_file(mode: int) -> str:
    """What something is that is not a regular file ("a pipe"); empty for a regular file."""
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "not a regular file")


def expanded(path: str | Path) -> Path:
    """A path with its `~` expanded; as it is if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # a folder called ~anything
        return Path(path)


@contextmanager
def output_file(path: str | Path, bank: Path | None = None) -> Iterator[BinaryIO]:
    """A file to write into, which takes its place when the block ends, and is gone if it raises.

    It gets the owner and the permissions of the file that it replaces. Raises as check_output does,
    and AttnbankError if writing fails.
    """
    target = check_output(path, bank)
    with postponed() as interrupts:  # a second Ctrl-C must not stop the removal of the part
        try:
            with new_part(target) as part:
                whole = part / target.name
                with whole.open("wb") as file:
                    if target.exists():
                        keep_owner_and_mode(whole, target.stat())
                    with interrupts.at_once():
                        yield file
                    file.flush()
                    os.fsync(file.fileno())
                whole.replace(target)
        except OSError as error:
            raise unwritten(path, error) from error


def unwritten(path: str | Path, error: OSError) -> AttnbankError:
    """The error for an output that could not be written, and is therefore as it was before."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return AttnbankError(
            f"The disk of {path} is full; what was there is unchanged.",
            "Free some space or choose another place, then type the same command again.",
        )
    return AttnbankError(f"{path} cannot be written: {error.strerror or error}.")


def file_digest(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def take_name(part: Path, target: Path) -> bool:
    """Give a whole file its name; False if there is one already, which then stays."""
    try:
        target.hardlink_to(part)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: the last one that is whole stays
        part.replace(target)
    return True


def keep_owner_and_mode(path: Path, old: os.stat_result) -> None:
    """Give a new file or folder the owner and the permissions of what it replaces."""
    with suppress(OSError, AttributeError):  # not everyone may, and not everywhere
        os.chown(path, old.st_uid, old.st_gid)
    path.chmod(stat.S_IMODE(old.st_mode))


@contextmanager
def new_part(target: Path) -> Iterator[Path]:
    """A locked folder to write a target in, which is gone at the end unless it has been renamed."""
    remove_parts(target)
    lock = None
    while lock is None:  # another process took the last one for a leftover
        path = next(path for path in part_names(target) if not os.path.lexists(path))
        with suppress(FileExistsError):
            path.mkdir()
            lock = _locked(path)
    try:
        yield path
    finally:
        _discard(path, lock)


def remove_parts(target: Path) -> None:
    """Remove the parts that killed processes left of an output."""
    name = re.compile(re.escape(_start(target)) + r"\d+-\d+\.part")
    with suppress(OSError):  # in a folder that cannot be listed they stay
        for path in target.parent.iterdir():
            if name.fullmatch(path.name):
                with suppress(OSError):
                    if (lock := _locked(path)) is not None:  # no process holds it
                        _discard(path, lock)


def part_names(target: Path) -> Iterator[Path]:
    """Names for a part of an output, without end; the caller takes the first that is free."""
    for number in count(1):
        yield target.with_name(f"{_start(target)}{os.getpid()}-{number}.part")


def _start(target: Path) -> str:
    name = target.name
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}."


def _locked(path: Path) -> int | None:
    """A descriptor that locks a folder, or -1 on Windows; None if it is gone or locked."""
    if fcntl is None:
        return -1
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_held = False
    except OSError as error:  # other errors: a file system without locks
        is_held = isinstance(error, BlockingIOError)
    with suppress(FileNotFoundError):
        if not is_held and os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    os.close(descriptor)
    return None


def _discard(path: Path, lock: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if lock >= 0:
        os.close(lock)


def files_of_bank(path: Path) -> tuple[Path, ...]:
    """A bank, and the logs that DuckDB writes beside it."""
    return (path, Path(f"{path}.wal"), Path(f"{path}.wal.checkpoint"))


def check_folder(path: str | Path, *, last: str, force: bool) -> Path:
    """The folder that is to be written, with links followed and `~` expanded.

    `last` is a file that every complete folder of the kind has. Nothing is written, but what a
    killed process left half done is put right. Raises CallError if what is there is not a folder,
    is not empty (unless `force`), or cannot be replaced since it is a mounted disk, or is or
    contains the current folder.
    """
    place = expanded(path)
    if place.is_symlink() and not place.exists():
        raise CallError(f"{path} is a broken link.", "Remove it, or name another folder.")
    target = place.resolve()
    _put_right(target, is_whole=(target / last).is_file())
    if not os.path.lexists(target):
        return target
    if not target.is_dir():
        raise CallError(
            f"{path} is not a folder.", "Name a folder, or one that does not exist yet."
        )
    if target.is_mount() or Path.cwd().is_relative_to(target):
        what = "a mounted disk" if target.is_mount() else "the current folder"
        raise CallError(
            f"{path} is {what}, which cannot be replaced by another folder.",
            f"Name a folder in it: {target / 'parquet'}",
        )
    if not force and any(target.iterdir()):
        raise CallError(
            f"The folder {path} is not empty.", "Name another, or replace it with --force."
        )
    return target


@contextmanager
def output_folder(target: Path, *, owns: Owns) -> Iterator[Path]:
    """A folder to write into, which takes its place when the block ends, and is gone if it raises.

    `target` is what check_folder returned; files in it that `owns` does not claim stay.
    Raises CallError if one of them is in the way, AttnbankError if writing fails; then what was
    there is unchanged.
    """
    with postponed() as interrupts:  # a second Ctrl-C must not stop the clearing up
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with new_part(target) as part:
                with interrupts.at_once():
                    yield part
                for path in part.rglob("*"):
                    if path.is_file():
                        with path.open("rb+") as file:
                            os.fsync(file.fileno())
                if target.exists():
                    keep_owner_and_mode(part, target.stat())
                    made = [(path.relative_to(part), path.is_dir()) for path in part.rglob("*")]
                    check_fits(sorted(made), target, owns)
                    _link_others(target, part, owns(target))
                    target.rename(_aside(target))
                try:
                    part.rename(target)
                finally:
                    _put_right(target, is_whole=True)
        except OSError as error:
            raise unwritten(target, error) from error


def check_fits(made: Iterable[tuple[Path, bool]], target: Path, owns: Owns) -> None:
    """Raise CallError if something that stays in a folder has the place of what is to be there.

    `made` are paths relative to `target`, and whether they are folders.
    """
    is_own = owns(target)
    for path, is_folder in made:
        old = target / path
        if not os.path.lexists(old):
            continue
        kind_differs = is_folder != old.is_dir() or (is_folder and old.is_symlink())
        if kind_differs or not (is_folder or is_own(path)):
            raise CallError(f"{old} is in the way.", "Move it, or name another folder.")


def _link_others(old: Path, new: Path, is_own: Callable[[Path], bool]) -> None:
    """Link files that `owns` does not claim, and empty folders, into the new folder."""
    for path in sorted(old.rglob("*")):
        place = new / path.relative_to(old)
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                place.mkdir(parents=True, exist_ok=True)
        elif not is_own(path.relative_to(old)):
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, place, follow_symlinks=False)
            except (OSError, NotImplementedError):  # a file system without links
                shutil.copy2(path, place, follow_symlinks=False)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.replaced")


def _put_right(target: Path, *, is_whole: bool) -> None:
    """Remove an earlier folder where the new one is there as a whole, else give it its name back.

    Raises CallError if something else has that name.
    """
    aside = _aside(target)
    if not aside.is_dir():
        return
    try:
        if not os.path.lexists(target):
            aside.rename(target)
        elif is_whole:
            shutil.rmtree(aside, ignore_errors=True)
        else:
            raise CallError(
                f"{target} is in the place of an earlier folder, which a killed command left as"
                f" {aside}.",
                "Move one of them elsewhere.",
            )
    except OSError as error:
        raise unwritten(target, error) from error
