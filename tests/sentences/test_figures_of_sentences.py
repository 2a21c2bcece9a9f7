"""Heads and sentences of figures 1 and 5 equal a slow choice, and are drawn as by `show`."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from attnbank.queries import open_bank

SVG = "{http://www.w3.org/2000/svg}"
PATTERNS = {
    "broad": ("entropy", "entropy"), "previous": ("relative_position", "previous"),
    "next": ("relative_position", "next"), "cls": ("special_tokens", "cls"),
    "sep": ("special_tokens", "sep"), "punctuation": ("special_tokens", "punctuation"),
    "first": ("special_tokens", "first"),
}  # fmt: skip


@pytest.mark.slow
def test_each_pattern_has_its_strongest_head(shown_bank: Path, run_names: dict[str, str]) -> None:
    for run in ("single", "decoder"):
        name = run_names[run]
        with open_bank(shown_bank) as bank:
            frame = bank.query("figure_1", run=name)
            wanted = []
            for pattern, (analysis, column) in PATTERNS.items():
                rows = bank.query(analysis, run=name).rows(named=True)
                known = [row for row in rows if row[column] is not None]
                if not known or (pattern == "next" and run == "decoder"):
                    continue
                top = max(known, key=lambda row: (row[column], -row["layer"], -row["head"]))
                wanted.append((pattern, top["layer"], top["head"], top[column]))
            assert frame.select("pattern", "layer", "head").rows() == [row[:3] for row in wanted]
            assert frame["value"].to_list() == pytest.approx([row[3] for row in wanted])
            words = bank.sql(
                "select sentence.id, count(*) as n, count(*) filter (where form = ',') as commas"
                " from word inner join sentence on sentence.id = word.sentence where"
                " sentence.document in (select id from document where corpus ="
                f" (select corpus from run where name = '{name}')) group by sentence.id"
            ).rows()  # fmt: skip
        best = min(words, key=lambda row: (not (row[2] and 8 <= row[1] <= 14),
                                           abs(row[1] - 10), row[0]))  # fmt: skip
        assert set(frame["sentence"]) == {best[0]}


@pytest.mark.slow
@pytest.mark.parametrize("run", ["single", "decoder"])
def test_each_relation_has_its_best_head_on_a_sentence_that_has_it(
    shown_bank: Path, run_names: dict[str, str], run: str
) -> None:
    name = run_names[run]
    with open_bank(shown_bank) as bank:
        frame = bank.query("figure_5", run=name, min_count=1, most=4, p_below=2)
        best = bank.query("best_head", run=name, min_count=1).filter(pl.col("relation") != "all")
        gold = bank.query("gold_dependency", run=name).select("relation", "dependent", "sentence")
        lengths = dict(bank.sql("select id, words from sentence").rows())
        figure = bank.picture("figure_5", run=name, min_count=1, most=4, p_below=2)
        panels = [
            bank.show(row["sentence"], f"{row['layer']}-{row['head']}", run=name,
                      relation=row["relation"], direction=row["direction"]).panels[0]
            for row in frame.rows(named=True)
        ]  # fmt: skip
    ranked = sorted(best.rows(named=True), key=lambda row: (-row["gain"], row["relation"]))[:4]
    columns = ("relation", "layer", "head", "direction", "n", "accuracy", "gain")
    assert frame.select(columns).rows() == [
        tuple(row[column] for column in columns) for row in ranked
    ]
    for row in frame.rows(named=True):
        own = gold.filter(relation=row["relation"]).unique()
        counts = Counter(own["sentence"].to_list())
        fitting = [count for count in counts if 8 <= lengths[count] <= 16]
        if fitting:
            wanted = min(fitting, key=lambda each: (-counts[each], lengths[each], each))
        else:
            wanted = min(counts, key=lambda each: (lengths[each], each))
        assert row["sentence"] == wanted
    root = ET.fromstring(figure.as_bytes(".svg"))
    drawn = [each for each in root.iter(f"{SVG}g") if each.get("class") == "panel"]
    for element, panel in zip(drawn, panels, strict=True):
        lines = {
            (each.attrib["data-from"], each.attrib["data-to"]): float(each.attrib["data-weight"])
            for each in element.iter(f"{SVG}line")
        }
        kept = {(str(a), str(b)): weight for a, b, weight in panel.weights.rows() if weight >= 0.01}
        assert {ends: lines[ends] for ends in kept} == pytest.approx(kept, rel=1e-6)
    titles = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    for row in ranked:
        assert any(f"{row['layer']}-{row['head']}  {row['relation']}" in title for title in titles)
