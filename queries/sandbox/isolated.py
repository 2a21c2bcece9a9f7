"""A statement in a separate process, which is ended when it exceeds its time or memory.

DuckDB checks its limits only between parts of its work: not while it plans, not within one call of
a function, and not for the result that it hands over. But a process can be ended at any moment.
"""

from __future__ import annotations

import json
import math
import pickle
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from attnbank.queries.sandbox import worker
from attnbank.queries.sandbox.limits import LONGEST
from attnbank.queries.sandbox.processes import end
from attnbank.queries.sandbox.select import out_of_memory, out_of_time, too_big
from attnbank.sql.bank.explaining import broken_off
from attnbank.sql.errors import AttnbankError, AttnbankWarning, BankError, CallError, QueryError

GRACE = 0.5
"""Seconds that DuckDB has to notice that the time is over, before its process is ended."""
BESIDE = 700_000_000
"""Bytes that a process may use besides those of its statement: Python, DuckDB, one batch twice."""
_STARTING = 10.0
"""Seconds that a process may take to start and open the bank; they do not count for the statement.
"""
_LOOKS_EVERY = 0.02
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from attnbank.queries.sandbox.worker import main; main()"
)
_ERRORS = {"QueryError": QueryError, "BankError": BankError, "CallError": CallError}


def check_limits(seconds: float, memory: int) -> None:
    """Raise CallError for limits out of range: `seconds`, or `memory` in bytes."""
    if not (math.isfinite(seconds) and 0 < seconds <= LONGEST):
        raise CallError(
            f"A statement cannot take {seconds} seconds.",
            f"Give a number above 0, up to {LONGEST:.0f}.",
        )
    if not 10**7 <= memory < 2**62:
        raise CallError(
            f"A statement cannot take {memory} bytes of memory.", "Give at least 10 MB."
        )


class Isolated:
    """One statement that runs in a separate process.

    Iterating over it gives its rows in frames, at most `rows` rows in all if that is given. `count`
    is the number of rows so far, and in the end of all rows, also of those beyond `rows`;
    `on_count` is called whenever it has changed. Closing it ends the process. Raises CallError for
    values of parameters that cannot be pickled.
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
        self._path = path
        self.on_count: Callable[[], None] = lambda: None
        self._seconds, self._memory = seconds, memory
        self._reason: AttnbankError | None = None
        asked = {
            "path": str(path.absolute()),
            "statement": statement,
            "params": params,
            "seconds": seconds,
            "memory": memory,
            "rows": rows,
        }
        try:
            request = pickle.dumps(asked)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise CallError(
                f"The values of the statement cannot be given to another process: {error}",
                "Give numbers, texts, dates, and lists of them.",
            ) from error
        self._ends = time.monotonic() + _STARTING + seconds + GRACE  # until the statement begins
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that a Ctrl-C in the terminal reaches only this process
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):  # if it has ended already, reading from it raises the reason
            self._process.stdin.write(struct.pack("<Q", len(request)) + request)
            self._process.stdin.flush()
        self._out = self._process.stdout
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def __enter__(self) -> Isolated:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The rows in parts. Raises QueryError or BankError as the statement does."""
        while True:
            kind, body = self._message()
            if kind == worker.START:
                self._ends = time.monotonic() + self._seconds + GRACE
            elif kind == worker.BATCH:
                yield pl.read_ipc_stream(body)
            elif kind == worker.COUNT:
                (self.count,) = struct.unpack("<Q", body)
                self.on_count()
            elif kind == worker.WARNING:
                warnings.warn(body.decode(), AttnbankWarning, stacklevel=2)
            elif kind == worker.DONE:
                return
            else:
                found = json.loads(body)
                error = _ERRORS.get(found["kind"], QueryError)(found["fact"], found["remedy"])
                error.add_note(f"In the process of the statement:\n{found['trace']}")
                raise error

    def frame(self) -> pl.DataFrame:
        """All rows at once. Raises QueryError if they take more memory than is allowed."""
        frames, size = [], 0.0
        for frame in self:
            size += frame.estimated_size()
            if size > self._memory:
                raise too_big(self._memory)
            frames.append(frame)
        return pl.concat(frames, rechunk=True) if frames else pl.DataFrame()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        end(self._process)
        if self._watcher is not threading.current_thread():
            self._watcher.join()
        if self._process.stdin is not None:
            with suppress(OSError):  # closing flushes, which fails when the process is gone
                self._process.stdin.close()
        self._out.close()

    def _message(self) -> tuple[bytes, bytes]:
        head = self._read(9)
        (size,) = struct.unpack("<Q", head[1:])
        return head[:1], self._read(size)

    def _read(self, size: int) -> bytes:
        try:
            found = self._out.read(size)
        except ValueError:  # closed by another thread
            found = b""
        if len(found) < size:
            end(self._process, GRACE)
            raise self._reason or self._end_without_a_word()
        return found

    def _end_without_a_word(self) -> AttnbankError:
        status = self._process.returncode
        if status < 0:
            return broken_off(self._path, status)
        return QueryError(
            f"The process that ran the statement ended without a word (status {status}).",
            "Make the statement smaller; DuckDB may have failed on it.",
        )

    def _watch(self) -> None:
        """End the process when it takes more time or memory than is allowed."""
        import psutil  # imported late, since no other command needs it

        with suppress(psutil.Error):  # it has ended by itself
            looked_at = psutil.Process(self._process.pid)
            while self._process.poll() is None:
                if time.monotonic() > self._ends:
                    self._reason = out_of_time(self._seconds)
                elif looked_at.memory_info().rss > self._memory + BESIDE:
                    self._reason = out_of_memory(self._memory)
                if self._reason is not None:
                    self._process.kill()
                    return
                time.sleep(_LOOKS_EVERY)
