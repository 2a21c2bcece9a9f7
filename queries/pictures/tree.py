"""Draw a dependency tree as labelled arcs above its words, in several rows if it is wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from html import escape

from attnbank.queries.pictures.rendering import (
    element,
    isolate_direction,
    shorten_for_svg,
    text_width,
)
from attnbank.queries.pictures.theme import Palette
from attnbank.sql.messages import is_right_to_left

DASHED = "5 3"

# Pixels of a row; a wider tree continues in another row.
_MAX_WIDTH = 1208.0

_WORD_SIZE = 14.0

# Pixels between two words, and between two rows.
_GAP = 12.0

# Pixels between the ends of two arcs at one word.
_APART = 7.0

_CORNER = 5.0


@dataclass(frozen=True)
class Tree:
    """The words of a sentence, and the index from 0 of each one's head (None: root, or not shown).

    `wrong` has the words of a decoded tree whose arc is no gold dependency in either direction;
    such arcs are dashed. `positions` are those of the words in the input.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int | None, ...]
    relations: tuple[str | None, ...]
    wrong: frozenset[int] = frozenset()
    positions: tuple[int, ...] = ()

    @cached_property
    def runs_left(self) -> bool:
        """Whether most words are right-to-left, so that the first word is at the right."""
        letters = [word for word in self.words if any(map(str.isalpha, word))]
        return 2 * sum(map(is_right_to_left, letters)) > len(letters)

    @cached_property
    def arcs(self) -> list[_Arc]:
        """An arc for each word with a head in the tree, in the order of the words."""
        return [
            _Arc(at, head, shorten_for_svg(self.relations[at] or ""), at in self.wrong)
            for at, head in enumerate(self.heads)
            if head is not None and head != at
        ]


@dataclass(frozen=True)
class _Arc:
    dependent: int
    head: int
    label: str
    is_wrong: bool

    @property
    def span(self) -> tuple[int, int]:
        return min(self.dependent, self.head), max(self.dependent, self.head)

    @property
    def length(self) -> int:
        return abs(self.dependent - self.head)


@dataclass(frozen=True)
class _TreeRow:
    """The words from `first` to `last`, the x of their `middles`, and the row's width in pixels."""

    first: int
    last: int
    middles: dict[int, float]
    wide: float


def tree_width(tree: Tree, note: float = 12.0) -> float:
    """The width in pixels that a tree needs, without margins."""
    return min(sum(_column_widths(tree, note)), _MAX_WIDTH)


def draw_tree(
    tree: Tree, x: float, y: float, room: float, colours: Palette, note: float = 12.0
) -> tuple[str, float]:
    """Draw a tree as SVG within `room` pixels; also return its height in pixels.

    Labels are `note` pixels high. A tree without room continues in another row, like a staff of
    music: an arc that leaves a row at its end enters the next one, and has its label in each row
    with room for it.
    """
    rows, height, groups = _wrap_words(tree, room, note), 0.0, []
    width = max(row.wide for row in rows)
    readable = {
        arc
        for row in rows
        for arc, (start, end) in _arc_pieces(tree, row).items()
        if end - start >= _label_width(arc, note)
    }
    for row in rows:
        row_svg, row_height = _draw_row(tree, row, colours, note, width, readable)
        groups.append(element("g", row_svg, class_="row", transform=f"translate(0 {height:.1f})"))
        height += row_height + _GAP
    attributes = {"transform": f"translate({x:.1f} {y:.1f})", "stroke_linecap": "round"}
    return element("g", *groups, class_="tree", **attributes), height - _GAP


def _column_widths(tree: Tree, note: float) -> list[float]:
    """The width of each word's column: for the word, its arcs and the labels of short arcs."""
    ends = [0] * len(tree.words)
    for arc in tree.arcs:
        ends[arc.dependent] += 1
        ends[arc.head] += 1
    widths = [
        max(
            text_width(shorten_for_svg(word), _WORD_SIZE),
            text_width(shorten_for_svg(tag), note),
            _APART * count,
        )
        + _GAP
        for word, tag, count in zip(tree.words, tree.tags, ends, strict=True)
    ]
    for arc in sorted(tree.arcs, key=lambda arc: arc.length):
        first, last = arc.span
        between = sum(widths[first : last + 1]) - (widths[first] + widths[last]) / 2
        # An arc does not end at the middle of its word, but beside the other arcs' ends.
        beside_middles = _APART * (ends[first] + ends[last] - 2) / 2
        missing = _label_width(arc, note) + 2 * _CORNER + beside_middles - between
        if missing > 0:
            widths[first] += missing
            widths[last] += missing
    return widths


def _wrap_words(tree: Tree, room: float, note: float) -> list[_TreeRow]:
    """Break the words into rows of at most `room` pixels; a wider word has its own row."""
    rows: list[_TreeRow] = []
    first, filled = 0, 0.0
    middles: dict[int, float] = {}
    for at, width in enumerate(_column_widths(tree, note)):
        if middles and filled + width > room:
            rows.append(_TreeRow(first, at - 1, middles, filled))
            first, filled, middles = at, 0.0, {}
        middles[at] = filled + width / 2
        filled += width
    return [*rows, _TreeRow(first, len(tree.words) - 1, middles, filled)]


def _levels(row: _TreeRow, arcs: Sequence[_Arc]) -> dict[_Arc, int]:
    """The level of each arc, from 1: above all arcs that it spans or crosses."""
    levels: dict[_Arc, int] = {}
    # The highest level so far over each gap between two words, including the gaps before and after
    # the row, where arcs from and to other rows meet.
    heights = [0] * (row.last - row.first + 2)
    for arc in sorted(arcs, key=lambda arc: (arc.length, arc.span)):
        first, last = arc.span
        gaps = slice(max(first - row.first + 1, 0), min(last - row.first + 1, len(heights)))
        levels[arc] = 1 + max(heights[gaps])
        heights[gaps] = [levels[arc]] * len(heights[gaps])
    return levels


def _arc_ends(row: _TreeRow, arcs: Sequence[_Arc]) -> dict[tuple[_Arc, int], float]:
    """The x of each arc's end at each word: arcs to the left end left, long arcs inside."""
    lefts: dict[int, list[_Arc]] = {at: [] for at in row.middles}
    rights: dict[int, list[_Arc]] = {at: [] for at in row.middles}
    for arc in sorted(arcs, key=lambda arc: arc.length):
        first, last = arc.span
        if last in lefts:
            lefts[last].append(arc)
        if first in rights:
            rights[first].append(arc)
    ends = {}
    for at, middle in row.middles.items():
        arcs_at_word = [*lefts[at], *sorted(rights[at], key=lambda arc: -arc.length)]
        for rank, arc in enumerate(arcs_at_word):
            ends[arc, at] = middle + (rank - (len(arcs_at_word) - 1) / 2) * _APART
    return ends


def _arc_pieces(tree: Tree, row: _TreeRow) -> dict[_Arc, tuple[float, float]]:
    """The start and end x of each arc that is visible in a row."""
    arcs = [arc for arc in tree.arcs if arc.span[0] <= row.last and arc.span[1] >= row.first]
    ends = _arc_ends(row, arcs)
    return {
        arc: (ends.get((arc, arc.span[0]), 0.0), ends.get((arc, arc.span[1]), row.wide))
        for arc in arcs
    }


def _label_width(arc: _Arc, note: float) -> float:
    return text_width(arc.label, note) + 4


def _draw_row(
    tree: Tree, row: _TreeRow, colours: Palette, note: float, row_width: float, readable: Set[_Arc]
) -> tuple[str, float]:
    """Draw a row: arcs, then labels over them, then words; also return its height.

    An arc without room for its label has none, if it is `readable` in another row.
    """
    pieces = _arc_pieces(tree, row)
    levels = _levels(row, [*pieces])
    level_height = note * 1.35
    bottom = (max(levels.values(), default=0) + 0.9) * level_height

    def mirrored(at: float) -> float:
        return row_width - at if tree.runs_left else at

    paths, labels = [], []
    for arc, (start, end) in pieces.items():
        colour = colours.faint if arc.is_wrong else colours.text
        top = bottom - levels[arc] * level_height - 0.25 * level_height
        first, last = arc.span
        legs = (first in row.middles, last in row.middles)
        line = "".join(_path(mirrored(start), mirrored(end), top, bottom - 3, legs))
        dashes = DASHED if arc.is_wrong else None
        paths.append(element("path", d=line, fill="none", stroke=colour, stroke_width="1.2",
                             stroke_dasharray=dashes, class_="tree-arc"))  # fmt: skip
        if arc.dependent in row.middles:
            at = mirrored(end if arc.dependent == last else start)
            paths.append(element("path", d=f"M{at:.1f} {bottom:.1f}l-3 -6h6Z", fill=colour))
        label_width = _label_width(arc, note)
        if label_width > end - start and (arc in readable or arc.dependent not in row.middles):
            continue
        middle = mirrored(min(max((start + end) / 2, label_width / 2), row.wide - label_width / 2))
        x, y = middle - label_width / 2, top - note * 0.6
        labels.append(element("rect", x=x, y=y, width=label_width, height=note * 1.2,
                              fill=colours.ground))  # fmt: skip
        labels.append(_label_text(arc.label, middle, top + note * 0.35, note, colour, "tree-label"))
    words = []
    baseline = bottom + _WORD_SIZE * 1.1
    for at, middle in row.middles.items():
        x, tag_y = mirrored(middle), baseline + note * 1.25
        words += [
            _label_text(tree.words[at], x, baseline, _WORD_SIZE, colours.text, "tree-word"),
            _label_text(tree.tags[at], x, tag_y, note, colours.faint, "tree-tag"),
        ]
    return "".join([*paths, *labels, *words]), bottom + _WORD_SIZE * 1.1 + note * 1.6


def _path(
    start: float, end: float, top: float, bottom: float, legs: tuple[bool, bool]
) -> Iterator[str]:
    """The SVG path of an arc with round corners, without a leg on the side of another row."""
    turn = _CORNER if start < end else -_CORNER
    if legs[0]:
        yield f"M{start:.1f} {bottom:.1f}V{top + _CORNER:.1f}"
        yield f"Q{start:.1f} {top:.1f} {start + turn:.1f} {top:.1f}"
    else:
        yield f"M{start:.1f} {top:.1f}"
    if legs[1]:
        yield f"H{end - turn:.1f}Q{end:.1f} {top:.1f} {end:.1f} {top + _CORNER:.1f}V{bottom:.1f}"
    else:
        yield f"H{end:.1f}"


def _label_text(text: str, x: float, y: float, size: float, colour: str, kind: str) -> str:
    escaped = escape(isolate_direction(shorten_for_svg(text)))
    return element("text", escaped, x=x, y=y, font_size=f"{size:g}", fill=colour,
                   text_anchor="middle", class_=kind)  # fmt: skip
