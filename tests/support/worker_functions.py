"""Work for guarded processes, which a new Python imports by these names."""

from __future__ import annotations

import os
import sys
import time
import warnings

from attnbank.sql.errors import AttnbankWarning, QueryError
from attnbank.sql.worker import Channel


def sleeps(channel: Channel, *given: object) -> None:
    """Hang, after a first message."""
    channel.send(b"S", b"asleep")
    time.sleep(600)


def aborts(channel: Channel, *given: object) -> None:
    """Crash."""
    os.abort()


def echoes(channel: Channel, *given: object) -> int:
    """Print on standard output, warn, send what was given, and end with a status."""
    print("what a library prints")
    os.write(1, b"\x00\x01\x02 and what its C code prints")
    sys.stdout.flush()
    warnings.warn("a warning", AttnbankWarning, stacklevel=2)
    channel.send(b"X", repr(given).encode())
    channel.send(b"X", b"y" * 3_000_000)
    return 3


def fails(channel: Channel, *given: object) -> None:
    """Raise an error for people, or one that nobody expected."""
    if given:
        raise QueryError("a fact", "a remedy")
    raise ValueError("unexpected")


def leaves(channel: Channel, *given: object) -> None:
    """End without a word."""
    os._exit(5)
