"""How much of a published bank a page reads: requests and bytes, on real text; and its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import firefox
import pytest
from counting_host import Counted
from published_pages import Page, cells

from attnbank.queries import open_bank

Serving = Callable[[Any], AbstractContextManager[str]]
pytestmark = pytest.mark.slow
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def host(gum_publication: Path) -> Counted:
    return Counted(gum_publication)


@pytest.fixture(scope="module")
def address(host: Counted, serving: Serving) -> Iterator[str]:
    with serving(host) as made:
        yield f"{made}/gum/"


@pytest.fixture
def visitor(browser: Any, address: str, host: Counted) -> Iterator[Page]:
    host.asked.clear()
    host.ranges.clear()
    made = Page(browser, address)
    yield made
    assert made.said == []
    made.context.close()


def _is_data(path: str) -> bool:
    return path.startswith("/gum/")


def _is_bank(path: str) -> bool:
    return path.endswith("bank.duckdb")


def test_the_grid_needs_neither_duckdb_nor_much(visitor: Page, host: Counted) -> None:
    assert visitor.page.locator(".grid td a").count() == 72
    requests, size = host.taken(lambda path: True)
    assert size < 4 * MEGABYTE and requests < 30
    assert visitor.page.locator(".examples svg").count() == 6
    assert host.taken(lambda path: _is_bank(path) or "wasm" in path or "pyodide" in path)[0] == 0
    host.asked.clear()
    visitor.see("/", relation="obj")
    visitor.see("/", relation="nsubj", direction="head_to_dependent")
    assert host.taken(_is_data)[0] == 0, "the next relation is there already"


def test_what_opens_the_bank_is_read_first_and_once(
    visitor: Page, host: Counted, gum_publication: Path
) -> None:
    visitor.see("/sql", statement="select 1 as n")
    manifest = json.loads((gum_publication / "gum" / "bank.json").read_text(encoding="utf-8"))
    opening = [tuple(each) for each in manifest["bank"]["opening"]]
    assert len(opening) > 3 and host.ranges[: len(opening)] == opening
    assert len(set(host.ranges)) == len(host.ranges) <= len(opening) + 4, "little else, none twice"
    host.ranges.clear()
    visitor.see("/sql", statement="select 2 as n")
    assert host.ranges == []


def test_a_link_to_a_sentence_reads_little_of_the_bank(visitor: Page, host: Counted) -> None:
    host.asked.clear()  # the atlas, with which a page begins
    page = visitor.see("/sentence", sentence=5, head="3-9", relation="all", tree=1)
    assert page.locator(".line").count() > 5
    requests, size = host.taken(_is_data)
    assert size < 8 * MEGABYTE and 10 < requests < 45
    asked = [path for path, _ in host.asked if path.startswith("/gum/bank.duckdb")]
    assert set(asked) == {"/gum/bank.duckdb"}, "no log is asked for"
    host.asked.clear()
    visitor.see("/sentence", sentence=5, head="3-9", relation="obj", tree=1)
    visitor.see("/sentence", sentence=5, head="3-9", relation="nsubj", tree=1)
    assert host.taken(_is_data)[0] == 0, "another relation of the same sentence is there already"
    visitor.see("/sentence", sentence=6, head="3-9", relation="nsubj", tree=1)
    requests, size = host.taken(_is_data)
    assert size < 4 * MEGABYTE and 0 < requests < 25


def test_examples_of_a_head_read_a_part_of_the_bank(visitor: Page, host: Counted) -> None:
    values = {"direction": "dependent_to_head"}
    page = visitor.see("/head/3-9", relation="obj", **values)
    assert [path for path, size in host.asked if size and _is_bank(path)] == []
    page.get_by_role("button", name="Show sentences").click()
    page.wait_for_selector(".examples li")
    visitor.ready()
    assert page.locator(".examples .where").count() == 6
    _, size = host.taken(_is_data)
    assert size < 40 * MEGABYTE
    host.asked.clear()
    page = visitor.see("/head/3-9", relation="nsubj", **values)
    assert page.locator(".examples .where").count() == 6
    assert host.taken(_is_data)[1] < 25 * MEGABYTE


FIGURES: list[tuple[str, dict[str, Any]]] = [
    ("best_head", {}),
    ("best_head", {"min_count": 50}),
    ("best_head_held_out", {}),
    ("head_accuracy", {"relation": "conj"}),
    ("offset_baseline", {}),
    ("table_1", {}),
    ("figure_5", {"min_count": 50, "most": 4}),
    ("special_tokens", {}),
    ("entropy", {}),
    ("relative_position", {}),
    ("head_pattern", {}),
    ("attention_by_class", {}),
]


def test_figures_of_real_text_are_those_of_query(visitor: Page, gum_publication: Path) -> None:
    with open_bank(gum_publication / "gum" / "bank.duckdb") as bank:
        for name, values in FIGURES:
            visitor.see(f"/tables/{name}", **values)
            frame = bank.query(name, **values)
            assert frame.height > 3
            assert visitor.rows() == cells(frame.head(500), "run"), (name, values)


def test_requests_on_real_text_find_what_find_finds(visitor: Page, gum_publication: Path) -> None:
    request = "pattern { V -[obj]-> O } without { O =[3-1]=> V }"
    with open_bank(gum_publication / "gum" / "bank.duckdb") as bank:
        frame = bank.find(request)
    page = visitor.see("/sentences", pattern=request, limit=500)
    lines = visitor.rows(page.locator("main table").count() - 1)
    own = frame.select("sent_id", "left", "hit", "right").rows()
    assert lines == [[each.strip() for each in line] for line in own]
    assert frame.height == 91


def test_firefox_shows_the_same(gum_publication: Path, address: str, browser: Any) -> None:
    visitor = Page(browser, address)
    with firefox.launched() as opened:
        for path, values in (
            ("/", {"relation": "obj"}),
            ("/head/3-9", {"relation": "obj", "direction": "dependent_to_head"}),
            # Words in a line break where they are a pixel wider.
            ("/sentence", {"sentence": 5, "head": "3-9", "relation": "all", "layout": "columns"}),
            ("/tables/best_head", {"min_count": 50}),
            ("/sentences", {"pattern": "pattern { V -[obl]-> O }", "by": "O.upos"}),
            ("/sql", {"statement": "select count(*) as n from word"}),
        ):
            visitor.page.goto(visitor.address_of(path, **values))
            text = visitor.ready().evaluate(SEEN)
            assert text["alerts"] == 0 and len(text["text"]) > 30
            assert opened.seen(visitor.address_of(path, **values), FILLED, SEEN) == text, path
    visitor.context.close()


FILLED = """return document.querySelector('main')?.getAttribute('aria-busy') === null
    && document.querySelector('main')?.dataset.address === location.hash
    && !document.getElementById('status').textContent"""
SEEN = """(() => {
    const main = document.querySelector('main').cloneNode(true);
    for (const example of main.querySelectorAll('.examples')) example.remove();
    return {
        title: document.title, alerts: document.querySelectorAll('[role=alert]').length,
        lines: document.querySelectorAll('.drawn .line').length,
        examples: document.querySelectorAll('.examples li').length,
        text: main.textContent.replace(/\\s+/g, ' ').trim()};
    })()"""
