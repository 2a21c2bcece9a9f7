"""The program of the process that runs one statement for `isolated.py`.

It reads one request on standard input and writes messages on standard output. A message is a
letter, its length in eight bytes, and as many bytes. S says that the statement begins now, B is a
batch of rows as an Arrow stream, N the number of rows so far, W a warning, E an error as JSON
(fact, remedy, kind and trace), D the end. When standard input closes, the process that asked is
gone, and this one ends too.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import polars as pl

START, BATCH, COUNT, WARNING, ERROR, DONE = b"S", b"B", b"N", b"W", b"E", b"D"
MOST_BYTES = 64_000_000
"""The most bytes of rows in one message; the process that reads it needs many times as much."""
_TOLD_EVERY = 0.2
"""Seconds between two messages with a count, once no more rows are wanted."""


def send(file: BinaryIO, kind: bytes, body: bytes | memoryview = b"") -> None:
    """Write one message."""
    file.write(kind + struct.pack("<Q", len(body)))
    file.write(body)
    file.flush()


def answer(request: dict[str, Any], out: BinaryIO) -> None:
    """Run a statement and send its result, or its error."""
    from attnbank.queries.sandbox.select import Sandbox
    from attnbank.sql.errors import AttnbankError, AttnbankWarning

    def show(message: Warning | str, category: type[Warning], *rest: object) -> None:
        if issubclass(category, AttnbankWarning):
            send(out, WARNING, str(message).encode())

    warnings.showwarning = show  # type: ignore[assignment]
    try:
        sandbox = Sandbox(Path(request["path"]), request["seconds"], request["memory"])
        send(out, START)
        most, rows, told = request["rows"], 0, time.monotonic()
        for frame in sandbox.frames(request["statement"], request["params"]):
            kept = frame if most is None else frame.head(max(0, most - rows))
            if kept.height or rows == frame.height == 0:
                for part in _parts(kept):
                    body = io.BytesIO()
                    part.write_ipc_stream(body)
                    send(out, BATCH, body.getbuffer())
            rows += frame.height
            if kept.height < frame.height and time.monotonic() - told > _TOLD_EVERY:
                told = time.monotonic()
                send(out, COUNT, struct.pack("<Q", rows))
        send(out, COUNT, struct.pack("<Q", rows))
        send(out, DONE)
    except AttnbankError as error:
        message = {
            "fact": error.fact,
            "remedy": error.remedy,
            "kind": type(error).__name__,
            "trace": traceback.format_exc(),
        }
        send(out, ERROR, json.dumps(message).encode())


def _parts(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The frame in parts of at most MOST_BYTES. Raises QueryError if a single row has more."""
    from attnbank.sql.errors import QueryError

    if frame.estimated_size() <= MOST_BYTES:
        yield frame
    elif frame.height == 1:
        raise QueryError(
            f"One row of the result has {frame.estimated_size() / 1e6:.0f} MB, and"
            f" {MOST_BYTES / 1e6:.0f} is the most.",
            "Select a part of its list or text.",
        )
    else:
        half = frame.height // 2
        yield from _parts(frame[:half])
        yield from _parts(frame[half:])


def main() -> None:
    """Answer the request on standard input."""
    # Messages go to a copy of standard output, and what any library prints goes to standard error.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    stdin = sys.stdin.buffer
    (size,) = struct.unpack("<Q", stdin.read(8))
    request = pickle.loads(stdin.read(size))  # safe: it comes from the process that started this
    threading.Thread(target=_leave_with, args=(stdin,), daemon=True).start()
    with suppress(BrokenPipeError, KeyboardInterrupt):
        answer(request, out)
    os._exit(0)  # at once, without waiting for DuckDB's threads or a statement that still runs


def _leave_with(stdin: BinaryIO) -> None:
    stdin.read(1)
    os._exit(0)
