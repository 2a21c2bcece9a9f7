"""Makes `attnbank` in a shell start in milliseconds: a fork of a process that has imported all.

`Served` is the process that imports everything, and a folder with a script `attnbank`. A shell that
has this folder first in its PATH runs the script, which hands its arguments, its folder, its
environment and its three streams over. What runs is the command itself, in a process of its own;
only the imports, which take several seconds for an ingest, are those of the server.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import NoReturn

_LENGTH = 8
"""Bytes before a request: its length."""

_SCRIPT = """#!{python} -IS
import json, os, socket, sys
asked = {{"args": sys.argv[1:], "folder": os.getcwd(), "env": dict(os.environ)}}
sent = json.dumps(asked).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [len(sent).to_bytes({length}, "big")], [0, 1, 2])
    server.sendall(sent)
    status = int(server.recv(16) or b"1")
sys.exit(status if status >= 0 else 128 - status)
"""


class Served:
    """The server, while it runs. `folder` holds the script `attnbank`."""

    def __init__(self) -> None:
        self._made = tempfile.TemporaryDirectory(prefix="attnbank-served-")
        self.folder = Path(self._made.name)
        address = str(self.folder / "socket")
        script = self.folder / "attnbank"
        script.write_text(
            _SCRIPT.format(python=sys.executable, address=address, length=_LENGTH), encoding="utf-8"
        )
        script.chmod(0o755)
        path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
        self._server = subprocess.Popen(
            [sys.executable, __file__, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": path},
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == "ready\n"

    def __enter__(self) -> Served:
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


def _serve(address: str) -> socket.socket:
    """Fork for each request; this returns only in the new processes, with the request."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        gc.collect()
        gc.freeze()  # or each process would visit, and so copy, all these objects at its end
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the new processes
        print("ready", flush=True)
        while True:
            asking, _ = listening.accept()
            if not os.fork():
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return asking
            asking.close()


def _received(asking: socket.socket) -> dict[str, object]:
    """A request, whose streams have become those of this process."""
    length, streams, _, _ = socket.recv_fds(asking, _LENGTH, 3)
    for own, stream in enumerate(streams):
        os.dup2(stream, own)
        os.close(stream)
    with asking.makefile("rb") as file:
        asked: dict[str, object] = json.loads(file.read(int.from_bytes(length, "big")))
    return asked


def _become(asked: dict[str, object]) -> NoReturn:
    """Run the command, and end with its status, without the end of the interpreter."""
    from attnbank.cli import main

    args, env = asked["args"], asked["env"]
    assert isinstance(env, dict) and isinstance(args, list)
    os.chdir(str(asked["folder"]))
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["attnbank", *args]
    status = 0
    try:
        main()
    except SystemExit as done:
        status = int(done.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _answer(asking: socket.socket) -> None:
    """Run the command that is asked for in one more process, and tell its exit status."""
    asked = _received(asking)
    child = os.fork()
    if not child:
        asking.close()
        _become(asked)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    asking.sendall(str(status).encode())
    os._exit(0)


if __name__ == "__main__":
    import fork_server  # noqa: F401  # it imports everything

    _answer(_serve(sys.argv[1]))
