"""A connection for each thread: DuckDB refuses one that another thread is using."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.sql.errors import BankError

_PATIENCE = 10.0
"""Seconds that closing waits for statements of other threads to take notice."""


class Cursors:
    """One cursor of a connection for each thread. `prepare` is called with every new cursor."""

    def __init__(
        self,
        root: DuckDBPyConnection,
        path: Path,
        prepare: Callable[[DuckDBPyConnection], None] = lambda connection: None,
    ) -> None:
        self.is_closed = False
        self._root = root
        self._path = path
        self._prepare = prepare
        self._of_thread = threading.local()
        self._of_thread.connection = root
        self._made: weakref.WeakSet[DuckDBPyConnection] = weakref.WeakSet()
        self._lock = threading.Lock()

    def own(self) -> DuckDBPyConnection:
        """The connection of the thread that asks. Raises BankError where the bank is closed."""
        found: DuckDBPyConnection | None = getattr(self._of_thread, "connection", None)
        if found is None or self.is_closed:
            found = self._of_thread.connection = self.new()
        return found

    def new(self) -> DuckDBPyConnection:
        """A connection of its own for whoever asks. Raises BankError where the bank is closed."""
        with self._lock, self.answering():
            self.check()
            found = self._root.cursor()
            self._prepare(found)
            self._made.add(found)
            return found

    def check(self) -> None:
        """Raise BankError where the bank is closed."""
        if self.is_closed:
            raise BankError(
                f"The bank {self._path} is closed.",
                f"Open it again: open_bank({str(self._path)!r}).",
            )

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Report that the bank is closed, and nothing else, where it was closed in the meantime."""
        try:
            yield
        except BankError:
            raise
        except BaseException:  # a statement that was stopped looks like a Ctrl-C, too
            self.check()
            raise

    def close(self) -> None:
        """Stop the statements of every thread and close the file. Closing twice does no harm."""
        with self._lock:
            self.is_closed = True
            waiting = [*self._made, self._root]
        end = time.monotonic() + _PATIENCE
        while waiting:
            waiting = [each for each in waiting if not _closes(each)]
            if waiting and time.monotonic() > end:
                raise BankError(
                    f"The bank {self._path} is in use by another thread.", "Wait for it to end."
                )
            if waiting:
                time.sleep(0.01)


def _closes(connection: DuckDBPyConnection) -> bool:
    """Stop what a connection is doing and close it; False where it is still busy."""
    try:
        connection.interrupt()
        connection.close()
    except duckdb.ResourceInUseException:
        return False
    except duckdb.ConnectionException:  # it was closed with the one that it was made of
        return True
    return True
