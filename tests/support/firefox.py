"""A Firefox of the system for slow tests, driven by its own protocol (Marionette), as a Visitor."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

NAMES = ("firefox-esr", "firefox")


class Firefox:
    """One window; `run` gives what a script returns."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._number = 0
        self._read()  # it says what it is

    def _read(self) -> Any:
        length = b""
        while (byte := self._connection.recv(1)) != b":":
            assert byte, "Firefox has closed the connection"
            length += byte
        body = b""
        while len(body) < int(length):
            body += self._connection.recv(int(length) - len(body))
        return json.loads(body)

    def ask(self, command: str, **given: Any) -> Any:
        """What a command of Marionette answers."""
        self._number += 1
        body = json.dumps([0, self._number, f"WebDriver:{command}", given]).encode()
        self._connection.sendall(f"{len(body)}:".encode() + body)
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def go(self, address: str) -> None:
        """Go to a page."""
        self.ask("Navigate", url=address)

    def run(self, script: str) -> Any:
        """What a script returns."""
        return self.ask("ExecuteScript", script=script, args=[], sandbox="system")["value"]

    def seen(self, address: str, is_filled: str, script: str) -> Any:
        """What a script returns of a page, once another says that it is filled."""
        self.go(address)
        for _ in range(1200):
            if self.run(is_filled):
                return self.run(f"return {script}")
            time.sleep(0.05)
        raise AssertionError("the page is not filled after a minute")


@contextmanager
def launched() -> Iterator[Firefox]:
    """A Firefox without a window."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Firefox is installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with TemporaryDirectory() as profile:
        settings = f'user_pref("marionette.port", {port});\n'
        Path(profile, "user.js").write_text(settings, encoding="utf-8")
        running = subprocess.Popen(
            [path, "--headless", "--marionette", "--no-remote", "--profile", profile],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield _connected(port)
        finally:
            running.terminate()
            with suppress(subprocess.TimeoutExpired):
                running.wait(60)
            running.kill()


def _connected(port: int) -> Firefox:
    end = time.monotonic() + 60
    while True:
        try:
            found = Firefox(socket.create_connection(("127.0.0.1", port), timeout=120))
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
            continue
        found.ask("NewSession", capabilities={})
        return found
