"""What is drawn: the frames of one head over one sentence, and what the title says."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

ELSEWHERE = -1
"""Stands for a position, in `weights`, where the input holds more than is shown."""


@dataclass(frozen=True)
class Panel:
    """One head over one sentence.

    The frames: `words` (position, text, index, is_special, is_matched) is a row a position that is
    shown, in order; `weights` (from_position, to_position, weight) a row a line, with ELSEWHERE for
    all that is not shown; `gold` (from_position, to_position, is_found) a row a gold arc that is
    asked for; `mentions` (entity, first, last, head), in positions, a row a mention of an entity
    that is mentioned more than once, the entities numbered from 0.
    """

    sentence: str
    layer: int
    head: int
    words: pl.DataFrame
    weights: pl.DataFrame
    gold: pl.DataFrame
    mentions: pl.DataFrame

    @property
    def name(self) -> str:
        """Return the head as the paper writes it: 3-1."""
        return f"{self.layer}-{self.head}"


@dataclass(frozen=True)
class Tree:
    """A sentence's tree: the words in order, and where the head of each stands among them.

    A head is None for the root, and where it is not among the words.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int | None, ...]
    relations: tuple[str | None, ...]


@dataclass(frozen=True)
class Facts:
    """What the titles say: whose attention it is, and what is drawn how.

    `notes` are whole sentences below the title. `least` is the smallest weight that is drawn.
    """

    run: str
    model: str
    corpus: str
    relation: str | None = None
    direction: str = "dependent_to_head"
    coreference: bool = False
    least: float = 0.01
    notes: tuple[str, ...] = ()
    trees: dict[str, Tree] = field(default_factory=dict)
