"""Commands that run in a fork of the process: what crashes or does not stop there ends in words."""

from __future__ import annotations

import inspect
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from attnbank.cli.exit_status import exit_status_of
from attnbank.cli.options import BankCommand, bank_path, shared_value
from attnbank.sql.errors import worker_crashed
from attnbank.sql.interrupts import postponed
from attnbank.sql.worker import end_with_parent

# Seconds that a command has to clear up after an interrupt, before it is killed.
INTERRUPT_GRACE = 0.7

# The exit statuses of a copy that ends by itself, for 0, 1 and 2: libraries end a process with 1.
_OWN = range(64, 67)

# What stops a command.
_INTERRUPTS = {signal.SIGINT, signal.SIGTERM}

# The threads of this process, on systems that have this folder.
_TASKS = Path("/proc/self/task")


def run_guarded(
    ctx: click.Context,
    work: Callable[[], Any],
    *,
    path: Path | None = None,
    grace: float = INTERRUPT_GRACE,
) -> None:
    """Run `work`, which uses the named bank and prints, in a fork; exit with its status.

    A crash of DuckDB on a damaged bank then becomes a message, and an interrupt can end a
    statement that DuckDB does not interrupt, after `grace` seconds. `path` is what `work`
    reads, if not the named bank.
    """
    debug, read = bool(shared_value(ctx, "debug")), path or bank_path(ctx)
    child = _fork(lambda: exit_status_of(work, debug, read)) if _can_fork() else None
    if child is None:
        ctx.exit(exit_status_of(work, debug, read))
    status = None
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        status = _wait(child, math.inf)
    except KeyboardInterrupt:
        with postponed(), suppress(ProcessLookupError, ChildProcessError):  # it has just ended
            os.kill(child, signal.SIGINT)
            status = _wait(child, grace)
            if status is None:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        if status not in _OWN:
            from attnbank.sql.outputs import remove_parts

            with suppress(OSError):  # what a killed merge or import leaves of a new bank
                remove_parts(bank_path(ctx).absolute())
            raise
    assert status is not None
    if status not in _OWN:
        raise worker_crashed(read, status)
    ctx.exit(status - _OWN[0])


def _can_fork() -> bool:
    """Whether a copy of this process can do the work: it has no threads, which are not copied."""
    if not hasattr(os, "fork"):
        return False
    if _TASKS.is_dir():
        return len(list(_TASKS.iterdir())) == 1
    return threading.active_count() == 1 and "duckdb" not in sys.modules


def _fork(work: Callable[[], int]) -> int | None:
    """The id of a copy of this process, which ends with _OWN of the status of `work`.

    Interrupts are held back from then on, so that only one of the two gets them, and knows the
    other. None if there can be no more processes, or there is no memory for one.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    before, parent = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS), os.getpid()
    try:
        child = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return None
    if child:
        return child
    status = 1
    try:
        end_with_parent(parent)
        os.setsid()  # a Ctrl-C in the terminal reaches only the parent
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        status = _OWN[work()]
    except (KeyboardInterrupt, MemoryError):  # the parent says so
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, KeyboardInterrupt):
                stream.flush()
        os._exit(status)


def _wait(child: int, seconds: float) -> int | None:
    """The exit status of a copy of this process; None if it has not ended after so long.

    It looks again and again: libraries let the system restart a wait that a Ctrl-C interrupts.
    """
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    return None


class GuardedCommand(BankCommand):
    """A command that runs in a fork (see `run_guarded`), except where that is useless.

    Spark's JVM needs longer to shut down than an interrupt allows, and --show-sql runs nothing.
    """

    grace = INTERRUPT_GRACE

    def invoke(self, ctx: click.Context) -> None:
        """Run the command and exit with its status."""
        if ctx.params.get("engine") == "spark" or ctx.params.get("show_sql"):
            super().invoke(ctx)
        else:
            run_guarded(ctx, lambda: super(GuardedCommand, self).invoke(ctx), grace=self.grace)


def command(
    name: str, example: str = "", cls: type[BankCommand] = GuardedCommand, *,
    help: str | None = None, group: str = "attnbank", **more: Any,
) -> Callable[[Callable[..., None]], BankCommand]:  # fmt: skip
    """Make a command of a function; its help is the docstring, followed by an example."""

    def make_command(function: Callable[..., None]) -> BankCommand:
        text = inspect.cleandoc(help or function.__doc__ or "")
        text += f"\n\n\b\nExample:\n  {group} {name} {example}".rstrip()
        return click.command(name, cls, help=text, **more)(click.pass_context(function))

    return make_command
