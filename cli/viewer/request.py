"""A request to the explorer: its parameters, and whether anybody still waits for the answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from attnbank.cli.viewer.bank_cache import BankCache, BankHandle, NotedFrame
from attnbank.queries import Bank
from attnbank.sql.errors import CallError

_LONGEST_VALUE = 20_000


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

    def query(self, name: str, /, **values: Any) -> NotedFrame:
        """The rows of an analysis, cached. Raises what `Bank.query` raises."""
        arguments = {key: value for key, value in values.items() if value is not None}
        key = ("query", name, repr(sorted(arguments.items())))
        return self.handle.cached_rows(key, lambda: self.bank.query(name, **arguments))

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
