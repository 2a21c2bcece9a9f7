"""Work in a process of its own: what it says comes through, and it ends when it must."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import worker_functions
import psutil
import pytest

from attnbank.queries.bank import open_bank
from attnbank.queries.execution import Isolated
from attnbank.queries.export import export
from attnbank.sql.errors import AttnbankError, AttnbankWarning, BankError, CallError, QueryError
from attnbank.sql.worker import Guarded

PATIENCE = 20
"""Seconds after which something has hung."""
BANK = Path("some.duckdb")


class Hung(BaseException):
    """Raised into what hangs."""


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, what hangs is ended and told, and no process is left."""
    hung = []

    def give_up(number: int, frame: FrameType | None) -> None:
        hung.append(frame)
        raise Hung

    running = _children()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    usual = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, usual)
    signal.signal(signal.SIGINT, before)
    assert not hung
    assert _children() <= running


def _children() -> set[int]:
    """Processes that this one started and that are alive."""
    found = psutil.Process().children()
    return {each.pid for each in found if each.status() != psutil.STATUS_ZOMBIE}


def test_messages_come_through_whatever_is_printed() -> None:
    with Guarded(BANK, worker_functions.echoes, 1, "two") as process:
        with pytest.warns(AttnbankWarning, match="a warning"):
            found = list(process.messages())
        assert found == [(b"X", b"(1, 'two')"), (b"X", b"y" * 3_000_000)]
        assert process.status == 3


def test_errors_come_through() -> None:
    for given, kind, told in (
        ((1,), QueryError, "a fact\na remedy"), ((), RuntimeError, "ValueError: unexpected"),
    ):  # fmt: skip
        with Guarded(BANK, worker_functions.fails, *given) as process, pytest.raises(kind) as caught:
            list(process.messages())
        assert str(caught.value) == told
        assert "worker_functions" in caught.value.__notes__[0]
    with pytest.raises(CallError, match="given to another process"):
        Guarded(BANK, worker_functions.echoes, lambda: None)


@pytest.mark.parametrize(
    ("work", "told"), [("aborts", "SIGABRT"), ("leaves", r"unexpectedly \(status 5\)")]
)
def test_a_crash_is_told_in_words(work: str, told: str) -> None:
    with Guarded(BANK, getattr(worker_functions, work)) as process:  # noqa: SIM117
        with pytest.raises(BankError, match=f"{BANK}.*{told}"):
            list(process.messages())


def test_it_is_killed_for_the_error_of_a_check() -> None:
    error = AttnbankError("too much")
    with Guarded(BANK, worker_functions.sleeps) as process:
        messages = process.messages()
        assert next(messages) == (b"S", b"asleep")
        process.watch(lambda looked_at: error if looked_at.pid == process.pid else None)
        with pytest.raises(AttnbankError, match="too much"):
            next(messages)
        assert process.status == -signal.SIGKILL


PRESSED = """
import signal, sys
from pathlib import Path
import polars  # whose handler lets the system restart what a Ctrl-C interrupts
import worker_functions
from attnbank.sql.worker import Guarded
with Guarded(Path("x"), worker_functions.sleeps) as process:
    for kind, body in process.messages():
        print(process.pid, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda each: each.name)
def test_it_ends_with_the_process_that_started_it(number: signal.Signals) -> None:
    """Ctrl-C is noticed while nothing comes, and a process that is killed leaves none."""
    running = subprocess.Popen(
        [sys.executable, "-c", PRESSED], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert running.stdout is not None
    child = psutil.Process(int(running.stdout.readline()))
    began = time.monotonic()
    running.send_signal(number)
    running.communicate()
    psutil.wait_procs([child], timeout=5)
    assert not child.is_running()
    assert time.monotonic() - began < 5


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


@pytest.mark.usual(3)
@pytest.mark.parametrize("what", [_export, _close, _read], ids=lambda each: each.__name__)
def test_an_interrupt_while_it_is_waited_for(
    what: Callable[[Path, Path], None], sample_bank: Path, tmp_path: Path
) -> None:
    """Popen.poll can keep its lock where it is interrupted, and the next one waits for ever."""
    with pytest.raises(KeyboardInterrupt), WhenLocked() as state:
        what(sample_bank, tmp_path)
    assert state.pressed
    assert not any(tmp_path.glob("parquet/*"))
