"""Checks for hostile input: a command must end with at most two lines, and leave nothing behind."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from attnbank.cli.app import run_command_line

RAIN = "1\tRain\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tfell\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
"""A valid sentence in CoNLL-U."""

MOST_MEMORY = 3_000_000_000
"""The most bytes of memory that a command may take on hostile input."""


def files(folder: Path) -> dict[str, int]:
    """Every file below a folder with its size in bytes, without the caches of Python and pytest."""
    return {
        str(path.relative_to(folder)): path.lstat().st_size
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts and ".pytest_cache" not in path.parts
    }


def change_json(path: Path, **values: Any) -> None:
    """Change the values of some keys of a JSON file."""
    state = json.loads(path.read_text())
    path.write_text(json.dumps(state | values))


@contextmanager
def nothing_made(*folders: Path, but: Sequence[str] = ()) -> Iterator[None]:
    """Within, no file below the folders may be made, deleted or changed in size, except `but`."""
    before = [files(folder) for folder in folders]
    yield
    for folder, old in zip(folders, before, strict=True):
        new = files(folder)
        changed = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        assert changed <= set(but), f"{changed} in {folder}"


@dataclass(frozen=True)
class Refused:
    """Runs command lines that must fail."""

    capture: pytest.CaptureFixture[str]

    def __call__(self, *args: object, status: int = 0) -> str:
        """The error of `attnbank ARGS`, of at most two lines; with any status if it is 0."""
        self.capture.readouterr()
        ended = run_command_line([*map(str, args)])
        printed = self.capture.readouterr()
        assert ended == status or (status == 0 and ended in (1, 2)), printed.err
        assert printed.out == ""
        check_lines(printed.err.strip().splitlines())
        return printed.err


def check_lines(lines: Sequence[str]) -> None:
    """Check that an error is one or two readable lines, no traceback, and no fault of attnbank."""
    assert 1 <= len(lines) <= 2, lines
    assert lines[0].startswith("Error: "), lines
    assert all(len(line) < 1200 for line in lines), [len(line) for line in lines]
    assert "fault of attnbank" not in " ".join(lines), lines
    assert "Traceback" not in " ".join(lines), lines


_KEPT = ("PATH", "PYTHONPATH", "LANG", "TMPDIR", "ATTNBANK_CACHE")
"""The variables of the environment that a measured process has, too."""


@dataclass(frozen=True)
class Ended:
    """How a process ended: its status, what it printed, its seconds and its peak memory.

    `processor` are the seconds of all its threads and of the processes that it waited for: the
    same on a machine that is busy.
    """

    status: int
    out: str
    err: str
    seconds: float
    processor: float
    memory: int  # bytes


def measured(
    arguments: Sequence[str],
    folder: Path,
    *,
    stdin: int | None = subprocess.DEVNULL,
    seconds: float = 60,
    env: dict[str, str] | None = None,
) -> Ended:
    """Run `attnbank ARGUMENTS` as a process in a folder, and measure it.

    Its home is the folder `home` in that folder. After `seconds` it is killed, and the test fails.
    """
    home = folder / "home"
    home.mkdir(exist_ok=True)
    known = {name: os.environ[name] for name in _KEPT if name in os.environ}
    known |= {"HOME": str(home), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"} | (env or {})
    out, err = folder / "home.out", folder / "home.err"
    began = time.monotonic()
    with out.open("wb") as to_out, err.open("wb") as to_err:
        process = subprocess.Popen(
            [sys.executable, "-m", "attnbank", *arguments],
            cwd=folder, env=known, stdin=stdin, stdout=to_out, stderr=to_err,
            preexec_fn=_limits,
        )  # fmt: skip
        while True:
            result, status, usage = os.wait4(process.pid, os.WNOHANG)
            if result:
                break
            if time.monotonic() - began > seconds:
                process.kill()
                process.wait()
                pytest.fail(f"still running after {seconds} seconds: {err.read_text()}")
            time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    said, message = (each.read_text(encoding="utf-8", errors="replace") for each in (out, err))
    out.unlink()
    err.unlink()
    seconds = time.monotonic() - began
    processor = usage.ru_utime + usage.ru_stime
    return Ended(process.returncode, said, message, seconds, processor, usage.ru_maxrss * 1024)


def _limits() -> None:
    """Limit the memory of the process, so that it fails before the machine does."""
    resource.setrlimit(resource.RLIMIT_AS, (40_000_000_000, 40_000_000_000))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def damaged(data: bytes, seed: int) -> bytes:
    """The data with a few bytes flipped, deleted, repeated or inserted; the same for a seed."""
    draw = random.Random(seed)
    result = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(max(len(result), 1))
        size = draw.choice((1, 1, 2, 7))
        what = draw.randrange(4)
        if what == 0 and result:
            result[min(at, len(result) - 1)] ^= 1 << draw.randrange(8)
        elif what == 1:
            del result[at : at + size]
        elif what == 2:
            result[at:at] = result[at : at + size] * draw.randint(1, 3)
        else:
            result[at:at] = bytes(draw.randrange(256) for _ in range(size))
    return bytes(result)
