"""Disks of a few sizes: each command says in two lines that the disk is full, or does all of it.

What it leaves is whole, and with more room the same command ends as if the disk had been large.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from writing_commands import Case, at_most_two_lines

NAMES = (
    "ingest", "second ingest", "ingest --replace", "compute", "probe", "export", "export --force",
    "import", "-o", "-o parquet", "delete", "use", "annotate",
    "surprisal", "ablate",
)  # fmt: skip
SIZES = 2
"""No room at all, and as much again as the command leaves."""


class Disk:
    """A small disk, mounted at a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._mount("size=1m")

    def resize(self, size: int) -> None:
        """Give it so many bytes."""
        self._mount(f"remount,size={size}")

    def _mount(self, options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")

    def unmount(self) -> None:
        """Take it away."""
        subprocess.run(["umount", "-l", str(self.folder)], check=False)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if not sys.platform.startswith("linux") or shutil.which("mount") is None:
        pytest.skip("only Linux mounts a disk in memory")
    made = Disk(tmp_path / "disk")
    yield made
    made.unmount()


def _bytes(folder: Path) -> int:
    """The room that the files of a folder take on a disk of pages of 4,096 bytes."""
    return sum(-(-path.stat().st_size // 4096) * 4096 + 4096 for path in folder.rglob("*"))


def check(case: Case, disk: Disk, size: int, telling: str = "is full") -> bool:
    """Run the command on a disk of a size, and again on a large one; whether it was full."""
    shutil.rmtree(disk.folder / "work", ignore_errors=True)
    disk.resize(2**30)
    place = case.prepared(disk.folder / "work")
    disk.resize(max(size, _used(disk.folder), 4096))  # 0 would be no limit
    done = case.run(place)
    if done.status:
        assert done.status == 1 and at_most_two_lines(done) and telling in done.told, (size, done)
        left = {name for name in case.content(place) if "duckdb: " not in name}
        assert left <= {*case.before, *case.expected, "bank.duckdb.wal"}, (size, left)
    disk.resize(2**30)
    again = case.run(place) if done.status else done
    assert case.command.is_done(again), (size, done, again)
    differs = case.differences(place)
    assert not differs, (size, differs, done, again)
    return done.status != 0


def _used(folder: Path) -> int:
    return shutil.disk_usage(folder).used


def sizes(case: Case, count: int) -> list[int]:
    """Sizes from no room at all to twice what the command leaves."""
    before, after = _bytes(case.ready), _bytes(case.ready.with_name("whole"))
    step = 2 * max(after - before, 40_000) // count
    return [0, *(before + step * at for at in range(1, count))]


@pytest.mark.few("ingest --replace-2", "export --force-2", "compute-2")
@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [*((name, SIZES) for name in NAMES), ("demo", 1)])
def test_on_a_full_disk(case: Callable[[str], Case], disk: Disk, name: str, count: int) -> None:
    own = case(name)
    full = [check(own, disk, size) for size in sizes(own, count)]
    assert any(full) or name == "use"


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_on_many_full_disks(
    case: Callable[[str], Case], disk: Disk, name: str, soak_seed: int
) -> None:
    own, drawn = case(name), random.Random(soak_seed)
    low, high = _bytes(own.ready), 2 * _bytes(own.ready.with_name("whole"))
    for _ in range(60):
        check(own, disk, drawn.randrange(low, high))
