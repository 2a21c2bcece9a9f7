"""A sentence's tree, drawn by displaCy, which spaCy brings; it is imported when a tree is drawn.

displaCy escapes words, but neither tags nor relations: they are escaped here.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from attnbank.queries.pictures.sentence.palette import Palette
from attnbank.queries.pictures.sentence.panel import Tree
from attnbank.queries.pictures.sentence.text import isolated, written
from attnbank.sql.extras import need

LEAST = 0.55
"""A tree is made no smaller than this share of displaCy's size, so that it can be read."""


def tree_width(tree: Tree) -> float:
    """Return how many pixels wide a picture must be for a tree, margins left out."""
    longest = _longest(tree)
    return LEAST * (max(60, 6 * longest) + len(tree.words) * _distance(longest))


def _longest(tree: Tree) -> int:
    return max((len(written(word)) for word in tree.words), default=1)


def _distance(longest: int) -> int:
    return min(190, max(95, 11 * longest))


def drawn_tree(tree: Tree, x: float, y: float, room: float, colours: Palette) -> tuple[str, float]:
    """The tree as an SVG element that is no wider than the room, and its height in pixels.

    Raises MissingPackageError where spaCy is not installed.
    """
    need("A tree", "spacy")
    from spacy import displacy

    arcs = []
    for at, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True)):
        if head is not None and head != at:
            way = "left" if at < head else "right"
            label = escape(written(relation or ""))
            arcs.append({"start": min(at, head), "end": max(at, head), "label": label, "dir": way})
    longest = _longest(tree)
    options: dict[str, Any] = {
        "compact": True, "distance": _distance(longest), "word_spacing": 34,
        "arrow_spacing": 12, "offset_x": max(60, 6 * longest),
        "color": colours.text, "bg": colours.ground,
        "font": "Liberation Sans, Arial, sans-serif",
    }  # fmt: skip
    words = [
        {"text": isolated(written(word)), "tag": escape(written(tag))}
        for word, tag in zip(tree.words, tree.tags, strict=True)
    ]
    drawn = displacy.render(
        {"words": words, "arcs": arcs}, style="dep", manual=True, jupyter=False, options=options
    )
    drawn = re.sub(r"[0-9a-f]{32}(?=-)", f"tree{y:.0f}", drawn)  # the same picture every time
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', drawn)
    assert size is not None, "displaCy gives an SVG with its size"
    wide, bottom = float(size[1]), float(size[2])
    heights = re.findall(r'd="M[\d.-]+,([\d.-]+) L?[\d.-]+,([\d.-]+)', drawn)
    top = min((float(each) for pair in heights for each in pair), default=bottom - 100) - 12
    scale = min(1.0, room / wide)
    high = bottom - top
    element = drawn.replace(
        size[0],
        f'x="{x:.1f}" y="{y:.1f}" width="{wide * scale:.1f}" height="{high * scale:.1f}"'
        f' viewBox="0 {top:.0f} {wide:.0f} {high:.0f}"',
        1,
    )
    return element, high * scale
