"""The only way in which a folder that a user named is written.

What is written goes into a hidden folder beside it, the part, which takes the name when it is
complete. If there is an earlier folder, it is renamed first, so that at every moment the name
belongs to the old folder, to nothing, or to the new one. What a killed process left half done is
put right by the next process that writes to the same place.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from attnbank.sql.errors import CallError
from attnbank.sql.interrupts import postponed
from attnbank.sql.outputs.files import (
    expanded,
    hold,
    keep_owner_and_mode,
    part_names,
    remove_parts,
    unwritten,
)

Owns = Callable[[Path], Callable[[Path], bool]]
"""A function that looks at a folder that a command wrote earlier, and returns a function that says
of a path, relative to that folder, whether such a command wrote it."""


@dataclass(frozen=True)
class Part:
    """The folder to write into, and the file descriptor that locks it (-1 if there is none).

    Another process that writes into the folder must inherit the descriptor, so that the lock lasts
    as long as that process.
    """

    folder: Path
    lock: int


def check_folder(path: str | Path, *, last: str, owns: Owns, force: bool) -> Path:
    """The folder that is to be written, with links followed and `~` expanded.

    `last` is the name of a file that every complete folder of the kind has; `owns` says which of
    its files the command wrote. Nothing is written, but what a killed process left half done is put
    right.

    Raises CallError if what is there is not a folder, if it is not empty (unless `force`), and if
    another folder cannot take its place: it is or contains the current folder, or a disk is mounted
    on it.
    """
    place = expanded(path)
    if place.is_symlink() and not place.exists():
        raise CallError(f"{path} is a link to nothing.", "Remove it, or name another folder.")
    target = place.resolve()
    _put_right(target, last, owns)
    if not os.path.lexists(target):
        return target
    if not target.is_dir():
        raise CallError(f"{path} is no folder.", "Name another, or one that does not exist yet.")
    if target.is_mount() or Path.cwd().is_relative_to(target):
        what = "a mounted disk" if target.is_mount() else "the current folder"
        raise CallError(
            f"{path} is {what}, which another folder cannot take the place of.",
            f"Name a folder in it: {target / 'parquet'}",
        )
    if not force and any(target.iterdir()):
        raise CallError(
            f"The folder {path} is not empty.", "Name another, or replace with --force."
        )
    return target


@contextmanager
def output_folder(target: Path, *, owns: Owns) -> Iterator[Part]:
    """A folder to write into, which takes its place when the block ends, and is gone if it raises.

    `target` is what check_folder returned. Files in it that such a command wrote (`owns`) are
    replaced; all others stay. Raises CallError if a file that stays has the place of a new one,
    AttnbankError if the disk is full or writing fails. Then what was there before is unchanged.
    """
    with postponed() as interrupts:  # a second Ctrl-C must not stop the clearing up
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            remove_parts(target)
            part = _make_part(target)
            try:
                with interrupts.at_once():
                    yield part
                _make_last(part.folder)
                _take_place(part.folder, target, owns)
            finally:
                shutil.rmtree(part.folder, ignore_errors=True)
                if part.lock >= 0:
                    os.close(part.lock)
        except OSError as error:
            raise unwritten(target, error) from error
        remove_parts(target)  # the old one


def _make_part(target: Path) -> Part:
    """A new hidden folder beside the target, locked if the system can lock folders."""
    for folder in part_names(target):
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        lock = -1
        with suppress(OSError):  # Windows opens no folders
            lock = os.open(folder, os.O_RDONLY)
        if lock < 0 or (hold(lock) and folder.exists()):
            return Part(folder, lock)
        os.close(lock)  # another process took it for a leftover
    raise AssertionError("unreachable: the names of parts do not end")


def _make_last(folder: Path) -> None:
    """Flush everything in a folder to the disk before its name says that it is whole."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.replaced")


def _take_place(part: Path, target: Path, owns: Owns) -> None:
    """Put a complete folder in the place of what is there, of which files of others stay.

    Raises CallError as `_check_fits` does.
    """
    if not target.exists():
        part.rename(target)
        return
    keep_owner_and_mode(part, target.stat())
    if not any(target.iterdir()):
        target.rmdir()
        part.rename(target)
        return
    _check_fits(part, target, owns)
    aside = _aside(target)
    target.rename(aside)
    try:
        part.rename(target)
    except BaseException:
        if not target.exists():
            aside.rename(target)
        raise
    _settle(aside, target, owns)


def _settle(aside: Path, target: Path, owns: Owns) -> None:
    """Move files of others from the old folder to the new one, and rename the old one to a part.

    The next `remove_parts` removes it.
    """
    _move_others(aside, target, Path(), owns(aside))
    aside.rename(next(each for each in part_names(target) if not os.path.lexists(each)))


def _put_right(target: Path, last: str, owns: Owns) -> None:
    """Finish or undo what a killed process left half done.

    If the new folder already has the name, it gets the files of others from the old one; if nothing
    has the name, the old folder gets it back. Raises CallError if something else has it.
    """
    aside = _aside(target)
    if not aside.is_dir():
        return
    try:
        if (target / last).is_file():
            _settle(aside, target, owns)
        elif not os.path.lexists(target):
            aside.rename(target)
        else:
            raise CallError(
                f"{target} was put where an earlier one belongs, which a killed command left in"
                f" {aside}.",
                "Move one of them elsewhere.",
            )
    except OSError as error:
        raise unwritten(target, error) from error


def _check_fits(part: Path, target: Path, owns: Owns) -> None:
    """Raise CallError if something that stays has the place of a new file or folder."""
    is_own = owns(target)
    for path in sorted(part.rglob("*")):
        old = target / path.relative_to(part)
        if not os.path.lexists(old):
            continue
        kind_differs = path.is_dir() != old.is_dir() or (path.is_dir() and old.is_symlink())
        if kind_differs or not (path.is_dir() or is_own(old.relative_to(target))):
            raise CallError(f"{old} stands in the way.", "Move it, or name another folder.")


def _move_others(old: Path, new: Path, at: Path, is_own: Callable[[Path], bool]) -> None:
    """Move what is not the command's own from `old / at` to `new / at`, folder by folder."""
    for path in sorted((old / at).iterdir()):
        place = at / path.name
        if path.is_dir() and not path.is_symlink():
            _move_others(old, new, place, is_own)
            if not any(path.iterdir()) and not (new / place).exists():  # it was empty
                (new / place).mkdir(parents=True)
        elif not is_own(place):
            (new / at).mkdir(parents=True, exist_ok=True)
            path.replace(new / place)
