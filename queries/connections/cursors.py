"""One connection per thread, because DuckDB refuses a connection that another thread is using."""

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
"""Seconds that closing waits for statements of other threads to notice that they are stopped."""


class Cursors:
    """One cursor per thread, all of one connection, `root`.

    The thread that makes it uses `root` itself. `prepare` is called with every new cursor; `path`
    is the bank, for the errors.
    """

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
        """The connection of the calling thread. Raises BankError if the bank is closed."""
        found: DuckDBPyConnection | None = getattr(self._of_thread, "connection", None)
        if found is None or self.is_closed:
            found = self._of_thread.connection = self.new()
        return found

    def new(self) -> DuckDBPyConnection:
        """A new connection that only the caller uses. Raises BankError if the bank is closed."""
        with self._lock, self.answering():
            self.check()
            found = self._root.cursor()
            self._prepare(found)
            self._made.add(found)
            return found

    def check(self) -> None:
        """Raise BankError if the bank is closed."""
        if self.is_closed:
            raise BankError(
                f"The bank {self._path} is closed.",
                f"Open it again: open_bank({str(self._path)!r}).",
            )

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Within, any error is replaced by the one of `check` if the bank was closed meanwhile."""
        try:
            yield
        except BankError:
            raise
        except BaseException:  # closing stops a statement, which may raise KeyboardInterrupt
            self.check()
            raise

    def close(self) -> None:
        """Stop the statements of every thread and close the file. Closing twice does no harm.

        Raises BankError if a statement of another thread has not stopped after 10 seconds.
        """
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
    """Stop what a connection is doing and close it; False if it is still busy."""
    try:
        connection.interrupt()
        connection.close()
    except duckdb.ResourceInUseException:
        return False
    except duckdb.ConnectionException:  # it was closed already, with the one that it was made from
        return True
    return True
