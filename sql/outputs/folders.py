"""The one way in which a folder is written that a user named.

What is written goes into a hidden folder beside, which takes the name when it is whole. Where an
earlier one is replaced, that one steps aside for a moment, so that the name is at every moment the
old folder's, nobody's or the new one's. What a killed process left beside is put right by the next
one that writes to the same place.
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
"""Looks at a folder, and gives what tells whether a path within it was written by such a command.
The path is relative to the folder."""


@dataclass(frozen=True)
class Part:
    """The folder to write into, and the descriptor that locks it (-1 for none): a process that
    writes into it too must inherit that.
    """

    folder: Path
    lock: int


def check_folder(path: str | Path, *, last: str, owns: Owns, force: bool) -> Path:
    """The folder that is to be written, behind links and with its `~` expanded.

    `last` is a file that every such folder has; `owns` tells what in one is such a command's own.
    Raises CallError where something else than a folder
    stands there, where it has something in it (unless `force`), and where it cannot change places
    with another: the current folder, and one that a disk is mounted on. Nothing is written, but
    what a killed process left half done is put right.
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

    `target` is what check_folder gave. What is in the way and was written by such a
    command (`owns`) is replaced; all else stays. Raises CallError where what stays would stand in
    the way of a new file, AttnbankError where the disk is full or refuses. Then what was there is
    as it was.
    """
    with postponed() as interrupts:  # the first one is raised, and none of those after it
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
    """Put a whole folder in the place of what is there."""
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
    """Give the new folder what the old one had besides, and the old one a name to be removed by."""
    _move_others(aside, target, Path(), owns(aside))
    aside.rename(next(each for each in part_names(target) if not os.path.lexists(each)))


def _put_right(target: Path, last: str, owns: Owns) -> None:
    """End what a killed process left half done.

    Where the new folder has its name already, it gets what the old one had besides; otherwise the
    old one gets the name back.
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
    """Raise CallError where what stays stands in the way of a new file or folder."""
    is_own = owns(target)
    for path in sorted(part.rglob("*")):
        old = target / path.relative_to(part)
        if not os.path.lexists(old):
            continue
        kind_differs = path.is_dir() != old.is_dir() or (path.is_dir() and old.is_symlink())
        if kind_differs or not (path.is_dir() or is_own(old.relative_to(target))):
            raise CallError(f"{old} stands in the way.", "Move it, or name another folder.")


def _move_others(old: Path, new: Path, at: Path, is_own: Callable[[Path], bool]) -> None:
    """Move what is nobody's own from the folder `at` of an old folder into that of a new one."""
    for path in sorted((old / at).iterdir()):
        place = at / path.name
        if path.is_dir() and not path.is_symlink():
            _move_others(old, new, place, is_own)
            if not any(path.iterdir()) and not (new / place).exists():  # it was empty
                (new / place).mkdir(parents=True)
        elif not is_own(place):
            (new / at).mkdir(parents=True, exist_ok=True)
            path.replace(new / place)
