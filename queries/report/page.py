"""Laying out the sections of a bank as one HTML page, without a script."""

from __future__ import annotations

import base64
import hashlib
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from attnbank.queries.report import facts
from attnbank.queries.report.inline import dark_rules, inline
from attnbank.queries.report.tables import Table, table_of
from attnbank.queries.sections import Answer, Missing, answer, chapters, subject
from attnbank.queries.sections.origin import Origin, origin
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankWarning
from attnbank.sql.extras import need
from attnbank.sql.outputs.lines import shown

if TYPE_CHECKING:
    from attnbank.queries import Bank
    from attnbank.queries.report.reporting import OnSection
    from attnbank.queries.sections import Chapter, Section
    from attnbank.queries.sections.kinds import Comparison, Drawn


@dataclass(frozen=True)
class Laid:
    """A section that was answered, laid out: texts, tables, and the picture as SVG for a page.

    `number` is the prefix of the ids in it. `pictured` has the rows of the picture where they are
    not those of the section; `compared` has published figures beside those of the bank.
    """

    key: str
    number: str
    title: str
    told: str
    paper: str
    reading: str
    runs: tuple[str, ...]
    kept: str
    formulas: tuple[str, ...]
    notes: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    table: Table
    picture: str
    pictured: Table | None
    picture_command: str
    statement: str
    command: str
    comparison: Comparison | None
    compared: Table | None
    setup: str


def page(bank: Bank, run: str | int | None, on_section: OnSection) -> str:
    """The report on a bank as an HTML document; with `run` on that run of words over sentences.

    What the bank cannot answer is listed in it. Raises CallError where there is no such run,
    MissingPackageError where a package is not installed, BankError where the bank is damaged.
    """
    need_packages()
    import jinja2

    with warnings.catch_warnings():
        # That a run is not finished is told where the run is described.
        warnings.simplefilter("ignore", AttnbankWarning)
        found, of = _answers(bank, run, on_section)
    answered = [each for _, those in found for each in those if isinstance(each, Answer)]
    names = list(dict.fromkeys(name for each in answered for name in each.runs))
    every = origin(bank)
    made = every.of(names)
    style = _style()
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_source),
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        main=None if of is None else shown(of),
        bank=shown(bank.path.name),
        version=version("attnbank"),
        style=style,
        digest=digest,
        setup="" if of is None else _setup(every.of((of,))),
        groups=[
            ("Models", facts.of_models(made)),
            ("Corpora", facts.of_corpora(made)),
            ("Runs", facts.of_runs(made)),
        ],
        left_out=facts.left_out(made),
        departures=facts.departures(made),
        chapters=_laid(found, every),
        missing=[
            replace(each, reason=shown(each.reason), command=shown(each.command))
            for _, those in found
            for each in those
            if isinstance(each, Missing)
        ],
        answered=len(answered),
        times=times(answered),
        total=f"{sum(each.seconds for each in answered):.1f}",
        compute=shown(shlex.join(["attnbank", "-b", str(bank.path), "compute", "--all"])),
    )


def times(answered: Sequence[Answer]) -> Table:
    """How many seconds each section took, and whether its rows were computed or read.

    The seconds are those of asking: the rows, those of the picture, and what they are compared
    with. Drawing is not among them.
    """
    return Table(
        caption="Seconds for each section",
        names=("section", "seconds", "rows"),
        kinds=("long", "number", "long"),
        rows=[
            (
                each.section.title,
                f"{each.seconds:.2f}",
                "computed" if each.kept is None else f"kept since {_minute(each.kept)}",
            )
            for each in answered
        ],
        total=len(answered),
        csv="",
        file="",
    )


def _minute(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"


def need_packages() -> None:
    """Raise MissingPackageError, with what to type, where a package of the report is missing."""
    need("A report", "jinja2", "vl_convert")


def _answers(
    bank: Bank, run: str | int | None, on_section: OnSection
) -> tuple[list[tuple[Chapter, list[Answer | Missing]]], str | None]:
    """Every section's answer, by chapter, and the name of the main run."""
    of = subject(bank, run)
    total = sum(len(each.sections) for each in chapters())
    done = 0
    found = []
    for chapter in chapters():
        those: list[Answer | Missing] = []
        for section in chapter.sections:
            on_section(done, total)
            those.append(answer(bank, section, of))
            done += 1
        found.append((chapter, those))
    on_section(total, total)
    return found, None if of.main is None else of.main.name


def _laid(
    found: list[tuple[Chapter, list[Answer | Missing]]], every: Origin
) -> list[dict[str, Any]]:
    """The chapters with their sections, those that are missing too, for the table of contents."""
    return [
        {
            "key": chapter.key,
            "title": chapter.title,
            "paper": chapter.paper,
            "sections": [
                _section(each, every, f"s{at}-{place}-") if isinstance(each, Answer) else each
                for place, each in enumerate(those)
            ],
        }
        for at, (chapter, those) in enumerate(found)
    ]


def _section(found: Answer, every: Origin, prefix: str) -> Laid:
    section = found.section
    analysis = registry.every().get(section.analysis)
    compared = found.comparison
    name = section.analysis if analysis is not None else section.key
    same = found.drawn is None or found.drawn.analysis == section.analysis
    return Laid(
        key=section.key,
        number=prefix,
        title=section.title,
        told=shown(found.title),
        paper="" if analysis is None else f"{analysis.paper[:1].upper()}{analysis.paper[1:]}",
        reading=section.reading,
        runs=tuple(map(shown, found.runs)),
        kept="" if found.kept is None else _minute(found.kept),
        formulas=() if analysis is None else analysis.formulas,
        notes=found.notes,
        columns=()
        if analysis is None
        else tuple((each.name, each.help) for each in analysis.columns if each.name != "run"),
        table=table_of(found.rows, _caption(section), name),
        picture="" if found.drawn is None else _picture(found, found.drawn, prefix),
        pictured=None
        if found.drawn is None or same
        else table_of(found.drawn.rows, "", f"{section.key}-picture"),
        picture_command="" if found.drawn is None else shown(found.drawn.command),
        statement=found.statement,
        command=shown(found.command),
        comparison=compared,
        compared=None
        if compared is None
        else table_of(
            compared.rows, f"{section.title}: the paper beside this bank", f"{name}-published",
            cuts=False,
        ),
        setup=_setup(every.of(found.runs)),
    )  # fmt: skip


def _caption(section: Section) -> str:
    return f"{section.title}: rows"


def _setup(of: Origin) -> str:
    return facts.setup(of) if of.runs.height else ""


def _picture(found: Answer, drawn: Drawn, prefix: str) -> str:
    """The picture of an answer as SVG for a page."""
    if drawn.svg is not None:
        svg = drawn.svg
    else:
        from attnbank.queries.pictures import as_bytes

        assert drawn.specification is not None
        svg = as_bytes(drawn.specification, ".svg").decode()
    return inline(svg, prefix, shown(f"{found.section.title}: {found.title}"))


def _style() -> str:
    """The style of the page, in which pictures are dark where the page is."""
    base = _source("report.css")
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{dark_rules()}\n}}\n"
    return f"{base}\n{dark}"


def _source(name: str) -> str:
    return (files("attnbank.queries.report") / name).read_text(encoding="utf-8")
