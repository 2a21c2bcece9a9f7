"""The page of a published bank in Chromium: what it shows is what the commands print.

They need playwright, a Chromium or Chrome of the system and `make web`, and are skipped without.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import browsers
import polars as pl
import pytest
from bank_factory import BankFactory
from command_line import Cli
from fixture_types import Models
from published_pages import Page, cells
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from attnbank.cli.app import run_command_line
from attnbank.cli.viewer.records import json_text, shown_record
from attnbank.cli.viewer.site import publication_app
from attnbank.ingest import AblateOptions, Edges, HeadSet, ablate
from attnbank.queries import open_bank
from attnbank.sql.errors import QueryError

Serving = Callable[[Any], AbstractContextManager[str]]
pytestmark = pytest.mark.slow
STORY = "pattern { V -[obj]-> O }"
OBJECTS = "pattern { V [upos=VERB]; V -[obj]-> O }"


@pytest.fixture(scope="module")
def address(publication: Path, serving: Serving) -> Iterator[str]:
    with serving(publication_app(publication)) as made:
        yield f"{made}/odd/"


@pytest.fixture(scope="module")
def shared(browser: Any, address: str) -> Iterator[Page]:
    made = Page(browser, address)
    yield made
    made.context.close()


def _checked(page: Page) -> Iterator[Page]:
    page.said.clear()
    page.asked.clear()
    yield page
    assert page.said == []
    assert all(address.startswith((page.host, "blob:")) for address in page.asked)


@pytest.fixture
def visitor(shared: Page) -> Iterator[Page]:
    """A page that goes from test to test: to start DuckDB and Python in one takes seconds."""
    yield from _checked(shared)


@pytest.fixture
def newcomer(browser: Any, address: str) -> Iterator[Page]:
    """A page in which nothing has been started yet."""
    made = Page(browser, address)
    yield from _checked(made)
    made.context.close()


def _views(runs: list[str]) -> list[tuple[str, dict[str, object]]]:
    return [
        ("/", {}),
        ("/", {"by": "entropy", "run": runs[0]}),
        ("/map", {}),
        ("/head/1-1", {}),
        ("/head/1-1", {"relation": "obj", "direction": "head_to_dependent"}),
        ("/sentences", {}),
        ("/sentences", {"pattern": STORY}),
        ("/sentences", {"pattern": STORY, "by": "O.upos, V.upos"}),
        ("/sentence", {"sentence": 3, "head": "1-1,2-1", "relation": "all", "tree": 1}),
        ("/sentence", {"sentence": 3, "head": "1-1", "coreference": 1, "special": 1}),
        ("/sentence", {"sentence": 3, "head": "1-1,2-1", "layout": "columns", "tree": 1}),
        ("/compare", {"run_a": runs[0], "run_b": runs[2]}),
        ("/tables", {}),
        ("/tables/best_head", {}),
        ("/tables/best_head", {"min_count": 2}),
        ("/tables/figure_6", {}),
        ("/sql", {"statement": "select upos, count(*) as n from word group by all order by all"}),
        ("/bank", {}),
    ]


@pytest.fixture(scope="module")
def published(publication: Path) -> Path:
    return publication / "odd" / "bank.duckdb"


@pytest.fixture(scope="module")
def runs(published: Path) -> list[str]:
    """The runs of a decoder, of odd words, of an encoder, and of that with its peaks alone."""
    with open_bank(published) as bank:
        decoder, odd, peaks, encoder = bank.runs()["name"]
    return [decoder, odd, encoder, peaks]


@pytest.mark.few("dark-360")
@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_whole_at_every_size(
    browser: Any, address: str, runs: list[str], width: int, scheme: str
) -> None:
    visitor = Page(browser, address, width, scheme)
    for path, values in _views(runs):
        page = visitor.see(path, **values)
        assert page.locator("h1").count() == 1
        assert page.locator('[role="alert"]').count() == 0, (path, values)
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, (path, values)
        assert browsers.broken_images(page) == 0, path
        if scheme == "dark":
            assert browsers.faults(page) == [], (path, values)
    assert visitor.said == []
    assert all(each.startswith((visitor.host, "blob:")) for each in visitor.asked)
    visitor.context.close()


def test_the_command_of_a_view_gives_what_it_shows(
    visitor: Page,
    published: Path,
    runs: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    seen = set()
    monkeypatch.chdir(tmp_path)
    for path, values in _views(runs):
        page = visitor.see(path, **values)
        commands = page.locator(".tools code").all_inner_texts()
        if not commands:
            assert path == "/tables" or not values, path
            continue
        saving = page.locator("[data-save=csv]")
        for typed in commands:
            name, *words = shlex.split(typed)
            assert (name, words[:2]) == ("attnbank", ["-b", f"{visitor.base}bank.duckdb"])
            seen.add(words[2])
            given = ["-b", str(published), *words[2:]]
            gives_rows = saving.count() and "--output" not in words
            rows = list(
                csv.reader(io.StringIO(cli(*[*given, "-f", "csv"] if gives_rows else given).out))
            )
            if not gives_rows:
                continue
            with page.expect_download() as download:
                saving.click()
            saved = list(csv.reader(io.StringIO(Path(download.value.path()).read_text())))
            is_crossed = words[2] == "count" and ", " in words[words.index("--by") + 1]
            if words[2] not in ("find", "show") and not is_crossed:  # those as on the page
                assert saved[0] == rows[0], words
            assert is_crossed or len(saved) == len(rows) > 1, words
    assert seen == {"query", "find", "count", "show", "sql", "info", "plot"}
    told = visitor.page.locator("footer code").all_inner_texts()
    assert f"attnbank -b {visitor.base}bank.duckdb info" in told


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("best_head", {}),
        ("best_head", {"min_count": 3}),
        ("best_head", {"relation": "subject", "min_count": 1}),
        ("head_accuracy", {"relation": "obj"}),
        ("entropy", {}),
        ("relative_position", {}),
        ("special_tokens", {}),
        ("figure_6", {}),
        ("offset_baseline", {}),
        ("table_1", {}),
    ],
)
def test_tables_are_those_of_the_command(
    visitor: Page, published: Path, name: str, values: dict[str, Any]
) -> None:
    visitor.see(f"/tables/{name}", **values)
    with open_bank(published) as bank:
        frame = bank.query(name, **values)
    left_out = ["run"] if "run" in frame.columns and frame["run"].n_unique() == 1 else []
    assert frame.height
    assert visitor.rows() == cells(frame.head(500), *left_out)


def test_the_atlas_has_the_figures_of_commands(
    newcomer: Page, published: Path, runs: list[str]
) -> None:
    """All from files for what a head finds best; other sentences from the bank, with DuckDB."""
    with open_bank(published) as bank:
        (direction,) = bank.query("best_head", relation="nsubj", run=runs[2])["direction"]
        frame = bank.query("head_accuracy", relation="nsubj", run=runs[2])
        frame = frame.filter(direction=direction).sort("layer", "head")
        scores = bank.query("head_score", relation="nsubj", run=runs[2])
    page = newcomer.see("/", relation="nsubj", direction=direction, run=runs[2])
    titles = page.eval_on_selector_all(".grid td a", "all => all.map(each => each.title)")
    own = [f"{row['layer']}-{row['head']}: {row['accuracy']:.3f}" for row in frame.to_dicts()]
    assert titles == own
    assert page.get_by_text("Which head finds a request?").count() == 1
    best = page.locator(".grid td.chosen a").get_attribute("data-head")
    for head in (best, "1-1" if best != "1-1" else "1-2"):
        of = {"relation": "nsubj", "direction": direction, "run": runs[2], "head": head}
        page = newcomer.see("/", **of)
        if head != best:
            page.get_by_role("button", name="Show sentences").click()
        page.wait_for_selector(".examples li")
        page.wait_for_selector("#atlas[data-settled]")
        assert page.evaluate("attnbank.isLive") is (head != best)
        layer, number = map(int, head.split("-"))
        score = scores.filter(layer=layer, head=number, direction=direction)
        correct, n, low, gain = score.select("correct", "n", "low", "gain").row(0)
        headline = page.locator(".headline").inner_text()
        interval, verdict = f"{round(100 * low)}\u2013", "it does not beat the offset"
        assert (interval if head == best or gain > 0 else verdict) in headline
        text = page.locator(".atlas-sentences").inner_text()
        assert f"Found: all {correct:,}" in text and f"Missed: all {n - correct:,}" in text
        assert page.locator(".examples svg").count() == min(3, correct) + min(3, n - correct)
        newcomer.ready()
    with open_bank(published) as bank:
        counts = bank.query("coreference_accuracy", kind="all", run=runs[0])
    correct, n = counts.filter(layer=1, head=1).select("correct", "n").row(0)
    page = newcomer.see("/", by="coreference", head="1-1", run=runs[0])
    text = page.locator(".atlas-sentences").inner_text()
    assert f"Found: {correct}\n" in text and f"Missed: {n - correct}\n" in text
    assert page.locator(".examples svg").count() == min(3, correct) + min(3, n - correct)


def test_a_head_has_the_examples_of_the_analysis(newcomer: Page, published: Path) -> None:
    page = newcomer.see("/head/1-1", relation="obj", direction="dependent_to_head")
    assert page.locator(".examples").count() == 0
    page.get_by_role("button", name="Show sentences").click()
    page.wait_for_selector(".examples li")
    newcomer.ready()
    with open_bank(published) as bank:
        errors = bank.query("head_error", head="1-1", relation="obj")
        scores = bank.query("head_accuracy", relation="obj").filter(
            layer=1, head=1, direction="dependent_to_head"
        )
    correct, n = scores.select("correct", "n").row(0)
    labels = page.locator(".examples svg").evaluate_all("all => all.map(each => each.ariaLabel)")
    wrong = [label for label in labels if " instead" in label]
    assert (len(labels) - len(wrong), len(wrong)) == (min(correct, 3), min(n - correct, 3))
    shown = errors.filter(direction="dependent_to_head")
    shown = shown.group_by("breakdown", maintain_order=True).head(4)
    bars = page.eval_on_selector_all(".bar", "all => all.map(each => each.title)")
    assert [bar for bar in bars if " errors, " in bar] == [
        f"{row['value']}: {row['n']} errors, {math.floor(100 * row['share'] + 0.5)} % of all"
        for row in shown.to_dicts()
    ]
    newcomer.see("/head/1-1/examples", relation="obj", breakdown="wrong")
    assert page.locator(".examples a").count() == min(n - correct, 10)


REQUESTS = [
    STORY,
    "pattern { V -[nsubj]-> S }",
    "pattern { N [upos=NOUN] }",
    'pattern { N [lemma="dog"] }',
    "pattern { N [upos=NOUN|PROPN]; D -> N }",
    "pattern { V -[nsubj]-> S; V -[obj]-> O }",
    "pattern { V -[nsubj]-> S; V -[obj]-> O; O << S }",
    "pattern { A < B; A [upos=DET]; B [upos=NOUN] }",
    "pattern { V -[^punct|det]-> W }",
    'pattern { V -[re"n.*"]-> W }',
    'pattern { N [form=re".*s"] }',
    "pattern { V [upos=VERB] } without { V -[obj]-> O }",
    "pattern { V [upos=VERB] } with { V -[obj]-> O }",
    "pattern { e: V -> W; e.label = obj }",
    "pattern { N [!lemma] }",
    "pattern { N [upos=NOUN, lemma] }",
    "pattern { * -[root]-> R }",
    "pattern { V -> A; V -> B; A < B }",
    "pattern { A =[1-1]=> B }",
    "pattern { V -[obj]-> O; O =[1-1]=> V }",
    "pattern { V -[nsubj]-> S; S =[2-2]=> V }",
    "pattern { A =[1-1]=> B; A -[det]-> B }",
    "pattern { A =[1-1>0.2]=> B; A [upos=NOUN] }",
    "pattern { A =[2-1>=0.1]=> B; B [upos=VERB] }",
    "pattern { N [upos=NOUN]; N =[1-1]=> [CLS] }",
    "pattern { A ~ B }",
    "pattern { V [upos=VERB]; S [upos=PRON]; V -> S; S << V }",
    'pattern { N [upos=NOUN]; N.form = "dog" }',
    "pattern { A -[conj]-> B; A.upos = B.upos }",
    "pattern { V -[obl]-> O; O -[case]-> P }",
    "pattern { N [upos=NUM] }",
    "pattern { A [upos=ADJ]; N -[amod]-> A }",
    'pattern { N -[det]-> D; D [form="the"|"The"] }',
    "pattern { V -[advmod]-> A }",
    "pattern { V -[ccomp|xcomp]-> W }",
    "pattern { P [upos=PUNCT]; V -> P }",
    'pattern { V -[nsubj]-> S; S -[det]-> D; D [lemma="a"] }',
    "pattern { A -> B; B -> C; A << C }",
    "global { is_projective } pattern { V -[obj]-> O }",
    'pattern { X [form="<script>alert(1)</script>"] }',
]


def test_forty_requests_give_the_hits_of_find(visitor: Page, published: Path) -> None:
    assert len(set(REQUESTS)) == 40
    found = 0
    with open_bank(published) as bank:
        for request in REQUESTS:
            page = visitor.see("/sentences", pattern=request, limit=500)
            told = [each.inner_text() for each in page.locator('[role="alert"]').all()]
            try:
                frame = bank.find(request)
            except Exception as error:
                assert told and str(error).split("\n")[0][:60] in told[0], request
                continue
            assert told == [], request
            lines = visitor.rows() if frame.height else []
            names = frame["sent_id"].fill_null("no name")
            own = frame.select("left", "hit", "right").insert_column(0, names).head(500).rows()
            # Further columns are the labels of edges that have a name.
            assert [line[:4] for line in lines] == [
                [cell.strip() for cell in line] for line in own
            ], request
            found += frame.height > 0
    assert found >= 25


def test_a_request_scores_every_head_as_the_command_does(visitor: Page, published: Path) -> None:
    with open_bank(published) as bank:
        scores = bank.score(OBJECTS, dependent="O", head="V", every=True)
        expected = bank.query("best_head", relation="subject", min_count=1)
    scores = scores.filter(direction="dependent_to_head").sort("layer", "head")
    page = visitor.see("/sentences", pattern=OBJECTS)
    page.locator(".scores button.load").click()
    page.wait_for_selector(".scores .headline")
    titles = page.locator(".scores [data-head]").evaluate_all("all => all.map(each => each.title)")
    assert titles == [f"{r['layer']}-{r['head']}: {r['accuracy']:.3f}" for r in scores.to_dicts()]
    page = visitor.see("/sentences", pattern="pattern { V -[nsubj]-> S; S =[1-1]=> V }")
    assert "Heads cannot be judged on these pairs" in page.locator("main").inner_text()
    assert page.locator(".scores").count() == 0
    # The pairs of a request do not hide those of saved relations.
    visitor.see("/tables/best_head", relation="subject", min_count=1)
    assert expected["n"][0] and visitor.rows(0)[0][:2] == cells(expected)[0][:2]


def test_an_example_request_is_scored_at_once(
    newcomer: Page, published: Path, runs: list[str]
) -> None:
    """In the atlas without DuckDB, beside the hits without Python."""
    run = runs[2]
    with open_bank(published) as bank:
        scores = bank.score(STORY, dependent="O", head="V", every=True, run=run)
    scores = scores.filter(direction="dependent_to_head").sort("layer", "head")
    own = [f"{r['layer']}-{r['head']}: {r['accuracy']:.3f}" for r in scores.to_dicts()]
    titles = "all => all.map(each => each.title)"
    page = newcomer.see("/", by="request", request=STORY, dependent="O", governor="V", run=run)
    page.wait_for_selector("#atlas[data-settled]")
    assert page.eval_on_selector_all(".grid td a", titles) == own
    assert page.evaluate("attnbank.isLive") is False
    newcomer.see("/sentences", pattern=STORY, run=run)
    page.wait_for_selector(".scores .headline")
    assert page.locator(".scores [data-head]").evaluate_all(titles) == own
    assert page.locator(".scores button.load").count() == 0
    assert not [address for address in newcomer.asked if "pyodide" in address]


@pytest.mark.few("V.upos", "{*")
@pytest.mark.parametrize("by", ["V.upos", "V.upos, O.upos", "delta(V, O)", "{ O =[1-1]=> V }"])
def test_counts_are_those_of_count(visitor: Page, published: Path, by: str) -> None:
    from attnbank.queries.table_formats import crosstab, fits_crosstab

    visitor.see("/sentences", pattern=STORY, by=by)
    with open_bank(published) as bank:
        frame = bank.count(STORY, by)
    keys = [name for name in frame.columns if name not in ("n", "share", "run")]
    if fits_crosstab(frame, keys):
        frame = crosstab(frame, *keys)
    assert frame.height and visitor.rows() == cells(frame, "run")


def test_the_compiler_refuses_as_the_command_does(visitor: Page) -> None:
    for request, told in (
        ("pattern { V -[obj]- O }", "Line 1, column 18"),
        ("pattern { A =[9-9]=> B }", "has no head 9-9"),
    ):
        page = visitor.see("/sentences", pattern=request)
        assert told in page.locator('[role="alert"]').inner_text(), request


def test_an_unknown_run_is_told_as_by_a_command(visitor: Page, runs: list[str]) -> None:
    attended = "pattern { A =[1-1]=> B }"
    for view, more in (("/", {}), ("/sentences", {"pattern": attended})):
        page = visitor.see(view, run=f"{runs[2]}x", **more)
        told = page.locator('[role="alert"]').inner_text()
        assert f"There is no run {runs[2]}x in odd." in told and "It has: " in told
    assert f"Did you mean {runs[2]}" in told  # by the compiler, which is the package's


@pytest.mark.few("asked[015]")
@pytest.mark.parametrize(
    "asked",
    [
        {"relation": "all", "mean": True},
        {"relation": "all"},
        {"relation": "obj", "direction": "head_to_dependent"},
        {"relation": "subject"},
        {"coreference": True},
        {"relation": "all", "run": 3},
        {"relation": "nsubj", "direction": "later_to_earlier", "run": 0},
        {"relation": "obj", "direction": "head_to_dependent", "run": 3},
    ],
)
def test_lines_are_those_of_show(
    visitor: Page, published: Path, runs: list[str], asked: dict[str, Any]
) -> None:
    asked = {**asked, "run": runs[asked.get("run", 2)]}
    with open_bank(published) as bank:
        read = "select distinct sentence from sequence where run = $run order by 1 limit 6"
        number_of = {row["name"]: row["id"] for row in bank.runs().to_dicts()}
        for number in bank.sql(read, {"run": number_of[asked["run"]]})["sentence"]:
            given = {name: 1 if value is True else value for name, value in asked.items()}
            given["hit"] = f"{number}:2,3"
            given |= {"layout": "columns", "special": 1}
            page = visitor.see("/sentence", sentence=number, head="1-1,2-2", **given)
            assert page.locator('[role="alert"]').count() == 0, (number, given)
            shown = bank.show(int(number), head=["1-1", "2-2"], matched=(2, 3), **asked)
            own = json.loads(json_text(shown_record(bank, shown, wants_tree=False)))
            options = {"head": "1-1,2-2", "direction": "dependent_to_head", **given}
            options |= {
                "sentence": str(number),
                "tree": False,
                "coreference": "coreference" in asked,
                "mean": "mean" in asked,
            }
            record = page.evaluate("options => attnbank.get('/shown.json', options)", options)
            for name in ("id", "run", "words", "mentions", "facts", "written", "trees", "norms"):
                assert record[name] == own[name], (name, number)
            for name in ("name", "layer", "head", "gold"):
                assert [panel[name] for panel in record["panels"]] == [
                    panel[name] for panel in own["panels"]
                ]
            for panel, drawn in zip(record["panels"], own["panels"], strict=True):
                assert panel["weights"] == [pytest.approx(line) for line in drawn["weights"]]
            lines = page.locator(".line").evaluate_all(
                "all => all.map(each => ({ ...each.dataset }))"
            )
            expected = re.findall(r'data-weight="([^"]*)"', shown.svg)
            weights = sorted(float(line["weight"]) for line in lines if "weight" in line)
            assert weights == pytest.approx(sorted(map(float, expected)))
            rows = shown.rows.with_columns(
                head=pl.concat_str("layer", "head", separator="-", ignore_nulls=False)
            )
            hidden = [name for name in rows.columns if name.endswith("position")]
            hidden += ["sent_id", "layer", "index", "run", *(["head"] if "mean" in asked else [])]
            assert visitor.rows(page.locator("main table").count() - 1) == cells(rows, *hidden)


def test_hostile_names_stay_text(visitor: Page, runs: list[str]) -> None:
    page = visitor.see("/sentence", sentence='"><script>alert(3)</script>', run=runs[1], tree=1)
    assert "<script>alert(1)</script>" in page.locator("main").inner_text()
    for path, values in (
        ("/", {"run": runs[1]}),
        ("/sql", {"statement": "select form, '<img src=x onerror=alert(9)>' as \"<u>\" from word"}),
        ("/sentences", {"pattern": 'pattern { X [form="<script>alert(1)</script>"] }'}),
        ("/bank", {}),
        ("/<img src=x onerror=alert(1)>", {}),
    ):
        page = visitor.see(path, **values)
        assert page.locator("main script, main img[src=x], main u, main i").count() == 0, path
    assert not any("dialog" in each for each in visitor.said)


def test_a_link_opens_the_same_view_and_back_goes_back(newcomer: Page, browser: Any) -> None:
    newcomer.see("/map")
    newcomer.page.locator(".map a").first.focus()
    newcomer.page.keyboard.press("Enter")
    newcomer.page.wait_for_url("**/head/1-1**")
    newcomer.ready()
    text = newcomer.page.locator("main").inner_text()
    other = Page(browser, newcomer.base)
    other.page.goto(newcomer.page.url)
    other.page.reload()
    other.ready()
    assert other.page.locator("main").inner_text() == text
    other.context.close()
    newcomer.page.go_back()
    newcomer.ready()
    newcomer.page.locator("a.skip").press("Enter")  # its address is none of a view
    assert newcomer.page.evaluate("document.activeElement.id") == "content"
    assert newcomer.page.locator("h1").inner_text() == "Map of the heads"
    newcomer.see("/head/1-1")
    newcomer.page.locator("select[name=relation]").select_option("nsubj")
    newcomer.page.wait_for_url("**relation=nsubj**")
    newcomer.ready()
    assert newcomer.page.locator("select[name=relation]").input_value() == "nsubj"


def test_a_statement_of_a_link_runs_when_somebody_has_read_it(newcomer: Page) -> None:
    page = newcomer.page
    page.goto(newcomer.address_of("/sql", statement="select 7 as forged"))
    newcomer.ready()
    assert page.locator("main table").count() == 0
    assert page.locator("textarea").input_value() == "select 7 as forged"
    assert "came with the address" in page.locator("main .note").inner_text()
    page.evaluate("location.hash = '#/sql?statement=select+8+as+forged'")  # without a new page
    newcomer.ready()
    assert page.locator("main table").count() == 0
    page.locator("main form button").click()
    newcomer.ready()
    assert newcomer.rows() == [["8"]] and page.locator("main .note").count() == 0
    page.go_back()
    newcomer.ready()
    assert page.locator("main table").count() == 0


FORGED = "create or replace temp macro best_head(relation, min_count, run) as table select 9 as n"


REFUSED = [
    (f"select 1; {FORGED}", "Several statements were given."),
    (FORGED, "Only statements that read run here."),
    (f"explain {FORGED}", "Only statements that read run here."),
    (f"explain analyze {FORGED}", "Only statements that read run here."),
    (f"explain select 1; {FORGED}", "Several statements were given."),
    (f"select 1); {FORGED}; select * from (select 2", "syntax error"),
    (f"select 1) as a; {FORGED}; (select 2", "syntax error"),
    (f"select 1 -- \n; {FORGED}", "Several statements were given."),
    (f"pivot word on upos; {FORGED}", "Several statements were given."),
    ("set schema = 'temp'", "Only statements that read run here."),
    ("use memory", "Only statements that read run here."),
    ("select 1 as a, 2 as a", "Two columns are called a."),
]


def test_one_statement_runs_that_reads(visitor: Page, published: Path) -> None:
    """So no statement, of a link or of one's own, changes what the other views show."""
    with open_bank(published) as bank:
        best = cells(bank.query("best_head", min_count=2), "run")
    for statement, reason in REFUSED:
        page = visitor.see("/sql", statement=statement)
        assert reason in page.locator('[role="alert"]').inner_text(), statement
        visitor.see("/tables/best_head", min_count=2)
        assert visitor.rows() == best, statement
    visitor.said.clear()  # the worker says what it refuses


READING = [
    "select relation, layer, head, accuracy from best_head(min_count := 1) order by all",
    "from word select form order by id limit 3",
    "describe word",
    "show tables",
    "summarize run",
    "values (1), (2)",
    "with first as (select min(id) as id from word) from first -- the first",
    "select ';' as sign;",
    "select {'a': 1, 'b': [1, null]} as one, [{'c': 'x'}] as list",
    "explain select 1 as n",
    "pivot (select upos from word) on upos using count(*)",
]


def test_statements_that_read_give_the_rows_of_the_command(newcomer: Page, published: Path) -> None:
    for statement in READING:
        page = newcomer.see("/sql", statement=statement)
        assert page.locator('[role="alert"]').count() == 0, statement
        with open_bank(published) as bank:
            frame = bank.sql(statement)
        rows = newcomer.rows()
        if statement.startswith("explain"):  # the plan is not the same
            assert rows[0][0] == "physical_plan"
        elif statement.startswith("summarize"):  # DuckDB in a browser estimates differently
            estimate = frame.columns.index("approx_unique")
            assert [row[:estimate] + row[estimate + 1 :] for row in rows] == cells(
                frame, "approx_unique"
            )
        else:
            assert rows == cells(frame), statement
        if statement.startswith("pivot"):
            newcomer.said.clear()  # the worker says that a pivot is several statements


@pytest.mark.parametrize("name", ["figure_3", "table_3"])
def test_figures_of_the_paper_say_what_they_miss(visitor: Page, published: Path, name: str) -> None:
    page = visitor.see(f"/tables/{name}")
    with open_bank(published) as bank, pytest.raises(QueryError) as told:
        bank.query(name)
    expected = told.value.fact.replace(str(published), "bank.duckdb")
    assert page.locator('[role="alert"]').inner_text().split("\n")[0] == expected
    visitor.said.clear()  # a file of rows that is not there


def test_what_is_taken_away_is_all_of_it(visitor: Page, published: Path, tmp_path: Path) -> None:
    page = visitor.see("/tables/head_accuracy", relation="obj")
    with page.expect_download() as waiting:
        page.locator("[data-save=csv]").click()
    waiting.value.save_as(tmp_path / "x.csv")
    with open_bank(published) as bank:
        frame = bank.query("head_accuracy", relation="obj")
    kept = pl.read_csv(tmp_path / "x.csv")
    assert kept.columns == frame.columns and kept.height == frame.height
    assert kept["accuracy"].equals(frame["accuracy"])
    page = visitor.see("/sentence", sentence=3, head="1-1,2-1", relation="all", tree=1)
    for kind in ("svg", "png"):
        with page.expect_download() as waiting:
            page.locator(f"[data-save={kind}]").click()
        waiting.value.save_as(tmp_path / f"x.{kind}")
    text = re.sub("<!--.*?-->", "", (tmp_path / "x.svg").read_text(encoding="utf-8"))
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    # It is what is drawn: the tree, the arcs of both heads, and their names.
    assert text.count('class="attention') == page.locator(".drawn .attention").count() > 3
    assert text.count('class="tree-arc') == page.locator(".drawn .tree-arc").count() > 3
    assert ">Head 1-1<" in text and ">Head 2-1<" in text


def test_a_host_without_ranges_gives_the_whole_bank(
    browser: Any, publication: Path, serving: Serving
) -> None:
    async def answer(request: Request) -> Response:
        file = publication / request.path_params["path"]
        file = file / "index.html" if file.is_dir() else file
        if not file.is_file():
            return Response(status_code=404)
        kind = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css",
                ".html": "text/html", ".json": "application/json"}  # fmt: skip
        body = file.read_bytes()
        return Response(body, media_type=kind.get(file.suffix, "application/octet-stream"))

    with serving(Starlette(routes=[Route("/{path:path}", answer)])) as host:
        visitor = Page(browser, f"{host}/odd/")
        visitor.see("/sql", statement="select count(*) as n from word")
        assert visitor.page.locator('[role="alert"]').count() == 0
        assert int(visitor.rows()[0][0]) > 0
        assert visitor.said == []
        visitor.page.evaluate("attnbank.manifest.bank.bytes = 6e8; attnbank.database.opened = null")
        page = visitor.see("/sql", statement="select 1 as n")
        assert "too large to be downloaded whole" in page.locator('[role="alert"]').inner_text()
        visitor.context.close()


@pytest.mark.parametrize("way", ["refuses far ones", "counts in what it compressed"])
def test_a_host_that_only_seems_to_answer_ranges_gives_the_whole_bank(
    browser: Any, publication: Path, serving: Serving, way: str
) -> None:
    """GitHub's pages answer Firefox so (seen by others in 2025): they compress the file first."""
    bank = (publication / "odd" / "bank.duckdb").read_bytes()

    async def answer(request: Request) -> Response:
        file = publication / request.path_params["path"]
        file = file / "index.html" if file.is_dir() else file
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        if file.name != "bank.duckdb" or asked is None:
            return FileResponse(file) if file.is_file() else Response(status_code=404)
        first, last = int(asked[1]), int(asked[2] or len(bank) - 1)
        if way == "refuses far ones" and first > 100_000:
            return Response(status_code=416)
        total = len(bank) if way == "refuses far ones" else len(bank) // 3
        headers = {"Content-Range": f"bytes {first}-{last}/{total}"}
        return Response(bank[first : last + 1], 206, headers)

    with serving(Starlette(routes=[Route("/{path:path}", answer)])) as host:
        visitor = Page(browser, f"{host}/odd/")
        visitor.see("/sql", statement="select count(*) as n from word")
        assert visitor.page.locator('[role="alert"]').count() == 0
        assert int(visitor.rows()[0][0]) > 0
        visitor.context.close()


def test_a_browser_that_cannot_unpack_duckdb_says_so(browser: Any, address: str) -> None:
    visitor = Page(browser, address)
    visitor.context.add_init_script("delete globalThis.DecompressionStream")
    page = visitor.see("/sql", statement="select 1 as n")
    page.reload()
    visitor.ready()
    page.get_by_role("button", name="Run").click()
    page.wait_for_selector('[role="alert"]')
    assert "cannot unpack DuckDB" in page.locator('[role="alert"]').inner_text()
    visitor.context.close()


def test_a_broken_host_is_told(browser: Any, publication: Path, serving: Serving) -> None:
    async def answer(request: Request) -> Response:
        path = request.path_params["path"]
        file = publication / path
        file = file / "index.html" if file.is_dir() else file
        if path.endswith("bank.duckdb"):
            return Response("gone", 503)
        return FileResponse(file) if file.is_file() else Response(status_code=404)

    with serving(Starlette(routes=[Route("/{path:path}", answer)])) as host:
        visitor = Page(browser, f"{host}/odd/")
        page = visitor.see("/sql", statement="select 1 as n")
        assert "did not return the bank: 503" in page.locator('[role="alert"]').inner_text()
        page = visitor.see("/")
        assert page.locator(".grid").count() == 1  # what needs no bank is there all the same
        visitor.context.close()


def test_effects_of_heads_and_of_edges_are_there_without_duckdb(
    browser: Any, bank_of: BankFactory, tiny_model: Models, serving: Serving, tmp_path: Path
) -> None:
    bank = bank_of("press", "gpt2", licence="CC BY-SA 4.0", to=tmp_path / "bank.duckdb")
    heads = tuple((layer, head) for layer in (1, 2, 3) for head in (1, 2, 3, 4))
    each = [HeadSet(f"{layer}-{head}", ((layer, head),), "--each") for layer, head in heads]
    cut = HeadSet("nsubj", heads, "--edges nsubj", edges=Edges("nsubj"))
    options = AblateOptions(controls=0, model=str(tiny_model("gpt2")))
    ablate(bank, "each", each, None, options)
    ablate(bank, "cut", [cut], None, options)
    with open_bank(bank) as opened:
        frame = opened.query("ablation_effect", classification="cut").filter(outcome="surprisal")
    (lost,) = frame.filter(pl.col("class") == "cut")["difference"]
    by_head = {
        row["heads"]: f"{row['difference']:.3f}" for row in frame.filter(ablation="each").to_dicts()
    }
    assert run_command_line(["-b", str(bank), "publish", str(tmp_path / "site"), "-q"]) == 0
    with serving(publication_app(tmp_path / "site")) as host:
        visitor = Page(browser, f"{host}/bank/")
        page = visitor.see("/", by="ablation", relation="nsubj", head="2-1")
        titles = page.eval_on_selector_all(".grid td a", "all => all.map(cell => cell.title)")
        assert dict(title.split(": ") for title in titles) == by_head
        assert page.locator(".headline").inner_text().startswith("Without head 2-1: ")
        page = visitor.see("/", by="relation", relation="nsubj", head="2-1")
        told = page.locator(".atlas-head > .hint strong").all_inner_texts()
        expected = [float(by_head["2-1"]), lost]
        assert [*map(float, told)] == pytest.approx(expected, rel=0.05, abs=0.005)
        assert not any("wasm" in address for address in visitor.asked) and visitor.said == []
        visitor.context.close()
