"""Reading a bank in a process of its own, whose crash can be told.

A bank comes from outside, and DuckDB follows what stands in its blocks: there are banks on which
the system ends the process. Whoever typed the command then has to hear why nothing was printed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from attnbank.cli.endings import status_of
from attnbank.cli.options import bank_path, debugs
from attnbank.sql.bank.explaining import broken_off

_TASKS = Path("/proc/self/task")
"""The threads of this process, where the system shows them."""


def read_apart(ctx: click.Context, work: Callable[[], None]) -> None:
    """Do something that reads the named bank and prints, in a process that is forked for it.

    Raises BankError where that process crashes, and ends with the status that it has. Where there
    is no fork, or this process has threads, which do not survive one, the work is done here.
    """
    child = _fork()
    if child is None:
        work()
        return
    if child.number == 0:
        child.leave(status_of(work, debugs(ctx)))
    status = child.wait()
    if status < 0:
        raise broken_off(bank_path(ctx), status)
    ctx.exit(status)


class _Child:
    """Both sides of a fork: `number` is 0 in the new process, which ends with the old one."""

    def __init__(self, number: int, life: tuple[int, int]) -> None:
        self.number = number
        reads, self._held = life
        if number:
            os.close(reads)
        else:
            os.close(self._held)
            threading.Thread(target=_leave_with, args=(reads,), daemon=True).start()

    def wait(self) -> int:
        """Wait for the new process, handing on interrupts; its status, negative for a signal."""
        usual = signal.getsignal(signal.SIGINT)
        if callable(usual):
            signal.signal(signal.SIGINT, lambda number, frame: os.kill(self.number, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        finally:
            if callable(usual):
                signal.signal(signal.SIGINT, usual)
            os.close(self._held)

    def leave(self, status: int) -> NoReturn:
        """End the new process."""
        for file in (sys.stdout, sys.stderr):
            file.flush()
        os._exit(status)  # DuckDB's threads are nobody's any more


def _fork() -> _Child | None:
    """A new process, in a session of its own: an interrupt in the terminal is the old one's.

    None where the system cannot make one. In the old process interrupts are put off until it waits.
    """
    if not hasattr(os, "fork") or _has_threads():
        return None
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    life = os.pipe()
    try:
        number = os.fork()
    except OSError:  # no more processes, or no memory for one
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for end in life:
            os.close(end)
        return None
    if number == 0:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _Child(number, life)


def _has_threads() -> bool:
    if _TASKS.is_dir():
        return len(list(_TASKS.iterdir())) > 1
    return threading.active_count() > 1 or "duckdb" in sys.modules


def _leave_with(pipe: int) -> None:
    """End this process when the one that holds the other end of a pipe has ended."""
    os.read(pipe, 1)
    os._exit(1)
