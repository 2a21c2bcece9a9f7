"""Commands that are stopped before the nth statement that they give to a bank that they write."""

from __future__ import annotations

import signal
from pathlib import Path

from forked import Ended, Forked

_STOP = """
import os, signal

class Killed:
    def __init__(self, connection): self.connection = connection
    def __getattr__(self, name): return getattr(self.connection, name)
    def __enter__(self): return self
    def __exit__(self, *how): self.connection.close()
    def execute(self, *args):
        count.append(None)
        if {counts}:
            open("statements", "w").write(str(len(count)))
        if len(count) == {at}:
            os.kill(os.getpid(), {number})
        return self.connection.execute(*args)

count = []
from attnbank.sql.bank import new_banks, opening
connect = opening.connect
opening.connect = new_banks.connect = lambda *args, **named: Killed(connect(*args, **named))
"""


def stopped_at(
    forked: Forked,
    at: int,
    args: list[str],
    folder: Path,
    number: signal.Signals = signal.SIGKILL,
    setup: str = "",
) -> Ended:
    """Run `attnbank ARGS` in a folder, and send it a signal as it gives statement `at` to a bank.

    `setup` is Python code that runs first.
    """
    code = _STOP.format(at=at, number=int(number), counts=False)
    return forked.run(args, folder, setup=setup + code)


def killed_at(forked: Forked, at: int, args: list[str], folder: Path, setup: str = "") -> None:
    """Kill `attnbank ARGS` where it is about to give statement `at` to a bank.

    Raises AssertionError where the command ends before that.
    """
    ended = stopped_at(forked, at, args, folder, setup=setup)
    # Where the work is done in a process of its own, that one is killed, and the command says so.
    is_told = ended.status == 1 and "was killed (SIGKILL)" in ended.told
    assert ended.status == -signal.SIGKILL or is_told, ended.told


def statements(forked: Forked, args: list[str], folder: Path, setup: str = "") -> int:
    """Run `attnbank ARGS` in a folder to its end; how many statements it gives to banks."""
    code = _STOP.format(at=0, number=0, counts=True)
    ended = forked.run(args, folder, setup=setup + code)
    assert ended.status == 0, ended.told
    counted = folder / "statements"
    found = int(counted.read_text())
    counted.unlink()
    return found
