"""What notebooks show of a bank: tables in which every name is escaped, and what can be typed."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from case_bank import make_bank

import attnbank.ingest
import attnbank.ingest.derived.probes
import attnbank.queries
from attnbank.ingest.derived.probes import ProbeReport
from attnbank.queries import Bank, open_bank
from attnbank.sql.messages import html_table

EVIL = "<script>alert(\"1\")</script> & 'x'"
GIVEN = {
    "corpus": f"id;name;format;annotation;annotator\n1;{EVIL};conllu;gold;\n",
    "model": f"id;name;layers;heads;random_seed\n1;{EVIL};2;3;\n",
    "run": f"id;name;model;corpus;finished\n1;{EVIL};1;1;2020-01-01 10:00:00\n",
    "skipped": f"corpus;run;reason;detail;place\n1;1;too-long;{EVIL};{EVIL}\n",
}


def _read(html: str) -> tuple[str, list[list[str]]]:
    """The text of a page as a person reads it, and the cells of its tables."""
    page = ElementTree.fromstring(f"<page>{html}</page>")
    tags = {element.tag for element in page.iter()} - {"page"}
    assert tags <= {"p", "code", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    return "".join(page.itertext()), rows


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    return make_bank(tmp_path / "a<b>&.duckdb", GIVEN)


def test_a_bank_shows_its_runs(evil: Path) -> None:
    with open_bank(evil) as bank:
        text, (head, row) = _read(bank._repr_html_())
        assert str(evil) in text and repr(bank) == f"<Bank {evil}>"
    assert head[:4] == ["id", "name", "model", "corpus"]
    assert row[:4] == ["1", EVIL, EVIL, EVIL]
    text, rows = _read(bank._repr_html_())
    assert "closed" in text and not rows and "closed" in repr(bank)


def test_the_contents_show_every_part(evil: Path) -> None:
    with open_bank(evil) as bank:
        contents = bank.info()
    text, rows = _read(contents._repr_html_())
    cells = [cell for row in rows for cell in row]
    assert cells.count(EVIL) >= 6 and "skipped" in cells and "too-long" in cells
    for title in ("Runs", "Models", "Corpora", "Skipped", "Tables"):
        assert title in text
    assert f"{evil.stat().st_size:,} bytes" in text


def test_a_long_table_is_cut_and_says_so() -> None:
    frame = pl.DataFrame({"<n>": range(60), "x": [None, 0.123456789, float("nan")] * 20})
    text, rows = _read(html_table(frame, "T"))
    assert len(rows) == 51 and "and 10 more" in text
    assert rows[:3] == [["<n>", "x"], ["0", ""], ["1", "0.123457"]]


def test_a_probe_shows_its_scores() -> None:
    scores = pl.DataFrame({"relation": [EVIL], "uas": [0.5]})
    report = ProbeReport(1, "attention", EVIL, EVIL, 3, 2, 1.0, scores)
    text, rows = _read(report._repr_html_())
    assert rows == [["relation", "uas"], [EVIL, "0.5"]] and EVIL in text


def test_results_are_frames_which_escape_what_they_show() -> None:
    shown = pl.DataFrame({EVIL: [EVIL], "nested": [[EVIL]]})._repr_html_()
    assert "<script" not in shown and "&lt;script&gt;" in shown


def test_dir_lists_what_can_be_imported() -> None:
    for module in (attnbank.queries, attnbank.ingest, attnbank.ingest.derived.probes):
        assert set(module.__all__) <= set(dir(module)), module.__name__
        for name in module.__all__:
            assert getattr(module, name) is not None
    assert "open_bank" in dir(attnbank.queries) and Bank.__name__ in dir(attnbank.queries)
