"""Work in a process of its own: what it says comes through, and it ends when it must."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import psutil
import pytest
import worker_functions

from attnbank.queries.bank import open_bank
from attnbank.queries.execution import Isolated
from attnbank.sql import worker
from attnbank.sql.errors import AttnbankError, AttnbankWarning, BankError, CallError, QueryError
from attnbank.sql.export_format import export
from attnbank.sql.worker import Worker

PATIENCE = 20
"""Seconds after which something has hung."""
BANK = Path("some.duckdb")
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the system ends it on Linux")


class Hung(BaseException):
    """Raised into what hangs."""


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, what hangs is ended and told, and no process is left."""
    hung = []

    def give_up(number: int, frame: FrameType | None) -> None:
        hung.append(frame)
        raise Hung

    running = {child.pid for child in psutil.Process().children()}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    usual = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, usual)
    signal.signal(signal.SIGINT, before)
    assert not hung
    left = [child for child in psutil.Process().children() if child.pid not in running]
    assert not psutil.wait_procs(left, timeout=30)[1]


def test_items_and_warnings_come_back_whatever_is_printed() -> None:
    with Worker(BANK, worker_functions.echoes, 1, 2) as worker:
        with pytest.warns(AttnbankWarning, match="a warning") as warned:
            first, frame, text = worker
        assert len(warned) == 1
        assert first == [1, 2]
        assert frame.equals(pl.DataFrame({"n": [1, 2]}))
        assert text == "y" * 3_000_000


def test_errors_come_back() -> None:
    for args, kind, text in (
        ((1,), QueryError, "a fact\na remedy"), ((), RuntimeError, "ValueError: unexpected"),
    ):  # fmt: skip
        with Worker(BANK, worker_functions.fails, *args) as worker, pytest.raises(kind) as caught:
            list(worker)
        assert str(caught.value) == text
        assert "worker_functions" in caught.value.__notes__[0]
    with pytest.raises(CallError, match="given to another process"):
        Worker(BANK, worker_functions.echoes, lambda: None)


@pytest.mark.usual("aborts-*", "leaves-*")
@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("aborts", "SIGABRT"),
        ("leaves", r"unexpectedly \(status 5\)"),
        ("writes_garbage", r"unexpectedly \(status 0\)"),
    ],
)
def test_a_crash_is_an_error(function: str, text: str) -> None:
    with Worker(BANK, getattr(worker_functions, function)) as worker:  # noqa: SIM117
        with pytest.raises(BankError, match=f"{BANK}.*{text}"):
            list(worker)


def test_it_is_killed_for_the_error_of_a_check() -> None:
    error: AttnbankError | None = None
    with Worker(BANK, worker_functions.sleeps, check=lambda process: error) as worker:
        items = iter(worker)
        assert next(items) == "asleep"
        error = AttnbankError("too much")
        with pytest.raises(AttnbankError, match="too much"):
            next(items)


def test_another_thread_can_start_and_close_it() -> None:
    """A thread that ends does not end what it started, though the system counts it as parent."""
    workers: list[Worker] = []
    starting = threading.Thread(
        target=lambda: workers.append(Worker(BANK, worker_functions.sleeps))
    )
    starting.start()
    starting.join()
    (worker,) = workers
    items = iter(worker)
    assert next(items) == "asleep"
    threading.Timer(0.1, worker.close).start()
    with pytest.raises(BankError, match="SIGKILL"):
        next(items)


PRESSED = """
import sys
from pathlib import Path
import polars  # whose handler lets the system restart what a Ctrl-C interrupts
import worker_functions
from attnbank.sql.worker import Worker
with Worker(Path("x"), getattr(worker_functions, sys.argv[1])) as worker:
    for _ in worker:
        print(worker.pid, flush=True)
"""


@pytest.mark.parametrize(
    ("function", "number"),
    [
        ("sleeps", signal.SIGINT),
        ("sleeps", signal.SIGKILL),
        pytest.param("keeps_its_turn", signal.SIGKILL, marks=ON_LINUX),
    ],
)
def test_it_ends_with_the_process_that_started_it(function: str, number: signal.Signals) -> None:
    """Ctrl-C is noticed while nothing comes, and a process that is killed leaves none."""
    running = subprocess.Popen(
        [sys.executable, "-c", PRESSED, function],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert running.stdout is not None
    child = psutil.Process(int(running.stdout.readline()))
    began = time.monotonic()
    running.send_signal(number)
    running.communicate()
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running()
    assert time.monotonic() - began < 30


class PressedAt:
    """Presses Ctrl-C at a line of worker.py that this thread runs, but for the first of a function.

    As everywhere in Python, nothing is cleared up for `with` at the very beginning and end of it.
    """

    def __init__(self, line: int) -> None:
        self.left = line
        self.frames: list[FrameType] = []

    def __enter__(self) -> PressedAt:
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, value: object) -> Any:
        return self._step if frame.f_code.co_filename == worker.__file__ else None

    def _step(self, frame: FrameType, event: str, value: object) -> Any:
        if event == "line" and frame in self.frames:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGINT)
        elif event == "line":
            self.frames.append(frame)
        return self._step


def _export(bank: Path, folder: Path) -> None:
    with open_bank(bank) as opened:
        export(opened.path, folder / "parquet")


def _close(bank: Path, folder: Path) -> None:
    Isolated(bank, "select 1", None, 10.0, 10**9).close()


def _read(bank: Path, folder: Path) -> None:
    with Isolated(bank, "select 1", None, 10.0, 10**9) as rows:
        assert [frame.rows() for frame in rows] == [[(1,)]]


@pytest.mark.parametrize("line", [*range(1, 12, 3), *range(12, 60, 8)])
@pytest.mark.parametrize("work", [_export, _close, _read], ids=lambda work: work.__name__)
@pytest.mark.usual("_read-9", "_export-28", "_close-20")
def test_an_interrupt_at_any_line(
    work: Callable[[Path, Path], None], line: int, sample_bank: Path, tmp_path: Path
) -> None:
    """It ends the work and the process, and nothing waits for ever."""
    with pytest.raises(KeyboardInterrupt) as caught, PressedAt(line) as state:
        work(sample_bank, tmp_path)
        if state.left > 0:
            raise KeyboardInterrupt
    del caught
    assert not any(tmp_path.glob("parquet/*")) or state.left > 0
