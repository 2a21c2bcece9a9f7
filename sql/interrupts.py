"""Ctrl-C at a time that suits: what must not be left half done is ended first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Postponed:
    """Whether somebody interrupted meanwhile, and whether that may be raised at once."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.has_come = False
        self.may_raise = False
        self._tell = tell

    def take(self, number: int, frame: FrameType | None) -> None:
        """Remember an interrupt. Raises KeyboardInterrupt where that may be raised."""
        self.has_come = True
        self._tell()
        if self.may_raise:
            self.may_raise = False
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within, the first interrupt raises KeyboardInterrupt, as it does elsewhere."""
        if self.has_come:
            raise KeyboardInterrupt
        self.may_raise = True
        try:
            yield
        finally:
            self.may_raise = False


@contextmanager
def postponed(tell: Callable[[], None] = lambda: None) -> Iterator[Postponed]:
    """Within, Ctrl-C raises nothing, however often; at the end it does what it always does.

    `tell` is called at each, by the main thread between two of its steps: it must be short, and
    raise nothing. In other threads than the main one, which no interrupt reaches, and where the
    process ignores interrupts, nothing changes.
    """
    state = Postponed(tell)
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield state
        return
    signal.signal(signal.SIGINT, state.take)
    try:
        yield state
    finally:
        signal.signal(signal.SIGINT, usual)
        if state.has_come:
            usual(signal.SIGINT, None)
