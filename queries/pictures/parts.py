"""What the kinds of pictures are made of: axes, scales, legends and words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from attnbank.queries.pictures.rows import Row, finite, harmless, label, labels, plain
from attnbank.queries.pictures.theme import Theme, categorical
from attnbank.sql.header import Analysis, Plot

Spec = dict[str, Any]

X, Y, MARK, PLACE = "x label", "y label", "mark label", "x place"
"""Fields that are put beside those of a row; no column is called so, for the space in them."""
NAME, VALUE = "column name", "column value"
"""Fields of several columns that are drawn one beside the other."""


@dataclass(frozen=True)
class Size:
    """The width and height of one panel in pixels. None stands for what suits it."""

    width: int | None = None
    height: int | None = None


@dataclass(frozen=True)
class Scene:
    """What a kind of picture is drawn from: the header, the rows, colours and sizes."""

    analysis: Analysis
    plot: Plot
    rows: list[Row]
    theme: Theme
    size: Size

    @property
    def tooltip(self) -> list[Spec]:
        """Every figure of a row, shown where somebody points at its mark."""
        known = self.rows[0]
        return [{"field": each.name} for each in self.analysis.columns if each.name in known]

    def caption(self, columns: Sequence[str], longest: int = 64) -> str:
        """What an axis is called: the meaning of a number in the header, the name of a text."""
        if len(columns) > 1:
            return words(("-" if columns[0].startswith("layer") else ", ").join(columns))
        column = next(each for each in self.analysis.columns if each.name == columns[0])
        if column.type == "varchar" or column.name.startswith(("layer", "head")):
            return words(column.name)
        whole = self.help(column.name)
        for end in (";", ":", ",", " ("):
            told = whole if len(whole) <= longest else whole.split(end)[0]
            if len(told) <= longest:
                shown = told.replace("[0, 1]", "[0,\u00a01]").replace("_", " ")  # on one line
                return f"{shown[:1].upper()}{shown[1:]}"
        return words(column.name)

    def help(self, column: str) -> str:
        """Return what the header says of a column."""
        told = next(each.help for each in self.analysis.columns if each.name == column)
        return harmless(told)

    def unit(self, columns: Sequence[str]) -> str:
        """What several columns have in common: their caption, or what they are measured in."""
        if len(columns) == 1:
            return self.caption(columns)
        found = re.search(r"\bin (nats[^;,]*|\[0, 1\])", self.help(columns[0]))
        if found is None:
            return "Value"
        return "Share, in [0, 1]" if found[1].startswith("[") else words(found[1])

    def mark(self, x: Sequence[str], y: Sequence[str]) -> tuple[list[str], list[str]]:
        """Write what each row is called along both axes into it; the labels in order."""
        across, down = labels(self.rows, tuple(x)), labels(self.rows, tuple(y))
        places = {name: place for place, name in enumerate(across)}
        for row in self.rows:
            row[X], row[Y] = label(row, x), label(row, y)
            row[PLACE] = places[row[X]]
        return across, down


@dataclass
class Drawn:
    """The panels of a picture, how many stand side by side, and what is to be told of them.

    `width` is about how wide a panel is, in pixels. `apart` are the channels whose scale each panel
    has to itself.
    """

    panels: list[Spec]
    columns: int
    width: float
    notes: list[str] = field(default_factory=list)
    apart: tuple[str, ...] = ()


def words(name: str) -> str:
    """Return the name of a column as words."""
    text = name.replace("_", " ")
    return f"{text[:1].upper()}{text[1:]}"


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most so many characters."""
    return textwrap.wrap(text, width) or [""]


def names_axis(domain: list[str], title: str, *, is_across: bool, theme: Theme) -> Spec:
    """Return the encoding of Vega-Lite for an axis with a name for each place."""
    is_short = max(map(len, domain)) <= 4
    return {
        "field": X if is_across else Y,
        "type": "ordinal",
        "scale": {"domain": domain},
        "title": title,
        "axis": {
            "labelAngle": (0 if is_short else -45) if is_across else 0,
            "labelOverlap": "greedy",
            "labelSeparation": 3,
            "grid": False,
            "domain": False,
            "tickColor": theme.faint,
        },
    }


def amount_domain(scene: Scene, columns: Sequence[str]) -> list[float]:
    """The ends of a scale of amounts: of the header, else of the rows and 0.

    Where there are amounts below 0, it reaches as far on either side, with 0 in the middle.
    """
    if scene.plot.domain is not None:
        return list(scene.plot.domain)
    found = finite(scene.rows, columns)
    least, most = min(found, default=0.0), max(found, default=0.0)
    if least < 0:
        reach = max(-least, most)
        return [-reach, 0.0, reach]
    return [0.0, most or 1.0]


_END_LABEL = "abs(datum.value) >= 1000 ? format(datum.value, ',.0f') : format(datum.value, '.3~g')"
"""How Vega labels the ends of a scale of colours: left to itself, it writes 1.46 as 1."""


def amount_color(scene: Scene, columns: Sequence[str], source: str, title: Any) -> Spec:
    """Return the encoding of Vega-Lite for amounts as colours, read from the field `source`."""
    ends = amount_domain(scene, columns)
    colors = scene.theme.diverging if len(ends) == 3 else scene.theme.sequence
    steps = [at / (len(colors) - 1) for at in range(len(colors))]
    is_sqrt = scene.plot.scale == "sqrt" and len(ends) == 2
    if is_sqrt:
        steps = [each * each for each in steps]
    scale: Spec = {
        "type": "sqrt" if is_sqrt else "linear",
        "domain": [ends[0] + each * (ends[-1] - ends[0]) for each in steps],
        "range": list(colors),
        "interpolate": "lab",
    }
    return {
        "field": source,
        "type": "quantitative",
        "scale": scale,
        "legend": {"title": title, "gradientLength": 140, "labelExpr": _END_LABEL},
    }


def kind_colors(
    scene: Scene,
    source: str,
    values: list[str],
    title: str | None,
    *,
    shown: list[str] | None = None,
) -> Spec:
    """The encodings of kinds of things as colours and shapes, from the field `source`.

    `values` decide who gets which; `shown` are those of this panel.
    """
    colors, shapes = categorical(scene.theme, values)
    kept = [at for at, each in enumerate(values) if shown is None or each in shown]
    legend: Spec = {"title": title, "labelExpr": "replace(datum.label, /_/g, ' ')"}
    domain = [values[at] for at in kept]
    common = {"field": source, "type": "nominal", "legend": legend}
    return {
        "color": {**common, "scale": {"domain": domain, "range": [colors[at] for at in kept]}},
        "shape": {**common, "scale": {"domain": domain, "range": [shapes[at] for at in kept]}},
    }


def is_amount(rows: list[Row], column: str) -> bool:
    """Return whether a column holds numbers alone, nulls left out."""
    found = [row[column] for row in rows if row[column] is not None]
    return all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in found)


def clean(rows: list[Row], column: str) -> tuple[str, list[str]]:
    """Put the texts of a column into the rows as a picture shows them; a dash for no value.

    The field that has them, and the different ones in order, `other` last.
    """
    source = f"{column} label"
    for row in rows:
        row[source] = label(row, (column,))
    return source, sorted(labels(rows, (column,)), key=lambda name: name == "other")


def rows_in(rows: list[Row], panel: list[Spec]) -> list[Row]:
    """Return the rows that the filters of a panel leave."""
    wanted = [(each["filter"]["field"], each["filter"]["equal"]) for each in panel]
    return [row for row in rows if all(row[name] == value for name, value in wanted)]


def folded(columns: Sequence[str]) -> Spec:
    """Return the step of Vega-Lite that puts the values of several columns below one another."""
    return {"fold": list(columns), "as": [NAME, VALUE]}


def panel_title(text: str, theme: Theme, width: float) -> Spec:
    """Return the title of a panel, broken into lines for a width in pixels."""
    return {
        "text": wrapped(text, max(18, int(width / 6))),
        "anchor": "start",
        "fontSize": 12,
        "fontWeight": "normal",
        "color": theme.ink,
    }


def shown_name(text: str) -> str:
    """Return a value of a panel's column as the title shows it."""
    return plain(text).replace("_", " ")
