"""Draw a sentence as one line of words, with the attention of a head as arcs above it.

The dependent is in a box, the arc to its gold head is in the colour of gold arcs, and the one to a
word that the head finds instead is dashed, in the colour of errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnbank.queries.pictures.panels import Row, Spec, panel_title
from attnbank.queries.pictures.rendering import isolate_direction, shorten_for_svg, text_width
from attnbank.queries.pictures.theme import Look, Theme
from attnbank.sql.messages import is_right_to_left

# A weaker arc is not drawn, unless it is marked.
LEAST_ARC = 0.1

# The fields of an arc that are not drawn.
_FACTS = ("from", "to", "weight", "kind")

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


def arc_line_chart(
    line: ArcLine, title: str, left: float, room: float, theme: Theme, look: Look
) -> Spec:
    """A Vega-Lite view of a line, from `left` on at most `room` pixels wide, with its title.

    Of a longer sentence the marked words are drawn, with as many neighbours as there is room for.
    """
    font, note, colours = look.font, look.scaled_font(0.9), theme.sentence
    indexes = _words_shown(line, room, font)
    gap, cut = 0.5 * font, 1.1 * font
    middles: dict[int, float] = {}
    words: list[tuple[str, float, float, int | None]] = []
    at = right = start = left + 0.2 * font  # the box of a word
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
        return start + right - place if line.runs_left else place

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
    strokes: list[Row] = []
    texts: list[Row] = []
    boxes: list[Row] = []
    for arc, height in zip(arcs, heights, strict=True):
        ends = mirrored(middles[arc.start]), mirrored(middles[arc.end])
        strokes += _strokes_of_arc(
            arc, (arc.weight or 0.0) / largest, ends, top, height, theme, font
        )
    for middle, rise, arc in labels:
        colour = theme.palette[1] if arc.kind == INSTEAD else colours.gold
        half = text_width(f"{arc.weight:.2f}", note) / 2 + 1
        y = top - rise
        texts.append(
            {"text": f"{arc.weight:.2f}", "x": middle, "y": y, "size": note, "fill": colour}
        )
        boxes.append({"x": middle - half, "x2": middle + half, "y": y - 0.8 * note,
                      "y2": y + 0.2 * note, "fill": theme.background, "stroke": None})  # fmt: skip
    for text, place, width, shown_position in words:
        middle = mirrored(place + width / 2)
        if shown_position is not None and shown_position == line.dependent:
            half = width / 2 + 0.2 * font
            boxes.append({"x": middle - half, "x2": middle + half, "y": top,
                          "y2": top + 1.35 * font, "fill": None, "stroke": theme.ink})  # fmt: skip
        is_faint = shown_position is None or shown_position in line.set_apart
        texts.append({"text": isolate_direction(text), "x": middle, "y": top + font,
                      "size": font, "fill": colours.faint if is_faint else theme.ink})  # fmt: skip
    return {
        "title": panel_title(title, theme, room, note) | {"color": colours.faint, "offset": 0},
        "width": max(right, 0.0),
        "height": top + 1.4 * font,
        "layer": [
            _marks({"type": "point", "size": 4}, strokes),
            _marks({"type": "rect", "cornerRadius": 0.2 * font}, boxes),
            _marks({"type": "text", "baseline": "alphabetic"}, texts),
        ],
    }


def _marks(mark: Spec, rows: list[Row]) -> Spec:
    """A layer of marks; the fields of the rows are channels, in pixels and colours."""
    encoding: Spec = {}
    for name in dict.fromkeys(name for row in rows for name in row if name not in _FACTS):
        encoding[name] = {"field": name, "type": "nominal", "legend": None, "scale": None}
        if name in ("x", "y"):
            encoding[name] = {"field": name, "type": "quantitative", "axis": None, "scale": None}
        elif name in ("x2", "y2", "text"):
            encoding[name] = {"field": name}
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


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


def _strokes_of_arc(
    arc: Arc, share: float, ends: tuple[float, float], top: float, height: float, theme: Theme,
    font: float,
) -> Iterator[Row]:  # fmt: skip
    """An arc between two x, as wide as its `share` of the largest weight, and its arrow."""
    start, end = ends
    base = top - 0.2 * font
    colour = {PLAIN: theme.sentence.line, INSTEAD: theme.palette[1]}.get(
        arc.kind, theme.sentence.gold
    )
    about = {"from": arc.start, "to": arc.end, "weight": arc.weight, "kind": arc.kind}
    about |= {"x": 0, "y": 0}
    thick = (0.05 + 0.12 * share if arc.kind == PLAIN else 0.1 + 0.2 * share) * font
    curve = f"C{start:.1f} {base - height:.1f} {end:.1f} {base - height:.1f} {end:.1f} {base:.1f}"
    yield about | {
        "shape": f"M{start:.1f} {base:.1f}{curve}", "fill": None, "stroke": colour,
        "strokeWidth": thick, "strokeDash": {MISSED: [1.5, 2.5], INSTEAD: [5, 2]}.get(arc.kind, []),
        "opacity": 0.3 if arc.kind == PLAIN else 1,
    }  # fmt: skip
    if arc.kind != PLAIN:  # an arrow to the word that is attended to
        side = 0.22 * font
        yield about | {
            "shape": f"M{end:.1f} {base + side:.1f}l{-side:.1f} {-1.6 * side:.1f}h{2 * side:.1f}Z",
            "fill": colour, "stroke": None, "strokeWidth": 0, "strokeDash": [], "opacity": 1,
        }  # fmt: skip
