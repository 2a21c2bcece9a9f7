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
    def __eq__(self, other): return self.connection is getattr(other, "connection", other)
    def __hash__(self): return hash(self.connection)
    def __enter__(self): return self
    def __exit__(self, *how): self.connection.close()
    def execute(self, *args):
        count.append(None)
        if {counts}:
            open(f"statements-{{os.getpid()}}", "w").write(str(len(count)))
        if len(count) == {at}:
            os.kill(os.getpid(), {number})
        return self.connection.execute(*args)

count = []
from attnbank.sql.bank import new_banks, opening
connect = opening.connect
opening.connect = new_banks.connect = lambda *args, **named: Killed(connect(*args, **named))
"""


def stop_before(statement: int, number: signal.Signals = signal.SIGKILL) -> str:
    """Code that sends this process a signal as it gives the nth statement to a bank."""
    return _STOP.format(at=statement, number=int(number), counts=False)


COUNT = _STOP.format(at=0, number=0, counts=True)
"""Code that writes into a file how many statements were given to banks (see `take_count`)."""


def check_killed(ended: Ended) -> None:
    """Check that a command was killed, or the process in which it did its work."""
    worker_was = ended.status == 1 and "was killed (SIGKILL)" in ended.told
    assert ended.status == -signal.SIGKILL or worker_was, ended.told


def killed_at(forked: Forked, at: int, args: list[str], folder: Path, setup: str = "") -> None:
    """Kill `attnbank ARGS` where it is about to give statement `at` to a bank.

    `setup` is Python code that runs first.
    """
    check_killed(forked.run(args, folder, setup=setup + stop_before(at)))


def take_count(folder: Path) -> int:
    """The number of statements that COUNT wrote in a folder, where the files of it are deleted.

    Of several processes, it is that of the one that gave the most.
    """
    count = 0
    for file in folder.glob("statements-*"):
        count = max(count, int(file.read_text()))
        file.unlink()
    return count
