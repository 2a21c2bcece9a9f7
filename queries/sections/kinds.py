"""What sections are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl


@dataclass(frozen=True)
class Section:
    """One table or figure: the analysis that answers it, and how to read the answer.

    `picture` is the analysis that is drawn, `published` the part of the published figures that
    belongs to it (None: there is none). `values` are parameters of the analysis beside the run.
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
class Comparison:
    """Published figures beside those of the bank: a row each, all cells as text.

    `source` is where they are printed, `setup` what they were measured on, `differs` why ours may
    differ. `command` is what gives our figures again.
    """

    rows: pl.DataFrame
    source: str
    setup: str
    differs: str
    command: str


@dataclass(frozen=True)
class Drawn:
    """A picture: a Vega-Lite specification or an SVG, the rows in it and how to draw it again."""

    analysis: str
    rows: pl.DataFrame
    command: str
    specification: Mapping[str, Any] | None = None
    svg: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a bank says to a section.

    `runs` are the runs that answered, `statement` is the SQL behind the rows, `command` what to
    type to get them again, `notes` what to be careful about, `seconds` how long it took,
    `kept` since when its rows were kept, in UTC, where they were not computed now.
    """

    section: Section
    title: str
    runs: tuple[str, ...]
    rows: pl.DataFrame
    statement: str
    command: str
    notes: tuple[str, ...]
    drawn: Drawn | None
    comparison: Comparison | None
    seconds: float
    kept: datetime | None = None


@dataclass(frozen=True)
class Missing:
    """A section that a bank cannot answer, with the reason, and the command that would fill it."""

    section: Section
    reason: str
    command: str
