"""A process that we started is ended, wherever the Ctrl-C comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import psutil
import pytest

from attnbank.queries.bank import open_bank
from attnbank.queries.export.exporting import export
from attnbank.queries.sandbox.isolated import Isolated
from attnbank.queries.sandbox.processes import end

PATIENCE = 20
"""Seconds after which something has hung."""


class Hung(BaseException):
    """Raised into what hangs."""


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, and what hangs is ended and told."""
    hung = []

    def give_up(number: int, frame: FrameType | None) -> None:
        hung.append(frame)
        raise Hung

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    usual = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, usual)
    signal.signal(signal.SIGINT, before)
    assert not hung


class WhenLocked:
    """Presses Ctrl-C as soon as subprocess has taken the lock of a process in this thread."""

    pressed = False

    def __enter__(self) -> WhenLocked:
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, value: object) -> Any:
        is_wait = frame.f_code.co_name in ("_wait", "_internal_poll")
        return self._step if is_wait and frame.f_code.co_filename == subprocess.__file__ else None

    def _step(self, frame: FrameType, event: str, value: object) -> Any:
        process = frame.f_locals["self"]
        if not self.pressed and process._waitpid_lock.locked():
            self.pressed = True
            os.kill(os.getpid(), signal.SIGINT)
        return self._step


def _export(bank: Path, folder: Path) -> None:
    with open_bank(bank) as opened:
        export(opened, folder / "parquet")


def _close(bank: Path, folder: Path) -> None:
    Isolated(bank, "select 1", None, 10.0, 10**9).close()


def _read(bank: Path, folder: Path) -> None:
    with Isolated(bank, "select 1", None, 10.0, 10**9) as found:
        assert [frame.rows() for frame in found] == [[(1,)]]


def _end(bank: Path, folder: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    end(process, 0.1)


def _children() -> set[int]:
    """Processes that this one started and that are alive."""
    found = psutil.Process().children()
    return {each.pid for each in found if each.status() != psutil.STATUS_ZOMBIE}


@pytest.mark.parametrize("what", [_export, _close, _read, _end], ids=lambda each: each.__name__)
def test_an_interrupt_while_it_is_waited_for(
    what: Callable[[Path, Path], None], sample_bank: Path, tmp_path: Path
) -> None:
    """Popen.wait can keep its lock where it is interrupted, and the next one waits for ever."""
    before = _children()
    with pytest.raises(KeyboardInterrupt), WhenLocked() as state:
        what(sample_bank, tmp_path)
    assert state.pressed
    assert _children() <= before
    assert not any(tmp_path.iterdir())


def test_a_process_that_ends_by_itself_keeps_its_status() -> None:
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    end(process, 10.0)
    assert process.returncode == 3
    end(process)
    assert process.returncode == 3
