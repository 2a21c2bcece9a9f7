"""Trees above a sentence, drawn by spaCy's displaCy: in rows if they are long, from the right."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from attnbank.queries.directions import is_right_to_left
from attnbank.queries.pictures.svg import element, isolated, written
from attnbank.queries.pictures.theme import Palette
from attnbank.sql.extras import need

DASHED = "5 3"
_ARC, _LINE = '<g class="displacy-arrow">', '<path class="displacy-arc"'
LEAST = 0.55
"""A tree is made no smaller than this share of displaCy's size, so that it can be read."""
_WIDEST = 1208.0
"""Pixels from which on a tree goes on in another row."""
_STYLE = r' style="[^"]*"'
_BETWEEN = 14.0
"""Pixels between two rows."""


@dataclass(frozen=True)
class Tree:
    """The words in order, and the place of each one's head (None: the root, or not here).

    Of a tree that was decoded, `wrong` has the places of the words whose arc joins two that no gold
    dependency joins: it is dashed.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int | None, ...]
    relations: tuple[str | None, ...]
    wrong: frozenset[int] = frozenset()

    @property
    def runs_left(self) -> bool:
        """Whether its text runs from right to left, so that its first word stands at the right."""
        letters = [each for each in self.words if any(map(str.isalpha, each))]
        return 2 * sum(map(is_right_to_left, letters)) > len(letters)


def tree_width(tree: Tree) -> float:
    """Return how many pixels wide a picture must be for a tree, margins left out."""
    start, distance = _sizes(tree)
    return min(LEAST * (start + len(tree.words) * distance), _WIDEST)


def _sizes(tree: Tree, *, is_tight: bool = False) -> tuple[int, int]:
    longest = max((len(written(word)) for word in tree.words), default=1)
    if is_tight:
        labels = [each or "" for each in (*tree.relations, *tree.tags)]
        longest = max(longest, *map(len, map(written, labels)))
        return max(28, 5 * longest), max(48, 9 * longest)
    return max(60, 6 * longest), min(190, max(95, 11 * longest))


def drawn_tree(
    tree: Tree, x: float, y: float, room: float, colours: Palette, least: float = LEAST
) -> tuple[str, float]:
    """The tree as SVG within the room, and its height in pixels. Raises MissingPackageError.

    It is made no smaller than `least`. Where it has no room it goes on in another row, as music
    does: an arc that leaves a row at its end comes into the next one.
    """
    sizes = _sizes(tree, is_tight=least > LEAST)  # a paper has little room
    drawn = _by_displacy(tree, sizes, f"tree{y:.0f}", colours)
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', drawn)
    assert size is not None, "displaCy gives an SVG with its size"
    wide, bottom = float(size[1]), float(size[2])
    heights = re.findall(r'd="M[\d.-]+,([\d.-]+) L?[\d.-]+,([\d.-]+)', drawn)
    top = min((float(each) for pair in heights for each in pair), default=bottom - 100) - 12
    high = bottom - top
    parts = [*_parts(tree, sizes, wide, room / least)]
    scale = min(1.0 if least == LEAST else least, room / max(end - start for start, end in parts))

    def placed(start: float, end: float, row: int, **more: Any) -> str:
        left = x + room - (end - start) * scale if tree.runs_left and len(parts) > 1 else x
        given = {
            "x": left, "y": y + row * (high * scale + _BETWEEN),
            "width": (end - start) * scale, "height": high * scale,
            "viewBox": f"{start:.0f} {top:.0f} {end - start:.0f} {high:.0f}",
        }  # fmt: skip
        return " ".join(
            f'{name}="{value:.1f}"' if isinstance(value, float) else f'{name}="{value}"'
            for name, value in (given | more).items()
        )

    if len(parts) == 1:
        return drawn.replace(size[0], placed(*parts[0], 0), 1), high * scale
    # Every row shows a part of one drawing, which stands in the first.
    name = f"tree{y:.0f}"
    inner = drawn[drawn.index(">") + 1 : drawn.rindex("</svg>")]
    opening = drawn[: drawn.index(">")]
    made = [
        f"{opening.replace(size[0], placed(*parts[0], 0, overflow='hidden'), 1)}>"
        f'<g id="{name}">{inner}</g></svg>'
    ]
    style = re.search(_STYLE, opening)
    for row, part in enumerate(parts[1:], 1):
        made.append(
            f"<svg {placed(*part, row, overflow='hidden')}{style[0] if style else ''}"
            f' class="displacy">{element("use", href=f"#{name}")}</svg>'
        )
    return "".join(made), len(parts) * (high * scale + _BETWEEN) - _BETWEEN


def _parts(
    tree: Tree, sizes: tuple[int, int], wide: float, room: float
) -> Iterator[tuple[float, float]]:
    """From where to where each row goes, in pixels of displaCy: about as many words in each."""
    if wide <= room:
        yield 0.0, wide
        return
    start, distance = sizes
    fit = max(1, int((room - start) / distance))
    rows = math.ceil(len(tree.words) / fit)
    each = math.ceil(len(tree.words) / rows)
    edges = [start + (at - 0.5) * distance for at in range(each, len(tree.words), each)]
    if tree.runs_left:  # whole rows from the right
        edges = [start + (len(tree.words) - at - 0.5) * distance
                 for at in range(each, len(tree.words), each)][::-1]  # fmt: skip
    found = [*zip([0.0, *edges], [*edges, wide], strict=True)]
    yield from reversed(found) if tree.runs_left else found


def _by_displacy(tree: Tree, sizes: tuple[int, int], name: str, colours: Palette) -> str:
    need("A tree", "spacy", "spacy")
    from spacy import displacy

    last = len(tree.words) - 1
    order = range(last, -1, -1) if tree.runs_left else range(last + 1)
    arcs, drawn_words = [], []
    for at, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True)):
        if head is not None and head != at:
            one, other = (last - at, last - head) if tree.runs_left else (at, head)
            label = escape(written(relation or ""))
            arcs.append({"start": min(one, other), "end": max(one, other), "label": label,
                         "dir": "left" if one < other else "right"})  # fmt: skip
            drawn_words.append(at)
    start, distance = sizes
    options: dict[str, Any] = {
        "compact": True, "distance": distance, "word_spacing": 34,
        "arrow_spacing": 12, "offset_x": start,
        "color": colours.text, "bg": colours.ground,
        "font": "Liberation Sans, Arial, sans-serif",
    }  # fmt: skip
    words = [
        {"text": isolated(written(tree.words[at])), "tag": escape(written(tree.tags[at]))}
        for at in order
    ]
    drawn = displacy.render(
        {"words": words, "arcs": arcs}, style="dep", manual=True, jupyter=False, options=options
    )
    drawn = re.sub(r"[0-9a-f]{32}(?=-)", name, drawn)  # the same picture every time
    # The height within its style would be stronger than that of the place it gets here.
    look = f' style="color: {colours.text}; font-family: {options["font"]}"'
    drawn = re.sub(_STYLE, look, drawn, count=1)
    return _dashed(drawn, [at in tree.wrong for at in drawn_words], colours)


def _dashed(drawn: str, wrong: Sequence[bool], colours: Palette) -> str:
    """What displaCy drew, with the wrong ones of its arcs, which are in order, faint and dashed."""
    before, *arcs = drawn.split(_ARC)
    marked = [
        each.replace(_LINE, f'{_LINE} stroke-dasharray="{DASHED}"').replace(
            "currentColor", colours.faint
        )
        if is_wrong
        else each
        for each, is_wrong in zip(arcs, wrong, strict=True)
    ]
    return _ARC.join([before, *marked])
