"""Draw attention in a sentence as SVG: two columns of words, joined by lines as wide as weights.

The attributes of each line have the numbers that it shows. Words are foreign text: they are
escaped, including control characters.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from typing import Any

import polars as pl

from attnbank.queries.pictures.rendering import (
    element,
    isolate_direction,
    shorten_for_svg,
    text_width,
    wrap_svg_text,
)
from attnbank.queries.pictures.theme import POINTS, SENTENCE_FONTS, Look, Palette, theme_of
from attnbank.queries.pictures.tree import Tree, draw_tree, tree_width
from attnbank.sql.errors import CallError
from attnbank.sql.messages import escape_control
from attnbank.sql.names import TO_DEPENDENT, TO_HEAD

# In `weights`, the to_position of all positions that are not shown.
ELSEWHERE = -1

# Means of more heads than this are named by their number.
_MAX_NAMED = 6


@dataclass(frozen=True)
class Panel:
    """One head, or the mean of several, on one sentence.

    The frames have one row per item:

    - `words` (position, text, index, is_special, is_matched, surprisal in nats): the positions
      shown, in order;
    - `weights` (from_position, to_position, weight): the lines; ELSEWHERE is all that is not shown,
      null a weight that was not kept;
    - `gold` (from_position, to_position, is_found): the gold arcs;
    - `mentions` (entity, first, last, head), in positions: the mentions of entities that are
      mentioned more than once, the entities numbered from 0.

    `label` is written above the panel, after the head. The mean of heads has these in `mean_of`,
    and no layer and head.
    """

    sentence: str
    layer: int | None
    head: int | None
    words: pl.DataFrame
    weights: pl.DataFrame
    gold: pl.DataFrame
    mentions: pl.DataFrame
    label: str = ""
    mean_of: tuple[tuple[int, int], ...] = ()

    @property
    def heads_label(self) -> str:
        """The head as in the paper, 3-1, or the heads of the mean."""
        if not self.mean_of:
            return f"{self.layer}-{self.head}"
        layers = {layer for layer, _ in self.mean_of}
        if len(self.mean_of) <= _MAX_NAMED:
            return f"mean of {', '.join(f'{layer}-{head}' for layer, head in self.mean_of)}"
        text = f"mean of {len(self.mean_of)} heads"
        return f"{text} of layer {layers.pop()}" if len(layers) == 1 else text

    @property
    def full_name(self) -> str:
        """The name: head 3-1, or mean of 3-1, 5-2."""
        return self.heads_label if self.mean_of else f"head {self.heads_label}"

    def largest(self, measure: str) -> float:
        """The weight drawn at full width: 1, or for norms the largest.

        Norms of a special token, or of a separate first word, on itself do not count: they can be
        a hundred times as large as all others.
        """
        special = self.words.filter("is_special")["position"]
        start, end = pl.col("from_position"), pl.col("to_position")
        on_itself = (start == end) & start.is_in(special.to_list())
        strongest = (
            self.weights.filter(~on_itself)["weight"].max() if measure.endswith("norms") else None
        )
        return float(strongest) if isinstance(strongest, float) and strongest > 0 else 1.0


@dataclass(frozen=True)
class SentenceFacts:
    """What the texts of a picture say.

    `measure` is that of table `run`. `least` is the smallest weight drawn; for norms, a share of
    the largest. `notes` are sentences. `trees` are by title. `title` defaults to the heads and
    sentences.
    """

    run: str
    model: str
    corpus: str
    measure: str = "weights"
    relation: str | None = None
    direction: str = TO_HEAD
    coreference: bool = False
    least: float = 0.01
    notes: tuple[str, ...] = ()
    trees: dict[str, Tree] = field(default_factory=dict)
    title: str = ""

    @property
    def figure(self) -> str:
        """The noun for a value of the measure."""
        if self.measure.endswith("norms"):
            return "norm"
        return "weight" if self.measure == "weights" else "share"


MARGIN = 16.0

# The gap between two panels.
GUTTER = 28.0

# The width of a lane for the bars of mentions. Overlapping mentions have different lanes.
LANE = 14.0

_MAX_WIDTH = 1240.0
ELSEWHERE_TEXT = "elsewhere in the input"


@dataclass(frozen=True)
class Scale:
    """Sizes in a panel: fonts of words and title, height of a row, gap between the columns."""

    font: float
    row: float
    across: float
    title: float


# The least gap between the columns of a panel in a column of a paper.
_MIN_GAP = 56.0

LARGE = Scale(font=14.0, row=21.0, across=120.0, title=15.0)
SMALL = Scale(font=9.0, row=12.5, across=58.0, title=11.0)


@dataclass(frozen=True)
class PanelLayout:
    """The position (`x`, `y`) and size of a panel, and the positions inside it.

    `left` and `right` are the x of the inner edges of the columns, `column` is their width, `rows`
    has the y of the middle of each position (ELSEWHERE is below the others), and `lanes` is the
    number of lanes of mentions beside each column.
    """

    panel: Panel
    scale: Scale
    width: float
    height: float
    left: float
    right: float
    column: float
    rows: dict[int, float]
    lanes: int
    x: float = 0.0
    y: float = 0.0


def mention_lanes(mentions: pl.DataFrame) -> list[int]:
    """The lane of each mention: the first in which it overlaps with no earlier mention."""
    ends: list[list[tuple[int, int]]] = []
    lanes = []
    for _, first, last, _ in mentions.rows():
        lane = next(
            (at for at, spans in enumerate(ends) if all(last < a or b < first for a, b in spans)),
            len(ends),
        )
        if lane == len(ends):
            ends.append([])
        ends[lane].append((first, last))
        lanes.append(lane)
    return lanes


def lay_out_panels(
    panels: Sequence[Panel], top: float, room: float | None = None
) -> list[PanelLayout]:
    """Lay out panels in rows, by sentence.

    Panels are small if there are more than six, or more than four of one sentence. In a column of a
    paper, `room` wide, they are never small, and fill the width.
    """
    sentences = list(dict.fromkeys(panel.sentence for panel in panels))
    per_sentence = max(sum(panel.sentence == name for panel in panels) for name in sentences)
    scale = SMALL if room is None and (per_sentence > 4 or len(panels) > 6) else LARGE
    if room is not None:
        scale = replace(scale, across=_MIN_GAP)
    titles = _panel_titles(panels)
    sized = [
        _measure_panel(panel, title, scale) for panel, title in zip(panels, titles, strict=True)
    ]
    margin = MARGIN if room is None else 0.0
    placed: list[PanelLayout] = []
    y = top
    for row in _wrap_panels(
        sized, _MAX_WIDTH if room is None else room + GUTTER, breaks=per_sentence > 1
    ):
        x = margin
        extra = 0.0
        if room is not None:
            total = sum(layout.width + GUTTER for layout in row) - GUTTER
            extra = min(max(0.0, room - total) / len(row), 2 * LARGE.across)
        for layout in row:
            placed_layout = replace(
                layout, width=layout.width + extra, right=layout.right + extra, x=x, y=y
            )
            placed.append(placed_layout)
            x += placed_layout.width + GUTTER
        y += max(layout.height for layout in row) + GUTTER * 0.8
    return placed


def _wrap_panels(
    sized: Sequence[PanelLayout], widest: float, *, breaks: bool
) -> Iterator[Sequence[PanelLayout]]:
    """Break panels into balanced rows that fit; with `breaks`, each sentence begins a row."""
    groups: dict[str, list[PanelLayout]] = {}
    for layout in sized:
        groups.setdefault(layout.panel.sentence if breaks else "", []).append(layout)
    for group in groups.values():
        fit = 1
        for count in range(1, len(group) + 1):
            parts = [group[at : at + count] for at in range(0, len(group), count)]
            if all(sum(layout.width + GUTTER for layout in row) <= widest for row in parts):
                fit = count
        count = math.ceil(len(group) / math.ceil(len(group) / fit))
        yield from (group[at : at + count] for at in range(0, len(group), count))


def _measure_panel(panel: Panel, title: str, scale: Scale) -> PanelLayout:
    texts = [shorten_for_svg(text) for text in panel.words["text"]]
    column = max((text_width(text, scale.font) for text in texts), default=0.0) + 8
    has_elsewhere = ELSEWHERE in panel.weights["to_position"]
    right_column = (
        max(column, text_width(ELSEWHERE_TEXT, scale.font) + 8) if has_elsewhere else column
    )
    lanes = max(mention_lanes(panel.mentions), default=-1) + 1
    lanes_width = lanes * LANE
    title_height = scale.title * 1.8 if title else 0.0
    if panel.label:  # the title may be wider than the panel; bold letters are wider
        title_width = 1.08 * text_width(title, scale.title)
        scale = replace(scale, across=max(scale.across, title_width - 2 * (lanes_width + column)))
    rows = {
        position: title_height + (at + 0.5) * scale.row
        for at, position in enumerate(panel.words["position"])
    }
    if has_elsewhere:
        rows[ELSEWHERE] = title_height + (len(texts) + 0.9) * scale.row
    return PanelLayout(
        panel=panel,
        scale=scale,
        width=lanes_width + column + scale.across + max(right_column, column + lanes_width),
        height=title_height + (len(texts) + (1.4 if has_elsewhere else 0)) * scale.row,
        left=lanes_width + column,
        right=lanes_width + column + scale.across,
        column=column,
        rows=rows,
        lanes=lanes,
    )


_MIN_WIDTH = 520.0
_MAX_SENTENCE_NAME, _MAX_RUN_NAME = 80, 200

# The weights in the legend.
_LEGEND_WEIGHTS = (0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Canvas:
    """The sizes of a picture, in units in which the font size is 14.

    In a column of a paper, `room` is the width of the picture, `unit` the points per unit, lines
    are at least half a point wide (`thin`), and fonts at least 7 points.
    """

    room: float | None = None
    unit: float = 1.0
    margin: float = MARGIN
    title: float = 17.0
    note: float = 12.0
    thin: float = 0.5

    @classmethod
    def from_look(cls, look: Look | None) -> Canvas:
        """The canvas for a look."""
        if look is None:
            return cls()
        unit = look.font_size(LARGE.font) / LARGE.font
        if look.width is None:
            return cls(unit=unit)
        note = max(12.0, look.min_font_size / unit)
        return cls(look.width / unit, unit, 0.0, LARGE.title, note, 0.5 / unit)


def draw_svg(
    panels: Sequence[Panel], facts: SentenceFacts, theme: str = "light", look: Look | None = None
) -> str:
    """Draw panels as one SVG document; its sizes are in points if `look` has a width.

    Raises CallError for an unknown theme, and for a column that is too narrow.
    """
    colours, canvas = theme_of(theme).sentence, Canvas.from_look(look)
    margin, note = canvas.margin, canvas.note
    canvas_width = _canvas_width(panels, facts, canvas)
    text_room = canvas_width - 2 * margin
    title, notes = title_of(panels, facts), [*note_lines(panels, facts)]
    parts, y = [], margin

    def write(text: str) -> None:
        nonlocal y
        for line in wrap_svg_text(text, text_room, note):
            y += note * 1.4
            parts.append(_svg_text(line, margin, y, note, colours.faint))

    if look is None or look.is_titled:
        for line in wrap_svg_text(title, text_room, canvas.title):
            y += canvas.title * 1.25
            parts.append(_svg_text(line, margin, y, canvas.title, colours.text, bold=True))
        y += 4
        for sentence in notes:
            write(sentence)
    key, y = _legend(facts, y, text_room, colours, canvas)
    parts += key
    y += GUTTER * 0.6
    for name, tree in facts.trees.items():
        if len(facts.trees) > 1:
            write(escape_control(name))
            y += note * 0.5
        tree_svg, tree_height = draw_tree(tree, margin, y, text_room, colours, note)
        parts.append(tree_svg)
        y += tree_height + GUTTER * 0.5
    placed = lay_out_panels(panels, y, canvas.room)
    for number, (layout, name) in enumerate(zip(placed, _panel_titles(panels), strict=True)):
        parts.append(_panel(layout, number, name, facts, colours, canvas))
    height = max(layout.y + layout.height for layout in placed) + max(margin, 2.0)
    if canvas.room is None:
        canvas_width, height = float(round(canvas_width)), float(round(height))
    svg = element(
        "svg",
        element("title", _escape_xml(title)),
        element("desc", _escape_xml(" ".join(notes))),
        element("rect", width="100%", height="100%", fill=colours.ground),
        *parts,
        xmlns="http://www.w3.org/2000/svg", width=f"{canvas_width * canvas.unit:.6g}",
        height=f"{height * canvas.unit:.6g}", viewBox=f"0 0 {canvas_width:.6g} {height:.6g}",
        font_family=escape(SENTENCE_FONTS), role="img",
    )  # fmt: skip
    return f"{svg}\n"


def _canvas_width(panels: Sequence[Panel], facts: SentenceFacts, canvas: Canvas) -> float:
    """The width of a picture, in units. Raises CallError for a column that is too narrow."""
    edge = max(layout.x + layout.width for layout in lay_out_panels(panels, 0.0, canvas.room))
    if canvas.room is None:
        trees = [tree_width(tree, canvas.note) for tree in facts.trees.values()]
        return max(edge + canvas.margin, _MIN_WIDTH, *(tree + 2 * canvas.margin for tree in trees))
    if edge > canvas.room + 0.5:
        raise CallError(
            f"The picture needs a column of {edge * canvas.unit / POINTS:.2f} inches.",
            "Give a wider one (--column 6.75in), smaller letters (--font-size 7), or --words.",
        )
    return canvas.room


def note_lines(
    panels: Sequence[Panel], facts: SentenceFacts, *, in_columns: bool = True
) -> Iterator[str]:
    """The notes below the title: run, model, corpus, and how to read the picture.

    `in_columns` says that it has two columns of words: pages also draw words in a line.
    """
    run, model, corpus = (
        shorten_for_svg(name, _MAX_RUN_NAME) for name in (facts.run, facts.model, facts.corpus)
    )
    yield f"Run {run}: model {model}, corpus {corpus}."
    what = facts.figure
    width_note = f"Line width = attention {what}{' (left attends to right)' * in_columns}"
    least = f"below {facts.least:g}{' of the largest' if what == 'norm' else ''}"
    hidden = least if in_columns else "the weakest"  # the layouts of a page differ in that
    yield f"{width_note}; {hidden} hidden." if facts.least else f"{width_note}."
    if facts.measure != "weights":
        yield f"The measure is {facts.measure}, not attention weights."
    if facts.relation is not None:
        way = {TO_HEAD: "attended to most", TO_DEPENDENT: "attends most"}.get(facts.direction)
        filled = f"found ({way})" if way else "found"
        yield f"Dotted: gold arcs. Ring filled = {filled}, hollow = missed."
    if facts.coreference:
        if any(panel.mentions.height for panel in panels):
            yield (
                "Bars of one colour and letter are mentions of one entity. Lines from a mention to"
                " one before it have its colour, and are dotted, whatever their weight is."
            )
        else:
            yield "No entity is mentioned twice here."
    if any(panel.words["is_matched"].any() for panel in panels):
        yield "Matched words are highlighted."
    yield from facts.notes


def title_of(panels: Sequence[Panel], facts: SentenceFacts) -> str:
    """The title of a picture: `facts.title`, by default its heads and sentences."""
    if facts.title:
        return shorten_for_svg(facts.title, 200)
    heads = list(dict.fromkeys(panel.heads_label for panel in panels))
    sentences = list(dict.fromkeys(panel.sentence for panel in panels))
    layers = {panel.layer for panel in panels}
    if len(heads) == 1:
        subject = panels[0].full_name.capitalize()
    elif len(heads) > 4 and len(layers) == 1:
        subject = f"The {len(heads)} heads of layer {layers.pop()}"
    else:
        subject = f"Heads {', '.join(heads)}"
    where = sentences[0] if len(sentences) == 1 else f"{len(sentences)} sentences"
    where = f"sentence {where}" if where.isdecimal() else where
    return f"{subject} on {shorten_for_svg(where, _MAX_SENTENCE_NAME)}"


def _legend(
    facts: SentenceFacts, top: float, room: float, colours: Palette, canvas: Canvas
) -> tuple[list[str], float]:
    """Draw the legend below `top`: sample lines and marks of gold arcs. Also return its end y."""
    note = canvas.note
    # Width, symbol and caption.
    entries: list[tuple[float, str, str]] = []
    suffix = " of the largest" if facts.figure == "norm" else ""
    for at, weight in enumerate(_LEGEND_WEIGHTS):
        caption = f"{weight:g}"
        if at == 0:
            caption = f"{facts.figure.capitalize()} {caption}{suffix}"
        opacity, thick = _line_style(weight, 14.0, canvas.thin)
        symbol = element("line", x1=0, y1=-4, x2=26, y2=-4, stroke=colours.line,
                        stroke_opacity=opacity, stroke_width=thick)  # fmt: skip
        entries.append((32 + text_width(caption, note) + 14, symbol, caption))
    if facts.relation is not None:
        arcs = "Gold arc" if facts.relation == "all" else f"Gold {shorten_for_svg(facts.relation)}"
        arcs += f", {facts.direction.replace('_', ' ')}" if facts.direction else ""
        for is_found, caption in (
            (True, f"{arcs}: found"),
            (False, "missed"),
        ):
            symbol = _gold_mark(
                (0, -4), (26, -4), colours.gold, colours.ground, is_found, 14.0, canvas.thin
            )
            entries.append((38 + text_width(caption, note) + 18, symbol, caption))
    parts, x, y = [], 0.0, top + note * 1.7
    for entry_width, symbol, caption in entries:
        if x and x + entry_width > room:
            x, y = 0.0, y + note * 1.5
        caption_x = 38 if "path" in symbol else 32
        text = _svg_text(caption, caption_x, 0.0, note, colours.faint)
        parts.append(
            element("g", symbol, text, transform=f"translate({canvas.margin + x:.1f} {y:.1f})")
        )
        x += entry_width
    return parts, y


def _line_style(share: float, font: float, thin: float) -> tuple[str, str]:
    """The opacity and the width of a line, by its share of the largest weight."""
    strength = min(share, 1.0)
    return f"{strength:.3f}", f"{(thin + 2.5 * strength) * (font / 14) ** 0.5:.2f}"


def _gold_mark(
    start: tuple[float, float], end: tuple[float, float], colour: str, ground: str,
    is_found: bool | None, font: float, thin: float, **attributes: Any,
) -> str:  # fmt: skip
    """A dotted line with a ring at its end, visible whatever the weight.

    The ring is filled if the arc `is_found`. Lines to an antecedent (None) have no ring.
    """
    (x1, y1), (x2, y2), r = start, end, font * 0.2
    parts = [
        element("path", d=f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}", fill="none", stroke=colour,
                stroke_width=f"{max(1.2, thin):g}", stroke_dasharray="1.2 2.6")
    ]  # fmt: skip
    if is_found is not None:
        ring = f"M{x2 - r:.1f} {y2:.1f}a{r:.1f} {r:.1f} 0 1 0 {2 * r:.1f} 0"
        ring += f"a{r:.1f} {r:.1f} 0 1 0 {-2 * r:.1f} 0Z"
        parts.append(element("path", d=ring, fill=colour if is_found else ground, stroke=colour,
                             stroke_width="1.2"))  # fmt: skip
    return element("g", *parts, class_="arc", **attributes)


def _panel(
    layout: PanelLayout,
    number: int,
    title: str,
    facts: SentenceFacts,
    colours: Palette,
    canvas: Canvas,
) -> str:
    panel, scale = layout.panel, layout.scale
    parts = []
    if title:
        middle = (layout.left + layout.right) / 2
        parts.append(
            _svg_text(
                title, middle, scale.title, scale.title, colours.text, anchor="middle", bold=True
            )
        )
    parts += _mention_bars(layout, colours, canvas)
    lines = _weight_lines(layout, facts, colours, canvas)
    for position, text, index, is_special, is_matched, _ in panel.words.rows():
        colour = colours.faint if is_special else colours.text
        shared = (shorten_for_svg(text), layout.rows[position], scale.font, colour)
        ground = colours.mark if is_matched else None
        at = {"data_position": position, "data_index": index}
        left = _draw_word(*shared, layout.left - 5, "end", ground)
        parts.append(element("g", *lines.get(position, []), left, class_="from", **at))
        parts.append(_draw_word(*shared, layout.right + 5, "start", ground, class_="to", **at))
    if ELSEWHERE in layout.rows:
        parts.append(
            _draw_word(ELSEWHERE_TEXT, layout.rows[ELSEWHERE], scale.font, colours.faint,
                  layout.right + 5, "start", None, class_="to", data_position="elsewhere")
        )  # fmt: skip
    return element(
        "g", *parts, id=f"panel{number}", class_="panel",
        transform=f"translate({layout.x:.1f} {layout.y:.1f})",
        data_sentence=_escape_xml(panel.sentence), data_layer=panel.layer, data_head=panel.head,
        data_name=panel.full_name,
    )  # fmt: skip


def _weight_lines(
    layout: PanelLayout, facts: SentenceFacts, colours: Palette, canvas: Canvas
) -> dict[int, list[str]]:
    """The lines of a panel, by their from_position."""
    panel = layout.panel
    gold = {(a, b): is_found for a, b, is_found in panel.gold.rows()}
    heads = panel.mentions.select("entity", "head").rows()
    # The entity of each pair of head words: of a mention, and of an earlier mention.
    entity = {
        (a, b): number
        for number, a in heads
        for other_number, b in heads
        if number == other_number and b < a
    }
    special = set(panel.words.filter(panel.words["is_special"])["position"]) | {ELSEWHERE}
    lines: dict[int, list[str]] = {}
    largest = panel.largest(facts.measure)

    def rank(row: tuple[int, int, float | None]) -> int:
        """Lines of special tokens come first, and marked ones last, on top."""
        start, end, _ = row
        return (
            2
            if (start, end) in gold or (start, end) in entity
            else (0 if start in special or end in special else 1)
        )

    for start, end, stored_weight in sorted(panel.weights.rows(), key=rank):
        weight = stored_weight or 0.0  # null: not kept
        arc = gold.get((start, end))
        is_marked = arc is not None or (start, end) in entity
        if weight / largest < facts.least and not is_marked:
            continue
        colour = colours.faint_line if start in special or end in special else colours.line
        if (start, end) in entity:
            colour = colours.entity(entity[start, end])
        if arc is not None:
            colour = colours.gold
        font = layout.scale.font
        opacity, thick = _line_style(weight / largest, font, canvas.thin)
        ends = (layout.left, layout.rows[start]), (layout.right, layout.rows[end])
        ends_data = {"data_from": start, "data_to": "elsewhere" if end == ELSEWHERE else end}
        if is_marked:
            mark = _gold_mark(*ends, colour, colours.ground, arc, font, canvas.thin, **ends_data)
            lines.setdefault(start, []).append(mark)
        line = element(
            "line", class_="line", x1=ends[0][0], y1=ends[0][1], x2=ends[1][0], y2=ends[1][1],
            stroke=colour, stroke_opacity=opacity, stroke_width=thick, stroke_linecap="round",
            **ends_data, data_weight=None if stored_weight is None else f"{weight:.9g}",
            data_gold=None if arc is None else "found" if arc else "missed",
        )  # fmt: skip
        lines.setdefault(start, []).append(line)
    return lines


def _panel_titles(panels: Sequence[Panel]) -> list[str]:
    if any(panel.label for panel in panels):
        return [f"{panel.heads_label}  {shorten_for_svg(panel.label)}" for panel in panels]
    has_heads = len({panel.heads_label for panel in panels}) > 1
    has_sentences = len({panel.sentence for panel in panels}) > 1
    return [
        "  ".join(
            [panel.heads_label] * has_heads + [shorten_for_svg(panel.sentence)] * has_sentences
        )
        for panel in panels
    ]


def entity_letter(number: int) -> str:
    """The letter of an entity, readable without colours: A to Z, then A1 to Z1, and so on."""
    return chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")


def _mention_bars(layout: PanelLayout, colours: Palette, canvas: Canvas) -> Iterator[str]:
    scale = layout.scale
    letters = scale.font * 0.72 if canvas.room is None else canvas.note
    for (entity, first, last, head), lane in zip(
        layout.panel.mentions.rows(), mention_lanes(layout.panel.mentions), strict=True
    ):
        colour = colours.entity(entity)
        top = layout.rows[first] - scale.row * 0.4
        bottom = layout.rows[last] + scale.row * 0.4
        offset = LANE * (lane + 0.5)
        for x in (layout.lanes * LANE - offset, layout.right + layout.column + offset - 4):
            yield element(
                "rect", class_="mention", x=x - 1.5, y=top, width=3, height=bottom - top, rx="1.5",
                fill=colour, data_entity=entity, data_first=first, data_last=last, data_head=head,
            )  # fmt: skip
            yield _svg_text(entity_letter(entity), x + 2.5, layout.rows[head] + scale.font * 0.3,
                        letters, colour, bold=True)  # fmt: skip


def _draw_word(
    text: str, y: float, size: float, colour: str, x: float, anchor: str, ground: str | None,
    **attributes: Any,
) -> str:  # fmt: skip
    """Draw a word; `anchor` is the side at x (start: left), also of right-to-left words."""
    box = ""
    if ground is not None:
        box_width = text_width(text, size) + 4
        left = x - box_width + 2 if anchor == "end" else x - 2
        box = element("rect", x=left, y=y - size * 0.68, width=box_width, height=size * 1.36, rx=2,
                       fill=ground)  # fmt: skip
    return box + _svg_text(text, x, y + size * 0.35, size, colour, anchor=anchor, **attributes)


def _svg_text(
    text: str, x: float, y: float, size: float, colour: str, *, anchor: str = "start",
    bold: bool = False, **attributes: Any,
) -> str:  # fmt: skip
    return element(
        "text", escape(isolate_direction(text)), x=x, y=y, font_size=f"{size:g}", fill=colour,
        text_anchor=None if anchor == "start" else anchor, font_weight="bold" if bold else None,
        **{"xml:space": "preserve"}, **attributes,
    )  # fmt: skip


def _escape_xml(text: str) -> str:
    """Escape a text for an attribute or a title, without characters that XML does not allow."""
    return escape("".join(character if character.isprintable() else " " for character in text))


# CSS for hover.js, which shows the lines of the word under the pointer.
HOVER_CSS = """\
.drawn svg{display:block;overflow:visible}
.drawn .from text,.drawn .to{cursor:pointer}
.drawn .panel.pointed :is(.line,.arc){visibility:hidden}
.drawn .panel.pointed .shown{visibility:visible}
.drawn .weight{fill:currentColor;pointer-events:none}
.drawn .held text,.drawn text.held{font-weight:bold}
"""


def hover_script() -> str:
    """The script that makes pictures interactive, for any page."""
    return (files("attnbank.queries.pictures") / "hover.js").read_text(encoding="utf-8")


def live_page(
    panels: Sequence[Panel], facts: SentenceFacts, theme: str = "light", look: Look | None = None
) -> str:
    """Draw panels as an interactive HTML document: hover, click to pin, arrow keys.

    It is self-contained, and its policy forbids all requests. Raises CallError as `draw_svg`.
    """
    colours = theme_of(theme).sentence
    live = hover_script()
    digest = base64.b64encode(hashlib.sha256(live.encode()).digest()).decode()
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        f" style-src 'unsafe-inline'; script-src 'sha256-{digest}'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_escape_xml(title_of(panels, facts))}</title><style>"
        f"body{{margin:0;background:{colours.ground};color:{colours.text};"
        f"font:16px/1.4 {SENTENCE_FONTS}}}"
        ".drawn{overflow-x:auto}#looks{position:sticky;top:0;margin:0;padding:.5em 16px;"
        f"min-height:1.4em;background:{colours.ground};border-bottom:1px solid {colours.faint}}}"
        f"{HOVER_CSS}</style></head><body>\n"
        '<p id="looks" aria-live="polite">Hover or tap a word to see its attention; click to'
        f' pin.</p>\n<div class="drawn">\n{draw_svg(panels, facts, theme, look)}</div>\n'
        f"<script>{live}</script></body></html>\n"
    )
