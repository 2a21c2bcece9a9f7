"""Commands and ingests that are stopped: before a statement or a name, in a batch, by a full disk.

Signals that come at a time: `Forked.run`. Commands that are run again after it: writing_commands.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from command_line import run_python
from forked import Ended, Forked

if TYPE_CHECKING:
    from attnbank.ingest import IngestOptions
    from attnbank.ingest.progress import Progress

_COUNTED = """
import os, signal
count = []
def counted(call):
    def counting(*args, **named):
        count.append(None)
        if {counts}:
            open(f"moments-{{os.getpid()}}", "w").write(str(len(count)))
        if len(count) == {at}:
            os.kill(os.getpid(), {number})
        return call(*args, **named)
    return counting
"""
_MOMENTS = {
    "statement": """
class Killed:
    def __init__(self, connection):
        self.connection, self.execute = connection, counted(connection.execute)
    def __getattr__(self, name): return getattr(self.connection, name)
    def __eq__(self, other): return self.connection is getattr(other, "connection", other)
    def __hash__(self): return hash(self.connection)
    def __enter__(self): return self
    def __exit__(self, *how): self.connection.close()

from attnbank.sql.bank import new_banks, opening
connect = opening.connect
opening.connect = new_banks.connect = lambda *args, **named: Killed(connect(*args, **named))
""",
    "name": """
import pathlib
for name in ("rename", "replace", "rmdir", "mkdir", "unlink"):
    setattr(pathlib.Path, name, counted(getattr(pathlib.Path, name)))
""",
}


def stop_before(
    at: int,
    number: signal.Signals = signal.SIGKILL,
    *,
    moment: Literal["statement", "name"] = "statement",
) -> str:
    """Code that sends this process a signal before one of its moments, the nth.

    A moment is a statement that it gives to a bank that it writes, or a change of a name of a file.
    """
    return _COUNTED.format(at=at, number=int(number), counts=False) + _MOMENTS[moment]


COUNT = _COUNTED.format(at=0, number=0, counts=True) + _MOMENTS["statement"]
"""Code that writes into a file how many statements were given to banks (see `take_count`)."""


def take_count(folder: Path) -> int:
    """The number of statements that COUNT wrote in a folder, where the files of it are deleted.

    Of several processes, it is that of the one that gave the most.
    """
    count = 0
    for file in folder.glob("moments-*"):
        count = max(count, int(file.read_text()))
        file.unlink()
    return count


def check_killed(ended: Ended) -> None:
    """Check that a command was killed, or the process in which it did its work."""
    worker_was = ended.status == 1 and "was killed (SIGKILL)" in ended.told
    assert ended.status == -signal.SIGKILL or worker_was, ended.told


def killed_at(forked: Forked, at: int, args: list[str], folder: Path) -> None:
    """Kill `attnbank ARGS` where it is about to give statement `at` to a bank."""
    check_killed(forked.run(args, folder, setup=stop_before(at)))


def ingest_part(
    options: IngestOptions, sentences: int = 0, weights: int = 1, stage: str = "running"
) -> None:
    """Ingest until more than so many sentences are done in a stage, and fail there.

    A transaction has the batches of at least so many weights: by default one batch.
    """
    from attnbank.ingest import ingest  # with torch
    from attnbank.ingest.store import pipeline

    class Stopped(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.stage == stage and progress.done > sentences:
            raise Stopped

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(pipeline, "WEIGHTS_AT_ONCE", weights)
        ingest(options, stop)


_LIMIT = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
"""
COMMAND = "from attnbank.cli.app import run_command_line\nsys.exit(run_command_line(sys.argv[1:]))"


def run_on_disk(
    limit: int, *args: object, program: str = COMMAND, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run `attnbank ARGS`, or another program, where no file can be larger than `limit` bytes.

    So it is as on a disk that is soon full.
    """
    return run_python("-c", f"{_LIMIT}{program}", limit, *args, env=env, cwd=cwd)
