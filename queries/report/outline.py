"""The chapters and sections, and the published figures, as their files state them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl

from attnbank.queries.pictures import Picture
from attnbank.queries.sentences.showing import Figure


@dataclass(frozen=True)
class Section:
    """One table or figure: the analysis that answers it, and how to read the answer.

    `picture` is the analysis drawn, `published` the part of the published figures, if any, `values`
    are parameters beside the run.
    """

    key: str
    title: str
    analysis: str
    reading: str
    picture: str
    published: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chapter:
    """Sections that belong together, and the part of a paper that they answer to."""

    key: str
    title: str
    paper: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class ComparedSide:
    """A figure that a report on several runs compares.

    It is the `value` of the rows with the same `keys`, the columns of `named` beside it, or the
    means over all heads of `values`.
    """

    title: str
    analysis: str
    keys: tuple[str, ...] = ()
    value: str = ""
    named: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperComparison:
    """Published figures beside ours, as text, with their source and why they may differ.

    `controls` are the runs that answered for random weights.
    """

    rows: pl.DataFrame
    source: str
    setup: str
    differs: str
    controls: tuple[str, ...] = ()


@dataclass(frozen=True)
class SectionPicture:
    """A picture, the rows in it and how to draw it again."""

    analysis: str
    rows: pl.DataFrame
    command: str
    picture: Picture | Figure


@dataclass(frozen=True)
class SectionAnswer:
    """What a bank says to a section.

    `runs` answered, `statement` is the SQL, `command` what to type for the rows, `kept` since when
    (UTC) they were kept, if they were not computed now, `rule` why its run was taken.
    """

    section: Section
    title: str
    runs: tuple[str, ...]
    rows: pl.DataFrame
    statement: str
    command: str
    drawn: SectionPicture | None
    comparison: PaperComparison | None = None
    kept: datetime | None = None
    rule: str = ""


@dataclass(frozen=True)
class Missing:
    """A section that a bank cannot answer, with the reason, and the command that would fill it."""

    section: Section
    reason: str
    command: str


@cache
def chapters() -> tuple[Chapter, ...]:
    """The chapters in the order of the paper, then those of other papers and of controls."""
    return tuple(
        Chapter(
            chapter["key"],
            chapter["title"],
            chapter["paper"],
            tuple(
                Section(**{"picture": section["analysis"]} | section)
                for section in chapter["section"]
            ),
        )
        for chapter in _load_toml("sections.toml")["chapter"]
    )


@cache
def sides() -> tuple[ComparedSide, ...]:
    """The figures that a report on several runs compares."""
    sections = []
    for side in _load_toml("sections.toml")["side"]:
        lists = {key: tuple(side.get(key, ())) for key in ("keys", "named", "values")}
        sections.append(
            ComparedSide(side["title"], side["analysis"], value=side.get("value", ""), **lists)
        )
    return tuple(sections)


@cache
def published() -> dict[str, Any]:
    """The published figures, by the name that a section gives."""
    return _load_toml("published.toml")


def _load_toml(name: str) -> dict[str, Any]:
    text = (files("attnbank.queries.report") / name).read_text(encoding="utf-8")
    return tomllib.loads(text)
