"""An open bank: its connections, its sandboxes, and how it is closed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import polars as pl

from attnbank.queries.connections.asking import Asking
from attnbank.queries.connections.cursors import Cursors
from attnbank.queries.results import frame_of
from attnbank.queries.sandbox import select as sandbox
from attnbank.queries.sandbox.isolated import Isolated, check_limits
from attnbank.sql.bank.explaining import explained
from attnbank.sql.bank.opening import install_beside, open_to_ask
from attnbank.sql.runs import Run


class OpenBank(Asking):
    """The open connections of a bank, which the base classes of Bank share."""

    def __init__(self, path: str | Path, limits: tuple[float, int] | None = None) -> None:
        """Open a bank. `limits` are seconds and bytes that hold for every statement.

        A command that runs a single request gives them: then the connection serves as the sandbox
        too, and the bank is opened once instead of twice. Raises BankError if it cannot be opened.
        """
        self.path = Path(path).expanduser()
        self._seconds = None if limits is None else limits[0]
        # If another version wrote the analyses, each connection needs this version's in memory.
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
        """The calling thread's read-only connection. Raises BankError if the bank is closed."""
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
        """Close the file, and stop the statements of other threads. Closing twice does no harm.

        Raises BankError if one of them does not stop.
        """
        for running in list(self._statements):
            running.close()
        self._cursors.close()
        with self._lock:
            self._sandbox.clear()
            for each in self._sandboxes:
                each.close()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Within, errors of DuckDB become a BankError or QueryError that says what to do."""
        with explained(self.path), self._cursors.answering():
            try:
                yield
            except duckdb.InterruptException as error:
                if self._seconds is None:
                    raise
                raise sandbox.out_of_time(self._seconds) from error

    def answering(self) -> AbstractContextManager[None]:
        """As `Asking.answering`: errors are a BankError or a QueryError."""
        return self._answering()

    def found_by(self, statement: str, seconds: float, memory: int) -> pl.DataFrame:
        """As `Asking.found_by`, in the sandbox of requests."""
        check_limits(seconds, memory)
        return self._sandboxed("find", seconds, memory).run(statement)

    def frame_of(self, statement: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """As `Asking.frame_of`, on the connection of the calling thread."""
        return frame_of(self.connection.query(statement, params=values))

    @contextmanager
    def beside(self, name: str, rows: pl.DataFrame) -> Iterator[None]:
        """As `Asking.beside`, with a temporary table, which hides the bank's own."""
        connection = self.connection
        connection.register("rows_of_request", rows.to_arrow())
        try:
            connection.execute(f"create temporary table {name} as from rows_of_request")
        finally:
            connection.unregister("rows_of_request")
        try:
            yield
        finally:
            connection.execute(f"drop table temp.{name}")

    def _sandboxed(self, use: str, seconds: float, memory: int) -> sandbox.Sandbox:
        """The sandbox with these limits (seconds, bytes); the last one of each `use` stays open."""
        with self._lock:
            self._cursors.check()
            own = self._sandbox.get(use)
            if own is None or (own.seconds, own.memory) != (seconds, memory):
                # The old one is freed when the last thread that uses it is done.
                own = self._sandbox[use] = sandbox.Sandbox(self.path, seconds, memory)
                self._sandboxes.add(own)
        return own
