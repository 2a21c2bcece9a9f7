"""The end of a process that we started, also where somebody interrupts."""

from __future__ import annotations

import select
import subprocess
from typing import IO

from attnbank.sql.interrupts import postponed


def end(process: subprocess.Popen[bytes], patience: float = 0.0) -> None:
    """Wait so many seconds for a process to end by itself, then kill it; it has ended after that.

    A KeyboardInterrupt within Popen.wait can leave the lock in there taken for good, so that the
    next wait never returns. No other place may call it or Popen.poll in the main thread.
    """
    with postponed():
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def has_spoken(output: IO[bytes], seconds: float) -> bool:
    """Wait so long for something to read in the output of a process; its end is something too."""
    return bool(select.select([output], [], [], seconds)[0])
