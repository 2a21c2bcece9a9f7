"""Runs commands in processes that start in milliseconds, to interrupt or kill them, or not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_SERVER = Path(__file__).with_name("fork_server.py")


@dataclass(frozen=True)
class Ended:
    """How a command ended: its status (negative for a signal), what it printed, and its seconds."""

    status: int
    told: str
    seconds: float


class Forked:
    """Runs commands one after another, each in a separate process (see fork_server.py)."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="attnbank-told-")
        path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
        self._server = subprocess.Popen(
            [sys.executable, str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        assert self._line() == "ready"

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.kill()
        self._server.communicate()
        self._folder.cleanup()

    def run(
        self,
        args: list[str],
        folder: Path,
        *,
        signals: tuple[tuple[float, signal.Signals], ...] = (),
        env: dict[str, str] | None = None,
        setup: str = "",
        ends_at_once: bool = True,
        seconds: float = 120,
    ) -> Ended:
        """Run `attnbank ARGS` in a folder.

        `signals` are pairs of the seconds after its start and the signal to send then. `setup` is
        Python code that runs first. `ends_at_once` skips the end of the interpreter, which takes as
        long as the rest of a small command. Raises AssertionError if the process lives longer than
        `seconds`; then it is killed.
        """
        told = Path(self._folder.name, "told")  # not in `folder`, whose disk may be full
        asked = {
            "args": args, "folder": str(folder), "told": str(told), "env": env or {},
            "setup": setup, "ends_at_once": ends_at_once,
        }  # fmt: skip
        assert self._server.stdin is not None
        began = time.monotonic()
        self._server.stdin.write(f"{json.dumps(asked)}\n")
        self._server.stdin.flush()
        child = int(self._line())
        answer = _Answer(self._server)
        for after, number in signals:
            if answer.wait(began + after - time.monotonic()):
                break
            os.kill(child, number)
        if not answer.wait(began + seconds - time.monotonic()):
            os.kill(child, signal.SIGKILL)
            answer.wait(10)
            raise AssertionError(f"no end in {seconds} s: {args}\n{told.read_text()}")
        text = told.read_text(errors="replace") if told.exists() else ""  # killed before it began
        told.unlink(missing_ok=True)
        text = text.partition("nanobind: leaked")[0]  # printed because of gc.freeze()
        return Ended(int(answer.line), text, time.monotonic() - began)

    def _line(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline().strip()


class _Answer:
    """The line with the exit status of a process, which comes when it has ended."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        assert server.stdout is not None
        self._file = server.stdout
        self.line = ""

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for the line; whether it has come."""
        import select

        if not self.line and select.select([self._file], [], [], max(0.0, seconds))[0]:
            self.line = self._file.readline().strip()
        return bool(self.line)
