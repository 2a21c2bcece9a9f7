"""A host that is slow, endless, busy or leads astray, and addresses with secrets in them."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bank_rows import change_bank
from command_line import Cli

from attnbank.cli.app import run_command_line
from attnbank.queries import open_bank
from attnbank.sql import paths
from attnbank.sql.bank import remote
from attnbank.sql.errors import BankError, CallError

Answer = Callable[[int, int, int | None], Iterator[bytes]]
"""The bytes of an answer to the request of a number, for bytes from one place to another."""
SECRET = "Signature=s3cr3t&Expires=1"


@contextmanager
def _host(answer: Answer) -> Iterator[str]:
    """The address of a host that gives these bytes, head and all, and then hangs up."""
    asked = 0

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            nonlocal asked
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += self.rfile.readline()
            ranges = re.search(rb"(?i)range: bytes=(\d+)-(\d*)", head)
            asked += 1
            if b".sha256" in head.split(b"\n")[0]:
                self.wfile.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
                return
            first, last = (ranges[1], ranges[2]) if ranges else (b"0", b"")
            try:
                for part in answer(asked, int(first), int(last) + 1 if last else None):
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:  # nobody listens any more
                pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _part(body: bytes, start: int, end: int | None) -> Iterator[bytes]:
    end = min(len(body), len(body) if end is None else end)
    yield (
        f"HTTP/1.1 206 Part\r\nContent-Range: bytes {start}-{end - 1}/{len(body)}\r\n"
        f'ETag: "1"\r\nContent-Length: {end - start}\r\nConnection: close\r\n\r\n'
    ).encode()
    yield body[start:end]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE", 0.01)


@pytest.fixture
def large(few_words: Path, tmp_path: Path) -> bytes:
    """A bank that has 8 MB which nobody reads at first."""
    own = tmp_path / "large.duckdb"
    shutil.copy(few_words, own)
    change_bank(own, "create table further as select random() as number from range(1000000)")
    return own.read_bytes()


def test_a_host_that_is_busy_later_is_told_in_two_lines(
    few_words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body, most = few_words.read_bytes(), 10**6

    def answer(asked: int, start: int, end: int | None) -> Iterator[bytes]:
        if asked <= most:
            yield from _part(body, start, end)
        yield b"HTTP/1.1 503 a reason\tof its own\r\nContent-Length: 0\r\n\r\n"

    with _host(answer) as address:
        bank = f"{address}/bank.duckdb"
        # Wherever it begins: while the bank is opened, is planned for, or answers.
        for most in range(2, 30, 3):
            for command in (["query", "entropy"], ["show", "1", "--head", "1-1"]):
                if run_command_line(["-b", bank, *command, "-f", "csv"]):
                    told = capsys.readouterr().err
                    assert told == (
                        f"Error: {bank} answers 503 Service Unavailable.\n"
                        "Try again later, or fetch it: attnbank fetch URL\n"
                    ), (most, command)


def test_a_host_that_gives_a_byte_at_a_time_is_given_up(
    large: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "TIMEOUT", 2.0)  # to connect, too: on a busy machine
    monkeypatch.setattr(remote, "SLOWEST", 10**9)
    slow = False

    def answer(asked: int, start: int, end: int | None) -> Iterator[bytes]:
        head, body = _part(large, start, end)
        yield head
        for at in range(len(body)) if slow else ():
            yield body[at : at + 1]
            time.sleep(0.05)
        yield body

    with _host(answer) as address, open_bank(f"{address}/bank.duckdb") as bank:
        bank.sql("select 1 as n")
        slow = True
        with pytest.raises(BankError) as raised:
            bank.sql("select sum(number) from further")
    assert "is too slow: " in raised.value.fact and "Traceback" not in str(raised.value)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (f"200 OK\r\nContent-Length: {'9' * 5000}", "does not say how large the file is"),
        ("200 OK\r\nContent-Length: -1", "does not say how large the file is"),
        ("206 OK\r\nContent-Range: bytes 0-9/" + "9" * 5000, "does not say which part"),
        ("206 OK\r\nContent-Range: bytes 5-9/100", "sent another part than requested"),
        (f"200 OK\r\nContent-Length: {10**17}", "but the disk has only"),
        ("302 Go\r\nLocation: ftp://127.0.0.1/x?" + SECRET, "that is not of the web (ftp:)"),
        ("302 Go\r\nLocation: file:///etc/passwd", "answers 302 Found"),
        ("401 No", "answers 401 Unauthorized"),
    ],
)
def test_fetch_believes_no_answer_that_cannot_be(
    answers: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bank.duckdb"
    with _host(lambda *_: iter([f"HTTP/1.1 {answers}\r\n\r\n".encode()])) as address:
        assert run_command_line(["fetch", f"{address}/bank.duckdb?{SECRET}", str(file)]) == 1
    said = capsys.readouterr().err
    assert told in said and said.count("\n") <= 2 and "s3cr3t" not in said
    assert [*tmp_path.iterdir()] == []


def test_an_encrypted_address_leads_to_encrypted_ones_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unencrypted(http.client.HTTPConnection):
        def __init__(self, host: str, timeout: float, **of_encryption: Any) -> None:
            super().__init__(host, timeout=timeout)

    monkeypatch.setattr(http.client, "HTTPSConnection", Unencrypted)
    answer = b"HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:9/x\r\n\r\n"
    with _host(lambda *_: iter([answer])) as address:
        encrypted = address.replace("http:", "https:")
        assert run_command_line(["fetch", f"{encrypted}/bank.duckdb", str(tmp_path / "x")]) == 1
    assert "leads to an address without encryption" in capsys.readouterr().err


@pytest.mark.parametrize("says", ["", "Content-Length: 1000000000000\r\n"])
def test_an_endless_body_is_no_longer_than_the_bank(
    says: str, few_words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    body, sent, file = few_words.read_bytes(), 0, tmp_path / "bank.duckdb"
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10**15))

    def answer(*_: object) -> Iterator[bytes]:
        nonlocal sent
        yield f"HTTP/1.1 200 OK\r\n{says}Connection: close\r\n\r\n".encode() + body
        while sent < 10**9:
            sent += 2**20
            yield bytes(2**20)

    with _host(answer) as address:
        assert run_command_line(["fetch", f"{address}/bank.duckdb", str(file)]) == 1
    assert f"more than the bank in it has ({len(body):,} bytes)" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [] and sent < len(body) + 10**8


def test_a_bank_whose_rows_are_damaged_is_not_kept(
    few_words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, folder = tmp_path / "own.duckdb", tmp_path / "fetched"
    folder.mkdir()
    shutil.copy(few_words, own)
    change_bank(own, "update peak set most_attended_weight = 'nan'")
    body = own.read_bytes()
    with _host(lambda _, start, end: _part(body, start, end)) as address:
        assert run_command_line(["fetch", f"{address}/bank.duckdb", str(folder / "x.duckdb")]) == 1
    told = capsys.readouterr().err
    assert "is damaged: its table peak has rows that no map has; nothing was kept." in told
    assert [*folder.iterdir()] == []


@pytest.mark.slow
def test_the_query_of_an_address_is_neither_printed_nor_stored(
    two_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    body, out = two_runs.read_bytes(), tmp_path / "o.csv"
    with _host(lambda _, start, end: _part(body, start, end)) as address:
        bank = f"{address}/bank.duckdb?{SECRET}"
        assert run_command_line(["-b", bank, "info"]) == 0
        assert (
            run_command_line(["-b", bank, "query", "best_head", "-o", str(out), "--provenance"])
            == 0
        )
        assert (
            run_command_line(["-b", bank, "export", str(tmp_path / "parquet"), "--provenance"]) == 0
        )
        assert run_command_line(["-b", bank, "use", "1"]) == 2
        assert run_command_line(["-b", bank, "query", "nothing"]) == 2
        assert run_command_line(["-b", bank, "upgrade"]) == 2
        monkeypatch.setenv("ATTNBANK", bank)
        assert run_command_line(["sql", "select count(*) as n from word"]) == 0
        assert run_command_line(["fetch", bank, str(tmp_path / "x.duckdb")]) == 0
        with open_bank(bank) as opened:
            told = f"{opened!r} {opened._repr_html_()} {opened.path} {opened.info()}"
            assert opened.sql("select 1 as n", isolated=True).height == 1
    captured = capsys.readouterr()
    assert f"{address}/bank.duckdb?…" in captured.out and f"{address}/bank.duckdb?…" in told
    kept = json.loads(out.with_name("o.csv.provenance.json").read_text(encoding="utf-8"))
    assert kept["bank"] == f"{address}/bank.duckdb?…"
    for text in (captured.out, captured.err, told):
        assert "s3cr3t" not in text
    for file in (each for each in tmp_path.rglob("*") if each.is_file()):
        assert b"s3cr3t" not in file.read_bytes(), file


def test_an_address_with_a_password_is_refused_without_it(
    cli: Cli,
) -> None:
    for command in (["-b", "http://me:s3cr3t@127.0.0.1:9/x.duckdb", "info"],
                    ["fetch", "http://me:s3cr3t@127.0.0.1:9/x.duckdb"],
                    ["fetch", "ftp://me:s3cr3t@127.0.0.1:9/x.duckdb"],
                    ["-b", "ftp://me:s3cr3t@127.0.0.1:9/x.duckdb", "info"]):  # fmt: skip
        told = cli(*command, status=2).err
        assert "s3cr3t" not in told and told.startswith("Error: "), command
    with pytest.raises(CallError, match="user name or a password"):
        open_bank("https://me:s3cr3t@example.org/x.duckdb")


def test_two_addresses_that_differ_in_their_query_stay_two() -> None:
    given = [f"https://example.org/get?file={name}" for name in "ab"]
    first, second = (paths.printable_path(address) for address in given)
    assert first != second and paths.printable_path(first) == first
    assert [paths.whole_address(paths.typed_path(path)) for path in (first, second)] == given
    with pytest.raises(CallError, match="is not the whole address"):
        paths.printable_path("https://example.org/other?…")
