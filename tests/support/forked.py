"""Runs commands in processes that start in milliseconds, to interrupt or kill them, or not."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_SERVER = Path(__file__).with_name("fork_server.py")
_SCRIPT = """#!{python} -IS
import json, os, socket, sys
request = {{"args": sys.argv[1:], "folder": os.getcwd(), "env": dict(os.environ), "setup": ""}}
data = json.dumps(request | {{"ends_at_once": True}}).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"%8d" % len(data)], [0, 1, 2])
    server.sendall(data)
    server.recv(8)
    status = int(server.recv(8) or b"1")
sys.exit(status if status >= 0 else 128 - status)
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its status (negative for a signal), what it printed, and its seconds."""

    status: int
    told: str
    seconds: float


class Forked:
    """Runs commands, each in a separate process (see fork_server.py).

    `folder` holds a script `attnbank`, for shells that have it first in their PATH: what runs is
    the command itself, but the imports, which take several seconds for an ingest, were made before:
    those of an ingest only with `fills`.
    """

    def __init__(self, *, fills: bool = True) -> None:
        self._made = tempfile.TemporaryDirectory(prefix="attnbank-forked-")
        self.folder = Path(self._made.name)
        self._address = str(self.folder / "socket")
        script = self.folder / "attnbank"
        script.write_text(_SCRIPT.format(python=sys.executable, address=self._address), "utf-8")
        script.chmod(0o755)
        path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
        self._env = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self._server = subprocess.Popen(
            [sys.executable, str(_SERVER), self._address, *["fills"] * fills],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env=self._env,
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == "ready\n"

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
        self._made.cleanup()

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
        request = {
            "args": args, "folder": str(folder), "env": self._env | (env or {}), "setup": setup,
            "ends_at_once": ends_at_once,
        }  # fmt: skip
        data = json.dumps(request).encode()
        began = time.monotonic()
        with tempfile.TemporaryFile("w+b") as printed, socket.socket(socket.AF_UNIX) as server:
            with Path(os.devnull).open() as nothing:
                server.connect(self._address)
                streams = [nothing.fileno(), printed.fileno(), printed.fileno()]
                socket.send_fds(server, [b"%8d" % len(data)], streams)
            server.sendall(data)
            child = int(server.recv(8))
            for after, number in signals:
                if _answers(server, began + after):
                    break
                os.kill(child, number)
            has_ended = _answers(server, began + seconds)
            if not has_ended:
                os.kill(child, signal.SIGKILL)
            status = int(server.recv(8))
            printed.seek(0)
            text = printed.read().decode(errors="replace")
        assert has_ended, f"no end in {seconds} s: {args}\n{text}"
        text = text.partition("nanobind: leaked")[0]  # printed because of gc.freeze()
        return Ended(status, text, time.monotonic() - began)


def _answers(server: socket.socket, until: float) -> bool:
    """Wait for an answer; whether it has come in time."""
    return bool(select.select([server], [], [], max(0.0, until - time.monotonic()))[0])
