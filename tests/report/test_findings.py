"""The first page of a report: sentences with numbers, each from a section, and what has none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bank_factory import BankFactory
from report_pages import read

from attnbank.queries import open_bank
from attnbank.queries.pictures import Chart
from attnbank.queries.report.findings import findings
from attnbank.queries.report.outline import Missing, SectionAnswer, SectionPicture, chapters
from attnbank.queries.report.runner import answer_section, subject

SECTIONS = {section.key: section for chapter in chapters() for section in chapter.sections}
HELD_OUT: dict[str, Any] = {
    "relation": ["all", "obj", "nsubj", "csubj"], "clustered_by": ["documents"] * 4,
    "p_corrected": [0.001, 0.01, 0.4, None],
}  # fmt: skip
BEST: dict[str, Any] = {
    "relation": ["obj", "nsubj", "csubj"], "layer": [3, 4, 5], "head": [1, 2, 3],
    "n": [664, 900, 17], "accuracy": [0.75, 0.6, 0.9], "low": [0.69, 0.5, 0.2],
    "high": [0.81, 0.7, 1.0], "offset_accuracy": [0.38, 0.5, 0.1], "gain": [0.37, 0.1, 0.8],
    "held_out_accuracy": [0.72, 0.6, 0.9],
}  # fmt: skip
INDUCTION: dict[str, Any] = {
    "layer": [5, 6], "head": [1, 2], "weight": [0.4, 0.1], "weight_low": [0.3, 0.05],
    "weight_high": [0.5, 0.2], "weight_chance": [0.08, 0.08], "control": [0.09, 0.09],
    "control_high": [0.1, 0.1], "n": [171, 171],
}  # fmt: skip


def answer(
    key: str, rows: Mapping[str, Any], drawn: Mapping[str, Any] | None = None
) -> SectionAnswer:
    frame = None if drawn is None else pl.DataFrame(drawn)
    picture = None if frame is None else SectionPicture("best_head", frame, "", Chart({}))
    return SectionAnswer(SECTIONS[key], "", ("r",), pl.DataFrame(rows), "", "", picture)


def texts(*answers: SectionAnswer | Missing) -> list[str]:
    return [
        finding.text for finding in findings({answer.section.key: answer for answer in answers})
    ]


def test_only_what_a_test_confirms_is_a_best_head() -> None:
    sentences = texts(answer("table-1", {}, BEST), answer("held-out-relations", HELD_OUT))
    assert sentences == [
        "The heads that gain most over a fixed offset: obj: head 3-1, 75 % [69, 81] of 664 (best"
        " fixed offset 38 %, held out 72 %).",
        "Found better than by the best fixed offset, on documents that the head was not chosen on:"
        " 1 of 2 relations (p < 0.05, corrected for the relations); not by more than chance:"
        " nsubj.",
    ]


def test_without_a_test_there_is_no_sentence() -> None:
    untested = HELD_OUT | {"p_corrected": pl.Series([None] * 4, dtype=pl.Float64)}
    assert not texts(answer("table-1", {}, BEST), answer("held-out-relations", untested))
    assert not texts(answer("table-1", {}, BEST), Missing(SECTIONS["held-out-relations"], "", ""))
    assert not texts()


def test_induction_must_be_above_the_control_and_have_positions_enough() -> None:
    (sentence,) = texts(answer("induction", INDUCTION))
    assert (
        "of 2 heads, head 5-1" in sentence
        and "40 % [30, 50]" in sentence
        and "171 positions" in sentence
    )
    assert "uniform attention: 8 %; random weights: 9 %" in sentence
    assert not texts(answer("induction", INDUCTION | {"n": [99, 99]}))
    assert not texts(answer("induction", INDUCTION | {"control_high": [0.35, 0.35]}))
    assert not texts(answer("induction", INDUCTION | {"weight_chance": [0.3, 0.3]}))


def test_norms_are_not_called_shares() -> None:
    rows: dict[str, Any] = {
        "panel": ["above", "above"], "target": ["[CLS]", ". and ,"], "layer": [1, 1],
        "head": [1, 1], "attention": [0.6, 0.1],
    }  # fmt: skip
    positions: dict[str, Any] = {
        "layer": [1], "head": [1], "previous": [0.8], "next": [0.1], "self": [0.1],
        "chance": [0.1], "previous_chance": [0.09], "next_chance": [0.09],
    }  # fmt: skip
    shares = answer("relative-position", positions)
    special, previous = texts(answer("figure-2", rows), shares)
    assert special == (
        "On average heads give 60 % of their attention to [CLS] and 10 % to periods and commas;"
        " 1 of 1 give more than half to [CLS]."
    )
    assert "1 to the previous token (head 1-1, 80 %; uniform attention 9 %)" in previous
    assert not texts(answer("figure-2", rows), Missing(SECTIONS["relative-position"], "", ""))


def test_what_random_weights_find_better_is_told_as_that() -> None:
    rows: dict[str, Any] = {
        "relation": ["all", "obj", "nsubj", "det", "case", "csubj"],
        "n": [900, 100, 100, 10, 100, 9], "run_b": ["random"] * 6,
        "difference": [0.1, 0.3, -0.3, 0.01, 0.2, 0.5],
        "p_documents_corrected": [0.001, 0.001, 0.002, 0.05, None, 0.001],
    }  # fmt: skip
    (sentence,) = texts(answer("control", rows))
    assert sentence == (
        "Found better than by random weights (random), each with its best head: 1 of 3 relations"
        " (p < 0.05, corrected for the relations); found worse: nsubj; not by more than chance:"
        " det."
    )
    assert not texts(answer("control", rows | {"p_documents_corrected": [None] * 6}))


def test_few_mentions_give_no_sentence_on_coreference() -> None:
    rows: dict[str, Any] = {
        "kind": ["all"], "n": [300], "layer": [3], "head": [5], "accuracy": [0.6], "low": [0.5],
        "high": [0.7], "rule": ["head_match"], "rule_accuracy": [0.58], "p_value": [0.4],
    }  # fmt: skip
    (sentence,) = texts(answer("held-out-mentions", rows))
    assert "60 % [50, 70] of 300" in sentence and "not better by more than chance" in sentence
    assert not texts(answer("held-out-mentions", rows | {"n": [99]}))
    assert not texts(answer("held-out-mentions", rows | {"p_value": [None]}))


def test_only_an_ablation_worse_than_random_sets_is_named() -> None:
    rows: dict[str, Any] = {
        "class": ["all", "all"], "name": ["mine", "yours"], "heads": ["3-1", "2-1"],
        "outcome": ["surprisal", "agreement"], "whole": [3.0, 0.9], "without": [3.5, 0.8],
        "controls": [99, 2], "p": [0.01, None],
    }  # fmt: skip
    (sentence,) = texts(answer("effects", rows))
    assert sentence.startswith("Without mine (3-1), surprisal goes from 3.000 to 3.500 nats")
    assert not texts(answer("effects", rows | {"p": [0.06, None]}))
    # The best of two is chosen by its p.
    assert not texts(answer("effects", rows | {"p": [0.03, 0.5]}))
    (sentence,) = texts(answer("effects", rows | {"p": [0.01, 0.5]}))
    assert "(p = 0.020, corrected for 2 tests, 99 sets)" in sentence


@pytest.mark.slow
def test_the_numbers_are_those_of_query(control_bank: Path) -> None:
    with open_bank(control_bank) as bank:
        of = subject(bank)
        keys = ("table-1", "held-out-relations", "control", "figure-2", "relative-position")
        answers = {key: answer_section(bank, SECTIONS[key], of) for key in keys}
        by_section = {finding.section.key: finding.text for finding in findings(answers)}
        held_out = bank.query("best_head_held_out")
        best = bank.query("best_head")
        special = bank.query("special_tokens")
        positions = bank.query("relative_position")
    tested = held_out.filter(pl.col("relation") != "all").drop_nulls("p_corrected")
    significant = tested.filter(pl.col("p_corrected") < 0.05)
    counts = f"{significant.height or 'none'} of {tested.height} relations"
    assert counts in by_section["held-out-relations"]
    named = re.findall(r"(\S+): head (\S+), (\d+) % \[", by_section.get("table-1", ""))
    for relation, head, share in named:
        row = best.row(by_predicate=pl.col("relation") == relation, named=True)
        assert head == f"{row['layer']}-{row['head']}" and int(share) == round(
            100 * row["accuracy"]
        )
        assert relation in significant["relation"].to_list() and row["n"] >= 100
    mean = sum(special["cls"].to_list()) / special.height
    assert f"{100 * mean:.0f} % " in by_section["figure-2"]
    over = (positions["previous"] > 0.5).sum()
    assert (f"{over} to the previous token" in by_section.get("relative-position", "")) == bool(
        over
    )


@pytest.mark.slow
def test_findings_open_the_page_and_provenance_ends_it(control_bank: Path) -> None:
    with open_bank(control_bank) as bank:
        html = bank.report()
    page = read(html)
    order = [
        section
        for section in page.ids
        if section in ("findings", "contents", "surface", "origin", "times")
    ]
    assert order == ["findings", "contents", "surface", "origin", "times"]
    start = html.index('id="findings"')
    part = html[start : html.index("</section>", start)]
    links = re.findall('href="#([^"]+)"', part)
    assert links and {*links} <= {*page.ids} and "sample/minilm" in part
    assert "SHA-256" not in html[: html.index('id="origin"')].partition("</style>")[2]
    assert "left out" not in html[html.index('id="origin"') :], "nothing was"
    assert "decoders" not in page.ids, "the model is not causal"


@pytest.mark.slow
def test_a_causal_model_has_a_chapter_on_induction(
    tiny_causal_lm: Any, bank_of: BankFactory
) -> None:
    with open_bank(bank_of("stories", tiny_causal_lm("gpt2"))) as bank:
        page = read(bank.report())
    assert {"decoders", "induction"} <= {*page.ids}
