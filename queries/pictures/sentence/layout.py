"""Where everything stands in a picture, in pixels from its left upper corner."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from attnbank.queries.pictures.sentence.panel import ELSEWHERE, Panel
from attnbank.queries.pictures.sentence.text import width, written

MARGIN = 16.0
GUTTER = 28.0
"""Between two panels."""
LANE = 14.0
"""For the bar of a mention, of which one that stands in another has a lane of its own."""
_WIDEST = 1240.0
ELSEWHERE_TEXT = "elsewhere in the input"


@dataclass(frozen=True)
class Scale:
    """The sizes of a panel: of its letters, from row to row, and from column to column."""

    font: float
    row: float
    across: float
    title: float


LARGE = Scale(font=14, row=21, across=120, title=15)
SMALL = Scale(font=9, row=12.5, across=58, title=11)


@dataclass(frozen=True)
class Place:
    """Where a panel stands, and what stands where in it.

    `left` and `right` are the x of the inner edges of the two columns, `column` is how wide one is,
    `rows` the y of the middle of each position; ELSEWHERE is below them, where there is such a
    line. `lanes` is how many lanes of mentions each column has beside it.
    """

    panel: Panel
    scale: Scale
    x: float
    y: float
    width: float
    height: float
    left: float
    right: float
    column: float
    rows: dict[int, float]
    lanes: int


def lanes_of(panel: Panel) -> list[int]:
    """The lane of each mention: the first in which no other one stands at the same place."""
    ends: list[list[tuple[int, int]]] = []
    found = []
    for _, first, last, _ in panel.mentions.rows():
        lane = next(
            (at for at, taken in enumerate(ends) if all(last < a or b < first for a, b in taken)),
            len(ends),
        )
        if lane == len(ends):
            ends.append([])
        ends[lane].append((first, last))
        found.append(lane)
    return found


def places(panels: Sequence[Panel], top: float) -> list[Place]:
    """The panels in rows, from `top` on: a sentence's heads side by side, in as many as they take.

    More than four heads of a sentence, or more than six panels, are drawn small.
    """
    sentences = list(dict.fromkeys(each.sentence for each in panels))
    of_each = max(sum(each.sentence == name for each in panels) for name in sentences)
    scale = SMALL if of_each > 4 or len(panels) > 6 else LARGE
    sized = [_sized(each, scale, is_titled=len(panels) > 1) for each in panels]
    found: list[Place] = []
    y = top
    for row in _rows(sized, breaks=of_each > 1):
        x = MARGIN
        for each in row:
            found.append(replace(each, x=x, y=y))
            x += each.width + GUTTER
        y += max(each.height for each in row) + GUTTER * 0.8
    return found


def _rows(sized: Sequence[Place], *, breaks: bool) -> Iterator[Sequence[Place]]:
    """Panels that fit beside each other, about as many in each row.

    With `breaks` a sentence begins a row of its own.
    """
    groups: dict[str, list[Place]] = {}
    for each in sized:
        groups.setdefault(each.panel.sentence if breaks else "", []).append(each)
    for group in groups.values():
        fit = 1
        for count in range(1, len(group) + 1):
            parts = [group[at : at + count] for at in range(0, len(group), count)]
            if all(sum(each.width + GUTTER for each in row) <= _WIDEST for row in parts):
                fit = count
        count = math.ceil(len(group) / math.ceil(len(group) / fit))
        yield from (group[at : at + count] for at in range(0, len(group), count))


def _sized(panel: Panel, scale: Scale, *, is_titled: bool) -> Place:
    texts = [written(text) for text in panel.words["text"]]
    column = max((width(text, scale.font) for text in texts), default=0.0) + 8
    has_rest = ELSEWHERE in panel.weights["to_position"]
    beyond = max(column, width(ELSEWHERE_TEXT, scale.font) + 8) if has_rest else column
    lanes = max(lanes_of(panel), default=-1) + 1
    room = lanes * LANE
    head = scale.title * 1.8 if is_titled else 0.0
    rows = {
        position: head + (at + 0.5) * scale.row
        for at, position in enumerate(panel.words["position"])
    }
    if has_rest:
        rows[ELSEWHERE] = head + (len(texts) + 0.9) * scale.row
    return Place(
        panel=panel,
        scale=scale,
        x=0.0,
        y=0.0,
        width=room + column + scale.across + max(beyond, column + room),
        height=head + (len(texts) + (1.4 if has_rest else 0)) * scale.row,
        left=room + column,
        right=room + column + scale.across,
        column=column,
        rows=rows,
        lanes=lanes,
    )
