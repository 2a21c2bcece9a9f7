"""A bank that is open: its connections, its sandboxes, and how it is closed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from attnbank.queries.connections.cursors import Cursors
from attnbank.queries.sandbox import select as sandbox
from attnbank.queries.sandbox.isolated import Isolated
from attnbank.sql.bank.explaining import explained
from attnbank.sql.bank.opening import install_beside, open_to_ask
from attnbank.sql.runs import Run


class OpenBank:
    """The open connections of a bank, which the parts of class Bank share."""

    def __init__(self, path: str | Path, limits: tuple[float, int] | None = None) -> None:
        """Open a bank. With `limits`, seconds and bytes, every statement keeps to them.

        A command that asks one thing of a bank opens it once so, where it would be opened a second
        time for its sandbox. Raises BankError where it cannot be opened.
        """
        self.path = Path(path).expanduser()
        self._seconds = None if limits is None else limits[0]
        # Where another version's analyses are in it, this one's are beside it, in each connection.
        if limits is None:
            connection, is_old = open_to_ask(self.path)
        else:
            connection, is_old = sandbox.open_within(self.path, *limits)
        self._cursors = Cursors(
            connection,
            self.path,
            lambda cursor: install_beside(cursor, self.path) if is_old else None,
        )
        self._sandbox: dict[str, sandbox.Sandbox] = {}
        self._statements: weakref.WeakSet[Isolated] = weakref.WeakSet()
        self._sandboxes: weakref.WeakSet[sandbox.Sandbox] = weakref.WeakSet()
        self._chosen: dict[Any, Run | None] = {}  # by the kind of run, and the names that are given
        self._lock = threading.Lock()
        if limits is not None:
            shared = sandbox.Sandbox(self.path, *limits, (self._cursors, is_old))
            self._sandbox["find"] = shared

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A connection to the file that is this thread's own; it reads and does not write."""
        return self._cursors.own()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and stop what other threads still ask. Closing twice does no harm."""
        for running in list(self._statements):
            running.close()
        self._cursors.close()
        with self._lock:
            self._sandbox.clear()
            for each in self._sandboxes:
                each.close()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Say in words what is wrong with the bank; that it is closed, where it is."""
        with explained(self.path), self._cursors.answering():
            try:
                yield
            except duckdb.InterruptException as error:
                if self._seconds is None:
                    raise
                raise sandbox.out_of_time(self._seconds) from error

    def _sandboxed(self, use: str, seconds: float, memory: int) -> sandbox.Sandbox:
        """The sandbox with these limits; the last one of each use is kept open."""
        with self._lock:
            self._cursors.check()
            own = self._sandbox.get(use)
            if own is None or (own.seconds, own.memory) != (seconds, memory):
                # The old one goes when the last thread that asks it is done.
                own = self._sandbox[use] = sandbox.Sandbox(self.path, seconds, memory)
                self._sandboxes.add(own)
        return own
