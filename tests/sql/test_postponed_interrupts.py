"""Ctrl-C waits for what must not be left half done, and no thread outlives it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from command_line import run_python
from fixture_types import Models

from attnbank.sql.interrupts import postponed


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Interrupts raise KeyboardInterrupt, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_interrupts_are_raised_once_and_at_the_end() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), postponed(lambda: done.append("told")) as state:
        for _ in range(3):
            _interrupt()
        assert state.has_come
        done.append("whole")
    assert done == ["told", "told", "told", "whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with postponed():
        pass
    with pytest.raises(KeyboardInterrupt):
        _interrupt()


def test_where_they_may_be_raised_at_once_only_the_first_is() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), postponed() as state:
        try:
            with state.at_once():
                _interrupt()
                done.append("never")
        finally:
            _interrupt()
            done.append("tidied")
    assert done == ["tidied"]
    with pytest.raises(KeyboardInterrupt), postponed() as state:
        _interrupt()
        with state.at_once():
            done.append("never")
    assert done == ["tidied"]


def test_an_error_within_is_told_by_the_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt) as raised, postponed():
        _interrupt()
        raise ValueError("within")
    assert isinstance(raised.value.__context__, ValueError)


def test_nothing_is_raised_where_nobody_waits_for_the_end() -> None:
    """As where an interrupt comes between the entry of a `with` statement and its block."""

    def made() -> Generator[None, None, None]:
        with postponed():
            yield

    waiting = made()
    next(waiting)
    _interrupt()
    waiting.close()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_and_ignored_interrupts_are_left_alone() -> None:
    results = []

    def elsewhere() -> None:
        with postponed():
            results.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with postponed():
        _interrupt()
        results.append(signal.getsignal(signal.SIGINT))
    assert results == [signal.default_int_handler, signal.SIG_IGN]


# Every word about how far it is interrupts, so that interrupts come while threads start, work,
# stop and are waited for.
CHILD = """
import os, signal, sys, threading
from pathlib import Path
from attnbank.ingest import IngestOptions, ingest; from attnbank.ingest.store import pipeline
pipeline.WEIGHTS_AT_ONCE = 1
signal.signal(signal.SIGINT, signal.default_int_handler)
corpus, bank, model, after = sys.argv[1:]
told = 0
def tell(progress):
    global told
    if progress.stage in ("running", "planning"):
        told += 1
        if told >= int(after):
            os.kill(os.getpid(), signal.SIGINT)
start = pipeline.PipelineThread.start
def started(thread):
    start(thread)
    if after == "0":
        os.kill(os.getpid(), signal.SIGINT)
pipeline.PipelineThread.start = started
try:
    ingest(IngestOptions((corpus,), Path(bank), model, batch_tokens=256), tell)
except KeyboardInterrupt:
    left = [each for each in threading.enumerate() if type(each) is pipeline.PipelineThread]
    print("interrupted", left)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.few("0", "3")
def test_no_thread_outlives_an_interrupted_ingest(
    sample: Path, tiny_model: Models, tmp_path: Path, after: int
) -> None:
    args = (sample / "stories.conllu", tmp_path / "b.duckdb", tiny_model("bert"), after)
    done = run_python("-c", CHILD, *args)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted []\n"
