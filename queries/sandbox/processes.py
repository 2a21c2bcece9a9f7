"""Ending a process that we started, even if somebody presses Ctrl-C meanwhile."""

from __future__ import annotations

import select
import subprocess
from typing import IO

from attnbank.sql.interrupts import postponed


def end(process: subprocess.Popen[bytes], patience: float = 0.0) -> None:
    """Wait `patience` seconds for a process to end by itself, then kill it.

    When this returns, the process has ended. A KeyboardInterrupt within Popen.wait can leave its
    internal lock taken for good, so that the next wait never returns. So interrupts are postponed
    here, and no other code may call Popen.wait or Popen.poll in the main thread.
    """
    with postponed():
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def has_spoken(output: IO[bytes], seconds: float) -> bool:
    """Wait up to `seconds` for output of a process. True if there is some, or if it has ended."""
    return bool(select.select([output], [], [], seconds)[0])
