"""Draw a sentence as one line of words, with the attention of a head as arcs above it.

The dependent is in a box, the arc to its gold head is in the colour of gold arcs, and the one to a
word that the head finds instead is dashed, in the colour of errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from attnbank.queries.pictures.rendering import (
    element,
    isolate_direction,
    shorten_for_svg,
    text_width,
)
from attnbank.queries.pictures.theme import Palette
from attnbank.sql.messages import is_right_to_left

# A weaker arc is not drawn, unless it is marked.
LEAST_ARC = 0.1

# What an arc may be: any, to the gold head, to the gold head that is missed, or what is found.
PLAIN, FOUND, MISSED, INSTEAD = "plain", "found", "missed", "instead"


@dataclass(frozen=True)
class Arc:
    """Attention from one position to another; the weight is None if the run does not keep it."""

    start: int
    end: int
    weight: float | None
    kind: str = PLAIN


@dataclass(frozen=True)
class ArcLine:
    """A sentence: its words by position, in order, the arcs of a head, and the marked positions.

    `dependent` is in a box, `marked` are the words that must be in the picture, and those that are
    `set_apart` are grey: the first word of a causal model's input, which counts as a special token.
    """

    sentence: str
    words: tuple[tuple[int, str], ...]
    arcs: tuple[Arc, ...]
    dependent: int | None = None
    marked: tuple[int, ...] = ()
    set_apart: frozenset[int] = frozenset()

    @property
    def runs_left(self) -> bool:
        """Whether most words are right-to-left, so that the first word is at the right."""
        letters = [text for _, text in self.words if any(map(str.isalpha, text))]
        return 2 * sum(map(is_right_to_left, letters)) > len(letters)


def fits_whole(line: ArcLine, room: float, font: float) -> bool:
    """Whether a picture `room` wide has all words between the marked ones."""
    places = [at for at, (position, _) in enumerate(line.words) if position in line.marked]
    return not places or {*range(min(places), max(places) + 1)} <= {*_words_shown(line, room, font)}


def draw_arc_line(
    line: ArcLine, x: float, y: float, room: float, font: float, note: float, colours: Palette,
    wrong: str,
) -> tuple[str, float]:  # fmt: skip
    """Draw a line as SVG within `room` pixels; also return its height.

    Of a longer sentence the marked words are drawn, with as many neighbours as there is room for.
    """
    indexes = _words_shown(line, room, font)
    gap, cut = 0.5 * font, 1.1 * font
    middles: dict[int, float] = {}
    words: list[tuple[str, float, float, int | None]] = []
    at = right = 0.0
    for before, index in zip([-1, *indexes], indexes, strict=False):
        if index > before + 1:
            words.append(("…", at, cut - gap, None))
            at += cut
        position, text = line.words[index]
        width = text_width(shorten_for_svg(text), font)
        middles[position] = at + width / 2
        words.append((shorten_for_svg(text), at, width, position))
        right = at + width
        at = right + gap
    if indexes and indexes[-1] < len(line.words) - 1:
        words.append(("…", at, cut - gap, None))
        right = at + cut - gap

    def mirrored(place: float) -> float:
        return right - place if line.runs_left else place

    arcs = [arc for arc in line.arcs if arc.start in middles and arc.end in middles]
    largest = max([1.0, *(arc.weight or 0.0 for arc in arcs)])  # norms may be larger than 1
    least = LEAST_ARC * largest
    arcs = [arc for arc in arcs if arc.kind != PLAIN or (arc.weight or 0.0) >= least]
    arcs.sort(key=lambda arc: (arc.kind != PLAIN, arc.weight or 0.0))
    heights = [
        min(3.4 * font, 0.8 * font + 0.16 * abs(middles[arc.end] - middles[arc.start]))
        for arc in arcs
    ]
    # A curve rises to 0.75 of the height of its middle points; its weight stands above, and above
    # those of others in the same place.
    labels: list[tuple[float, float, Arc]] = []
    for arc, height in sorted(zip(arcs, heights, strict=True), key=lambda pair: pair[1]):
        if arc.kind == PLAIN or arc.weight is None:
            continue
        middle = mirrored((middles[arc.start] + middles[arc.end]) / 2)
        rise = 0.75 * height + 0.2 * font + 0.3 * note
        for other, other_rise, _ in labels:
            if abs(other - middle) < 2.6 * note and abs(other_rise - rise) < note:
                rise = other_rise + 1.05 * note
        labels.append((middle, rise, arc))
    top = max(
        [0.75 * max(heights, default=0.0) + 0.5 * font, *(rise + note for _, rise, _ in labels)]
    )
    parts = []
    for arc, height in zip(arcs, heights, strict=True):
        ends = mirrored(middles[arc.start]), mirrored(middles[arc.end])
        base, share = top - 0.2 * font, (arc.weight or 0.0) / largest
        parts.append(_draw_arc(arc, share, ends, base, height, font, colours, wrong))
    for middle, rise, arc in labels:
        text, colour = f"{arc.weight:.2f}", wrong if arc.kind == INSTEAD else colours.gold
        width = text_width(text, note)
        parts.append(element("rect", x=middle - width / 2 - 1, y=top - rise - 0.8 * note,
                             width=width + 2, height=note, fill=colours.ground))  # fmt: skip
        parts.append(_text(text, middle, top - rise, note, colour, "middle"))
    for text, place, width, shown_position in words:
        left = right - place - width if line.runs_left else place
        if shown_position is not None and shown_position == line.dependent:
            parts.append(
                element("rect", x=left - 0.2 * font, y=top, width=width + 0.4 * font,
                        height=1.35 * font, rx=0.2 * font, fill="none", stroke=colours.text,
                        stroke_width=f"{0.07 * font:.2f}")
            )  # fmt: skip
        is_faint = shown_position is None or shown_position in line.set_apart
        colour = colours.faint if is_faint else colours.text
        parts.append(_text(text, left + width / 2, top + font, font, colour, "middle"))
    return (
        element(
            "g", *parts, class_="arc-line", transform=f"translate({x:.1f} {y:.1f})",
            data_sentence=escape(shorten_for_svg(line.sentence)),
        ),
        top + 1.5 * font,
    )  # fmt: skip


def _words_shown(line: ArcLine, room: float, font: float) -> Sequence[int]:
    """The places of the words that there is room for: the marked ones, then their neighbours."""
    marked = [at for at, (position, _) in enumerate(line.words) if position in line.marked] or [0]
    distances = [min(abs(at - place) for place in marked) for at in range(len(line.words))]
    widths = [text_width(shorten_for_svg(text), font) + 0.5 * font for _, text in line.words]
    if sum(widths) <= room:
        return range(len(line.words))
    shown: set[int] = set()
    used = 1.1 * font * (1 + len(marked))
    for at in sorted(range(len(line.words)), key=lambda at: (distances[at], at)):
        if distances[at] and used + widths[at] > room:
            break
        used += widths[at]
        shown.add(at)
    return sorted(shown)


def _draw_arc(
    arc: Arc, share: float, ends: tuple[float, float], base: float, height: float, font: float,
    colours: Palette, wrong: str,
) -> str:  # fmt: skip
    """An arc between two x, as wide as its `share` of the largest weight."""
    start, end = ends
    colour = {PLAIN: colours.line, INSTEAD: wrong}.get(arc.kind, colours.gold)
    thick = (0.05 + 0.12 * share if arc.kind == PLAIN else 0.1 + 0.2 * share) * font
    dashes = {MISSED: "1.5 2.5", INSTEAD: "5 2"}.get(arc.kind)
    top = base - height
    line = element(
        "path", d=f"M{start:.1f} {base:.1f}C{start:.1f} {top:.1f} {end:.1f} {top:.1f} {end:.1f}"
        f" {base:.1f}", fill="none", stroke=colour, stroke_width=f"{thick:.2f}",
        stroke_dasharray=dashes, stroke_opacity="0.3" if arc.kind == PLAIN else None,
    )  # fmt: skip
    tip = ""
    if arc.kind != PLAIN:  # an arrow to the word that is attended to
        side = 0.22 * font
        tip = element(
            "path", d=f"M{end:.1f} {base + side:.1f}l{-side:.1f} {-1.6 * side:.1f}h{2 * side:.1f}Z",
            fill=colour,
        )  # fmt: skip
    return element(
        "g", line, tip, class_=f"arc-{arc.kind}", data_from=arc.start, data_to=arc.end,
        data_weight=None if arc.weight is None else f"{arc.weight:.9g}",
    )  # fmt: skip


def _text(text: str, x: float, y: float, size: float, colour: str, anchor: str) -> str:
    return element(
        "text", escape(isolate_direction(text)), x=x, y=y, font_size=f"{size:g}", fill=colour,
        text_anchor=anchor,
    )  # fmt: skip
