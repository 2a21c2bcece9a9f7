"""Postponing Ctrl-C until work that must not be left half done is finished, or ignoring it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Postponed:
    """Whether an interrupt has come, and whether the next one may raise at once."""

    def __init__(self, on_interrupt: Callable[[], None]) -> None:
        self.has_come = False
        self.may_raise = False
        self._on_interrupt = on_interrupt

    def take(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT: remember it. Raises KeyboardInterrupt inside `at_once`, the first time."""
        self.has_come = True
        self._on_interrupt()
        if self.may_raise:
            self.may_raise = False
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Context manager in which the first interrupt, or an earlier one, raises at once."""
        if self.has_come:
            raise KeyboardInterrupt
        self.may_raise = True
        try:
            yield
        finally:
            self.may_raise = False


@contextmanager
def postponed(on_interrupt: Callable[[], None] = lambda: None) -> Iterator[Postponed]:
    """Context manager that postpones Ctrl-C (and a SIGTERM that interrupts) to its end.

    `on_interrupt` is called from the signal handler: it must be short and must not raise. Outside
    the main thread, and if the process ignores interrupts, nothing changes.
    """
    state = Postponed(on_interrupt)
    handlers = ((number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM))
    usual = {number: handler for number, handler in handlers if callable(handler)}
    if threading.current_thread() is not threading.main_thread() or signal.SIGINT not in usual:
        yield state
        return
    try:
        for number in usual:
            signal.signal(number, state.take)
        yield state
    except GeneratorExit:  # an interrupt has ended whoever waited for the end, and is on its way
        state.has_come = False
        raise
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        if state.has_come:
            usual[signal.SIGINT](signal.SIGINT, None)


def ignore_interrupts() -> None:
    """Ignore SIGINT and SIGTERM from here on."""
    while True:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            return
        except KeyboardInterrupt:  # one that came before the call, which Python raises only here
            continue
