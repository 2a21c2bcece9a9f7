"""Draw what one head does as one picture: its relations, where its attention goes, examples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from attnbank.queries.pictures.arcs import ArcLine, arc_line_chart
from attnbank.queries.pictures.charts import (
    PADDING,
    ChartFacts,
    fit_width,
    too_narrow,
    with_heading,
)
from attnbank.queries.pictures.encodings import category_label
from attnbank.queries.pictures.kinds import draw_bars
from attnbank.queries.pictures.panels import MARK, Row, Scene, Size, Spec, panel_title
from attnbank.queries.pictures.rendering import (
    Chart,
    picture_size,
    shorten_for_svg,
    text_width,
    warn_if_long,
    wrap_svg_text,
)
from attnbank.queries.pictures.theme import Look, Theme, theme_of
from attnbank.sql.header import OWN, parse
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
        arrow = {TO_DEPENDENT: ", from its head", TO_EARLIER: ", later to earlier"}
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


@dataclass(frozen=True)
class HeadCard(Chart):
    """The picture of one head, and what it shows."""

    facts: CardFacts = field(kw_only=True)


_RELATIONS = """\
-- title: Relations, against the best fixed offset
-- grain: one row per relation
-- plot: bars x=accuracy y=relation low=low high=high aside=n,test domain=0,1
--   beside=offset_accuracy,held_out_accuracy,random_weights
-- caption relation:
-- column relation, direction, n, accuracy, low, high, offset, offset_accuracy, p_corrected
-- column held_out_accuracy double: accuracy on the documents that the head was not chosen on
-- column random_weights double: accuracy of the same head with random weights
-- column test varchar: the offset, and p_corrected
"""
_BEHAVIOURS = """\
-- title: Where its attention goes
-- grain: one row per place
-- plot: bars x=share y=place beside=random_weights,uniform_attention aside=per_cent domain=0,1
-- caption place:
-- column place varchar: where it goes
-- column share double: share of attention
-- column uniform_attention double: share of uniform attention
-- column random_weights double: share of the same head with random weights
-- column per_cent varchar: the share in per cent
"""

_SIGNIFICANT = (
    "*: above the best fixed offset by more than chance (p < 0.05, corrected for all that was"
    " tried)."
)

# On a screen, pixels of a bar of 1, and those that both charts side by side are about wide.
_BAR, _WIDTH = 200.0, 720.0


def draw_card(facts: CardFacts, theme: str = "light", look: Look | None = None) -> HeadCard:
    """Draw a card: bars of its relations and behaviours, and its examples below.

    Raises CallError for an unknown theme, and for a column that is too narrow.
    """
    look = look or Look()
    if look.width is None:
        return HeadCard(_specification(facts, theme, look, Size(_BAR)), facts=facts)
    drawn = fit_width(lambda size: _specification(facts, theme, look, size), look, 1)
    if drawn is None:
        raise too_narrow("The card", look.width)
    warn_if_long(picture_size(drawn)[1], "")
    return HeadCard(drawn, look.width, facts=facts)


def example_room(look: Look) -> float:
    """The pixels (or points) that an example may be wide."""
    return (look.width or _WIDTH) - 2 * PADDING - 2


def _specification(facts: CardFacts, theme: str, look: Look, size: Size) -> Spec:
    colours, room = theme_of(theme), example_room(look)
    scenes = [
        _scene(header, rows, colours, size, look)
        for header, rows in (
            (_RELATIONS, [_row_of_relation(row) for row in facts.relations]),
            (_BEHAVIOURS, [_row_of_behaviour(row) for row in facts.behaviours]),
        )
        if rows
    ]
    charts = [draw_bars(scene) for scene in scenes]
    # The room for labels, which are on the left of what Vega aligns.
    rooms = [
        max(text_width(row[MARK], look.font) for row in scene.rows) + look.font for scene in scenes
    ]
    views = []
    for scene, chart, label_room in zip(scenes, charts, rooms, strict=True):
        (view,) = chart.panels
        for marks in view["layer"]:
            marks["encoding"]["y"]["axis"]["minExtent"] = (
                label_room if look.width is None else max(rooms)
            )
        heading = panel_title(scene.analysis.title, colours, room, look.font) | {"frame": "bounds"}
        views.append(view | {"title": heading, "data": {"values": scene.rows}})
    left = max(rooms[: 1 if look.width is None else 2], default=0.0)
    examples = [
        arc_line_chart(example.line, example.caption, -left, room, colours, look)
        for example in facts.examples
    ]
    bars = {
        "concat": views,
        "columns": 2 if look.width is None else 1,
        "spacing": 20,
        "resolve": {"scale": {"color": "independent", "shape": "independent"}},
    }
    # What a bar is, its axis says.
    notes = [
        f"{note}." for chart in charts for note in chart.notes if not note.startswith("Bars: ")
    ]
    notes += [_SIGNIFICANT] * any(row.is_significant for row in facts.relations)
    notes += facts.notes
    source = ChartFacts((facts.run,), (facts.model,), (facts.corpus,)).lines(10_000)
    meta = {"title": facts.title, "facts": [facts.sentence, *source], "notes": " ".join(notes)}
    subtitle = [
        line for text in (facts.sentence, *source, *notes)
        for line in wrap_svg_text(text, room, look.font)
    ]  # fmt: skip
    title = [*wrap_svg_text(facts.title, room / 1.06, 1.25 * look.font)]  # bold letters are wider
    return {
        **with_heading(meta | {"n": []}, title, subtitle, theme, look),
        "vconcat": [*([bars] if views else []), *examples],
        "spacing": 12,
    }


def _scene(header: str, rows: list[Row], theme: Theme, size: Size, look: Look) -> Scene:
    """The scene of bars, without marks for what the bank lacks."""
    analysis = parse(HEAD_CARD, OWN, header)
    assert analysis.plot is not None, "its header says so"
    beside = tuple(
        name for name in analysis.plot.beside if any(row[name] is not None for row in rows)
    )
    return Scene(analysis, replace(analysis.plot, beside=beside), rows, theme, size, look)


def _row_of_relation(row: RelationRow) -> Row:
    p = "not tested" if row.p is None else "p < 0.001" if row.p < 0.001 else f"p {row.p:.2g}"
    return {
        "relation": f"{row.label} *" if row.is_significant else row.label,
        "direction": row.direction, "n": row.n, "accuracy": row.accuracy,
        "low": row.low, "high": row.high, "offset": row.offset,
        "offset_accuracy": row.offset_accuracy, "p_corrected": row.p,
        "held_out_accuracy": row.held_out, "random_weights": row.random,
        "test": f"offset {row.offset:+d}, {p}",
    }  # fmt: skip


def _row_of_behaviour(row: BehaviourRow) -> Row:
    return {
        "place": row.label, "share": row.value, "uniform_attention": row.chance,
        "random_weights": row.random, "per_cent": f"{100 * row.value:.1f} %",
    }  # fmt: skip
