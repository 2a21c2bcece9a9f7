"""A statement in a separate process, which is ended when it exceeds its time or memory.

DuckDB does not check its limits while it plans, within one call of a function, nor for the result
that it hands over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql.errors import AttnbankError, QueryError
from attnbank.sql.paths import located
from attnbank.sql.worker import Worker, out_of_memory, out_of_time

if TYPE_CHECKING:
    import polars as pl
    import psutil

# Seconds that DuckDB has to notice that the time is over, before its process is ended.
GRACE = 0.5

# Bytes that a process may use besides those of its statement: Python, DuckDB, one batch twice.
OVERHEAD = 700_000_000

# The most bytes of rows in one message; the process that reads it needs many times as much.
MOST_BYTES = 64_000_000

# Seconds that a process may take to start and open the bank, before the statement's begin.
_STARTING = 10.0

# Seconds between two messages with a count, once no more rows are wanted.
_COUNT_EVERY = 0.2


class Isolated(Worker):
    """One statement that runs in a separate process; iterating gives its rows in frames.

    It yields at most `rows` rows; `count` also counts those beyond, and `on_count` is called when
    it has changed.
    """

    def __init__(
        self,
        path: Path,
        statement: str,
        params: Mapping[str, Any] | Sequence[Any] | None,
        seconds: float,
        memory: int,
        rows: int | None = None,
    ) -> None:
        self.count = 0
        self.on_count: Callable[[], None] = lambda: None
        self._seconds, self._memory = seconds, memory
        self._ends = time.monotonic() + _STARTING + seconds + GRACE  # until the statement begins
        super().__init__(
            path, _run, located(path), statement, params, seconds, memory, rows,
            check=self._check_limits,
        )  # fmt: skip

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for item in super().__iter__():
            if item is None:  # the statement begins
                self._ends = time.monotonic() + self._seconds + GRACE
            elif isinstance(item, int):
                self.count = item
                self.on_count()
            else:
                yield item

    def frame(self) -> pl.DataFrame:
        """All rows at once. Raises QueryError if they take more memory than is allowed."""
        from attnbank.queries.backend import concat_within

        return concat_within(self, self._memory)

    def _check_limits(self, process: psutil.Process) -> AttnbankError | None:
        if time.monotonic() > self._ends:
            return out_of_time(self._seconds)
        if process.memory_info().rss > self._memory + OVERHEAD:
            return out_of_memory(self._memory)
        return None


def _run(
    path: Path,
    statement: str,
    params: Mapping[str, Any] | Sequence[Any] | None,
    seconds: float,
    memory: int,
    most: int | None,
) -> Iterator[pl.DataFrame | int | None]:
    """In the separate process: None once the bank is open, then rows, and how many there are."""
    from attnbank.queries.backend import Sandbox

    # It brings the rows, and takes as long to import as DuckDB does to open the bank.
    threading.Thread(target=import_module, args=("pyarrow",), daemon=True).start()
    sandbox = Sandbox(path, seconds, memory)
    yield None
    rows, counted = 0, time.monotonic()
    for frame in sandbox.frames(statement, params):
        wanted = frame if most is None else frame.head(max(0, most - rows))
        if wanted.height or rows == frame.height == 0:
            yield from _split_frame(wanted)
        rows += frame.height
        if wanted.height < frame.height and time.monotonic() - counted > _COUNT_EVERY:
            counted = time.monotonic()
            yield rows
    yield rows


def _split_frame(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The frame in parts of at most MOST_BYTES. Raises QueryError if a single row has more."""
    if frame.estimated_size() <= MOST_BYTES:
        yield frame
    elif frame.height == 1:
        raise QueryError(
            f"One row of the result has {frame.estimated_size() / 1e6:.0f} MB; the"
            f" maximum is {MOST_BYTES / 1e6:.0f}.",
            "Select only a part of its list or text.",
        )
    else:
        half = frame.height // 2
        yield from _split_frame(frame[:half])
        yield from _split_frame(frame[half:])
