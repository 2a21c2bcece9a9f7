"""What runs the statements of a bank: the interface of all engines, and DuckDB.

A read-only connection can still be made to overwrite the file that it reads (`COPY ... TO`). So the
SELECT of a user runs in an in-memory database that has the bank attached, where no file system,
network, extension or setting can be reached. DuckDB checks its time only between parts of its work,
and does not count all memory: see execution.py.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from duckdb import DuckDBPyConnection
from polars.io.plugins import register_io_source

from attnbank.queries.options import MEMORY
from attnbank.queries.results import (
    ROWS_AT_ONCE,
    as_frames_have_it,
    frame_of_arrow,
    frame_of_relation,
    is_interrupt,
    query_error,
    wide_columns,
)
from attnbank.sql.bank.bank_format import check_carried, has_current_analyses
from attnbank.sql.bank.opening import install_temporarily, open_to_read
from attnbank.sql.errors import (
    BankError,
    QueryError,
    cause_of,
    damaged,
    is_damage,
    translate_errors,
)
from attnbank.sql.names import quoted
from attnbank.sql.registry import internal_statement
from attnbank.sql.run_choice import SupportsExecute
from attnbank.sql.statements import analyses_named
from attnbank.sql.worker import check_limits, out_of_memory, out_of_time

# The default time limit of a statement, in seconds.
SECONDS = 300.0

_READS = frozenset({"SELECT", "MULTI"})  # a PIVOT is several statements

# Seconds that closing waits for the statements of other threads.
_PATIENCE = 10.0

# Rows of a batch of a lazy frame, if Polars does not ask for a number.
_LAZY_ROWS = 65_536


class Backend(ABC):
    """What runs the statements of the package, and those compiled from requests, on a bank."""

    # The bank or export, for errors.
    path: Path

    @property
    @abstractmethod
    def connection(self) -> SupportsExecute:
        """What runs the package's own SELECTs, which may call the macros of a bank."""

    @abstractmethod
    def answering(self) -> AbstractContextManager[None]:
        """Context manager that raises errors of the engine as an AttnbankError."""

    @abstractmethod
    def run_request(self, statement: str, seconds: float, memory: int) -> pl.DataFrame:
        """Run a SELECT that was compiled from a request, within limits in seconds and bytes."""

    @abstractmethod
    def fetch(self, statement: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """Run a SELECT of the package's own, with the values of its `$name` parameters."""

    def internal(self, name: str, /, **values: Any) -> pl.DataFrame:
        """Run a statement of sql/internal, with the values of its parameters."""
        return self.fetch(internal_statement(name), values)

    @abstractmethod
    def temp_table(self, name: str, rows: pl.DataFrame) -> AbstractContextManager[None]:
        """Context manager in which the table of this name has these rows instead of its own."""


class DuckDBBackend(Backend):
    """DuckDB on a bank: a trusted connection for each thread, and sandboxes beside them."""

    def __init__(self, path: Path, limits: tuple[float, int] | None = None) -> None:
        """Open a bank; with `limits` (seconds, bytes) the only connection is a sandbox."""
        self.path = path
        self._limits = limits
        self._lock = threading.Lock()  # of the sandboxes
        self._sandbox: dict[str, Sandbox] = {}  # the last one of each use, which stays open
        self._sandboxes: weakref.WeakSet[Sandbox] = weakref.WeakSet()
        self.cursors: Cursors
        if limits is None:
            self.cursors = Cursors(path, lambda: open_connection(path))
        else:
            self.cursors = self._sandbox["find"] = Sandbox(path, *limits)

    @property
    def connection(self) -> DuckDBPyConnection:
        """The calling thread's read-only connection. Raises BankError if the bank is closed."""
        return self.cursors.own()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Context manager that raises errors of DuckDB as a BankError or a QueryError."""
        with translate_errors(self.path), self.cursors.answering():
            try:
                yield
            except duckdb.InterruptException as error:
                if self._limits is None:
                    raise
                raise out_of_time(self._limits[0]) from error

    def fetch(self, statement: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """As `Backend.fetch`, on the connection of the calling thread."""
        return frame_of_relation(self.connection.query(statement, params=values))

    @contextmanager
    def temp_table(self, name: str, rows: pl.DataFrame) -> Iterator[None]:
        """As `Backend.temp_table`, with a temporary table, which hides the bank's own."""
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

    def run_request(self, statement: str, seconds: float, memory: int) -> pl.DataFrame:
        """As `Backend.run_request`, in the sandbox of requests."""
        return self.run_select(statement, None, seconds, memory, use="find")

    def run_select(
        self,
        statement: str,
        params: Mapping[str, Any] | Sequence[Any] | None,
        seconds: float,
        memory: int,
        use: str = "sql",
    ) -> pl.DataFrame:
        """Run a SELECT of a user, in the sandbox for a use (sql or find), within limits."""
        check_limits(seconds, memory)
        with self._lock:
            self.cursors.check_open()
            sandbox = self._sandbox.get(use)
            if sandbox is None or (sandbox.seconds, sandbox.memory) != (seconds, memory):
                # The old one is freed when the last thread that uses it is done.
                sandbox = self._sandbox[use] = Sandbox(self.path, seconds, memory)
                self._sandboxes.add(sandbox)
        return sandbox.run_select(statement, params)

    def close(self) -> None:
        """Close the file, and stop other threads' statements; BankError if one does not stop."""
        self.cursors.close()
        with self._lock:
            self._close_sandboxes()

    def release(self) -> None:
        """Close the file until the next query. Raises BankError if another thread reads it."""
        with self._lock:
            self._close_sandboxes()
            self.cursors.release()

    def _close_sandboxes(self) -> None:
        for sandbox in self._sandboxes:
            sandbox.close()
        self._sandbox.clear()


class Cursors:
    """One cursor per thread, all of one connection to a bank.

    `opens` is `open_connection`, called again after the file was released. It must not refer to
    these cursors, which would then not be freed with their last user.
    """

    def __init__(self, path: Path, opens: Callable[[], tuple[DuckDBPyConnection, bool]]) -> None:
        self.is_closed = False
        self.path = path
        self._opens = opens
        self._root: DuckDBPyConnection | None
        self._root, self.is_other_version = opens()
        self._of_thread = threading.local()
        self._of_thread.connection = self._root
        self._made: weakref.WeakSet[DuckDBPyConnection] = weakref.WeakSet()
        self._lock = threading.Lock()

    def own(self) -> DuckDBPyConnection:
        """The connection of the calling thread. Raises BankError if the bank is closed."""
        connection: DuckDBPyConnection | None = getattr(self._of_thread, "connection", None)
        if connection is None or self.is_closed:
            connection = self._of_thread.connection = self.new()
        return connection

    def new(self) -> DuckDBPyConnection:
        """A new connection that only the caller uses. Raises BankError if the bank is closed."""
        with self._lock, self.answering():
            self.check_open()
            if self._root is None:
                self._root, self.is_other_version = self._opens()
            cursor = self._root.cursor()
            if self.is_other_version:
                install_temporarily(cursor)
            self._made.add(cursor)
            return cursor

    def check_open(self) -> None:
        """Raise BankError if the bank is closed."""
        if self.is_closed:
            raise BankError(
                f"The bank {self.path} is closed.",
                f"Open it again: open_bank({str(self.path)!r}).",
            )

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Context manager that raises the error of `check_open` if the bank was closed."""
        try:
            yield
        except BankError:
            raise
        except BaseException:  # closing stops a statement, which may raise KeyboardInterrupt
            self.check_open()
            raise

    def scan(self, select: str) -> pl.LazyFrame:
        """The rows of a SELECT as a lazy frame; only the columns that are used are read."""

        def batches(
            with_columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            batch_size: int | None,
        ) -> Iterator[pl.DataFrame]:
            columns = "*" if with_columns is None else ", ".join(map(quoted, with_columns))
            limit = "" if n_rows is None else f" limit {n_rows}"
            own = self.new()  # a plan may read a table several times at once
            try:
                with self.answering():
                    relation = own.query(f"select {columns} from ({select}){limit}")
                    for batch in relation.to_arrow_reader(batch_size or _LAZY_ROWS):
                        frame = pl.DataFrame(batch)
                        yield frame if predicate is None else frame.filter(predicate)
            finally:
                own.close()

        schema = self.own().query(f"select * from ({select}) limit 0").pl().schema
        return register_io_source(batches, schema=schema, validate_schema=True)

    def close(self) -> None:
        """Stop all statements and close the file. BankError if one goes on for 10 seconds."""
        with self._lock:
            self.is_closed = True
            waiting = [*self._made, *([] if self._root is None else [self._root])]
        self._close(waiting, stops=True)

    def release(self) -> None:
        """Close the file until the next statement. BankError if one goes on for 10 seconds."""
        with self._lock:
            if self._root is not None and not self.is_closed:
                self._close([*self._made, self._root], stops=False)
                self._root, self._of_thread = None, threading.local()

    def _close(self, waiting: list[DuckDBPyConnection], *, stops: bool) -> None:
        end = time.monotonic() + _PATIENCE
        while waiting := [own for own in waiting if not _closes(own, stops=stops)]:
            if time.monotonic() > end:
                raise BankError(
                    f"The bank {self.path} is in use by another thread.", "Wait until it is done."
                )
            time.sleep(0.01)


def _closes(connection: DuckDBPyConnection, *, stops: bool) -> bool:
    try:
        if stops:
            connection.interrupt()
        connection.close()
    except duckdb.ResourceInUseException:
        return False
    except duckdb.ConnectionException:  # it was closed already, with the one that it was made from
        pass
    return True


class Sandbox(Cursors):
    """A bank that untrusted statements may read, from any thread."""

    def __init__(self, path: Path, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        """Open the bank, with the limits of each statement (seconds, bytes).

        Raises BankError, and QueryError if there is no time even for that.
        """
        self.seconds = seconds
        self.memory = memory
        super().__init__(path, lambda: open_connection(path, (seconds, memory)))

    def run_select(
        self, statement: str, params: Mapping[str, Any] | Sequence[Any] | None = None
    ) -> pl.DataFrame:
        """The result of one SELECT.

        Raises QueryError for any other statement, a wrong one, or one whose work or result exceeds
        the limits; BankError if the bank cannot be read.
        """
        return concat_within(self.frames(statement, params), self.memory)

    def frames(
        self, statement: str, params: Mapping[str, Any] | Sequence[Any] | None = None
    ) -> Iterator[pl.DataFrame]:
        """The result in parts, computed as they are read; at least one, for the columns."""
        connection = self.own()
        with self.answering(), self._translate_errors():
            _check_is_select(connection, connection.extract_statements(statement))
            if self.is_other_version:
                # This version's macros, made in memory, hide those of the file; its views cannot.
                for name in analyses_named(statement):
                    check_carried(connection, self.path, f"paper.{name}")
            relation = connection.query(statement, params=params)
            if relation is None:
                return
            names, wide = relation.columns, wide_columns(relation)
            with closing(as_frames_have_it(relation).to_arrow_reader(ROWS_AT_ONCE)) as reader:
                batch = None
                for batch in reader:
                    yield frame_of_arrow(batch, names, wide)
                if batch is None:
                    yield frame_of_arrow(reader.schema.empty_table(), names, wide)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (MemoryError, duckdb.Error, RuntimeError, ValueError, TypeError, OSError) as error:
            if (cause := cause_of(error)) is not None:
                raise cause from error
            text = str(error)  # from within a result, an Arrow reader passes on nothing else
            if is_interrupt(error):
                raise KeyboardInterrupt from error
            if "INTERRUPT" in text:
                raise out_of_time(self.seconds) from error
            if isinstance(error, MemoryError) or "Out of Memory" in text:
                raise out_of_memory(self.memory) from error
            if isinstance(error, duckdb.PermissionException):
                raise QueryError(
                    "The statement tries to use a file, the network or an extension.",
                    "Only the bank can be read here; for anything else: attnbank shell.",
                ) from error
            if is_damage(error):
                raise damaged(self.path, error) from error
            raise query_error(error, path=self.path) from error


def open_connection(
    path: Path, limits: tuple[float, int] | None = None
) -> tuple[DuckDBPyConnection, bool]:
    """Open a bank, within limits (seconds, bytes); and whether another version wrote its analyses.

    Raises as `open_to_read`, and QueryError if there is too little time to open it.
    """
    if limits is None:
        connection = open_to_read(path)
        return connection, not has_current_analyses(connection)
    seconds, memory = limits
    settings = (f"set memory_limit = '{memory} bytes'", f"set threads = {os.cpu_count() or 1}")
    try:
        connection = open_to_read(path, settings, spills=False, seconds=seconds)
        return connection, not has_current_analyses(connection)
    except duckdb.InterruptException as error:
        raise out_of_time(seconds) from error


def concat_within(parts: Iterable[pl.DataFrame], memory: int) -> pl.DataFrame:
    """The parts as one frame. Raises QueryError if they take more than so many bytes."""
    frames, size = [], 0.0
    for frame in parts:
        size += frame.estimated_size()
        if size > memory:
            raise QueryError(
                f"The result is larger than the memory limit ({memory / 1e9:g} GB).",
                "Filter or count in SQL, raise the limit (memory=), or write to a file (attnbank"
                " sql -o FILE.parquet).",
            )
        frames.append(frame)
    return pl.concat(frames, rechunk=True) if frames else pl.DataFrame()


def _check_is_select(connection: duckdb.DuckDBPyConnection, parts: Sequence[Any]) -> None:
    if len(parts) != 1:
        raise QueryError(
            "No statement was given." if not parts else f"{len(parts)} statements were given.",
            "Give one SELECT.",
        )
    kind = parts[0].type.name
    if kind == "EXPLAIN":  # EXPLAIN ANALYZE runs what it explains
        inner = connection.extract_statements(_statement_of_explain(parts[0].query))
        kind = inner[0].type.name if len(inner) == 1 else "EXPLAIN"
    if kind not in _READS:
        raise QueryError(f"Only statements that read run here, not {kind}.", "Give one SELECT.")


def _statement_of_explain(statement: str) -> str:
    """What EXPLAIN (ANALYZE) explains, by DuckDB's tokens; QueryError for options in brackets."""
    text = statement.encode()
    pairs = duckdb.tokenize(statement)
    ends = [at for at, _ in pairs[1:]] + [len(text)]
    tokens = [
        (at, text[at:end].strip().lower())
        for (at, kind), end in zip(pairs, ends, strict=True)
        if kind.name != "comment"
    ]
    words = [word for _, word in tokens[:2]]
    starts = [at for at, _ in tokens[2 if words[1:] == [b"analyze"] else 1 :]]
    if words[:1] != [b"explain"] or not starts or text[starts[0] : starts[0] + 1] == b"(":
        raise QueryError(
            "This form of EXPLAIN is not supported.",
            "Write explain or explain analyze, then the SELECT.",
        )
    return text[starts[0] :].decode()
