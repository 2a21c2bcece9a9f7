"""Laying out the sections of a bank as one HTML page, without a script.

Its pictures are SVG whose names clash with no other, and that say their numbers.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import polars as pl

from attnbank.queries import contents
from attnbank.queries.contents import Contents
from attnbank.queries.pictures.rendering import SVG, read_svg, renumber_ids
from attnbank.queries.pictures.theme import THEMES
from attnbank.queries.report.findings import findings
from attnbank.queries.report.outline import Chapter, Missing, SectionAnswer, chapters, sides
from attnbank.queries.report.runner import (
    Subject,
    answer_section,
    plain_model,
    side_by_side,
    subject,
)
from attnbank.queries.requests import Requests
from attnbank.queries.table_formats import FormattedColumn, columns_as_text, csv_text
from attnbank.sql import outputs, registry
from attnbank.sql.errors import AttnbankWarning, CallError, require_extra
from attnbank.sql.messages import escape_control

if TYPE_CHECKING:
    import jinja2

ENDINGS = (".html", ".htm")

# Is called with how many sections are done, and how many there are.
OnSection = Callable[[int, int], None]

Named = str | int | Sequence[str | int] | None


def write_report(
    bank: Requests, path: str | Path | None, run: Named, on_section: OnSection | None,
    *, fresh: bool = False,
) -> str | None:  # fmt: skip
    """Write the report, or return its text without `path`, as `Bank.report` says."""
    if path is not None:
        check_place(path, bank.path)
    text = page(bank, run, on_section or (lambda done, total: None), fresh=fresh)
    if path is None:
        return text
    with outputs.output_file(path, bank.path) as file:
        file.write(text.encode(errors="backslashreplace"))
    return None


def check_place(path: str | Path, bank: Path) -> None:
    """Raise CallError if no report on the bank can be written at the path."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise CallError(
            f"A report is an HTML page; {path} does not end in .html.",
            "Give a file name that ends in .html.",
        )
    outputs.check_output(path, bank)


def need_packages() -> None:
    """Raise MissingPackageError, with what to type, if a package of the report is missing."""
    require_extra("A report", "report", "jinja2", "vl_convert")


def page(bank: Requests, run: Named, on_section: OnSection, *, fresh: bool = False) -> str:
    """The report as an HTML document, with what the bank cannot answer; `run` is its main run.

    Of several runs that is the first; all stand side by side.

    Raises CallError if there is no such run, MissingPackageError, BankError if the bank is damaged.
    """
    need_packages()
    from markupsafe import Markup

    named: Iterable[str | int | None] = [run] if isinstance(run, (str, int)) else run or [None]
    subjects = [subject(bank, name) for name in dict.fromkeys(named)]
    of = subjects[0]
    with warnings.catch_warnings():
        # The page says that a run is unfinished where it describes the run.
        warnings.simplefilter("ignore", AttnbankWarning)
        listed = [chapter for chapter in chapters() if of.is_causal or not chapter.is_causal]
        answers, seconds = _answer_sections(bank, listed, of, on_section, fresh=fresh)
        several = sides() if subjects[1:] else ()
        beside = [(side, side_by_side(bank, side, subjects, fresh=fresh)) for side in several]
    answered = [answer for answer in answers.values() if isinstance(answer, SectionAnswer)]
    with bank.backend.answering():
        every = contents.summarize_bank(bank.backend)
        versions = bank.backend.internal("sections/versions")
    named_runs = {name for answer in answered for name in answer.runs}
    for answer in answered:
        named_runs |= set(answer.comparison.controls if answer.comparison else ())
    named_runs |= {reported.main.name for reported in subjects if reported.main is not None}
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{dark_rules()}\n}}\n"
    style = f"{_source('report.css')}\n{dark}"
    return _template().render(
        main=None if of.main is None else of.main.name,
        bank=bank.path.name,
        attnbank=version("attnbank"),
        style=Markup(style),
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        origin=contents_of_runs(every, named_runs),
        beside=[comparison for comparison in beside if comparison[1] is not None],
        plain_model=plain_model,
        versions=versions,
        setup=lambda names: setup(contents_of_runs(every, names)),
        chapters=listed,
        findings=findings(answers),
        answers=answers,
        answered=answered,
        missing=[answer for answer in answers.values() if isinstance(answer, Missing)],
        seconds=seconds,
        analyses=registry.all_analyses(),
        table=table_of,
        picture=lambda answer, prefix: Markup(_picture(answer, prefix)),
        compute=shlex.join(["attnbank", "-b", bank.path.name, "compute", "--all"]),
    )


def _template() -> jinja2.Template:
    import jinja2
    from markupsafe import Markup

    def as_one_line(value: Any) -> Any:
        """Names and texts are of other people: control characters in them are written out."""
        is_text = isinstance(value, str) and not isinstance(value, Markup)
        return escape_control(value) if is_text else value

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_source),
        finalize=as_one_line,
    )
    return environment.get_template("report.html.j2")


def _answer_sections(
    bank: Requests, listed: Sequence[Chapter], of: Subject, on_section: OnSection, *, fresh: bool
) -> tuple[dict[str, SectionAnswer | Missing], dict[str, float]]:
    """What the bank says to each section, by its key, and how many seconds that took."""
    sections = [section for chapter in listed for section in chapter.sections]
    answers: dict[str, SectionAnswer | Missing] = {}
    seconds = {}
    for done, section in enumerate(sections):
        on_section(done, len(sections))
        begun = time.perf_counter()
        answers[section.key] = answer = answer_section(bank, section, of, fresh=fresh)
        if isinstance(answer, SectionAnswer):
            seconds[section.key] = time.perf_counter() - begun
    on_section(len(sections), len(sections))
    return answers, seconds


def _picture(answer: SectionAnswer, prefix: str) -> str:
    if answer.drawn is None:
        return ""
    svg = answer.drawn.picture.as_bytes(".svg").decode()
    return inline(svg, prefix, escape_control(f"{answer.section.title}: {answer.title}"))


def _source(name: str) -> str:
    return (files("attnbank.queries.report") / name).read_text(encoding="utf-8")


def contents_of_runs(summary: Contents, names: Collection[str]) -> Contents:
    """What is in a bank, as far as the runs of these names were made from it."""
    runs = summary.runs.filter(pl.col("name").is_in(list(names)))
    of_corpora = pl.col("corpus").is_in(runs["corpus"].unique().to_list())
    skipped = of_corpora & (pl.col("run").is_in(runs["name"].to_list()) | pl.col("run").is_null())
    return replace(
        summary,
        runs=runs,
        models=summary.models.join(
            runs.select(pl.col("model").alias("name"), "random_seed"),
            on=["name", "random_seed"], how="semi", nulls_equal=True,
        ),
        corpora=summary.corpora.filter(pl.col("name").is_in(runs["corpus"].unique().to_list())),
        skipped=summary.skipped.filter(skipped),
        departures=summary.departures.filter(of_corpora),
    )  # fmt: skip


def setup(origin: Contents) -> str:
    """Name the models and corpora of the runs, to stand beside what a paper measured on."""
    models = [
        f"{plain_model(row['name'])} ({row['layers']} layers of {row['heads']} heads"
        f"{'' if row['random_seed'] is None else ', random weights'})"
        for row in origin.models.to_dicts()
    ]
    corpora = []
    for row in origin.corpora.to_dicts():
        # What was read counts, not what the corpus has: the longest run, where some are samples.
        read = max(origin.runs.filter(corpus=row["name"]).select("sentences", "words").rows())
        of = "" if read[0] == row["sentences"] else f" of its {row['sentences']:,}"
        corpora.append(f"{row['name']} ({read[0]:,}{of} sentences, {read[1]:,} words)")
    return f"{' and '.join(models)} over {' and '.join(corpora)}" if models else ""


# Rows of a longer table that are not cut.
MOST_ROWS = 40

# Rows of a table that is cut.
FIRST_ROWS = 15
_NEVER = ("run", "run_a", "run_b")

# Characters of a cell from which its column takes several lines.
_LONG = 40


@dataclass(frozen=True)
class ReportTable:
    """A table of a page: its columns, their kinds, and the rows as text.

    A kind is number, word or long (several lines); `total` counts rows; `csv` is a data address.
    """

    names: list[str]
    kinds: list[str]
    rows: list[tuple[str, ...]]
    total: int
    csv: str


def table_of(frame: pl.DataFrame, *, cuts: bool = True) -> ReportTable:
    """Lay a frame out, of a long one the first rows (`cuts`); runs are in the CSV alone."""
    shown_rows = frame.drop(_NEVER, strict=False)
    shown_rows = shown_rows.head(FIRST_ROWS) if cuts and frame.height > MOST_ROWS else shown_rows
    columns = columns_as_text(shown_rows, exact_p=True)
    coded = base64.b64encode(csv_text(frame).encode()).decode()
    return ReportTable(
        [column.name.replace("_", " ") for column in columns],
        [_kind(column) for column in columns],
        list(zip(*(column.cells for column in columns), strict=True)),
        frame.height,
        f"data:text/csv;charset=utf-8;base64,{coded}",
    )


def _kind(column: FormattedColumn) -> str:
    if column.is_number:
        return "number"
    return "long" if max(map(len, column.cells), default=0) >= _LONG else "word"


_PARTS = ("axis", "legend", "title", "subtitle")

# What hue-rotate(180deg) does to red, green and blue, as the standard of filter effects has it.
_HALF_TURN = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
_SPOKEN = ("role", "aria-label", "aria-roledescription", "aria-hidden")


def inline(svg: str, prefix: str, label: str) -> str:
    """An SVG document as a part of a page, with `label` as its name for those who do not see it.

    Ids begin with the prefix. What the marks say of themselves becomes their title, a tooltip.
    """
    root = read_svg(svg)
    renumber_ids(root, prefix)
    for element in list(root.iter()):
        _add_mark_titles(element)
    for old in root.findall(f"{{{SVG}}}title") + root.findall(f"{{{SVG}}}desc"):
        root.remove(old)
    title = ElementTree.Element(f"{{{SVG}}}title", {"id": f"{prefix}title"})
    title.text = label
    root.insert(0, title)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}title")
    return ElementTree.tostring(root, encoding="unicode")


def dark_rules() -> str:
    """Style rules that draw the pictures, which are made for light ground, on dark ground.

    Lightness is turned round and hue is kept: rules for single colours would miss the cells of a
    grid, which lie between those of the theme. Kinds get the colours that they have on dark ground,
    and the ground of a picture becomes transparent.
    """
    light, dark = THEMES["light"], THEMES["dark"]
    pairs = {
        light.sentence.gold: dark.sentence.gold,
        **dict(zip(light.sentence.entities, dark.sentence.entities, strict=True)),
        **dict(zip(light.palette, dark.palette, strict=True)),
    }
    rules = [".picture svg { filter: invert(1) hue-rotate(180deg); }"]
    for ground in dict.fromkeys((light.background, light.sentence.ground)):
        rules.append(f'.picture rect[fill="{ground}"] {{ fill: transparent; }}')
    for before, after in pairs.items():
        for name in ("fill", "stroke"):
            rules.append(f'.picture [{name}="{before}"] {{ {name}: {colour_on_dark(after)}; }}')
    return "\n".join(rules)


def colour_on_dark(colour: str) -> str:
    """The colour that the filter of dark ground turns into this one, as near as there is one."""
    parts = [1 - int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    channels = (sum(a * b for a, b in zip(row, parts, strict=True)) for row in _HALF_TURN)
    return "#" + "".join(f"{round(255 * min(max(channel, 0.0), 1.0)):02x}" for channel in channels)


def _add_mark_titles(element: ElementTree.Element) -> None:
    """Turn what a mark says of itself into its title; the picture as a whole is one image."""
    label = element.get("aria-label")
    kind = element.get("aria-roledescription", "")
    if label is not None and kind not in _PARTS and not kind.endswith("container"):
        title = ElementTree.Element(f"{{{SVG}}}title")
        title.text = label
        element.insert(0, title)
    for name in _SPOKEN:
        element.attrib.pop(name, None)
