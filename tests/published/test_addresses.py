"""A bank behind an address: it answers as the file does, and a host that lies is told."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import pytest
from bank_rows import change_bank
from command_line import Cli
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from attnbank.queries import open_bank
from attnbank.sql.bank import remote
from attnbank.sql.errors import BankError, CallError, QueryError

Serving = Callable[[Any], AbstractContextManager[str]]
FURTHER = "select sum(number) from further"
"""What no statement before has read: all else of a small bank is in a few blocks."""
DATA = "https://example.org/x.duckdb"


class Host:
    """A host of one file, that can be told to misbehave; `asked` counts requests."""

    def __init__(self, file: Path) -> None:
        self.body = file.read_bytes()
        self.asked: list[str | None] = []
        self.ranges = True
        self.lies = 0
        self.breaks_at: int | None = None
        self.fails = 0
        self.version, self.names_version = "one", "ETag"
        self.digest: str | None = None

    @property
    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/bank.duckdb", self.answer),
                Route("/moved.duckdb", lambda _: RedirectResponse("/bank.duckdb", 302)),
                Route("/bank.duckdb.sha256", self.answer_digest),
                Route("/page.html", lambda _: Response("<h1>no bank</h1>" * 9)),
            ]
        )

    def answer_digest(self, request: Request) -> Response:
        if self.digest is None:
            return Response(status_code=404)
        return Response(f"{self.digest}  bank.duckdb\n")

    def answer(self, request: Request) -> Response:
        asked = request.headers.get("range")
        self.asked.append(asked)
        if self.fails:
            self.fails -= 1
            return Response("busy", 503)
        size = len(self.body) + self.lies
        start, end, status = 0, len(self.body), 200
        if asked is not None and asked.startswith(f"bytes={size}-"):
            return Response(status_code=416)
        headers = {self.names_version: f'"{self.version}"'}
        if asked is not None and self.ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start = int(first)
            end = min(int(last) + 1 if last else size, size)
            status = 206
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        body = self.body[start:end].ljust(end - start, b"\0")
        headers["Content-Length"] = str(len(body))

        def parts() -> Iterator[bytes]:
            at = self.breaks_at
            yield body if at is None or (start <= 0 and end < 100) else body[: max(0, at)]

        return StreamingResponse(parts(), status, headers)


@pytest.fixture
def host(few_words: Path) -> Host:
    return Host(few_words)


@pytest.fixture
def large(few_words: Path, tmp_path: Path) -> Host:
    """A host of a bank that has 8 MB which nobody reads at first."""
    own = tmp_path / "large.duckdb"
    shutil.copy(few_words, own)
    change_bank(own, "create table further as select random() as number from range(1000000)")
    return Host(own)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE", 0.01)


@pytest.mark.slow
def test_it_answers_as_the_file_does(two_runs: Path, serving: Serving) -> None:
    host = Host(two_runs)
    with (
        serving(host.application) as address,
        open_bank(two_runs) as file,
        open_bank(f"{address}/bank.duckdb") as bank,
    ):
        for name in ("best_head", "entropy", "table_1"):
            assert bank.query(name).equals(file.query(name)), name
        statement = "select upos, count(*) as n from word group by upos order by all"
        assert bank.sql(statement).equals(file.sql(statement))
        assert bank.sql(statement, isolated=True).equals(file.sql(statement))
        request = "pattern { V -[nsubj]-> S; S =[1-1]=> V }"
        assert bank.find(request).equals(file.find(request))
        shown = [each.show("1", head="1-1", corpus="stories").svg for each in (bank, file)]
        assert shown[0] == shown[1]
        assert bank.info().bytes == file.info().bytes
        assert f"{address}/bank.duckdb" in bank._repr_html_()
    assert all(each is not None for each in host.asked)  # never the whole file
    read = [each.removeprefix("bytes=").split("-") for each in host.asked if each]
    assert sum(int(last) - int(first) + 1 for first, last in read) < len(host.body) * 2


@pytest.mark.slow
def test_commands_take_an_address(
    two_runs: Path, serving: Serving, cli: Cli, tmp_path: Path
) -> None:
    with serving(Host(two_runs).application) as address:
        bank = ["-b", f"{address}/moved.duckdb"]
        cli(*bank, "query", "best_head")
        cli(*bank, "sql", "select count(*) as n from word", "-f", "csv")
        cli(*bank, "count", "pattern { N [upos=NOUN] }")
        cli(*bank, "show", "1", "--head", "1-1", "-o", tmp_path / "x.svg")
        cli(*bank, "export", tmp_path / "parquet")
        for writes in (["use", "1"], ["delete", "1", "-y"], ["compute", "entropy"], ["upgrade"]):
            told = cli(*bank, *writes, status=2).err
            assert "a bank behind one can only be read" in told, writes
            assert f"attnbank fetch {address}/moved.duckdb" in told


def test_the_sandbox_stays_shut(host: Host, serving: Serving, tmp_path: Path) -> None:
    other = tmp_path / "secret.csv"
    other.write_text("a\n1\n", encoding="utf-8")
    with serving(host.application) as address, open_bank(f"{address}/bank.duckdb") as bank:
        for statement in (
            f"select * from read_csv('{other}')",
            f"select * from read_text('{address}/page.html')",
            "select * from read_text('attnbank://bank')",
            "select * from read_blob('attnbank://other')",
        ):
            rows = None
            with suppress(QueryError):
                rows = bank.sql(statement).height
            assert not rows, statement


def test_no_bank_is_told_after_the_first_bytes(host: Host, serving: Serving) -> None:
    with serving(host.application) as address:
        with pytest.raises(BankError, match="is not a bank: it is not a DuckDB file"):
            open_bank(f"{address}/page.html").close()
        with pytest.raises(BankError, match="There is no bank at"):
            open_bank(f"{address}/nothing.duckdb").close()
        host.body = b"<!doctype html>" * 1000
        with pytest.raises(BankError, match="is not a bank"):
            open_bank(f"{address}/bank.duckdb").close()
        assert len(host.asked) == 1
    with pytest.raises(BankError, match="cannot be reached"):
        open_bank(f"{address}/bank.duckdb").close()


def test_a_host_without_ranges_is_told(host: Host, serving: Serving) -> None:
    host.ranges = False
    with serving(host.application) as address, pytest.raises(BankError) as caught:
        open_bank(f"{address}/bank.duckdb").close()
    assert "does not answer requests for a part of a file" in str(caught.value)
    assert f"attnbank fetch {address}/bank.duckdb" in str(caught.value)


@pytest.mark.slow
def test_a_host_that_is_busy_is_asked_again(two_runs: Path, serving: Serving) -> None:
    host = Host(two_runs)
    with serving(host.application) as address:
        host.fails = 2
        with open_bank(f"{address}/bank.duckdb") as bank:
            host.fails = 2
            assert bank.query("best_head").height
        host.fails = 100
        with pytest.raises(BankError, match="answers 503"):
            open_bank(f"{address}/bank.duckdb").close()


def test_what_breaks_off_or_lies_is_no_answer(large: Host, serving: Serving) -> None:
    with serving(large.application) as address:
        large.breaks_at = 1000
        with pytest.raises(BankError, match="broke off"):
            open_bank(f"{address}/bank.duckdb").close()
        large.breaks_at = None
        large.lies = 1 << 20  # it claims more than it has
        with open_bank(f"{address}/bank.duckdb") as bank:
            bank.sql("select 1 as n")  # its sandbox is open now
            large.lies = 0
            with pytest.raises(BankError, match="was replaced while it was read"):
                bank.sql(FURTHER)


@pytest.mark.parametrize("header", ["ETag", "Last-Modified"])
def test_a_bank_that_is_replaced_meanwhile_is_told(
    header: str, large: Host, serving: Serving
) -> None:
    large.names_version = header
    with serving(large.application) as address, open_bank(f"{address}/bank.duckdb") as bank:
        bank.sql("select 1 as n")  # its sandbox is open now
        large.version = "two"
        with pytest.raises(BankError, match="was replaced while it was read"):
            bank.sql(FURTHER)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("hf://datasets/owner", "names no file of the hub"),
        ("hf://models/owner/x.duckdb", "names no file of the hub"),
        ("hf://owner/-name/x.duckdb", "names no file of the hub"),
        ("ftp://host/x.duckdb", "is not a valid path"),
        ("s3://bucket/x.duckdb", "is not a valid path"),
    ],
)
def test_addresses_that_cannot_be(address: str, told: str) -> None:
    with pytest.raises(CallError, match=told):
        open_bank(address).close()


def test_the_hub_is_asked_where_it_keeps_files() -> None:
    found = remote.url_of("hf://datasets/owner/banks@v1/gum/bank.duckdb")
    assert found.endswith("/datasets/owner/banks/resolve/v1/gum/bank.duckdb")
    assert remote.url_of("hf://owner/model/x.duckdb").endswith("/owner/model/resolve/main/x.duckdb")
    assert remote.url_of(DATA) == DATA


def test_fetch_compares_the_digest(host: Host, serving: Serving, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "bank.duckdb"
    with serving(host.application) as address:
        host.digest = hashlib.sha256(host.body).hexdigest()
        assert (
            "its SHA-256 matches the published one"
            in cli("fetch", f"{address}/bank.duckdb", file).err
        )
        assert file.read_bytes() == host.body
        cli("fetch", f"{address}/bank.duckdb", file, status=2)  # nothing is overwritten
        file.unlink()
        host.digest = "0" * 64
        assert (
            "is not what was published"
            in cli("fetch", f"{address}/bank.duckdb", file, status=1).err
        )
        assert [*tmp_path.iterdir()] == []
        host.digest = None
        assert (
            "no digest was published to check it with"
            in cli("fetch", f"{address}/bank.duckdb", file).err
        )
    assert [*tmp_path.iterdir()] == [file]


def test_fetch_goes_on_where_it_stopped(
    host: Host, serving: Serving, tmp_path: Path, cli: Cli
) -> None:
    file = tmp_path / "bank.duckdb"
    half = len(host.body) // 2
    with serving(host.application) as address:
        host.breaks_at = half
        cli("fetch", f"{address}/bank.duckdb", file)  # asked again, and again
        starts = [each for each in host.asked if each]
        assert f"bytes={half - 1}-" in starts
        assert file.read_bytes() == host.body
        file.unlink()
        host.breaks_at = 0
        cli("fetch", f"{address}/bank.duckdb", file, status=1)
        host.breaks_at, host.version = None, "two"
        cli("fetch", f"{address}/bank.duckdb", file)  # of the new file
    assert file.read_bytes() == host.body


def test_fetch_goes_on_from_a_whole_part(
    host: Host, serving: Serving, tmp_path: Path, cli: Cli
) -> None:
    """As one leaves that was interrupted while it checked the rows."""
    file = tmp_path / "bank.duckdb"
    file.with_name("bank.duckdb.part").write_bytes(host.body)
    file.with_name("bank.duckdb.part.of").write_text('"one"', encoding="utf-8")
    with serving(host.application) as address:
        cli("fetch", f"{address}/bank.duckdb", file)
    assert file.read_bytes() == host.body
    assert host.asked == [f"bytes={len(host.body) - 1}-"]
    assert [*tmp_path.iterdir()] == [file]


def test_fetch_works_without_ranges(host: Host, serving: Serving, tmp_path: Path, cli: Cli) -> None:
    host.ranges = False
    with serving(host.application) as address:
        cli("fetch", f"{address}/bank.duckdb", tmp_path / "x.duckdb")
        cli("fetch", f"{address}/page.html", tmp_path / "y.duckdb", status=1)
    assert [each.name for each in tmp_path.iterdir()] == ["x.duckdb"]
