"""The atlas in a real browser: its figures are those of commands, and its parts are linked."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browsers
import polars as pl
import pytest
from bank_factory import BankFactory
from fixture_types import Models

from attnbank.ingest import AblateOptions, Edges, HeadSet, ablate
from attnbank.queries import Bank, open_bank

pytestmark = pytest.mark.slow
OBJECTS = "pattern { V -[obj]-> O }"


@pytest.fixture(scope="module")
def address(explored: Path) -> Iterator[str]:
    with browsers.explored(explored) as made:
        yield made


@pytest.fixture(scope="module")
def visitor(address: str) -> Iterator[browsers.Visitor]:
    with browsers.launched() as browser:
        made = browsers.Visitor(browser, address, 1440, "light")
        yield made
        assert made.said == []


@pytest.fixture
def bank(explored: Path) -> Iterator[Bank]:
    with open_bank(explored) as opened:
        yield opened


def settled(page: Any) -> None:
    page.wait_for_selector("#atlas[data-settled]")


def cells(page: Any) -> dict[str, str]:
    """The values of the grid as it has them, by head."""
    titles = page.eval_on_selector_all(".grid td a", "all => all.map(cell => cell.title)")
    return dict(title.split(": ") for title in titles)


@pytest.mark.parametrize("direction", ["dependent_to_head", "head_to_dependent"])
def test_the_grid_has_the_figures_of_the_command(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str], direction: str
) -> None:
    page = visitor.see("/", relation="nsubj", direction=direction, run=runs["single"])
    frame = bank.query("head_accuracy", relation="nsubj", run=runs["single"])
    wanted = {
        f"{row['layer']}-{row['head']}": f"{row['accuracy']:.3f}"
        for row in frame.filter(direction=direction).to_dicts()
    }
    assert cells(page) == wanted


def test_another_relation_recolours_the_grid_and_chooses_its_best_head(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"])
    page.locator("select[name=relation]").select_option("det")
    page.wait_for_url(re.compile("relation=det"))
    settled(page)
    frame = bank.query("head_accuracy", relation="det", run=runs["single"])
    frame = frame.filter(direction="dependent_to_head")
    best = frame.sort("accuracy", descending=True, maintain_order=True).row(0, named=True)
    chosen = page.locator(".grid td.chosen a")
    assert chosen.get_attribute("data-head") == f"{best['layer']}-{best['head']}"
    score = bank.query("head_score", relation="det", run=runs["single"]).filter(
        layer=best["layer"], head=best["head"], direction="dependent_to_head"
    )
    (low, high, n) = score.select("low", "high", "n").row(0)
    headline = page.locator(".headline").inner_text()
    interval = f"{round(100 * low)}\u2013{round(100 * high)} %"
    assert f"{round(100 * best['accuracy'])} %" in headline
    assert interval in headline and f"of {n} det" in headline
    page.go_back()
    settled(page)
    assert page.locator("select[name=relation]").input_value() == "nsubj"


def test_each_accuracy_says_whether_it_is_above_the_offset(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    """As best_relation has it, for each head and relation; and for p values that are near 0.05."""
    page = visitor.see("/", relation="nsubj", run=runs["single"])
    rows = bank.query("best_relation", most=1000, min_count=1, run=runs["single"]).to_dicts()
    near = (0.0004, 0.0499, 0.05, 0.051, 0.4)
    rows += [{"n": 50, "gain": 0.1, "p_corrected": p, "tried": 144} for p in near]
    of_module = "rows => import('/static/profile.js').then(({ verdict }) => rows.map(verdict))"
    verdicts = page.evaluate(of_module, rows)
    for row, verdict in zip(rows, verdicts, strict=True):
        p = row["p_corrected"]
        if row["gain"] <= 0:
            expected = "it does not beat the offset"
        elif p is None:
            expected = f"too few {'' if row['n'] < 10 else 'documents '}to test"
        else:
            words = "significantly" if p < 0.05 else "not significantly"
            number = "p < 0.001" if p < 0.001 else f"p {float(f'{p:.2g}'):g}"
            tried = f"corrected for the {row['tried']:,} heads, directions and relations tried"
            expected = f"{words} above the offset ({number}, {tried})"
        assert verdict == expected, row
    assert len({*verdicts}) > 6


def test_a_head_under_the_pointer_is_shown_and_a_click_keeps_it(
    visitor: browsers.Visitor, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"], head="1-1")
    page.locator('[data-head="2-3"]').hover()
    assert page.locator(".atlas-head h2").inner_text().startswith("Head 2-3")
    page.mouse.move(2, 2)
    assert page.locator(".atlas-head h2").inner_text().strip() == "Head 1-1"
    page.locator('[data-head="2-3"]').click()
    page.wait_for_url(re.compile("head=2-3"))
    settled(page)
    assert page.locator(".atlas-sentences h2").inner_text().startswith("Head 2-3, nsubj")


def test_sentences_are_right_and_wrong_with_their_marks(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"], head="2-1")
    frame = bank.query("head_accuracy", relation="nsubj", run=runs["single"])
    row = frame.filter(layer=2, head=1, direction="dependent_to_head").row(0, named=True)
    text = page.locator(".atlas-sentences").inner_text()
    assert f"all {row['correct']}" in text and f"all {row['n'] - row['correct']}" in text
    lists = page.locator(".examples")
    for at, kinds in enumerate((["dependent", "gold"], ["dependent", "gold", "found"])):
        for line in lists.nth(at).locator("svg").all():
            described = line.get_attribute("aria-label")
            assert ("missed" in described) == bool(at)
            marks = [mark for mark in kinds if line.locator(f".mark-{mark}").count()]
            assert marks == kinds or "nothing" in described or "not shown" in described
    lists.nth(0).locator("a").first.click()
    page.wait_for_url(re.compile("/sentence"))
    browsers.filled(page)
    assert page.locator("mark").count() == 2


def test_the_heads_of_a_request_are_scored_in_one_step(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"])
    page.get_by_text("Which head finds a request?").click()
    page.get_by_role("button", name="Score all heads").click()
    page.wait_for_url(re.compile("by=request"))
    settled(page)
    frame = bank.score(OBJECTS, dependent="O", head="V", every=True, run=runs["single"])
    wanted = {
        f"{row['layer']}-{row['head']}": f"{row['accuracy']:.3f}"
        for row in frame.filter(direction="dependent_to_head").to_dicts()
    }
    assert cells(page) == wanted
    head = max(wanted, key=lambda name: float(wanted[name]))
    narrowed = f"{OBJECTS} with {{ O =[{head}]=> V }}"
    hits = bank.find(narrowed, run=runs["single"], context=False).height
    lists = page.locator(".atlas-sentences .examples")
    assert lists.count() == 2
    described = lists.nth(0).locator("svg").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert len(described) == min(hits, 3) and all(text.endswith(": found") for text in described)
    page.locator(".atlas-sentences h3 a", has_text=f"all {hits}").first.click()
    page.wait_for_url(re.compile("/sentences"))
    browsers.filled(page)
    assert f"{hits} hit" in page.locator("main").inner_text()


def test_what_a_command_warns_of_stands_above_the_grid(
    visitor: browsers.Visitor, runs: dict[str, str]
) -> None:
    """A request about attention has circular figures, as `attnbank score` says."""
    request = "pattern { A =[1-1]=> B }"
    values = {"by": "request", "request": request, "dependent": "A", "governor": "B"}
    page = visitor.see("/", run=runs["single"], **values)
    assert "circular" in page.locator("#atlas .note").inner_text()
    page = visitor.see("/", run=runs["single"], relation="nsubj")
    assert page.locator("#atlas .note").count() == 0


def test_weights_beside_the_arcs_are_those_of_the_bank(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"], head="2-1")
    seen = 0
    for link in page.locator(".examples").last.locator("a.where").all():
        shown = bank.show(link.get_attribute("title"), "2-1", run=runs["single"], corpus="stories")
        own = {
            (row["dependent"], row["looks_at"], f"{row['weight']:.2f}")
            for row in shown.rows.drop_nulls("weight").to_dicts()
        }
        described = link.locator("svg").get_attribute("aria-label") or ""
        judged = re.search(r" \u2014 (.+), head .+: missed: (.+) instead$", described)
        labels = link.locator(".instead text.weight").all_text_contents()
        assert judged and len(labels) == 1
        assert (judged[1], judged[2], labels[0]) in own
        seen += 1
    assert seen


def test_how_often_a_head_is_right_by_the_dependent(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    """Counted apart: the words of `show`, by the side and the distance of their gold head."""
    page = visitor.see("/", relation="nsubj", run=runs["single"], head="2-1")
    counts = {"before its head": [0, 0], "after its head": [0, 0]}
    by_distance: dict[int, list[int]] = {}
    sentences = bank.sql(
        "select distinct word.sentence from word"
        " inner join word_position on word_position.word = word.id"
        " inner join sequence on sequence.id = word_position.sequence"
        " inner join run on run.id = sequence.run where run.name = $run",
        {"run": runs["single"]},
    )["sentence"]
    for sentence in sentences:
        words = bank.show(sentence, "2-1", run=runs["single"]).rows
        heads = dict(
            bank.sql(
                "select index, head_index from word where sentence = $sentence",
                {"sentence": sentence},
            ).rows()
        )
        for row in words.filter(pl.col("relation").str.starts_with("nsubj")).to_dicts():
            if row["correct"] is None:
                continue
            distance = min(10, max(-10, heads[row["index"]] - row["index"]))
            side = "after its head" if distance < 0 else "before its head"
            for count in (counts[side], by_distance.setdefault(distance, [0, 0])):
                count[0] += row["correct"]
                count[1] += 1
    bars = dict(page.locator(".atlas-breakdowns .bar").evaluate_all(
        "all => all.map(bar => [bar.title, bar.lastElementChild.textContent])"
    ))  # fmt: skip
    for side, (correct, n) in counts.items():
        title = f"{side}: {correct} of {n} found"
        assert (title in bars) == (n > 0)
        assert not n or bars[title] == f"{int(100 * correct / n + 0.5)} % of {n}"
    offset = bank.query("head_score", relation="nsubj", run=runs["single"])["offset"][0]
    curve = page.locator(".atlas-breakdowns .distances")
    assert f"best offset ({offset:+d})" in curve.inner_html()
    assert curve.locator("a title").all_text_contents() == [
        f"{abs(distance)} word{'s' * (abs(distance) > 1)}{' or more' * (abs(distance) == 10)}"
        f" {'before' if distance < 0 else 'after'} it: {correct} of {n} found"
        for distance, (correct, n) in sorted(by_distance.items())
    ]


def test_what_is_chosen_while_profiles_load_has_them(
    visitor: browsers.Visitor, runs: dict[str, str]
) -> None:
    page, held = visitor.page, list[Any]()
    page.route("**/profiles/*.json", lambda route: held.append(route))
    with page.expect_request("**/profiles/*.json"):
        page.goto(f"{visitor.home}/?relation=nsubj&run={runs['single']}")
    page.locator("select[name=relation]").select_option("det")
    page.locator(".grid caption", has_text="for det").wait_for()
    assert held, "the profiles are still to come"
    for route in held:
        route.continue_()
    page.unroute("**/profiles/*.json")
    settled(page)
    assert page.locator(".atlas-head .profile").count() == 2
    assert page.locator(".small-grid").count() > 4
    assert "det" in page.locator(".atlas-sentences h2").inner_text()
    assert "Loading" not in page.locator("#atlas").inner_text()


def test_it_is_used_without_a_mouse(visitor: browsers.Visitor, runs: dict[str, str]) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"], head="1-1")
    assert page.locator('.grid [tabindex="0"]').count() == 1
    page.locator('[data-head="1-1"]').focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.head") == "2-1"
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("head=2-1"))
    settled(page)
    page.locator(".profile [role=button]").last.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("relation=(?!nsubj)"))


def test_dragging_over_the_grid_shows_the_mean_of_the_heads(
    visitor: browsers.Visitor, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"])
    values = cells(page)
    page.locator('[data-head="1-1"]').hover()
    page.mouse.down()
    page.locator('[data-head="2-2"]').hover()
    page.mouse.up()
    assert page.locator(".atlas-head h2").inner_text() == "Mean of 4 heads"
    mean = sum(float(values[name]) for name in ("1-1", "1-2", "2-1", "2-2")) / 4
    found = re.search(r"(\d+) %", page.locator(".headline").inner_text())
    assert found and abs(int(found[1]) - 100 * mean) < 1


def test_a_second_head_is_held_beside_the_first(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"], head="1-1")
    page.locator('[data-head="2-2"]').click(modifiers=["Shift"])
    page.wait_for_url(re.compile("beside=2-2"))
    settled(page)
    assert page.locator(".profile path.beside").count() > 0  # with the pointer still on that head
    both, only_first, only_second, neither = (
        bank.find(
            "pattern { V -[1=nsubj]-> S }"
            f" {first} {{ S =[1-1]=> V }} {second} {{ S =[2-2]=> V }}",
            run=runs["single"],
        ).height
        for first, second in itertools.product(("with", "without"), repeat=2)
    )
    assert page.locator(".shared").inner_text() == (
        f"Of {both + only_first + only_second + neither} dependents of nsubj, both heads find"
        f" {both}, only 1-1 {only_first}, only 2-2 {only_second}, neither {neither}."
    )
    only = page.locator(".atlas-sentences h3", has_text="Only").all_inner_texts()
    assert only == ["Only 1-1 finds", "Only 2-2 finds"]
    lists = page.locator(".atlas-sentences .examples")
    assert [lists.nth(at).locator("li").count() for at in (-2, -1)] == [
        min(3, only_first), min(3, only_second),
    ]  # fmt: skip
    page.locator("select[name=beside]").select_option("")
    page.wait_for_url(re.compile("^(?!.*beside)"))
    page.locator("select[name=beside]").select_option("2-1")
    page.wait_for_url(re.compile("beside=2-1"))


def test_equal_heads_and_missing_values_are_told(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    def caption(by: str) -> str:
        page = visitor.see("/", by=by, run=runs["single"])
        text: str = page.locator(".grid caption").inner_text()
        return text

    rare = bank.query("head_function", run=runs["single"])
    largest = rare["rare_word"].max()
    first, *others = rare.filter(pl.col("rare_word") == largest).rows(named=True)
    assert others
    said = f"Highest: head {first['layer']}-{first['head']} and {len(others)} more, "
    assert said in caption("head_function.rare_word")
    assert bank.query("sink_head", run=runs["single"])["sink"].n_unique() == 1
    assert "All heads have " in caption("sink_head.sink")
    why = "No head of this run has a value: no run of norms is like the run of weights."
    assert why in caption("special_tokens_by_measure.norm_on_cls")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "heading"),
    [
        ("relation", "Head 2-1, nsubj: "), ("cls", "Head 2-1: where this is strongest"),
        ("entropy", "Search sentences with this head."),
        ("gain", "Head 2-1 finds no relation significantly more often than a fixed offset."),
    ],
)  # fmt: skip
def test_sentences_follow_the_measure(
    visitor: browsers.Visitor, runs: dict[str, str], by: str, heading: str
) -> None:
    given = {"head": "2-1", "relation": "nsubj"}
    page = visitor.see("/", by=by, run=runs["single"], **given)
    assert heading in page.locator(".atlas-sentences").inner_text()


def test_what_is_wrong_in_an_address_is_told_beside_the_atlas(
    visitor: browsers.Visitor, runs: dict[str, str]
) -> None:
    given = {"head": "9-9", "direction": "later_to_earlier", "by": "beauty"}
    page = visitor.see("/", relation="nsubj", run=runs["single"], **given)
    faults = page.locator("[role=alert]").all_inner_texts()
    assert [fault.split("\n")[0] for fault in faults] == [
        "direction cannot be later_to_earlier.", "The model has no head 9-9.",
        "by cannot be beauty.",
    ]  # fmt: skip
    assert page.locator("select[name=relation]").input_value() == "nsubj"
    assert page.locator(".grid td.chosen").count() == 1
    assert "nsubj" in page.locator(".atlas-sentences h2").inner_text()


def test_a_subtype_is_a_relation(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    page = visitor.see("/", by="relation", relation="nmod:poss", run=runs["single"])
    frame = bank.query("head_accuracy", relation="nmod:poss", subtypes=True, run=runs["single"])
    frame = frame.filter(direction="dependent_to_head")
    assert {name: float(value) for name, value in cells(page).items()} == {
        f"{row['layer']}-{row['head']}": pytest.approx(row["accuracy"], abs=6e-4)
        for row in frame.to_dicts()
    }
    n = max(frame["n"].to_list())
    headline = page.locator(".headline").inner_text()
    assert f"of {n} nmod:poss" in headline
    given = {"relation": "nmod:poss", "subtypes": True, "run": runs["single"]}
    (test,) = bank.query("best_head_test", **given).to_dicts()
    held_out = f"held out: {round(100 * test['held_out_accuracy'])} %"
    shown = page.locator(".grid td.chosen a").get_attribute("data-head")
    is_tested = shown == f"{test['layer']}-{test['head']}" and "to_head" in test["direction"]
    assert (held_out in headline) == is_tested
    assert f"of {n} found" in page.locator(".atlas-sentences h2").inner_text()


def test_a_measure_chooses_its_highest_head(
    visitor: browsers.Visitor, bank: Bank, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["single"], head="1-1")
    page.locator("select[name=measure]").select_option("coreference")
    page.wait_for_url(re.compile("by=coreference"))
    settled(page)
    values = {name: float(value) for name, value in cells(page).items()}
    best = max(values, key=lambda name: values[name])
    text = page.locator(".headline").inner_text()
    assert f"head {best} {round(100 * values[best])} %, n " in text
    assert "without a head: nearest " in text
    assert "antecedent in their own sentence" in page.locator(".grid caption").inner_text()
    counts = bank.query("coreference_accuracy", run=runs["single"], kind="all")
    (row,) = counts.filter(pl.format("{}-{}", "layer", "head") == best).to_dicts()
    sentences = page.locator(".atlas-sentences")
    share = f"{round(100 * row['accuracy'])} % of {row['n']} found"
    assert sentences.locator("h2").inner_text() == f"Head {best}, coreference: {share}"
    missed = row["n"] - row["correct"]
    headings = [f"Found: {row['correct']}", f"Missed: {missed}"]
    assert sentences.locator("h3").all_inner_texts() == headings
    examples = min(3, row["correct"]) + min(3, missed)
    for mark, n in (("dependent", examples), ("gold", examples), ("found", min(3, missed))):
        assert sentences.locator(f".examples rect.mark-{mark}").count() == n > 0
    page.locator("select[name=kind]").select_option("pronoun")
    page.wait_for_url(re.compile("kind=pronoun"))
    settled(page)
    counts = bank.query("coreference_accuracy", run=runs["single"], kind="pronoun")
    head, n = page.locator(".grid td.chosen a").get_attribute("data-head"), counts["n"][0]
    (accuracy,) = counts.filter(pl.format("{}-{}", "layer", "head") == head)["accuracy"]
    assert f"of pronouns: head {head} {round(100 * accuracy)} %, n {n};" in (
        page.locator(".headline").inner_text()
    )
    other = visitor.see("/", by="previous", kind="pronoun", run=runs["single"])
    assert "pronouns" not in other.locator(".grid caption").inner_text()
    page = visitor.see("/", by="coreference", kind="pronoun", run=runs["single"])
    settled(page)
    sentences.locator(".examples a").last.click()
    browsers.filled(page)
    assert page.locator(".line-drawing rect.mention").count() > 1
    assert page.locator(".sentence mark").count() == 1
    pronouns = "pattern { M ~ A; M [upos=PRON]; A << M }"
    page = visitor.see("/sentences", head=best, pattern=pronouns, run=runs["single"])
    assert page.locator(".scores .headline").inner_text().count("pairs from M to A") == 1


def test_what_was_chosen_before_is_dimmed(visitor: browsers.Visitor, runs: dict[str, str]) -> None:
    page = visitor.see("/", by="previous", run=runs["single"])
    settled(page)
    held: list[Any] = []
    page.route("**/head_function.json*", lambda route: held.append(route))
    page.locator("select[name=measure]").select_option("head_function.confidence")
    page.wait_for_selector("#atlas[data-stale]")
    caption = page.locator(".grid caption")
    assert caption.inner_text().startswith("Attention to the previous token.")
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    settled(page)
    assert caption.inner_text().startswith("Largest weight of a position, mean.")
    assert page.locator("#atlas[data-stale]").count() == 0
    page.unroute_all()


def test_a_decoder_says_which_words_count(visitor: browsers.Visitor, runs: dict[str, str]) -> None:
    for direction, where in (("dependent_to_head", "after"), ("head_to_dependent", "before")):
        page = visitor.see("/", relation="det", direction=direction, run=runs["decoder"])
        assert f"counted are those that come {where} their head" in (
            page.locator(".grid caption").inner_text()
        )
    for run, direction in (("decoder", "later_to_earlier"), ("single", "dependent_to_head")):
        page = visitor.see("/", relation="det", direction=direction, run=runs[run])
        assert "counted are" not in page.locator(".grid caption").inner_text()


def test_words_of_the_bank_are_words(visitor: browsers.Visitor, runs: dict[str, str]) -> None:
    """Names and words with tags in them are shown, and run nothing."""
    page = visitor.see("/", run=runs["odd"], relation="obj", head="1-1")
    assert page.locator("#atlas img, #atlas script").count() == 0
    assert "<i>odd&'" in page.locator(".lead").inner_text()


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({"relation": "objx"}, "objx"),
        ({"by": "beauty"}, "by cannot be beauty."),
        ({"run": "nobody"}, "There is no run nobody"),
        ({"direction": "up", "relation": "nsubj"}, "direction cannot be up."),
        ({"head": "9-9"}, "The model has no head 9-9."),
        ({"beside": "one"}, "one is not a valid head."),
        (
            {"by": "request", "request": "pattern {", "dependent": "O", "governor": "V"},
            "Line 1, column 10",
        ),
    ],
)
def test_what_is_wrong_is_told_in_words(
    visitor: browsers.Visitor, values: dict[str, str], fact: str
) -> None:
    page = visitor.see("/", **values)
    assert fact in page.locator('[role="alert"]').inner_text()
    visitor.said[:] = [line for line in visitor.said if "400" not in line]


@pytest.fixture(scope="module")
def ablated(
    explored: Path, runs: dict[str, str], tiny_model: Models, tmp_path_factory: Any
) -> Path:
    """The bank with the effects of each head of the decoder, and of the edges of subjects."""
    bank = Path(shutil.copy(explored, tmp_path_factory.mktemp("ablated") / "bank.duckdb"))
    heads = [(layer, head) for layer in (1, 2, 3) for head in (1, 2, 3, 4)]
    run, model = runs["decoder"], str(tiny_model("gpt2"))
    each = [HeadSet(f"{layer}-{head}", ((layer, head),), "--each") for layer, head in heads]
    ablate(bank, "each", each, run, AblateOptions(controls=0, model=model))
    cut = HeadSet("nsubj", tuple(heads), "--edges nsubj", edges=Edges("nsubj"))
    ablate(bank, "cut", [cut], run, AblateOptions(controls=19, model=model))
    return bank


def test_few_sentences_are_told_apart_from_all_relations_together(bank_of: BankFactory) -> None:
    """Over all words some head is significantly above the offset, but for no relation."""
    few = bank_of("sample", "minilm", limit=30)
    with browsers.explored(few) as address, browsers.launched() as browser:
        visitor = browsers.Visitor(browser, address, 1440, "light")
        for relation, what in (("all", "No relation by itself"), ("nsubj", "Nothing")):
            page = visitor.see("/", relation=relation)
            settled(page)
            caption = page.locator(".grid caption").inner_text()
            assert ("; significantly above the offset" in caption) == (relation == "all")
            assert caption.endswith(f"{what} is significant on 30 sentences.")


def test_effects_of_heads_and_of_edges_are_those_of_the_analysis(
    ablated: Path, runs: dict[str, str]
) -> None:
    with open_bank(ablated) as bank:
        frame = bank.query("ablation_effect", run=runs["decoder"], classification="cut")
    effects = frame.filter(outcome="surprisal").to_dicts()
    by_head = {row["heads"]: row for row in effects if row["ablation"] == "each"}
    (cut,) = (row for row in effects if row["class"] == "cut")
    (of_all,) = (row for row in effects if row["ablation"] == "cut" and row["class"] == "all")
    with browsers.explored(ablated) as address, browsers.launched() as browser:
        visitor = browsers.Visitor(browser, address, 1440, "light")
        page = visitor.see("/", by="ablation", run=runs["decoder"])
        settled(page)
        assert cells(page) == {head: f"{row['difference']:.3f}" for head, row in by_head.items()}
        assert page.locator("select[name=measure]").input_value() == "ablation"
        lowest = min(by_head, key=lambda head: by_head[head]["difference"])
        kind = page.locator(f'.grid td:has([data-head="{lowest}"])').get_attribute("class")
        assert by_head[lowest]["difference"] < 0 and kind.startswith("d")
        page.locator(f'[data-head="{lowest}"]').click()
        page.wait_for_url(re.compile(f"head={lowest}"))
        settled(page)
        assert told(page.locator(".headline"), by_head[lowest]) == f"Without head {lowest}"
        assert page.locator(".small-grid.chosen").inner_text() == "Ablation"
        page = visitor.see("/", relation="nsubj", head="2-3", run=runs["decoder"])
        settled(page)
        of_head, of_edges = page.locator(".atlas-head > .hint:has(strong)").all()
        assert told(of_head, by_head["2-3"]) == "Without head 2-3"
        assert (
            told(of_edges, cut, of_all["difference"])
            == "Without the edges of nsubj (both) in all heads"
        )
        of_edges.locator("a").click()
        page.wait_for_url(re.compile("ablation=cut"))
        browsers.filled(page)
        assert page.locator("tbody tr").count() == 3
        page = visitor.see("/", relation="det", head="2-3", run=runs["decoder"])
        settled(page)
        assert page.locator(".atlas-head > .hint:has(strong)").count() == 1
        page = visitor.see("/", by="ablation", run=runs["single"])
        assert "has no ablation of each head." in page.locator('[role="alert"]').inner_text()
        assert visitor.said == []


def told(line: Any, row: dict[str, Any], of_all: float | None = None) -> str:
    """Assert that a line tells the figures of a row, rounded; return what it tells them of."""
    of, _, figures = line.inner_text().partition(": ")
    numbers = [float(number) for number in re.findall(r"[-+]?[\d.]*\d", figures)]
    expected = [row["difference"], 95, row["low"], row["high"], row["n"]]
    expected += [row["control_mean"], row["p"]] if row["controls"] else []
    expected += [of_all] if of_all is not None else []
    assert numbers == pytest.approx(expected, rel=0.05, abs=0.005)
    assert figures.endswith(f"Ablation {row['ablation']}.")
    return str(of)


def test_without_an_ablation_of_each_head_there_is_no_such_measure(
    visitor: browsers.Visitor, runs: dict[str, str]
) -> None:
    page = visitor.see("/", relation="nsubj", run=runs["decoder"])
    settled(page)
    assert "Effect of ablation" not in page.locator("select[name=measure]").inner_text()
    assert page.locator(".atlas-head > .hint:has(strong)").count() == 0
    page = visitor.see("/", by="ablation", run=runs["decoder"])
    assert "by cannot be ablation." in page.locator('[role="alert"]').inner_text()


TEMPLATES = """async () => {
  const { html, render, svg } = await import("/static/dom.js");
  const box = document.createElement("div");
  const items = (names) => names.map((name) => html`<li>${name}</li>`);
  const show = (names, kind) => render(
    html`<p class=${kind}>${"<b>&"}</p><ul>${items(names)}</ul>${names.length > 2 ? "many" : null}`,
    box);
  show(["a", "b", "c"], "one");
  const first = [...box.querySelectorAll("li")];
  show(["c", "x"], null);
  const second = [...box.querySelectorAll("li")];
  const states = [box.textContent, second[0] === first[0], second[1] === first[1],
    first[2].isConnected, box.querySelector("b"), box.querySelector("p").hasAttribute("class")];
  show([], "two");
  states.push(box.textContent);
  let clicks = 0;
  const click = () => { clicks += 1; };
  render(html`<button @click=${click} disabled=${false} .value=${"7"}>${[1, 0, 2]}</button>`, box);
  box.firstElementChild.click();
  states.push(clicks, box.firstElementChild.value, box.textContent);
  render(svg`<svg><circle r=${3}></circle></svg>`, box);
  return [...states, box.querySelector("circle").namespaceURI,
    box.querySelectorAll("ul, button").length];
}"""


def test_templates_escape_stay_and_listen(visitor: browsers.Visitor, runs: dict[str, str]) -> None:
    page = visitor.see("/", run=runs["single"])
    assert page.evaluate(TEMPLATES) == [
        "<b>&cx", True, True, False, None, False, "<b>&", 1, "7", "102",
        "http://www.w3.org/2000/svg", 0,
    ]  # fmt: skip
