"""Every analysis that has a picture: what is drawn are its rows, on cases checked by hand."""

from __future__ import annotations

import math
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from case_bank import make_bank
from drawn import figures_of, marks_of

from attnbank.queries import analyses, open_bank, pictures
from attnbank.queries.pictures import specification
from attnbank.sql.header import Analysis

CASES = Path(__file__).parents[1] / "cases"
DRAWN = [
    analysis
    for analysis in analyses().values()
    if analysis.plot is not None and analysis.plot.kind != pictures.SENTENCES
]
OF_SENTENCES = {"figure_1", "figure_5"}
"""Those drawn as sentences are: see tests/sentences/test_figures_of_sentences.py."""
NOT_DRAWN = {
    "attention_span", "attention_tree", "coreference_baseline_prediction", "coreference_candidate",
    "coreference_mention", "coreference_prediction", "gold_dependency", "table_1", "table_2",
    "table_3",
}  # fmt: skip
MARKS = {
    "grid": "rect", "matrix": "rect", "bars": "rect",
    "points": "symbol", "lines": "symbol", "scatter": "symbol",
}  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def test_every_analysis_has_a_picture_or_is_known_to_have_none() -> None:
    assert {analysis.name for analysis in analyses().values()} - {each.name for each in DRAWN} == (
        NOT_DRAWN | OF_SENTENCES
    )


@pytest.mark.usual(
    "best_head*", "entropy", "figure_*", "head_accuracy", "head_embedding", "layer_similarity"
)
@pytest.mark.few(3)
@pytest.mark.parametrize("analysis", DRAWN, ids=lambda each: each.name)
def test_the_picture_shows_the_rows(analysis: Analysis, tmp_path: Path) -> None:
    assert analysis.plot is not None
    told = tomllib.loads((CASES / f"{analysis.name}.toml").read_text(encoding="utf-8"))
    params = told.get("params", {})
    with open_bank(make_bank(tmp_path / "case.duckdb", told["given"])) as bank:
        frame = bank.query(analysis.name, **params)
    made = specification(analysis, frame)
    plot, rows = analysis.plot, made["datasets"]["rows"]
    placed = (*plot.panel, *(plot.y[:1] if plot.kind != "grid" else ()))
    placed += tuple(each for each in plot.x if each != "longest") if plot.kind != "grid" else ()
    wanted = [
        {name: _plain(value) for name, value in row.items()}
        for row in frame.iter_rows(named=True)
        if all(row[each] is not None for each in placed)
    ]
    shown_rows = [{name: row[name] for name in frame.columns} for row in rows]
    assert wanted and sorted(map(str, shown_rows)) == sorted(map(str, wanted))
    amounts = {"bars": plot.x, "points": plot.y, "lines": plot.y}.get(plot.kind, plot.color)
    drawn = [figures_of(mark) for mark in marks_of(made, MARKS[plot.kind])]
    for column in amounts:
        shown = {each[column] for each in drawn if column in each}
        shown |= {each["column value"] for each in drawn if "column value" in each}
        for row in rows:
            if plot.significant and not (row[plot.significant] or 1) < 0.05:
                continue
            if isinstance(row[column], (int, float)):
                assert any(_same(row[column], each) for each in shown), (column, row)


def _same(value: float, shown: str) -> bool:
    try:
        return math.isclose(value, float(shown.replace("\u2212", "-").replace(",", "")),
                            rel_tol=1e-9, abs_tol=1e-12)  # fmt: skip
    except ValueError:
        return False
