"""The open bank that all requests share, and what it has answered already.

A bank may be replaced by another file while people look at it: every request sees which file is
there now, and a request that has begun keeps the one that it began with.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from attnbank.queries import Bank
from attnbank.queries.bank import open_for_requests
from attnbank.sql.bank.paths import address_of
from attnbank.sql.errors import AttnbankWarning, BankError

_MOST_ANSWERS = 256
# Answers that are kept in memory: so many, and so many bytes of their rows.
_MOST_BYTES = 64_000_000

_Mark = tuple[int, int, int, int]
_Made = TypeVar("_Made")
_thread = threading.local()


@dataclass(frozen=True)
class CachedAnswer:
    """The rows of an analysis; `notes` are the warnings, whole sentences, that came with them."""

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def run_name(self) -> str | None:
        """The name of the run that answered; None if the rows name none."""
        if "run" not in self.frame.columns or not self.frame.height:
            return None
        name: str | None = self.frame["run"][0]
        return name


@dataclass
class BankHandle:
    """One open file; `users` are requests that read it, `sizes` the bytes of complete `answers`."""

    bank: Bank
    mark: _Mark
    users: int = 0
    is_replaced: bool = False
    answers: dict[Any, Future[Any]] = field(default_factory=dict)
    sizes: dict[Any, int] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def size(self) -> int:
        """The bytes of all answers."""
        return sum(self.sizes.values())

    def cached_rows(self, key: Any, make: Callable[[], pl.DataFrame]) -> CachedAnswer:
        """The rows that `make` gives, made once for a key; its warnings are repeated every time."""

        def compute() -> CachedAnswer:
            with collecting_warnings() as notes:
                frame = make()
            return CachedAnswer(frame, tuple(notes))

        answer = self.once(key, compute, lambda answer: answer.frame.estimated_size())
        for note in answer.notes:
            notify(note)
        return answer

    def once(
        self, key: Any, make: Callable[[], _Made], size: Callable[[_Made], float] = lambda _: 1000
    ) -> _Made:
        """What `make` gives, called once for a key, and kept unless it raises; `size` in bytes."""
        with self._lock:
            future = self.answers.pop(key, None)
            is_new = future is None
            future = self.answers[key] = future or Future()
        if is_new:
            try:
                value = make()
            except BaseException as error:
                self.forget(key)
                future.set_exception(error)
            else:
                future.set_result(value)
                self._cache_answer(key, int(size(value)))
        answer: _Made = future.result()
        return answer

    def forget(self, key: Any) -> None:
        """Forget the answer of a key, so that it is made anew when it is asked for again."""
        with self._lock:
            self.answers.pop(key, None)
            self.sizes.pop(key, None)

    def _cache_answer(self, key: Any, size: int) -> None:
        with self._lock:
            if size > _MOST_BYTES // 4:
                self.forget(key)
            elif key in self.answers:
                self.sizes[key] = size
            while len(self.sizes) > _MOST_ANSWERS or self.size > _MOST_BYTES:
                self.forget(next(key for key in self.answers if key in self.sizes))


class BankCache:
    """The bank at a path, for many requests at once; each has `seconds` and `memory` in bytes.

    The `model` is the one that reads what people type; None for that of a run.
    """

    def __init__(self, path: Path, seconds: float, memory: int, model: str | None = None) -> None:
        """Open the bank. Raises BankError if it cannot be opened, CallError for odd limits."""
        self.path = path
        self.seconds = seconds
        self.memory = memory
        self.model = model
        self._lock = threading.Lock()
        self._now = self._open()

    @contextmanager
    def open(self) -> Iterator[BankHandle]:
        """Give the bank that is at the path now. Raises BankError if there is none."""
        with self._lock:
            if _mark(self.path) != self._now.mark:
                replaced, self._now = self._now, self._open()
                replaced.is_replaced = True
                if not replaced.users:
                    replaced.bank.close()
            current = self._now
            current.users += 1
        try:
            yield current
        finally:
            with self._lock:
                current.users -= 1
                if current.is_replaced and not current.users:
                    current.bank.close()

    def close(self) -> None:
        """Close the bank, and stop the statements that still run."""
        self._now.bank.close()

    def _open(self) -> BankHandle:
        mark = _mark(self.path)
        return BankHandle(open_for_requests(self.path, self.seconds, self.memory), mark)


def _mark(path: Path) -> _Mark:
    if address_of(path) is not None:
        return 0, 0, 0, 0  # what it reads says if it was replaced
    try:
        status = path.stat()
    except OSError as error:
        raise BankError(
            f"There is no bank {path}.",
            "Restore it, or stop the explorer (Ctrl-C) and open another bank (-b FILE).",
        ) from error
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


@contextmanager
def collecting_warnings() -> Iterator[list[str]]:
    """Within, what this package warns of in this thread is collected, each thing once.

    Warnings are of the whole process: one function hears all, and gives each to its thread.
    """
    if warnings.showwarning is not _show_warning:
        _other_handlers.append(warnings.showwarning)
        warnings.showwarning = _show_warning
    warnings.simplefilter("always", AttnbankWarning)
    outer_notes = getattr(_thread, "notes", None)
    notes: list[str] = []
    _thread.notes = notes
    try:
        yield notes
    finally:
        _thread.notes = outer_notes


def notify(text: str) -> None:
    """Make the page that this thread answers say a warning, once."""
    notes = getattr(_thread, "notes", None)
    if notes is not None and text not in notes:
        notes.append(text)


_other_handlers: list[Callable[..., None]] = []


def _show_warning(
    message: Warning | str, category: type[Warning], *arguments: Any, **keywords: Any
) -> None:
    if issubclass(category, AttnbankWarning) and getattr(_thread, "notes", None) is not None:
        notify(str(message))
    elif _other_handlers:
        _other_handlers[-1](message, category, *arguments, **keywords)
