"""The explorer in a real browser: every view, no fault of the page, hostile words as words.

They need playwright and a Chromium or Chrome of the system, and are skipped where one is missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import browsers
import firefox
import given_surprisals
import pytest
from explored_pages import story
from fixture_types import Models

from attnbank.cli.viewer.security import launch_file
from attnbank.queries import open_bank

REQUEST = "pattern { V -[obj]-> O }"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(explored: Path, tiny_model: Models) -> Iterator[str]:
    """The address that the command prints, while it runs."""
    with browsers.explored(explored, "--model", str(tiny_model("bert"))) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser of the system, without a window."""
    with browsers.launched() as made:
        yield made


def _views(runs: dict[str, str]) -> list[tuple[str, dict[str, object]]]:
    return [
        ("/", {}),
        ("/", {"relation": "obj", "run": runs["decoder"], "beside": "2-2"}),
        ("/", {"by": "entropy", "run": runs["plain"]}),
        ("/", {"by": "gain"}),
        ("/map", {}),
        ("/head/1-1", {"relation": "obj"}),
        ("/head/1-1/examples", {"relation": "all", "breakdown": "wrong"}),
        ("/model", {"sentence": str(story(1)), "run": runs["single"]}),
        ("/typed", {"text": "The lamp is new .", "head": "1-1", "run": runs["single"]}),
        ("/sentences", {}),
        ("/sentences", {"pattern": REQUEST}),
        ("/sentences", {"pattern": REQUEST, "by": "O.upos"}),
        (
            "/sentence",
            {"sentence": str(story(1)), "head": "1-1", "relation": "obj", "run": runs["single"]},
        ),
        ("/sentence", {"sentence": "1", "head": "1-1", "run": runs["odd"], "coreference": 1}),
        ("/sentence", {"sentence": str(story(3)), "head": "1-1,2-1", "layout": "columns"}),
        ("/compare", {"run_a": runs["single"], "run_b": runs["decoder"]}),
        ("/tables", {}),
        ("/tables/best_head", {"min_count": 1}),
        ("/sql", {"statement": "from word limit 5"}),
        ("/bank", {}),
    ]


def test_the_file_that_a_browser_opens_leads_to_the_explorer(address: str, browser: Any) -> None:
    """Chromium and Firefox bring the strict cookie where a file sends them; it stays unread."""
    home = address.partition("?")[0]
    with launch_file(address) as door:
        context = browser.new_context()
        page = context.new_page()
        page.goto(door.as_uri())
        page.wait_for_url(home)
        browsers.filled(page)
        assert page.text_content("h1") == "Atlas of heads"
        assert page.evaluate("[document.cookie, document.referrer]") == ["", ""]
        context.close()
        with firefox.launched() as opened:
            is_there = f"return location.href === {home!r} && document.querySelector('#atlas')"
            title = "document.querySelector('h1').innerText"
            assert opened.seen(door.as_uri(), is_there, title) == "Atlas of heads"


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.few("light-360")
def test_every_view_is_whole_at_every_size(
    browser: Any, address: str, runs: dict[str, str], width: int, scheme: str
) -> None:
    """No script or style is refused, no page is too wide, nothing comes from elsewhere."""
    visitor = browsers.Visitor(browser, address, width, scheme)
    for path, values in _views(runs):
        page = visitor.see(path, **values)
        assert page.locator("h1").count() == 1
        assert page.locator('[role="alert"]').count() == 0, (path, values)
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, (path, values)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(21, 23, 27)" if scheme == "dark" else "rgb(255, 255, 255)")
        assert browsers.broken_images(page) == 0, path
    assert visitor.said == []
    assert all(url.startswith(visitor.home) for url in visitor.asked)
    visitor.context.close()


@pytest.mark.few("dark")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_fault_of_accessibility(
    browser: Any, address: str, runs: dict[str, str], scheme: str
) -> None:
    # The policy of the pages would refuse the script of the tool.
    visitor = browsers.Visitor(browser, address, 1000, scheme, bypass_csp=True)
    more: list[tuple[str, dict[str, object]]] = [("/", {"by": "probe"})]
    for path, values in [*_views(runs), *more]:
        assert browsers.faults(visitor.see(path, **values)) == [], (path, values)
    visitor.page.goto(f"{visitor.home}/nowhere")
    assert browsers.faults(visitor.page) == []
    visitor.context.close()


def test_a_walk_by_clicks(browser: Any, address: str) -> None:
    """From the grid to a head, to an example of it, to its words, and by forms to the rest."""
    visitor = browsers.Visitor(browser, address, 1400, "light")
    page = visitor.page
    page.get_by_role("link", name="Map", exact=True).click()
    browsers.filled(page)
    assert page.locator("h1").inner_text() == "Map of the heads"
    page.get_by_role("link", name="Atlas", exact=True).click()
    browsers.filled(page)
    page.locator("select[name=relation]").select_option("obj")
    page.wait_for_url("**relation=obj**")
    assert "token" not in page.url
    page.get_by_role("link", name="All about head").click()
    browsers.filled(page)
    assert page.locator("h1").inner_text().startswith("Head ")
    page.locator(".examples a").first.click()
    browsers.filled(page)
    assert page.locator("h1").inner_text().startswith("Sentence")
    headings = {
        "Compare": "Compare two runs",
        "Tables and figures": "Tables and figures",
        "Bank": "Contents of the bank",
        "SQL": "SQL",
    }
    for name, told in headings.items():
        page.get_by_role("link", name=name, exact=True).click()
        browsers.filled(page)
        assert page.locator("h1").inner_text() == told
    page.locator("textarea").fill("select 41 + 1 as answer")
    page.get_by_role("button", name="Run").click()
    page.locator("tbody td").wait_for()
    assert page.locator("tbody td").inner_text() == "42"
    page.get_by_role("link", name="Sentences", exact=True).click()
    browsers.filled(page)
    page.locator("textarea").fill(REQUEST)
    page.get_by_role("button", name="Search").click()
    page.locator("tbody tr").nth(5).wait_for()  # six rows at least
    kept = page.url
    page.go_back()
    page.goto(kept)  # as from a bookmark
    page.locator("tbody tr").nth(5).wait_for()  # six rows at least
    assert visitor.said == []
    visitor.context.close()


def test_a_request_is_completed_and_answered_as_it_is_typed(
    browser: Any, address: str, explored: Path
) -> None:
    visitor = browsers.Visitor(browser, address, 1400, "light")
    page = visitor.see("/sentences")
    page.locator("textarea").focus()
    page.keyboard.type("pattern { V -[nsu")
    page.locator(".completions button").first.click()
    page.keyboard.type("]-> S; S [upos=PRO")
    page.locator(".completions button", has_text="PRON").first.click()
    page.keyboard.type("] }")
    page.locator(".concordance").wait_for()
    typed = page.locator("textarea").input_value()
    assert typed == "pattern { V -[nsubj]-> S; S [upos=PRON] }"
    assert page.evaluate("document.activeElement.name") == "pattern"
    with open_bank(explored) as bank:
        assert f"{bank.find(typed, context=False).height} hit" in page.locator("main").inner_text()
    page.get_by_role("link", name="In the atlas").click()
    page.wait_for_url("**by=request**")
    browsers.filled(page)
    assert page.locator("#atlas .grid caption").inner_text().startswith("Accuracy on pattern")
    assert visitor.said == []
    visitor.context.close()


def test_what_is_chosen_in_a_form_is_shown_at_once(browser: Any, address: str) -> None:
    visitor = browsers.Visitor(browser, address, 1400, "light")
    page = visitor.see("/sentence", sentence=str(story(3)), head="1-1")
    assert page.locator(".panel").count() == 0
    page.get_by_text("Options", exact=True).click()
    page.locator("select[name=layout]").focus()
    page.locator("select[name=layout]").select_option("columns")
    page.wait_for_url("**layout=columns**")
    browsers.filled(page)
    assert page.locator(".panel").count() == 1
    assert page.evaluate("document.activeElement.name") == "layout"
    page.locator("input[name=mean]").check()
    page.wait_for_url("**mean=1**")
    browsers.filled(page)
    assert page.locator("input[name=mean]").is_checked()
    assert page.locator("select[name=layout]").input_value() == "columns"
    visitor.context.close()


def test_a_word_that_is_pointed_at_shows_what_it_looks_at(browser: Any, address: str) -> None:
    visitor = browsers.Visitor(browser, address, 1400, "light")
    page = visitor.see("/sentence", sentence=str(story(3)), head="1-1", layout="columns")
    lines = page.locator(".drawn .line")
    every = lines.count()
    word = page.locator(".drawn .from").nth(2)
    word.locator("text").hover()
    own = word.locator(".line").count()
    shown = page.evaluate(
        "[...document.querySelectorAll('.drawn .line')]"
        ".filter(each => getComputedStyle(each).visibility === 'visible').length"
    )
    assert 0 < own == shown < every
    told = page.locator("#looks").inner_text()
    text = word.locator("text").text_content()
    assert told.strip("\u2068\u2069").startswith(text.strip("\u2068\u2069"))
    weights = sorted((float(each.get_attribute("data-weight") or 0)
                      for each in word.locator(".line").all()), reverse=True)  # fmt: skip
    assert f"{weights[0]:.3f}" in told
    page.mouse.move(5, 5)
    assert (
        page.locator("#looks").inner_text().startswith("Left attends to right. Hover or tap a word")
    )
    page.locator(".drawn .from").nth(1).locator("text").focus()  # by the keyboard
    assert "looks at" in page.locator("#looks").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".panel.pointed").count() == 0
    visitor.context.close()


def test_a_word_in_a_line_shows_its_own_arcs(
    browser: Any, address: str, explored: Path, runs: dict[str, str]
) -> None:
    """Above the words the gold tree, below them the weights of at least 0.05 and the gold arcs."""
    visitor = browsers.Visitor(browser, address, 1400, "light")
    asked = {"sentence": story(3), "head": "2-1", "relation": "all", "run": runs["single"]}
    page = visitor.see("/sentence", **asked)
    shares = page.locator(".share").all_text_contents()
    specials = page.locator("table td:last-child").all_inner_texts()
    expected = pytest.approx([*map(float, specials)], abs=0.0056)
    assert [*map(float, shares)] == expected and len(shares) > 5
    assert page.locator(".special").count() == 0
    page = visitor.see("/sentence", **asked, special=1)
    with open_bank(explored) as bank:
        shown = bank.show(story(3), "2-1", relation="all", run=runs["single"])
        dependents = bank.sql(
            f"from word where sentence = {story(3)} and head_index > 0 order by index"
        )
    (panel,) = shown.panels
    gold = {(start, end) for start, end, _ in panel.gold.rows()}
    drawn = {
        (start, end): weight
        for start, end, weight in panel.weights.rows()
        if start != end and (weight >= 0.05 or (start, end) in gold)
    }
    arcs = page.locator(".attention .line")
    told = arcs.evaluate_all("all => all.map(({dataset: d}) => [+d.from, +d.to, +d.weight])")
    assert {(start, end): weight for start, end, weight in told} == pytest.approx(drawn)
    assert page.locator(".special").count() > 0 == page.locator(".share").count()
    words = {row["position"]: row["text"] for row in panel.words.to_dicts()}
    ((start, end), weight), *_ = drawn.items()
    tips = page.locator(".attention > title").all_text_contents()
    assert f"“{words[start]}” attends to “{words[end]}”: {weight:.2f}" in tips
    assert page.locator(".tree-arc .tip").count() == dependents.height
    labels = page.locator(".tree-arc text").all_text_contents()
    assert sorted(labels) == sorted(dependents["deprel"])
    page.locator('.word[data-position="2"]').hover()
    visible = "all => all.filter(arc => getComputedStyle(arc).visibility === 'visible')"
    own = arcs.evaluate_all(f"{visible}.map(arc => arc.dataset.from)")
    assert own and set(own) == {"2"}
    visitor.context.close()


def test_a_word_has_the_shade_of_its_surprisal(
    browser: Any, explored: Path, runs: dict[str, str], tmp_path: Path
) -> None:
    bank = tmp_path / "bank.duckdb"
    shutil.copy(explored, bank)
    given_surprisals.give(bank)
    with browsers.explored(bank) as made:
        visitor = browsers.Visitor(browser, made, 1400, "light")
        page = visitor.see("/sentence", sentence=story(1), head="2-1", run=runs["single"])
        assert "The shade of a word is its surprisal." in page.locator("main").inner_text()
        titles = page.locator(".word:has(.shade) title").all_text_contents()
        visitor.context.close()
    with open_bank(bank) as opened:
        measured = opened.sql(
            "select word.form, surprisal.nats from surprisal join word on word.id = surprisal.word"
            f" join run on run.id = surprisal.run where word.sentence = {story(1)}"
            f" and run.name = '{runs['single']}' and surprisal.nats is not null order by word.id"
        )
    assert measured.height > 5
    assert titles == [f"{form}: surprisal {nats:.2f} nats" for form, nats in measured.rows()]


def test_a_word_that_is_clicked_stays_and_every_panel_follows(browser: Any, address: str) -> None:
    visitor = browsers.Visitor(browser, address, 1400, "light")
    page = visitor.see("/sentence", sentence=str(story(3)), head="1-1,2-1", layout="columns")
    panels = page.locator(".panel")
    word = panels.nth(0).locator(".from").nth(2)
    word.locator("text").click()
    page.mouse.move(5, 5)
    for at in range(2):  # the same word, in both heads
        panel = panels.nth(at)
        lines = panel.locator(".line.shown")
        assert lines.count() > 0
        place = word.get_attribute("data-position")
        assert set(lines.evaluate_all("all => all.map(each => each.dataset.from)")) == {place}
        weights = lines.evaluate_all(
            "all => all.map(each => Number(each.dataset.weight)).filter(each => each >= 0.01)"
        )
        written = panel.locator(".weight").all_text_contents()
        assert sorted(written) == sorted(f"{each:.2f}" for each in weights)
    word.locator("text").click()
    page.mouse.move(5, 5)
    assert page.locator(".weight").count() == page.locator(".panel.pointed").count() == 0
    visitor.context.close()


def test_the_map_zooms_and_marks_heads_in_the_grid_too(
    browser: Any, address: str, explored: Path
) -> None:
    visitor = browsers.Visitor(browser, address, 1400, "light")
    page = visitor.see("/map")
    width = "document.querySelector('svg.map').getBoundingClientRect().width"
    whole = page.evaluate(width)
    page.get_by_role("button", name="Zoom in").click()
    assert page.evaluate(width) > 1.5 * whole
    middles = page.evaluate(
        "[document.querySelector('svg.map'), document.querySelector('svg.map').parentElement]"
        ".map(part => part.getBoundingClientRect()).map(box => box.left + box.width / 2)"
    )
    assert middles[0] == pytest.approx(middles[1], abs=20)  # a scroll bar
    page.get_by_role("button", name="All heads").click()
    assert page.evaluate(width) == whole
    place = page.locator("svg.map").bounding_box()
    page.mouse.move(place["x"] + 3, place["y"] + 3)
    page.mouse.down()
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] - 3, steps=4)
    page.mouse.up()
    left = page.locator("svg.map [data-head] > path").evaluate_all(
        "(marks, middle) => marks.filter(mark => mark.getBoundingClientRect().left <= middle)"
        ".map(mark => mark.parentNode.dataset.head)",
        place["x"] + place["width"] / 2,
    )
    for where in ("svg.map", ".kindgrid"):
        marked = page.locator(f"{where} .brushed").evaluate_all(
            "all => all.map(each => each.dataset.head)"
        )
        assert 0 < len(marked) < 12 and sorted(marked) == sorted(left), where
    page.wait_for_selector(".means table")
    with open_bank(explored) as bank:
        positions = bank.query("relative_position").to_dicts()
    previous = [row["previous"] for row in positions if f"{row['layer']}-{row['head']}" in left]
    means = dict(
        page.locator(".means tr").evaluate_all(
            "rows => rows.map(row => row.innerText.split('\\t'))"
        )
    )
    assert means["previous token"] == f"{int(100 * sum(previous) / len(left) + 0.5)} %"
    page.mouse.click(place["x"] + 3, place["y"] + 3)
    assert not page.locator(".brushed, .means table").count()
    page = visitor.see("/map", by="entropy")
    with open_bank(explored) as bank:
        entropies = bank.query("entropy").to_dicts()
    titles = page.locator("svg.map title").all_text_contents()
    expected = {f"Head {row['layer']}-{row['head']}": row["entropy"] for row in entropies}
    told = {title.split(":")[0]: float(title.split(" ")[-1]) for title in titles}
    assert told == pytest.approx(expected, abs=0.006) and len(told) == 12
    page.locator("input.labels").uncheck()
    assert page.locator("svg.map text").evaluate_all(
        "all => all.every(each => getComputedStyle(each).display === 'none')"
    )
    assert visitor.said == []
    visitor.context.close()


def test_all_words_are_one_stop_of_the_tab_key(browser: Any, address: str) -> None:
    visitor = browsers.Visitor(browser, address, 1400, "light")
    asked = {"sentence": story(3), "head": "1-1,2-1", "layout": "columns", "special": 1}
    page = visitor.see("/sentence", **asked)
    assert page.locator('.drawn [tabindex="0"]').count() == 1
    page.locator('.drawn [tabindex="0"]').focus()

    def here() -> list[str]:
        found: list[str] = page.evaluate(
            "[document.activeElement.closest('.from') ? 'from' : 'to',"
            " document.activeElement.closest('.panel').dataset.layer,"
            " document.activeElement.closest('.from, .to').dataset.position]"
        )
        return found

    for key, wanted in (
        ("ArrowDown", ["from", "1", "1"]), ("ArrowRight", ["to", "1", "1"]),
        ("ArrowRight", ["from", "2", "1"]), ("ArrowUp", ["from", "2", "0"]),
        ("ArrowUp", ["from", "2", "0"]), ("ArrowLeft", ["to", "1", "0"]),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert here() == wanted, key
    assert page.locator('.drawn [tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    page.locator("h1").click()
    assert page.locator(".panel.pointed").count() == 2, "Enter holds the word"
    visitor.context.close()


def test_a_page_of_show_is_live_too(browser: Any, explored: Path, tmp_path: Path) -> None:
    file = tmp_path / "sentence.html"
    with open_bank(explored) as bank:
        file.write_text(bank.show(story(3), ["1-1", "2-1"]).html(), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    page.locator(".panel").nth(1).locator(".from text").nth(1).click()
    assert page.locator(".panel.pointed").count() == 2
    assert "looks at" in page.locator("#looks").inner_text()
    assert page.locator(".weight").count() > 2 and said == []
    context.close()


def test_hostile_words_do_nothing(browser: Any, address: str, runs: dict[str, str]) -> None:
    visitor = browsers.Visitor(browser, address, 1400, "light")
    name = '"><script>alert(3)</script>'
    for path, values in (
        ("/sentence", {"sentence": name, "head": "1-1", "run": runs["odd"], "coreference": 1}),
        ("/sentence", {"sentence": name, "head": "1-1", "run": runs["odd"], "tree": 1}),
        ("/sentences", {"pattern": REQUEST, "corpus": "<i>odd&'"}),
        ("/head/1-1", {"run": runs["odd"], "relation": "obj"}),
        ("/bank", {}),
        ("/sql", {"statement": "select '<img src=x onerror=alert(9)>' as \"<b>\""}),
    ):
        page = visitor.see(path, **values)
        assert page.locator("main script, main img").count() == 0
        for word in page.locator(".drawn .word").all():
            word.hover()
    assert page.locator("td").inner_text() == "<img src=x onerror=alert(9)>"
    assert visitor.said == []
    visitor.context.close()


def test_a_browser_without_script_or_token(browser: Any, address: str) -> None:
    plain = browsers.Visitor(browser, address, 1400, "light", java_script_enabled=False)
    assert "The explorer needs JavaScript" in plain.page.locator("noscript").inner_text()
    plain.context.close()
    stranger = browser.new_context().new_page()
    answer = stranger.goto(plain.home)
    assert answer is not None and answer.status == 403
    assert "attnbank explore printed" in stranger.content()
    stranger.close()


def test_a_browser_that_is_killed_leaves_the_explorer_as_it_was(browser: Any, address: str) -> None:
    visitor = browsers.Visitor(browser, address, 1400, "light")
    visitor.page.goto(
        f"{visitor.home}/sql?{urlencode({'statement': 'select count(*) from range(300000000)'})}",
        wait_until="commit",
    )
    visitor.context.close()
    after = browsers.Visitor(browser, address, 1400, "light")
    assert after.see("/bank").locator("h1").inner_text() == "Contents of the bank"
    after.context.close()
