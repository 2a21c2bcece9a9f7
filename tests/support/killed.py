"""Commands that are killed before the nth statement that they give to a bank that they write."""

from __future__ import annotations

import signal
from pathlib import Path

from forked import Forked

_KILL = """
import importlib, os, signal

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
module = importlib.import_module("attnbank.sql.bank.{module}")
connect = module.connect
module.connect = lambda *args: Killed(connect(*args))
"""


def killed_at(
    forked: Forked, at: int, args: list[str], folder: Path, *, module: str = "making"
) -> None:
    """Run `attnbank ARGS` in a folder until a module of sql/bank is about to give statement `at`.

    Raises AssertionError where the command ends before that.
    """
    ended = forked.run(args, folder, setup=_KILL.format(at=at, module=module))
    assert ended.status == -signal.SIGKILL, ended.told
