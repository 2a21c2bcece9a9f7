"""Reading a bank in a separate process, so that a crash of that process can be reported.

A bank comes from outside, and DuckDB follows addresses in its blocks, so a damaged bank can make
the system end the process. The person who typed the command must then learn why nothing came.
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
"""The folder with the threads of this process, on systems that have it."""


def read_apart(ctx: click.Context, work: Callable[[], None]) -> None:
    """Run `work`, which reads the named bank and prints, in a forked process.

    Then exits with the status of that process. Raises BankError if it crashes. If the system has no
    fork, or this process has threads, which a fork would not copy, the work is done here.
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
    """Either side of a fork: `number` is the id of the new process, or 0 within it.

    `life` are the two ends of a pipe. The new process waits for its end to close, which happens
    when the old process ends, and then ends too.
    """

    def __init__(self, number: int, life: tuple[int, int]) -> None:
        self.number = number
        reads, self._held = life
        if number:
            os.close(reads)
        else:
            os.close(self._held)
            threading.Thread(target=_leave_with, args=(reads,), daemon=True).start()

    def wait(self) -> int:
        """Wait for the new process and pass interrupts on to it.

        Returns its exit status, or the negative number of the signal that ended it.
        """
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
        """End the new process with this exit status."""
        for file in (sys.stdout, sys.stderr):
            file.flush()
        os._exit(status)  # at once, without waiting for DuckDB's threads


def _fork() -> _Child | None:
    """Fork a new process; None if that is not possible.

    The new process has its own session, so that a Ctrl-C in the terminal reaches only the old one.
    In the old one, interrupts are blocked until it waits, which then passes them on.
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
    """End this process when the process that holds the other end of the pipe has ended."""
    os.read(pipe, 1)
    os._exit(1)
