"""Bad input, limits, a bank that is replaced: a clear word, and everything else goes on."""

from __future__ import annotations

import re
import shutil
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from explored_pages import Client, anew, drawn, exploring, seen, story, visited

from attnbank.cli.viewer.records import MEASURES
from attnbank.cli.viewer.request import BankCache
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import BankError, QueryError
from attnbank.sql.registry import all_analyses

SLOW = "select count(*) from range(40000000) as a(i), range(1000) as b(j) where i * j % 7 = 3"


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    ("path", "values", "told"),
    [
        ("/", {"by": "beauty"}, "by cannot be beauty."),
        ("/", {"relation": "objx"}, "objx"),
        ("/", {"run": "nobody"}, "There is no run nobody"),
        ("/head/9-9", {}, "The model has no head 9-9."),
        ("/head/one", {}, "one is not a valid head."),
        ("/head/1-1", {"direction": "up"}, "direction cannot be up."),
        ("/head/1-1", {"run": "nobody"}, "There is no run nobody"),
        ("/sentences", {"pattern": "pattern { V -[obj-> O }"}, "Line 1"),
        ("/sentences", {"pattern": "pattern { V [] }", "limit": "x"}, "limit cannot be x."),
        ("/sentences", {"pattern": "pattern { V [] }", "limit": "99999"}, "Give a number from 1"),
        ("/sentences", {"pattern": "pattern { V [] }", "by": "W.upos"}, "W"),
        ("/sentences", {"pattern": "pattern { V [] }", "corpus": "none"}, "no corpus none"),
        ("/sentence", {"sentence": "not-there"}, "No sentence of the bank is called not-there."),
        ("/sentence", {"sentence": str(story(1)), "head": "99-1"}, "has no head 99-1"),
        ("/tables/best_head", {"min_count": "many"}, "min_count must be of type integer"),
        ("/tables/best_head", {"colour": "red"}, "best_head has no parameter colour."),
        ("/tables/nothing", {}, "nothing"),
        ("/sql", {"statement": "drop table word"}, "Only statements that read run here"),
        ("/sql", {"statement": "select nothing"}, "nothing"),
        ("/sql", {"statement": "select * from read_csv('/etc/passwd')"}, "Only the bank"),
        ("/sql", {"statement": "select '" + "x" * 30_000 + "'"}, "statement has 30,009 characters"),
    ],
    ids=lambda each: each if isinstance(each, str) and each.startswith("/") else "",
)
def test_a_wrong_call_is_told(client: Client, path: str, values: dict[str, str], told: str) -> None:
    page = drawn(client, path, **values)
    assert told in page.fault
    assert "Traceback" not in page.text and "unexpected" not in page.text


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ({"pattern": "pattern { V -[ojb]-> O }"}, "No word has the relation ojb. Did you mean obj"),
        ({"pattern": "pattern { V [upos=VRB] }", "by": "V.lemma"}, "No word has the upos VRB."),
    ],
)
def test_what_no_word_has_is_told_beside_the_hits(
    client: Client, values: dict[str, str], note: str
) -> None:
    for _ in range(2):  # the hits of the second are cached
        page = drawn(client, "/sentences", **values)
        assert note in page.text and not page.fault


def test_a_page_that_is_not_there(client: Client) -> None:
    answer = client.get("/nowhere")
    assert answer.status_code == 404 and "There is no such page." in answer.text


def test_what_is_no_record_is_told(client: Client) -> None:
    for path, told in (
        ("/answers/any/gold_dependency.svg", "has no picture"),
        ("/answers/any/entropy.exe", "There is no file .exe."),
        ("/answers/any/entropy.svg?theme=loud", "theme cannot be loud."),
        ("/sentences/5/1-1.json?sentences=1,x", "sentences must be numbers."),
        ("/examples/5/1-1.json?relation=objx", "has the relation objx"),
    ):
        answer = client.get(path)
        assert answer.status_code in (400, 422)
        error = answer.json()["error"]
        assert told in f"{error['fact']} {error['remedy']}"


@pytest.mark.slow
def test_a_run_without_trees_has_what_needs_none(client: Client, runs: dict[str, str]) -> None:
    assert "Attention to the previous token" in seen(client, "/", run=runs["plain"]).text
    head = seen(client, "/head/1-1", run=runs["plain"])
    assert "no dependencies to judge it by" in head.text and "Where its attention goes" in head.text
    assert "Not computed yet" in head.text
    assert drawn(client, "/", run=runs["plain"], relation="obj").fault


@pytest.mark.slow
def test_a_bank_without_runs_says_what_to_type(tmp_path: Path) -> None:
    bank = tmp_path / "empty.duckdb"
    open_to_write(bank, "test").close()
    with exploring(bank) as client:
        for path in ("/", "/head/1-1", "/map", "/compare", "/tables/best_head"):
            page = drawn(client, path)
            assert page.fault or re.search("attnbank -b .* (compute|ingest)", page.text), path
            assert "unexpected" not in page.text, path
        assert drawn(client, "/sentence", sentence=1).fault
        assert "attnbank ingest" in seen(client, "/bank").text
        assert "0 hits." in seen(client, "/sentences", pattern="pattern { V [] }").text


@pytest.mark.slow
def test_a_bank_that_is_replaced_is_read_anew(
    tmp_path: Path, explored: Path, runs: dict[str, str]
) -> None:
    bank = tmp_path / "bank.duckdb"
    open_to_write(bank, "test").close()
    with exploring(bank) as client:
        assert runs["single"] not in anew(client, "/bank").text
        other = tmp_path / "other.duckdb"
        shutil.copy(explored, other)
        other.replace(bank)
        assert runs["single"] in anew(client, "/bank").text
        bank.unlink()
        assert "There is no bank" in _refused(client)
        bank.write_bytes(b"no bank at all" * 1000)
        assert _refused(client)
        shutil.copy(explored, bank)
        assert runs["single"] in anew(client, "/bank").text


def _refused(client: Client) -> str:
    """What a page says of a bank that cannot be read."""
    assert client.get("/bank.json").status_code == 503
    client.page.goto(f"{client.base_url}/bank")
    return str(client.page.locator('[role="alert"]').inner_text())


def test_a_request_that_has_begun_keeps_its_bank(tmp_path: Path, explored: Path) -> None:
    bank = tmp_path / "bank.duckdb"
    shutil.copy(explored, bank)
    cache = BankCache(bank, 30.0, 10**9)
    with cache.open() as before:
        other = tmp_path / "other.duckdb"
        shutil.copy(explored, other)
        other.replace(bank)
        with cache.open() as after:
            assert after is not before
            assert after.bank.runs().height
        assert before.bank.runs().height
    with pytest.raises(BankError, match="closed"):
        before.bank.runs()
    cache.close()


@pytest.mark.slow
def test_a_slow_statement_ends_and_others_answer_meanwhile(explored: Path) -> None:
    with exploring(explored, 1.5) as client:
        told: list[tuple[int, str]] = []

        def slow() -> None:
            answer = client.get(f"/statement.json?{urlencode({'statement': SLOW})}")
            told.append((answer.status_code, answer.text))

        client.get("/bank.json")
        threads = [threading.Thread(target=slow) for _ in range(3)]  # more than run at once
        start = time.monotonic()
        for each in threads:
            each.start()
        time.sleep(0.5)
        clicked = time.monotonic()
        assert client.get("/bank.json").status_code == 200
        assert time.monotonic() - clicked < 10
        assert all(each.is_alive() for each in threads)
        for each in threads:
            each.join()
        assert time.monotonic() - start < 30
        assert [status for status, _ in told] == [422] * 3
        assert all("1.5 s" in text for _, text in told), told[0][1]


def test_an_analysis_ends_in_time_too(explored: Path) -> None:
    names = ("head_pattern", "best_head_test", "compare_runs", "head_score", "table_1", "entropy")
    with exploring(explored, 0.02) as client:  # enough to open the bank
        answers = [client.get(f"/answers/any/{name}.json") for name in names]
    ended = [answer for answer in answers if "error" in answer.json()]  # wherever it ended
    assert ended and not any("unexpected" in answer.text for answer in answers)


@pytest.mark.usual("0.0005", "0.01")
@pytest.mark.parametrize("seconds", [0.0005, 0.003, 0.01, 0.03])
def test_a_page_without_time_says_so_and_not_that_the_bank_is_broken(
    explored: Path, seconds: float
) -> None:
    """Wherever its time is over: before, within or after an analysis, or in its boxes."""
    paths = (
        "/bank.json",
        "/answers/any/compare_runs.json",
        f"/shown.json?sentence={story(1)}&head=1-1",
        "/answers/any/best_head.json",
        "/maps/5.json",
        "/contents.json",
    )
    try:
        with exploring(explored, seconds) as client:
            answers = [client.get(path) for path in paths]
    except QueryError as error:  # so little that the bank is not even open
        assert "took longer" in error.fact
        return
    for answer in answers:
        assert "cannot be used" not in answer.text and "intact copy" not in answer.text
        assert "maximum execution time" not in answer.text
        if fault := answer.json().get("error"):
            assert "took longer than" in fault["fact"] and "--timeout" in fault["remedy"]


def test_one_question_of_many_is_asked_once(cache: BankCache) -> None:
    """Twelve tabs that ask the same get the same rows, and the bank works for one."""
    made = []

    def make() -> object:
        made.append(1)
        time.sleep(0.2)
        return object()

    found: list[object] = []
    with cache.open() as opened:
        threads = [
            threading.Thread(target=lambda: found.append(opened.compute_once("key", make)))
            for _ in range(12)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(made) == 1 and len({id(each) for each in found}) == 1 and len(found) == 12


def test_a_question_that_failed_is_asked_again(cache: BankCache) -> None:
    with cache.open() as opened:
        with pytest.raises(ZeroDivisionError):
            opened.compute_once("key", lambda: 1 / 0)
        assert "key" not in opened.answers
        assert opened.compute_once("key", lambda: 3) == 3


def test_what_was_asked_is_kept_within_bounds(cache: BankCache) -> None:
    with cache.open() as opened:
        for at in range(300):
            opened.compute_once(("key", at), lambda: "x" * 10, lambda made: 1_000_000)
        assert opened.size <= 64_000_000 and len(opened.answers) <= 64
        opened.compute_once("huge", lambda: "x", lambda made: 60_000_000)
        assert "huge" not in opened.answers


def test_an_answer_is_cached_as_it_is_sent(cache: BankCache) -> None:
    """Once for each address; but not why there is none, since that may be a limit."""
    with visited(cache) as client:
        answers = [client.get("/profiles/5.json").content for _ in range(2)]
        assert "error" in client.get("/effects/5.json").json()
        assert client.get("/head/9-9/nothing.json").status_code == 404
    with cache.open() as opened:
        kept = {key: made for key, made in opened.answers.items() if key[0] == "address"}
        assert [key[1] for key in kept] == ["/profiles/5.json"]
        assert {made.result() for made in kept.values()} == {*answers}


@pytest.mark.slow
def test_what_an_analysis_warns_of_stands_on_its_page_each_time(
    tmp_path: Path, explored: Path, runs: dict[str, str]
) -> None:
    """Also where the rows are kept from before: an unfinished run is told again."""
    import duckdb

    bank = tmp_path / "bank.duckdb"
    shutil.copy(explored, bank)
    with duckdb.connect(str(bank)) as connection:
        connection.execute("update run set finished = null where name = ?", [runs["single"]])
    with exploring(bank) as client:
        for run, is_unfinished in ((5, True), (5, True), (4, False)):
            notes = client.get(f"/answers/{run}/entropy.json").json()["notes"]
            assert any("is not finished" in note for note in notes) == is_unfinished
        assert "is not finished" in seen(client, "/tables/entropy", run=runs["single"]).text
        compared = seen(client, "/compare", run_a=runs["single"], run_b=runs["decoder"])
        assert "is not finished" in compared.text


@pytest.mark.soak
def test_a_bank_in_which_every_analysis_has_something_to_say(full_bank: Path) -> None:
    """Every measure of the grid, every table and every picture, with no fault of ours."""
    with exploring(full_bank) as client:
        for by in MEASURES:
            assert seen(client, "/", by=by).rows, by
        for name, analysis in all_analyses().items():
            assert name in seen(client, f"/tables/{name}").text
            if analysis.plot is not None:
                picture = client.get(f"/answers/any/{name}.svg?theme=light")
                assert "unexpected" not in picture.text, (name, picture.text)
        for page in ("/map", "/head/1-1", "/compare", "/bank"):
            seen(client, page)
