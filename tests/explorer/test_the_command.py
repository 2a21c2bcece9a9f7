"""`attnbank explore`: the address that it prints, how it ends, and what it says where it cannot."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/how-to/explore-in-the-browser.md").read_text(encoding="utf-8")
SLOW = "select count(*) from range(40000000) as a(i), range(1000) as b(j) where i * j % 7 = 3"


@contextmanager
def _running(bank: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command and the address that it prints."""
    running = subprocess.Popen(
        [sys.executable, "-m", "attnbank", "-b", str(bank), "explore", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".src")},
        # A shell without a terminal has its children ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert running.stdout is not None
        first = running.stdout.readline()
        assert first.startswith("The explorer is at http://127.0.0.1:"), first
        yield running, first.split()[-1]
    finally:
        running.kill()
        running.wait()


def _ask(command: str) -> tuple[int, str]:
    """Status and standard error of a call of the command that ends by itself."""
    done = subprocess.run(
        [sys.executable, "-m", "attnbank", *command.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".src")},
    )
    return done.returncode, done.stderr


@pytest.mark.slow
def test_it_answers_at_its_address_and_leaves_nothing_behind(
    explored: Path, tmp_path: Path
) -> None:
    bank = tmp_path / "bank.duckdb"
    shutil.copy(explored, bank)
    before = bank.read_bytes()
    with _running(bank) as (running, address):
        assert running.stdout is not None
        assert running.stdout.readline() + running.stdout.readline() in PAGE
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with opener.open(address) as answer:
            assert answer.url == address.split("?")[0]  # without the token
            assert b"<h1>" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.split("?")[0])
        home = address.split("/?")[0]
        slow = f"{home}/statement.json?{urllib.parse.urlencode({'statement': SLOW})}"
        asking = threading.Thread(target=_asked_in_vain, args=(opener, slow))
        asking.start()
        own = psutil.Process(running.pid)
        while not (others := own.children(recursive=True)):  # the process of the statement
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        rest, _ = running.communicate(timeout=60)
        asking.join()
        assert running.returncode == 0
        assert rest.splitlines() == ["The explorer is closed."]
        _, alive = psutil.wait_procs(others, timeout=60)
        assert others and not alive
    assert bank.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [bank.name]


BROWSER = """#!/bin/sh
door="${1#file://}"
printf '%s\\n' "$@" >$KEPT/started
stat -c %a "$door" "$(dirname "$door")" >$KEPT/modes
cp "$door" $KEPT/opened.html && touch $KEPT/done
"""


@pytest.mark.skipif(sys.platform != "linux", reason="stat -c is of Linux")
def test_what_a_browser_is_started_with_is_no_key(
    explored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every user of the machine reads it with `ps`; the file behind it only the one who explores.

    Nothing that such a user can read is answered, also before the browser has come.
    """
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("KEPT", str(tmp_path))
    with _running(explored, "--browser") as (running, address):
        home, _, token = address.partition("?token=")
        while not (tmp_path / "done").exists():
            assert running.poll() is None
            time.sleep(0.01)
        started = (tmp_path / "started").read_text().strip()
        door = Path(urllib.parse.unquote(started.removeprefix("file://")))
        assert door.is_file() and token not in started and home not in started
        assert (tmp_path / "modes").read_text().split() == ["600", "700"]
        assert address in (tmp_path / "opened.html").read_text()
        command_lines = [psutil.Process(running.pid), *psutil.Process(running.pid).children()]
        assert not any(token in " ".join(each.cmdline()) for each in command_lines)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        assert not door.parent.exists()


@pytest.mark.slow
def test_who_leaves_has_no_place_in_the_line(explored: Path) -> None:
    """Statements without an end, two at work and four that wait, whose clients then leave."""
    with _running(explored, "--timeout", "600") as (running, address):
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        opener.open(address).close()
        home, _, token = address.partition("/?token=")
        port = int(home.rpartition(":")[2])

        def asks(number: int) -> socket.socket:
            given = urllib.parse.urlencode({"statement": f"{SLOW} or {number} = 0"})
            path = f"/statement.json?{given}"
            made = socket.create_connection(("127.0.0.1", port))
            held = f"Host: 127.0.0.1:{port}\r\nCookie: attnbank-{port}={token}"
            made.sendall(f"GET {path} HTTP/1.1\r\n{held}\r\n\r\n".encode())
            return made

        own = psutil.Process(running.pid)
        before = own.children(recursive=True)

        def at_work() -> list[psutil.Process]:
            return [each for each in own.children(recursive=True) if each not in before]

        short = f"{home}/statement.json?statement=select+41%2B1"
        clients = [asks(number) for number in range(1, 7)]
        told = ""
        while not told:  # until all six stand in the line
            try:
                opener.open(f"{short}&page={time.monotonic_ns()}", timeout=0.5).close()
            except urllib.error.HTTPError as error:
                assert error.code == 503
                told = error.read().decode()
            except OSError:
                pass
        assert "too many requests are waiting" in told and "Reload" in told
        assert opener.open(f"{home}/bank").status == 200
        while len(statements := at_work()) < 2:
            time.sleep(0.05)
        for client in clients:
            client.close()
        assert b"42" in opener.open(short, timeout=300).read()  # their time is 600 s each
        assert not psutil.wait_procs(statements, timeout=30)[1]
        assert at_work() == []


def _asked_in_vain(opener: urllib.request.OpenerDirector, address: str) -> None:
    """Ask for what is ended before it is answered."""
    try:
        opener.open(address).read()
    except OSError:
        return


@pytest.mark.slow
def test_a_port_in_use_is_told(explored: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, told = _ask(f"-b {explored} explore --port {port}")
    assert status == 2
    fact, remedy = told.splitlines()
    assert fact == f"Error: Cannot listen on port {port}: address already in use."
    assert "--port 0" in remedy
    assert told.replace(str(port), "8417") in PAGE


@pytest.mark.slow
def test_a_bank_that_is_none_is_told(tmp_path: Path) -> None:
    status, told = _ask(f"-b {tmp_path / 'nothing.duckdb'} explore --port 0")
    assert status == 1 and "There is no bank" in told.splitlines()[0]
    other = tmp_path / "other.duckdb"
    other.write_text("no bank")
    status, told = _ask(f"-b {other} explore --port 0")
    assert status == 1 and len(told.splitlines()) <= 2
