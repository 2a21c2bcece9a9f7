"""Hits that are opened, counts by two keys, and the pages of long tables."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from bank_factory import BankFactory
from explored_pages import Client, Read, anew, drawn, exploring, hit_rows, seen, story, taken

from attnbank.queries import open_bank

REQUEST = "pattern { V -[obj]-> O }"


def _page(client: Client, address: str) -> Read:
    return seen(client, address)


def _asked(path: str, **values: object) -> str:
    return f"{path}?{urlencode(values)}"


def _next(page: Read) -> str | None:
    """The address of the next page, or None on the last one."""
    found = [given["href"] for tag, given in page.tags if tag == "a" and given.get("rel") == "next"]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.slow
def test_an_opened_hit_has_its_words_marked(client: Client, explored: Path) -> None:
    """In the text and in the picture, by an address that says the request and the words."""
    with open_bank(explored) as bank:
        found = bank.find(REQUEST, columns="V.form, O.form, weight(1-1, O, V)")
        everywhere = bank.find(REQUEST)
    page = _page(client, _asked("/sentences", pattern=REQUEST, head="1-1"))
    assert found.height < everywhere.height and "Only sentences that this run has read" in page.text
    # The examples beside the hits lead to sentences, too.
    links = [link for link in page.links if link.startswith("/sentence?") and "&hit=" in link]
    assert len(links) == found.height > 3
    for link, row in list(zip(links, found.to_dicts(), strict=True))[:3]:
        given = dict(parse_qsl(urlsplit(link).query))
        assert given["pattern"] == REQUEST
        number, words = given["hit"].split(":")
        assert (number, words) == (
            given["sentence"],
            ",".join(map(str, sorted([row["V"], row["O"]]))),
        )
        opened = _page(client, link)
        forms = [form for _, form in sorted([(row["V"], row["V.form"]), (row["O"], row["O.form"])])]
        assert opened.marked == forms
        grounds = [each for _, each in opened.tags if each.get("class") == "matched"]
        assert len(grounds) == 2
        assert any(each.startswith("/sentences?pattern=") for each in opened.links)


def test_the_next_sentence_has_no_marks_and_leads_back_to_them(
    client: Client, explored: Path
) -> None:
    page = _page(client, _asked("/sentences", pattern=REQUEST, head="1-1"))
    first = next(each for each in page.links if each.startswith("/sentence?"))
    number = int(dict(parse_qsl(urlsplit(first).query))["sentence"])
    opened = _page(client, first)
    after = next(
        each for each in opened.links if each.startswith(f"/sentence?sentence={number + 1}")
    )
    other = _page(client, after)
    assert opened.marked and not other.marked
    back = next(each for each in other.links if each.startswith(f"/sentence?sentence={number}&"))
    assert _page(client, back).marked == opened.marked


@pytest.mark.parametrize(
    ("hit", "told"),
    [
        ("3", "hit cannot be 3. A hit is SENTENCE:WORDS"),
        ("3:<b>", "hit cannot be 3:<b>."),
        (f"{story(1)}:999", "The sentence"),
        (f"{story(1)}:0", "has no word 0."),
    ],
)
def test_a_hit_that_is_none_is_told(client: Client, hit: str, told: str) -> None:
    assert told in drawn(client, "/sentence", sentence=story(1), head="1-1", hit=hit).fault


def test_two_keys_are_crossed(client: Client, explored: Path) -> None:
    """Each cell counts the hits of its row and column, as `count` prints them."""
    with open_bank(explored) as bank:
        hits = bank.find(REQUEST, columns="V.lemma, O.upos")
    counts = Counter(hits.select("V.lemma", "O.upos").rows())
    page = _page(client, _asked("/sentences", pattern=REQUEST, by="V.lemma, O.upos"))
    names, *rows = page.rows
    assert names[0] == "V.lemma" and names[-1] == "n" and len(names) > 3
    columns = [name.removeprefix("O.upos=") for name in names[1:-1]]
    assert {*columns} == {upos for _, upos in counts}
    for lemma, *cells, n in rows:
        assert [int(each) for each in cells] == [counts[lemma, upos] for upos in columns]
        assert int(n) == sum(map(int, cells))
    assert sum(int(row[-1]) for row in rows) == hits.height
    file = csv.reader(io.StringIO(taken(client, "Download CSV").decode()))
    assert [*file] == page.rows


def test_many_values_of_the_second_key_stay_a_list(client: Client) -> None:
    page = _page(client, _asked("/sentences", pattern=REQUEST, by="O.upos, V.lemma"))
    assert page.rows[0] == ["O.upos", "V.lemma", "n", "share"]


@pytest.mark.slow
def test_the_pages_of_the_hits_are_all_hits_in_order(client: Client, explored: Path) -> None:
    with open_bank(explored) as bank:
        expected = bank.find(REQUEST, context=False)
    address: str | None = _asked("/sentences", pattern=REQUEST, limit=5)
    seen: list[tuple[str, str]] = []
    hit_texts: list[list[str]] = []
    while address is not None:
        page = _page(client, address)
        assert f"{expected.height} hits." in page.text
        rows = hit_rows(page)
        assert 1 <= len(rows) <= 5
        hit_texts += [row[1:4] for row in rows]
        file = [*csv.DictReader(io.StringIO(taken(client, "Download CSV").decode()))]
        assert f"Hits {len(seen) + 1} to {len(seen) + len(rows)} of {expected.height}" in page.text
        seen += [(row[0], row[2]) for row in rows]
        address = _next(page)
    assert [name for name, _ in seen] == expected["sent_id"].to_list()
    assert len(set(seen)) > 5
    # The file has all pages, as they stand there, and the words of the nodes.
    assert [[row["left"], row["hit"], row["right"]] for row in file] == hit_texts
    assert all(f"[{row['V']}]" in row["hit"] and f"[{row['O']}]" in row["hit"] for row in file)


@pytest.mark.slow
def test_the_pages_of_a_table_are_its_rows(client: Client, explored: Path) -> None:
    with open_bank(explored) as bank:
        frame = bank.query("head_accuracy")
    address: str | None = "/tables/head_accuracy"
    rows: list[list[str]] = []
    names: list[str] = []
    while address is not None:
        page = _page(client, address)
        names, *more = page.rows
        rows += more
        address = _next(page)
        previous = [each for _, each in page.tags if each.get("rel") == "prev"]
        assert bool(previous) == (len(rows) > 500)
        images = [each["srcset"] for tag, each in page.tags if tag == "source"]
        assert not any("page=" in str(each) for each in images)
    for name in ("layer", "head", "n", "correct"):
        assert [int(row[names.index(name)]) for row in rows] == frame[name].to_list()


@pytest.mark.slow
def test_the_pages_of_a_statement_are_of_one_answer(client: Client) -> None:
    """What has another order each time is run once, and anew from its first page."""
    statement = "select random() as each, i from range(1200) as r(i) order by each"
    first = anew(client, "/sql", statement=statement).rows[1:]
    again = anew(client, "/sql", statement=statement).rows[1:]
    assert first != again
    rows: list[list[str]] = again
    address: str | None = _asked("/sql", statement=statement, page=2)
    while address is not None:
        page = _page(client, address)
        rows += page.rows[1:]
        address = _next(page)
    assert sorted(int(row[1]) for row in rows) == list(range(1200))


@pytest.mark.parametrize(
    ("path", "values", "told"),
    [
        ("/tables/entropy", {"page": 2}, "There is one page."),
        ("/sentences", {"pattern": REQUEST, "limit": 5, "page": 999}, "pages."),
        ("/sql", {"statement": "select 1", "page": "x"}, "page cannot be x."),
        ("/bank", {"tables": -1}, "tables cannot be -1."),
    ],
)
def test_a_page_that_is_not_there_is_told(
    client: Client, path: str, values: dict[str, object], told: str
) -> None:
    assert told in drawn(client, path, **values).fault


@pytest.mark.slow
def test_hits_that_a_run_has_not_read_are_told(bank_of: BankFactory) -> None:
    """A run of a few sentences answers for these; the others have their text, and the reason."""
    bank = bank_of("stories", limit=4)
    with exploring(bank) as client:
        page = seen(client, "/sentences", pattern=REQUEST, limit=500)
        links = [each for each in page.links if each.startswith("/sentence?") and "hit=" in each]
        with open_bank(bank) as opened:
            read = {
                sentence
                for (sentence,) in opened.connection.execute(
                    "select distinct word.sentence from word_position"
                    " inner join word on word.id = word_position.word"
                ).fetchall()
            }
        numbers = [int(dict(parse_qsl(urlsplit(each).query))["sentence"]) for each in links]
        unread = [number not in read for number in numbers]
        assert sum(unread) > 0
        assert sum(given.get("class") == "unread" for _, given in page.tags) == sum(unread)
        assert f"{sum(unread)} of the {len(links)} hits shown" in page.text
        for link in links[:5]:
            sentence = seen(client, link)
            is_read = int(dict(parse_qsl(urlsplit(link).query))["sentence"]) in read
            assert sentence.marked
            assert ("it is over a sample (--limit)" in sentence.text) == (not is_read)
