"""Draw what one head does as one picture: its relations, where its attention goes, examples.

The attributes of each row have the numbers that it shows. Words are foreign text: they are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from attnbank.queries.pictures.arcs import ArcLine, draw_arc_line
from attnbank.queries.pictures.encodings import category_label
from attnbank.queries.pictures.rendering import (
    convert_svg,
    element,
    latex_caption,
    read_svg,
    shorten_for_svg,
    text_width,
    warn_if_long,
    wrap_svg_text,
)
from attnbank.queries.pictures.theme import POINTS, SENTENCE_FONTS, Look, Theme, theme_of
from attnbank.sql.errors import CallError, require_extra
from attnbank.sql.names import TO_DEPENDENT, TO_EARLIER

# What `plot` calls the picture.
HEAD_CARD = "head_card"


@dataclass(frozen=True)
class RelationRow:
    """How often a head finds a relation, beside what needs no head.

    The figures are those of best_relation and head_score; `p` is corrected for all that was tried,
    None where there are too few documents for a test. `held_out` is the accuracy on the half of the
    documents that the head was not chosen on, None if another head was chosen there. `random` is
    the accuracy of the same head with random weights.
    """

    relation: str
    direction: str
    n: int
    accuracy: float
    low: float | None
    high: float | None
    offset: int
    offset_accuracy: float
    p: float | None
    held_out: float | None
    random: float | None

    @property
    def is_significant(self) -> bool:
        """Whether the head finds it better than the offset by more than chance."""
        return self.p is not None and self.p < 0.05

    @property
    def label(self) -> str:
        """The relation, with the direction where it is not from the dependent to its head."""
        arrow = {TO_DEPENDENT: " (from its head)", TO_EARLIER: " (later to earlier)"}
        return f"{shorten_for_svg(category_label(self.relation))}{arrow.get(self.direction, '')}"


@dataclass(frozen=True)
class BehaviourRow:
    """The share of a head's attention that goes somewhere, whatever the words are.

    `chance` is the share of uniform attention, `random` that of the head with random weights.
    """

    label: str
    value: float
    chance: float | None
    random: float | None


@dataclass(frozen=True)
class Example:
    """A sentence, and what it is an example of."""

    caption: str
    line: ArcLine


@dataclass(frozen=True)
class CardFacts:
    """All that a card says, in texts that are safe to print; `notes` say what the bank lacks."""

    head: str
    title: str
    sentence: str
    run: str
    model: str
    corpus: str
    relations: tuple[RelationRow, ...]
    behaviours: tuple[BehaviourRow, ...]
    examples: tuple[Example, ...]
    notes: tuple[str, ...]

    @property
    def source(self) -> str:
        """The run, its model and its corpus."""
        run, model, corpus = (
            shorten_for_svg(name, 200) for name in (self.run, self.model, self.corpus)
        )
        return f"Run {run}: model {model}, corpus {corpus}."


@dataclass(frozen=True)
class HeadCard:
    """The picture of one head, with its theme and look; a notebook shows it."""

    facts: CardFacts
    theme: str = "light"
    look: Look | None = None

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return draw_card(self.facts, self.theme, self.look)

    def as_bytes(self, ending: str, scale: float = 2.0) -> bytes:
        """The picture as a file: .svg, .png (`scale` pixels per pixel or point), .pdf or .html.

        Raises CallError, and MissingPackageError without vl-convert.
        """
        if ending == ".json":
            raise CallError("A head card has no .json.", "Use .svg, .png, .pdf or .html.")
        if ending in (".png", ".pdf"):
            require_extra(f"A picture as {ending[1:].upper()}", "plot", "vl_convert")
        root = read_svg(self.svg)
        in_points = self.look is not None and self.look.width is not None
        if in_points:
            warn_if_long(float(root.attrib["height"]), "")
        if ending == ".html":
            drawn = convert_svg(root, ".svg", scale, in_points=in_points).decode()
            return _page(self.facts.title, drawn, theme_of(self.theme)).encode()
        return convert_svg(root, ending, scale, in_points=in_points)

    def caption(self, command: str) -> str:
        """The picture's caption in LaTeX, with the command that makes it."""
        said = [self.facts.sentence, self.facts.source, *_legend_words(self.facts)]
        return latex_caption(self.facts.title, [*said, *self.facts.notes], command)

    def _repr_svg_(self) -> str:
        return self.svg


def _page(title: str, svg: str, theme: Theme) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">"
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>body{{margin:1em;background:{theme.background}}}"
        f"svg{{max-width:100%;height:auto}}</style></head><body>\n{svg}</body></html>\n"
    )


# Widths and heights relative to the font size.
_WIDE = 62.0
_ROW = 1.55
_MARGIN = 1.2
_MIN_AXIS = 9.0
# From this width on the two charts stand side by side.
_BESIDE = 50.0


def draw_card(facts: CardFacts, theme: str = "light", look: Look | None = None) -> str:
    """Draw a card as one SVG document; its sizes are in points if `look` has a width.

    Raises CallError for an unknown theme, and for a column that is too narrow.
    """
    return _Card(facts, theme_of(theme), look or Look()).document()


class _Card:
    """A card in the making: its parts, and the `y` down to which it is drawn."""

    def __init__(self, facts: CardFacts, theme: Theme, look: Look) -> None:
        self.facts, self.theme, self.colours, self.look = facts, theme, theme.sentence, look
        self.font = look.font_size(12.0)
        self.note = max(look.min_font_size, 0.88 * self.font)
        self.margin = 0.0 if look.width is not None else _MARGIN * self.font
        self.width = look.width or _WIDE * self.font
        self.room = self.width - 2 * self.margin
        self.parts: list[str] = []
        self.y = self.margin

    def document(self) -> str:
        facts = self.facts
        if self.look.is_titled:
            self.write(facts.title, 1.25 * self.font, self.colours.text, bold=True)
            self.write(facts.sentence, self.font, self.colours.text)
            self.write(facts.source, self.note, self.colours.faint)
            self.y += 0.6 * self.font
        self.draw_charts()
        if facts.examples:
            self.y += 0.9 * self.font
            for example in facts.examples:
                self.write(example.caption, self.note, self.colours.faint)
                edge = 0.2 * self.font
                svg, height = draw_arc_line(
                    example.line, self.margin + edge, self.y, self.room - 2 * edge, self.font,
                    self.note, self.colours, self.theme.palette[1],
                )  # fmt: skip
                self.parts.append(svg)
                self.y += height + 0.7 * self.font
        for sentence in facts.notes:
            self.write(sentence, self.note, self.colours.faint)
        height = self.y + max(self.margin, 0.4 * self.font)
        svg = element(
            "svg",
            element("title", escape(facts.title)),
            element("desc", escape(f"{facts.sentence} {facts.source}")),
            element("rect", width="100%", height="100%", fill=self.colours.ground),
            *self.parts,
            xmlns="http://www.w3.org/2000/svg", width=f"{self.width:.6g}", height=f"{height:.6g}",
            viewBox=f"0 0 {self.width:.6g} {height:.6g}", font_family=escape(SENTENCE_FONTS),
            role="img", data_head=facts.head,
        )  # fmt: skip
        return f"{svg}\n"

    def write(self, text: str, size: float, colour: str, *, bold: bool = False) -> None:
        # Bold letters are wider.
        for line in wrap_svg_text(text, self.room / (1.06 if bold else 1.0), size):
            self.y += 1.3 * size
            self.parts.append(_text(line, self.margin, self.y, size, colour, bold=bold))

    def draw_charts(self) -> None:
        """Draw the two charts, side by side where there is room, and the legend below them."""
        facts, top = self.facts, self.y
        charts = []
        if facts.relations:
            heading = "Relations, against the best fixed offset (%)"
            charts.append((heading, [row.label for row in facts.relations], self.relations))
        if facts.behaviours:
            heading = "Where its attention goes (%)"
            charts.append((heading, [row.label for row in facts.behaviours], self.behaviours))
        is_beside = self.room >= _BESIDE * self.font and len(charts) > 1
        gap = 2.2 * self.font
        width = (self.room - gap) / 2 if is_beside else self.room
        bottom = top
        for number, (heading, labels, draw) in enumerate(charts):
            x = self.margin + (number * (width + gap) if is_beside else 0.0)
            self.y = top if is_beside else self.y + (0.7 * self.font if number else 0.0)
            self.y += 1.2 * self.font
            self.parts.append(_text(heading, x, self.y, self.font, self.colours.text, bold=True))
            self.y += 0.4 * self.font
            label_width = max(text_width(label, self.font) for label in labels) + 0.7 * self.font
            right = 4.2 * self.font
            if width - label_width - right < _MIN_AXIS * self.font:
                needed = (label_width + right + _MIN_AXIS * self.font) / POINTS
                raise CallError(
                    f"The picture needs a column of {needed:.2f} inches.",
                    "Give a wider one (--column 6.75in), or smaller letters (--font-size 7).",
                )
            axis = _Axis(x + label_width, x + width - right)
            self.rules(axis, len(labels))
            draw(x, axis, x + width)
            bottom = max(bottom, self.y)
        self.y = bottom
        if charts:
            self.legend()

    def rules(self, axis: _Axis, rows: int) -> None:
        bottom = self.y + rows * _ROW * self.font
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            self.parts.append(
                element("line", x1=axis.at(share), x2=axis.at(share), y1=self.y, y2=bottom,
                        stroke=self.theme.faint, stroke_width=f"{0.05 * self.font:.2f}")
            )  # fmt: skip
            self.parts.append(
                _text(f"{100 * share:.0f}", axis.at(share), bottom + 1.1 * self.note, self.note,
                      self.colours.faint, anchor="middle")
            )  # fmt: skip

    def relations(self, x: float, axis: _Axis, right: float) -> None:
        for row in self.facts.relations:
            middle = self.y + _ROW * self.font / 2
            marks = [self.row_label(row.label, x, middle)]
            if row.low is not None and row.high is not None:
                marks.append(
                    element("line", x1=axis.at(row.low), x2=axis.at(row.high), y1=middle, y2=middle,
                            stroke=self.theme.bar, stroke_width=f"{0.28 * self.font:.2f}")
                )  # fmt: skip
            marks.append(self.mark("offset", axis.at(row.offset_accuracy), middle))
            if row.random is not None:
                marks.append(self.mark("random", axis.at(row.random), middle))
            kind = "value" if row.is_significant else "unsure"
            marks.append(self.mark(kind, axis.at(row.accuracy), middle))
            if row.held_out is not None:
                marks.append(self.mark("held out", axis.at(row.held_out), middle))
            marks.append(self.row_end(f"n {row.n:,}", right, middle))
            self.parts.append(
                element(
                    "g", element("title", escape(_told(row))), *marks, class_="relation",
                    data_relation=escape(shorten_for_svg(row.relation)),
                    data_direction=row.direction, data_n=row.n,
                    data_accuracy=_exact(row.accuracy), data_low=_exact(row.low),
                    data_high=_exact(row.high), data_offset=row.offset,
                    data_offset_accuracy=_exact(row.offset_accuracy), data_p=_exact(row.p),
                    data_held_out=_exact(row.held_out), data_random=_exact(row.random),
                )
            )  # fmt: skip
            self.y += _ROW * self.font
        self.y += 1.4 * self.note

    def behaviours(self, x: float, axis: _Axis, right: float) -> None:
        for row in self.facts.behaviours:
            middle = self.y + _ROW * self.font / 2
            marks = [self.row_label(row.label, x, middle)]
            if row.chance is not None:
                marks.append(self.mark("offset", axis.at(row.chance), middle))
            if row.random is not None:
                marks.append(self.mark("random", axis.at(row.random), middle))
            marks.append(self.mark("value", axis.at(row.value), middle))
            marks.append(self.row_end(f"{100 * row.value:.1f}", right, middle))
            self.parts.append(
                element(
                    "g", *marks, class_="behaviour", data_behaviour=escape(row.label),
                    data_value=_exact(row.value), data_chance=_exact(row.chance),
                    data_random=_exact(row.random),
                )
            )  # fmt: skip
            self.y += _ROW * self.font
        self.y += 1.4 * self.note

    def row_label(self, text: str, x: float, middle: float) -> str:
        return _text(text, x, middle + 0.35 * self.font, self.font, self.colours.text)

    def row_end(self, text: str, right: float, middle: float) -> str:
        return _text(text, right, middle + 0.35 * self.note, self.note, self.colours.faint,
                     anchor="end")  # fmt: skip

    def mark(self, kind: str, x: float, y: float) -> str:
        """A mark of a kind at a place: its shape tells what it is, without its colour too."""
        size, first, ground = 0.34 * self.font, self.theme.palette[0], self.colours.ground
        thin = f"{0.11 * self.font:.2f}"
        if kind == "offset":
            half, thick = 1.7 * size, f"{0.15 * self.font:.2f}"
            return element("line", x1=x, x2=x, y1=y - half, y2=y + half, stroke=self.colours.text,
                           stroke_width=thick)  # fmt: skip
        if kind == "random":
            side = 1.5 * size
            return element("rect", x=x - side / 2, y=y - side / 2, width=side, height=side,
                           fill=ground, stroke=self.colours.faint, stroke_width=thin)  # fmt: skip
        if kind == "held out":
            reach = size
            return element("path", d=f"M{x:.1f} {y - reach:.1f}l{reach:.1f} {reach:.1f}"
                           f"l{-reach:.1f} {reach:.1f}l{-reach:.1f} {-reach:.1f}Z",
                           fill=self.theme.palette[1], stroke=ground,
                           stroke_width=f"{0.05 * self.font:.2f}")  # fmt: skip
        fill = first if kind == "value" else ground
        return element("circle", cx=x, cy=y, r=size, fill=fill, stroke=first, stroke_width=thin)

    def legend(self) -> None:
        x, self.y = self.margin, self.y + 1.5 * self.note
        for kind, caption in _legend(self.facts):
            width = 1.1 * self.font + text_width(caption, self.note) + 1.2 * self.font
            if x > self.margin and x + width > self.margin + self.room + self.font:
                x, self.y = self.margin, self.y + 1.5 * self.note
            middle = self.y - 0.35 * self.note
            self.parts.append(self.mark(kind, x + 0.45 * self.font, middle))
            self.parts.append(
                _text(caption, x + 1.1 * self.font, self.y, self.note, self.colours.faint)
            )
            x += width


@dataclass(frozen=True)
class _Axis:
    """The x of the two ends of an axis of shares."""

    left: float
    right: float

    def at(self, share: float) -> float:
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)


def _legend(facts: CardFacts) -> Iterator[tuple[str, str]]:
    """The kinds of marks in a card, and what each means."""
    relations, behaviours = facts.relations, facts.behaviours
    if not relations and not behaviours:
        return
    if behaviours or any(row.is_significant for row in relations):
        yield "value", "this head; bar: 95 % interval" if relations else "this head"
    if any(not row.is_significant for row in relations):
        is_tested = all(row.p is not None for row in relations)
        untested = "" if is_tested else ", or not tested"
        yield "unsure", f"not above the offset by more than chance{untested}"
    references = ["best fixed offset"] * bool(relations) + ["uniform attention"] * bool(behaviours)
    yield "offset", " / ".join(references)
    if any(row.held_out is not None for row in relations):
        yield "held out", "held out: the half that it was not chosen on"
    randoms = [row.random for row in relations] + [row.random for row in behaviours]
    if any(random is not None for random in randoms):
        yield "random", "random weights (the same head)"


_SHAPES = {"value": "Circle", "unsure": "Hollow circle", "offset": "Line", "held out": "Diamond",
           "random": "Square"}  # fmt: skip


def _legend_words(facts: CardFacts) -> Sequence[str]:
    return [f"{_SHAPES[kind]}: {caption}" for kind, caption in _legend(facts)]


def _told(row: RelationRow) -> str:
    parts = [f"{row.label}: {row.accuracy:.1%} of {row.n:,}"]
    parts.append(f"best fixed offset {row.offset:+d}: {row.offset_accuracy:.1%}")
    if row.held_out is not None:
        parts.append(f"held out {row.held_out:.1%}")
    if row.random is not None:
        parts.append(f"random weights {row.random:.1%}")
    return "; ".join(parts)


def _exact(value: float | None) -> str | None:
    return None if value is None else f"{value:.9g}"


def _text(
    text: str, x: float, y: float, size: float, colour: str, *, anchor: str = "start",
    bold: bool = False,
) -> str:  # fmt: skip
    return element(
        "text", escape(text), x=x, y=y, font_size=f"{size:g}", fill=colour,
        text_anchor=None if anchor == "start" else anchor, font_weight="bold" if bold else None,
        **{"xml:space": "preserve"},
    )  # fmt: skip
