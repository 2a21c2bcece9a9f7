"""A request to the explorer, and the open bank and cached answers that all requests share.

The file may be replaced while the explorer runs: a new request reads the new file, and a running
one keeps the file that it started with.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from attnbank.queries import Bank
from attnbank.queries.bank import open_for_requests
from attnbank.sql.errors import AttnbankWarning, BankError, CallError
from attnbank.sql.paths import address_of

# The most characters of a parameter.
_LONGEST_VALUE = 20_000

# Limits of the cache: the number of answers, and the bytes of their rows.
_MOST_ANSWERS = 256
_MOST_BYTES = 64_000_000

_FileIdentity = tuple[int, int, int, int]
_Made = TypeVar("_Made")
_thread = threading.local()


class Visit:
    """A request whose client may disconnect before it is answered."""

    def __init__(self) -> None:
        self.has_begun = False
        self.has_left = False
        self._stop: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def is_wanted(self) -> bool:
        """Whether to start the work: not for a client that has disconnected."""
        with self._lock:
            self.has_begun = not self.has_left
            return self.has_begun

    def leave(self) -> None:
        """Note that the client has disconnected, and call `stop` if work is being done for it
        alone.
        """
        with self._lock:
            self.has_left = True
            stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Context manager in which another thread calls `stop` when the client disconnects."""
        with self._lock:
            self._stop, has_left = stop, self.has_left
        if has_left:
            stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None


@dataclass(frozen=True)
class RequestContext:
    """One request: the bank, the parts of the path, and the non-empty parameters."""

    cache: BankCache
    handle: BankHandle
    parameters: Mapping[str, str]
    parts: Mapping[str, str]
    visit: Visit = field(default_factory=Visit)

    @property
    def bank(self) -> Bank:
        """The open bank."""
        return self.handle.bank

    @property
    def run_name(self) -> str | None:
        """The run in the address, by name or id."""
        return self.text_parameter("run") or None

    def query(self, name: str, /, **values: Any) -> pl.DataFrame:
        """The rows of an analysis, cached. Raises what `Bank.query` raises."""
        arguments = {key: value for key, value in values.items() if value is not None}
        key = ("query", name, repr(sorted(arguments.items())))
        return self.cached_rows(key, lambda: self.bank.query(name, **arguments))

    def cached_rows(self, key: Any, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return the rows of `make`, cached by key; repeat its warnings every time."""

        def compute() -> tuple[pl.DataFrame, list[str]]:
            with collecting_warnings() as notes:
                return make(), notes

        frame, notes = self.handle.compute_once(
            key, compute, lambda answer: answer[0].estimated_size()
        )
        for note in notes:
            notify(note)
        return frame

    def text_parameter(self, name: str, default: str = "") -> str:
        """A parameter as text. Raises CallError if it is too long."""
        value = self.parameters.get(name, default)
        if len(value) > _LONGEST_VALUE:
            raise CallError(
                f"{name} has {len(value):,} characters.", f"Give at most {_LONGEST_VALUE:,}."
            )
        return value

    def choice_parameter(self, name: str, choices: Collection[str]) -> str:
        """A parameter with choices, by default the first. Raises CallError for another value."""
        choice = self.text_parameter(name, next(iter(choices)))
        if choice not in choices:
            raise CallError(f"{name} cannot be {choice}.", f"Use one of: {', '.join(choices)}.")
        return choice

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A parameter that is an integer from `least` to `most`. Raises CallError."""
        text = self.text_parameter(name, str(default))
        if not (text.isascii() and text.isdecimal() and least <= int(text[:9]) <= most):
            raise CallError(f"{name} cannot be {text}.", f"Give a number from {least} to {most}.")
        return int(text)

    def flag(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.parameters.get(name, "") not in ("", "0", "no", "false")


@dataclass
class BankHandle:
    """One open file; `users` is the number of requests that read it, `sizes` the bytes of
    `answers`.
    """

    bank: Bank
    identity: _FileIdentity
    users: int = 0
    is_replaced: bool = False
    answers: dict[Any, Future[Any]] = field(default_factory=dict)
    sizes: dict[Any, int] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def size(self) -> int:
        """The total bytes of the cached answers."""
        return sum(self.sizes.values())

    def compute_once(
        self, key: Any, make: Callable[[], _Made], size: Callable[[_Made], float] = lambda _: 1000
    ) -> _Made:
        """Return the value of `make`, called once for a key, and cached unless it raises; `size` in
        bytes.
        """
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
        """Remove a key from the cache."""
        with self._lock:
            self.answers.pop(key, None)
            self.sizes.pop(key, None)

    def _cache_answer(self, key: Any, size: int) -> None:
        with self._lock:
            if size > _MOST_BYTES // 4:  # it would evict all others
                self.forget(key)
            elif key in self.answers:
                self.sizes[key] = size
            while len(self.sizes) > _MOST_ANSWERS or self.size > _MOST_BYTES:
                self.forget(next(key for key in self.answers if key in self.sizes))


class BankCache:
    """The bank at a path, for concurrent requests; each is limited by `seconds` and `memory`
    (bytes).

    `model` reads the sentences that users type; None for the model of the run.
    """

    def __init__(self, path: Path, seconds: float, memory: int, model: str | None = None) -> None:
        """Open the bank. Raises BankError, or CallError for invalid limits."""
        self.path = path
        self.seconds = seconds
        self.memory = memory
        self.model = model
        self._lock = threading.Lock()
        self._now = self._open()

    @contextmanager
    def open(self) -> Iterator[BankHandle]:
        """Context manager that yields the bank at the path. Raises BankError if there is none."""
        with self._lock:
            if _file_identity(self.path) != self._now.identity:
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
        mark = _file_identity(self.path)
        return BankHandle(open_for_requests(self.path, self.seconds, self.memory), mark)


def _file_identity(path: Path) -> _FileIdentity:
    if address_of(path) is not None:
        return 0, 0, 0, 0  # a remote file: reading it tells if it was replaced
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
    """Context manager that collects the package's warnings of this thread, each once.

    The hook for warnings is global: one function receives all, and sorts them by thread.
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
    """Show a warning on the page that this thread renders, once."""
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
