"""The end of a process that we started, also where somebody interrupts."""

from __future__ import annotations

import select
import subprocess
from typing import IO

from attnbank.sql.interrupts import postponed


def end(process: subprocess.Popen[bytes], patience: float = 0.0) -> None:
    """Wait that many seconds for a process to end by itself, then kill it; afterwards it has ended.

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
    """Wait that many seconds for output of a process; whether there is any, or it has ended."""
    return bool(select.select([output], [], [], seconds)[0])
