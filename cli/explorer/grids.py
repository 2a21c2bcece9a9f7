"""Grids of layers by heads: a value and a colour for each head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from attnbank.cli.explorer.colours import step
from attnbank.cli.explorer.visit import Visit
from attnbank.sql.errors import CallError


@dataclass(frozen=True)
class Measure:
    """What a grid can be coloured by: a column of an analysis, with some of its values fixed.

    `is_share` says that values lie in [0, 1]; others go up from 0.
    """

    title: str
    analysis: str
    column: str
    given: Mapping[str, str]
    is_share: bool = True


MEASURES = {
    "relation": Measure("Accuracy for a relation", "head_accuracy", "accuracy", {}),
    "previous": Measure("Attention to the previous token", "relative_position", "previous", {}),
    "self": Measure("Attention to the token itself", "relative_position", "self", {}),
    "next": Measure("Attention to the next token", "relative_position", "next", {}),
    "cls": Measure("Attention to [CLS]", "special_tokens", "cls", {}),
    "sep": Measure("Attention to [SEP]", "special_tokens", "sep", {}),
    "punctuation": Measure("Attention to . and ,", "special_tokens", "punctuation", {}),
    "entropy": Measure("Entropy in nats", "entropy", "entropy", {}, is_share=False),
    "coreference": Measure(
        "Accuracy for coreference", "coreference_accuracy", "accuracy", {"kind": "all"}
    ),
    "probe": Measure(
        "Contribution to a probe in nats", "probe_heads", "contribution", {}, is_share=False
    ),
}
"""The measures by the name that they have in an address."""

DIRECTIONS = ("dependent_to_head", "head_to_dependent")


@dataclass(frozen=True)
class Cell:
    """One head of a grid: what stands in it, its colour class, and its value in words."""

    name: str
    text: str
    colour: str
    told: str


@dataclass(frozen=True)
class Grid:
    """A row a layer and a column a head; the scale of colours goes from 0 to `high`."""

    measure: Measure
    rows: list[list[Cell]]
    run: str | None
    high: float
    best: str
    top: float


def grid(
    visit: Visit,
    name: str,
    run: str | None,
    relation: str = "all",
    direction: str = DIRECTIONS[0],
    high: float = 0.0,
) -> Grid:
    """The grid of a measure (`MEASURES`) over a run; its scale ends at `high` at least.

    Raises as `Bank.query`, CallError where no head has a value.
    """
    measure = MEASURES[name]
    given: dict[str, str | None] = dict(measure.given)
    if measure.analysis != "probe_heads":
        given["run"] = run
    answer = visit.ask(measure.analysis, **given)
    frame = answer.frame
    if name == "relation":
        # All relations at once are what `attnbank compute` keeps; a saved one is not among them.
        frame = frame.filter(pl.col("relation") == relation)
        if not frame.height:
            answer = visit.ask(measure.analysis, **given, relation=relation)
            frame = answer.frame
    if "direction" in frame.columns:
        frame = frame.filter(pl.col("direction") == direction)
    if not frame.height:
        raise CallError(
            f"{measure.title} has no value for any head of this run.", "Choose another measure."
        )
    values: dict[tuple[int, int], float | None] = {
        (layer, head): value
        for layer, head, value in frame.select("layer", "head", measure.column).rows()
    }
    known = [value for value in values.values() if value is not None and value == value]
    top = max(known, default=0.0)
    high = max(high, top)
    best = max(values, key=lambda each: (_sortable(values[each]), -each[0], -each[1]))
    layers, heads = max(each[0] for each in values), max(each[1] for each in values)
    rows = [
        [
            _cell(layer, head, values.get((layer, head)), high, measure)
            for head in range(1, heads + 1)
        ]
        for layer in range(1, layers + 1)
    ]
    return Grid(measure, rows, answer.run, high, f"{best[0]}-{best[1]}", top)


def _sortable(value: float | None) -> float:
    return float("-inf") if value is None or value != value else value


def _cell(layer: int, head: int, value: float | None, high: float, measure: Measure) -> Cell:
    name = f"{layer}-{head}"
    if value is None or value != value:
        return Cell(name, "", "none", f"{name}: no value")
    text = f"{100 * value:.0f}" if measure.is_share else f"{value:.1f}"
    return Cell(name, text, step(value, 0.0, high), f"{name}: {value:.3f}")
