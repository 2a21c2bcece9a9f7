"""The open bank that all requests share, and what it has answered already.

A bank may be replaced by another file while people look at it: every request sees which file is
there now, and a request that has begun keeps the one that it began with.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from attnbank.queries import Bank
from attnbank.queries.bank import open_for_requests
from attnbank.sql.errors import AttnbankWarning, BankError

_MOST_KEPT = 256
_MOST_BYTES = 64_000_000
"""Answers that are kept in memory: so many, and so many bytes of their rows."""

_Mark = tuple[int, int, int, int]
_Made = TypeVar("_Made")
_heard = threading.local()


@dataclass(frozen=True)
class Answer:
    """The rows of an analysis; `notes` are the warnings, whole sentences, that came with them."""

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def run(self) -> str | None:
        """The name of the run that answered. It is None where the rows name none."""
        if "run" not in self.frame.columns or not self.frame.height:
            return None
        name = self.frame["run"][0]
        return None if name is None else str(name)


@dataclass
class Opened:
    """One file, open, with what was asked of it. `users` counts the requests that read it."""

    bank: Bank
    mark: _Mark
    users: int = 0
    is_replaced: bool = False
    kept: OrderedDict[Any, Any] = field(default_factory=OrderedDict)
    size: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _making: dict[Any, threading.Lock] = field(default_factory=dict)

    def ask(self, name: str, /, **values: Any) -> Answer:
        """The rows of an analysis, computed once for the same values. Raises as `Bank.query`."""
        given = {key: value for key, value in values.items() if value is not None}
        key = ("query", name, repr(sorted(given.items())))
        return self.rows(key, lambda: self.bank.query(name, **given))

    def rows(self, key: Any, make: Callable[[], pl.DataFrame]) -> Answer:
        """The rows that `make` gives, made once for a key; what was warned of is told every time.

        Raises what `make` raises.
        """

        def answer() -> Answer:
            with hearing() as told:
                frame = make()
            return Answer(frame, tuple(told))

        found = self.once(key, answer, lambda made: made.frame.estimated_size())
        for told in found.notes:
            tell(told)
        return found

    def once(
        self, key: Any, make: Callable[[], _Made], size: Callable[[_Made], float] = lambda _: 1000
    ) -> _Made:
        """Return what `make` gives, which is called once for a key; others wait for its answer.

        `size` gives the bytes that the answer takes. Raises what `make` raises, and keeps nothing.
        """
        with self._lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                found: _Made = self.kept[key][0]
                return found
            own = self._making.setdefault(key, threading.Lock())
        with own:
            with self._lock:
                if key in self.kept:
                    found = self.kept[key][0]
                    return found
            try:
                made = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            self._keep(key, made, int(size(made)))
        return made

    def forget(self, key: Any) -> None:
        """Forget the answer of a key, so that it is made anew when it is asked for again."""
        with self._lock:
            if key in self.kept:
                self.size -= self.kept.pop(key)[1]

    def _keep(self, key: Any, made: Any, size: int) -> None:
        """Keep an answer, and let go of those that were not asked for the longest time."""
        if size > _MOST_BYTES // 4:
            return
        with self._lock:
            self.kept[key] = made, size
            self.size += size
            while len(self.kept) > _MOST_KEPT or self.size > _MOST_BYTES:
                _, (_, gone) = self.kept.popitem(last=False)
                self.size -= gone


class Desk:
    """The bank at a path, for many requests at once; each has `seconds` and `memory` in bytes."""

    def __init__(self, path: Path, seconds: float, memory: int) -> None:
        """Open the bank. Raises BankError where it cannot be opened, CallError for odd limits."""
        self.path = path
        self.seconds = seconds
        self.memory = memory
        self._lock = threading.Lock()
        self._now = self._open()

    @contextmanager
    def open(self) -> Iterator[Opened]:
        """Give the bank that is at the path now. Raises BankError where it is gone or none."""
        with self._lock:
            if _mark(self.path) != self._now.mark:
                before, self._now = self._now, self._open()
                before.is_replaced = True
                if not before.users:
                    before.bank.close()
            now = self._now
            now.users += 1
        try:
            yield now
        finally:
            with self._lock:
                now.users -= 1
                if now.is_replaced and not now.users:
                    now.bank.close()

    def close(self) -> None:
        """Close the bank, and stop the statements that still run."""
        self._now.bank.close()

    def _open(self) -> Opened:
        mark = _mark(self.path)
        return Opened(open_for_requests(self.path, self.seconds, self.memory), mark)


def _mark(path: Path) -> _Mark:
    """What tells a file from another one of the same name."""
    try:
        found = path.stat()
    except OSError as error:
        raise BankError(
            f"There is no bank {path} any more.",
            "Put it back, or end the explorer (Ctrl-C) and name another one (-b FILE).",
        ) from error
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def hearing() -> Iterator[list[str]]:
    """Within, what this package warns of in this thread is collected, each thing once.

    Warnings are a matter of the whole process, and requests are answered in threads: one function
    hears them all, and gives each to the thread that it came from.
    """
    if warnings.showwarning is not _hear:
        _others.append(warnings.showwarning)
        warnings.showwarning = _hear
    warnings.simplefilter("always", AttnbankWarning)
    before = getattr(_heard, "told", None)
    told: list[str] = []
    _heard.told = told
    try:
        yield told
    finally:
        _heard.told = before


def tell(text: str) -> None:
    """Make the page that this thread answers say a warning, once."""
    told = getattr(_heard, "told", None)
    if told is not None and text not in told:
        told.append(text)


_others: list[Callable[..., None]] = []


def _hear(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
    if issubclass(category, AttnbankWarning) and getattr(_heard, "told", None) is not None:
        tell(str(message))
    elif _others:
        _others[-1](message, category, *rest, **named)
