"""Commands that are killed before the nth statement that they give to a bank that they write."""

from __future__ import annotations

import signal
from pathlib import Path

from forked import Forked

_KILL = """
import os, signal

class Killed:
    def __init__(self, connection): self.connection = connection
    def __getattr__(self, name): return getattr(self.connection, name)
    def __enter__(self): return self
    def __exit__(self, *how): self.connection.close()
    def execute(self, *args):
        count.append(None)
        if len(count) == {at}:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.connection.execute(*args)

count = []
from attnbank.sql.bank import opening
connect = opening.connect
opening.connect = lambda *args: Killed(connect(*args))
"""


def killed_at(forked: Forked, at: int, args: list[str], folder: Path) -> None:
    """Run `attnbank ARGS` in a folder until it is about to give statement `at` to a bank.

    Raises AssertionError where the command ends before that.
    """
    ended = forked.run(args, folder, setup=_KILL.format(at=at))
    # Where the work is done in a process of its own, that one is killed, and the command says so.
    is_told = ended.status == 1 and "was killed (SIGKILL)" in ended.told
    assert ended.status == -signal.SIGKILL or is_told, ended.told
