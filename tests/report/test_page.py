"""The page: every number in it is one of the rows, and nothing of it comes from outside."""

from __future__ import annotations

import base64
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from report_pages import Reader, read

import offline
from attnbank.queries import open_bank
from attnbank.queries.contents import Contents
from attnbank.queries.drawing import Figure
from attnbank.queries.pictures import THEMES
from attnbank.queries.pictures.sentence import ELSEWHERE, Panel
from attnbank.queries.report.outline import Missing, SectionAnswer, chapters
from attnbank.queries.report.page import (
    FIRST_ROWS,
    MOST_ROWS,
    colour_on_dark,
    dark_rules,
    inline,
    setup,
)
from attnbank.queries.report.runner import answer_section, subject
from attnbank.queries.table_formats import columns_as_text, csv_columns
from attnbank.sql.registry import find_analysis

Answers = dict[str, SectionAnswer]
pytestmark = pytest.mark.slow  # the page with everything takes ten seconds


@pytest.fixture(scope="module")
def asked(full_bank: Path) -> dict[str, SectionAnswer | Missing]:
    """What the bank says to every section, by its key."""
    with open_bank(full_bank) as bank:
        of = subject(bank)
        return {
            section.key: answer_section(bank, section, of)
            for chapter in chapters()
            for section in chapter.sections
            if not chapter.is_causal
        }


@pytest.fixture(scope="module")
def answers(asked: dict[str, SectionAnswer | Missing]) -> Answers:
    return {key: answer for key, answer in asked.items() if isinstance(answer, SectionAnswer)}


@pytest.fixture(scope="module")
def made(full_bank: Path) -> tuple[str, list[tuple[int, int]]]:
    """The page, and what was told while it was made."""
    told: list[tuple[int, int]] = []
    with open_bank(full_bank) as bank:
        text = bank.report(on_section=lambda done, total: told.append((done, total)))
    return text, told


@pytest.fixture(scope="module")
def html(made: tuple[str, list[tuple[int, int]]]) -> str:
    return made[0]


@pytest.fixture(scope="module")
def page(html: str) -> Reader:
    return read(html)


def test_all_sections_are_there_in_the_order_of_the_paper(
    page: Reader, asked: dict[str, SectionAnswer | Missing], answers: Answers
) -> None:
    assert [id for id in page.ids if id in asked] == [*answers]
    assert {"table-1", "table-2", "table-3", "figure-2", "figure-3", "figure-4"} <= {*answers}
    assert {"figure-6", "ablation", "functions", "held-out-relations"} <= {*answers}
    absent = [f"missing-{key}" for key in asked if key not in answers]
    assert [id for id in page.ids if id.startswith("missing-")] == absent
    # Of random weights no head is better than chance.
    assert {*absent} == {"missing-control", "missing-figure-5"}


def test_every_number_is_one_of_the_rows(page: Reader, answers: Answers) -> None:
    for key, answer in answers.items():
        rows = answer.rows.drop("run", "run_a", "run_b", strict=False)
        rows = rows.head(FIRST_ROWS) if rows.height > MOST_ROWS else rows
        cells = [column.cells for column in columns_as_text(rows)]
        header, *table = page.tables[key][-1]
        assert header == [name.replace("_", " ") for name in rows.columns]
        assert table == [list(row) for row in zip(*cells, strict=True)]
        if answer.comparison is not None:
            compared = page.tables[key][0]
            assert compared[1:] == [list(row) for row in answer.comparison.rows.rows()]


def test_the_csv_has_every_row(page: Reader, answers: Answers) -> None:
    for key, answer in answers.items():
        tables = [answer.rows]
        if answer.drawn is not None and answer.drawn.analysis != answer.section.analysis:
            tables.append(answer.drawn.rows)
        if answer.comparison is not None:
            tables.append(answer.comparison.rows)
        for address, rows in zip(page.downloads[key].values(), tables, strict=True):
            _check(address, rows)


def _check(address: str, rows: pl.DataFrame) -> None:
    """The CSV of an address has these rows; sums of several threads differ in the last digits."""
    start = "data:text/csv;charset=utf-8;base64,"
    assert address.startswith(start)
    text = base64.b64decode(address.removeprefix(start)).decode()
    plain = csv_columns(rows)
    back = pl.read_csv(io.StringIO(text), schema=plain.schema)
    texts = [name for name, dtype in plain.schema.items() if dtype == pl.String]
    assert_frame_equal(
        back.with_columns(pl.col(texts).fill_null("")),
        plain.with_columns(pl.col(texts).fill_null("")),
        rel_tol=1e-9,
    )


def test_every_picture_says_the_numbers_of_its_rows(html: str, answers: Answers) -> None:
    """Each row stands in a mark with all that is drawn of it, and no mark says anything else."""
    pictures = {key: answer.drawn for key, answer in answers.items() if answer.drawn is not None}
    assert len(pictures) > 15
    for key, drawn in pictures.items():
        part = html[html.index(f'<article id="{key}"') :]
        part = part[part.index("<svg") : part.index("</figure>")]
        root = ElementTree.fromstring(part[: part.rindex("</svg>") + len("</svg>")])
        if isinstance(drawn.picture, Figure):
            _check_lines(root, drawn.picture.shown.panels)
        else:
            _check_marks(root, drawn.analysis, drawn.rows)


def _check_marks(root: ElementTree.Element, name: str, frame: pl.DataFrame) -> None:
    """The titles of marks, COLUMN: VALUE and so on, against the rows of an analysis."""
    rows = frame.to_dicts()
    said: set[tuple[int, str]] = set()
    for mark in _said(root, frame.columns):
        fit = [at for at, row in enumerate(rows) if _agrees(mark, row)]
        # A line through means is one mark for all of its points, and names no row.
        assert fit or ("head" in frame.columns and "head" not in mark), (name, mark)
        said |= {(at, column) for at in fit for column in mark}
    plot = find_analysis(name).plot
    assert plot is not None
    shown = {
        "grid": plot.color,
        "points": plot.y,
        "bars": (*plot.x, *plot.beside),
        "lines": plot.y,
        "scatter": (*plot.x, *plot.y, *plot.color),
    }[plot.kind]
    placed = (*plot.panel, *plot.x, *(plot.y if plot.kind == "lines" else ()))
    for at, row in enumerate(rows):
        if all(row[column] is not None for column in placed):
            missing = [c for c in shown if row[c] is not None and (at, c) not in said]
            assert not missing, (name, row, missing)


def _said(root: ElementTree.Element, columns: list[str]) -> Iterator[dict[str, str]]:
    """What the marks of a picture say, by column; the picture as a whole has a title too."""
    titles = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")]
    for title in titles[1:]:
        fields = dict(part.split(": ", 1) for part in title.split("; ") if ": " in part)
        fields = {key.lower(): value for key, value in fields.items()} | fields
        if "column name" in fields:  # several columns that are drawn below one another
            fields[fields["column name"]] = fields["column value"]
        own = {column: fields[column] for column in columns if column in fields}
        if own:
            yield own


def _agrees(mark: Mapping[str, str], row: Mapping[str, object]) -> bool:
    """Whether what a mark says is what stands in a row, numbers to nine digits."""
    for column, text in mark.items():
        value = row[column]
        if isinstance(value, float):
            number = float(text.replace("\u2212", "-").replace(",", "")) if text != "null" else None
            if number is None or number != pytest.approx(value, rel=1e-9, abs=1e-12):
                return False
        elif text != ("null" if value is None else str(value)):
            return False
    return True


def _check_lines(root: ElementTree.Element, panels: Sequence[Panel]) -> None:
    """The lines of drawn sentences against their weights; those too faint are not drawn."""
    space = "{http://www.w3.org/2000/svg}"
    drawn = [each for each in root.iter(f"{space}g") if each.get("class") == "panel"]
    assert len(drawn) == len(panels) > 1
    for element, panel in zip(drawn, panels, strict=True):
        weights = {
            (str(start), "elsewhere" if end == ELSEWHERE else str(end)): weight
            for start, end, weight in panel.weights.rows()
        }
        lines = {
            (each.get("data-from", ""), each.get("data-to", "")): float(
                each.get("data-weight", "nan")
            )
            for each in element.iter(f"{space}line")
            if each.get("class") == "line"
        }
        assert lines == pytest.approx({place: weights[place] for place in lines}, rel=1e-8)
        assert {place for place, weight in weights.items() if weight >= 0.01} <= {*lines}


def test_nothing_is_asked_for_elsewhere(html: str, page: Reader, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    assert not list(offline.fetched(tmp_path))
    assert not {"script", "iframe", "link", "img", "object", "form"} & {*page.tags}
    assert not [
        attribute
        for attribute in page.attributes
        if attribute[1].startswith("on") or attribute[1] == "style"
    ]
    policy = next(value for _, name, value in page.attributes if value.startswith("default-src"))
    assert "default-src 'none'" in policy and "unsafe" not in policy
    followed = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert all(value.startswith(("#", "data:text/csv;")) for value in followed)


def test_the_page_is_well_built(page: Reader) -> None:
    assert len({*page.ids}) == len(page.ids)
    for tag, name, value in page.attributes:
        if (tag, name) == ("a", "href") and value.startswith("#"):
            assert value[1:] in page.ids
        if name == "aria-labelledby":
            assert value in page.ids
        if value.startswith("url(#"):
            assert value[5:-1] in page.ids
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len({*page.captions}) == len(page.captions)
    assert page.tags.count("svg") == sum(value == "img" for _, _, value in page.attributes)


def test_progress_is_told(made: tuple[str, list[tuple[int, int]]]) -> None:
    total = sum(len(chapter.sections) for chapter in chapters() if not chapter.is_causal)
    assert made[1] == [(done, total) for done in range(total + 1)]


def test_pictures_on_one_page_do_not_clash() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg"><title>old</title>'
        '<clipPath id="a"/><g clip-path="url(#a)" aria-label="x &lt; 1" role="graphics-symbol"/>'
        "</svg>"
    )
    made = ElementTree.fromstring(inline(svg, "p-", "a <picture>"))
    name = "{http://www.w3.org/2000/svg}"
    assert [element.text for element in made.iter(f"{name}title")] == ["a <picture>", "x < 1"]
    assert made.find(f"{name}clipPath").get("id") == "p-0"  # type: ignore[union-attr]
    assert made.find(f"{name}g").attrib == {"clip-path": "url(#p-0)"}  # type: ignore[union-attr]
    assert made.get("aria-labelledby") == "p-title"


def test_colours_of_kinds_are_those_of_the_dark_theme_on_dark_ground() -> None:
    """The rule of each colour is what the filter makes the dark colour of, to a rounding."""
    rules = dark_rules()
    for before, after in zip(THEMES["light"].palette, THEMES["dark"].palette, strict=True):
        assert f'.picture [fill="{before}"] {{ fill: {colour_on_dark(after)}; }}' in rules
    for colour in ("#56b4e9", "#767676", "#c080a0", "#000000", "#ffffff"):
        again = colour_on_dark(colour_on_dark(colour))
        parts = [[int(each[at : at + 2], 16) for at in (1, 3, 5)] for each in (colour, again)]
        assert all(abs(a - b) <= 2 for a, b in zip(*parts, strict=True))
    assert colour_on_dark("#ffffff") == "#000000" and colour_on_dark("#1a1a1a") == "#e5e5e5"


def test_a_report_counts_the_sentences_that_a_run_has_read() -> None:
    corpora = pl.DataFrame({"name": ["c"], "sentences": [873], "words": [14411]})
    models = pl.DataFrame({"name": ["m"], "layers": [6], "heads": [12], "random_seed": [None]})
    runs = pl.DataFrame({"corpus": ["c", "c"], "sentences": [60, 40], "words": [846, 500]})
    none = pl.DataFrame()
    read = setup(Contents(Path("b"), 0, 1, "", runs, models, corpora, none, none, none))
    assert read == "m (6 layers of 12 heads) over c (60 of its 873 sentences, 846 words)"
