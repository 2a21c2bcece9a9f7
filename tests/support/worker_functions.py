"""Generators for worker processes, which a new Python imports by these names."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import polars as pl

from attnbank.sql.errors import AttnbankWarning, QueryError


def sleeps(*args: object) -> Iterator[str]:
    """Hang, after a first item."""
    yield "asleep"
    time.sleep(600)


def keeps_its_turn() -> Iterator[str]:
    """Hang, after a first item, so that no other thread gets its turn."""
    yield "busy"
    sum(range(10**11))


def aborts(*args: object) -> None:
    """Crash."""
    os.abort()


def echoes(*args: object) -> Iterator[Any]:
    """Print on standard output, warn, and yield the arguments, a frame, and a long text."""
    print("what a library prints")
    os.write(1, b"\x00\x01\x02 and what its C code prints")
    sys.stdout.flush()
    warnings.warn("a warning", AttnbankWarning, stacklevel=2)
    warnings.warn("of a library", stacklevel=2)
    yield list(args)
    yield pl.DataFrame({"n": args})
    yield "y" * 3_000_000


def fails(*args: object) -> None:
    """Raise an error for people, or one that nobody expected."""
    if args:
        raise QueryError("a fact", "a remedy")
    raise ValueError("unexpected")


def leaves(*args: object) -> None:
    """End without a word."""
    os._exit(5)


def writes_garbage() -> None:
    """Write what is no message to the pipe of the messages, as a worker that is taken over may."""
    for pipe in range(3, 20):
        try:
            os.write(pipe, b"F" + b"\xff" * 8 + b"cos\nsystem\n(S'true'\ntR.")
        except OSError:
            continue
    os._exit(0)
