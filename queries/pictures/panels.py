"""The parts of charts: axes, scales, legends and labels."""

from __future__ import annotations

import json
import math
import textwrap
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from typing import Any

import polars as pl

from attnbank.queries.pictures.encodings import (
    category_label,
    encodings_of,
    legend_order,
    scale_ends,
)
from attnbank.queries.pictures.theme import Look, Theme
from attnbank.sql.header import Analysis, Plot, ResultColumn

# Characters of a name in a subtitle.
MAX_NAME = 80

# Characters of a name at an axis or in a legend.
MAX_LABEL = 34

# Characters of a text in the rows of a specification.
_MAX_TEXT = 500

# The label of null at an axis.
NO_VALUE = "\u2013"

# The significance level.
SIGNIFICANT = 0.05

Row = dict[str, Any]


def vega_rows(frame: pl.DataFrame) -> list[Row]:
    """The rows as JSON values: infinite and NaN are null; columns of lists or bytes are omitted."""
    columns = {
        series.name: [_json_cell(value) for value in series.to_list()]
        for series in frame
        if not (series.dtype.is_nested() or series.dtype == pl.Binary)
    }
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _json_cell(value: Any) -> Any:
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (int, bool)) or value is None:
        return value
    return _json_text(value.isoformat() if isinstance(value, (date, time)) else str(value))


@lru_cache(4096)  # most texts are names, which stand in many rows
def _json_text(text: str) -> str:
    if len(text) > _MAX_TEXT:  # each mark repeats it as its label
        text = f"{text[:_MAX_TEXT]}…{_checksum(text)}"
    return escape_harmful(text)


_FORBIDDEN = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def escape_harmful(text: str) -> str:
    """Escape the characters of foreign text that could harm a picture, as in `\\x1b`.

    These are control characters, on which vl-convert fails, and those that change the direction of
    the text around them.
    """
    return "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    is_turning = unicodedata.bidirectional(character) in _TURNING
    if not is_turning and unicodedata.category(character) not in _FORBIDDEN:
        return character
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def short_text(text: str, longest: int = MAX_NAME) -> str:
    """Foreign text as a short line: escaped, cut, and isolated if it is right-to-left.

    It is cut here (a wide character counts twice), because Vega fails if it cuts inside a character
    of two code units.
    """
    line = escape_harmful(text[: longest + 1])
    width = 0
    for at, character in enumerate(line):
        width += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
        if width > longest:
            line = f"{line[: max(0, at - 1)]}…"
            break
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in line):
        return f"\u2068{line}\u2069"
    return line


def row_label(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """The label of a row by some columns: `8-10` for layer and head, else joined by commas.

    The ends of a range are joined by a dash.
    """
    names = tuple(columns)
    if names[:1] == ("shortest",) and len(names) == 2:
        first, last = row[names[0]], row[names[1]]
        return f"{first} or more" if last is None else f"{first}\u2013{last}"
    parts = [
        NO_VALUE if row[column] is None else _axis_text(_cell_text(row[column])) for column in names
    ]
    is_head = len(names) == 2 and names[0].startswith("layer") and names[1].startswith("head")
    return ("-" if is_head else ", ").join(parts)


@lru_cache(4096)  # a grid has the same labels in each of its panels
def _axis_text(text: str) -> str:
    """A text short enough for an axis. A cut one gets a checksum: others may begin the same."""
    short = short_text(text, MAX_LABEL)
    if not short.rstrip("\u2069").endswith("…") or text.endswith("…"):
        return short
    return f"{short}{_checksum(text)}"


def _checksum(text: str) -> str:
    """Four digits that distinguish texts which are cut to the same beginning."""
    return f"{zlib.crc32(text.encode('utf-8', 'replace')) % 10_000:04}"


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def row_labels(rows: Iterable[Row], columns: tuple[str, ...]) -> list[str]:
    """The distinct labels: numbers sorted, texts in the order of the rows, null last."""
    values_of: dict[str, tuple[Any, ...]] = {}
    for row in rows:
        values_of.setdefault(row_label(row, columns), tuple(row[column] for column in columns))
    if all(
        _is_finite_number(part) or part is None for value in values_of.values() for part in value
    ):
        return sorted(
            values_of, key=lambda name: [(part is None, part or 0) for part in values_of[name]]
        )
    return list(values_of)


def _is_finite_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_significant(p: float | None) -> bool:
    """Whether a p value is below SIGNIFICANT; False for None."""
    return p is not None and p < SIGNIFICANT


def finite_numbers(rows: Iterable[Row], columns: Iterable[str]) -> list[float]:
    """The numbers in some columns, without nulls and texts."""
    names = tuple(columns)
    return [
        float(row[column]) for row in rows for column in names if _is_finite_number(row[column])
    ]


def is_amount(rows: list[Row], column: str) -> bool:
    """Whether a column has only numbers and nulls."""
    return all(row[column] is None or _is_finite_number(row[column]) for row in rows)


def add_label_column(rows: list[Row], column: str) -> tuple[str, list[str]]:
    """Add a field with the labels of a column to the rows; return its name and ordered values."""
    source = f"{column} label"
    for row in rows:
        row[source] = row_label(row, (column,))
    return source, legend_order(row_labels(rows, (column,)))


def words_of_name(name: str) -> str:
    """Turn the name of a column into words: Offset accuracy."""
    text = name.replace("_", " ")
    return f"{text[:1].upper()}{text[1:]}"


def wrap_characters(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` characters; [""] if it is empty."""
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


Spec = dict[str, Any]

# Fields that are added to rows. No column has such a name, because of the space.
X, Y, MARK, PLACE = "x label", "y label", "mark label", "x place"

# Fields of several columns that are folded into one (Vega-Lite's fold).
NAME, VALUE = "column name", "column value"


@dataclass(frozen=True)
class Size:
    """The width and height of one panel in pixels, and the most panels `beside` each other.

    None: chosen by the chart.
    """

    width: float | None = None
    height: float | None = None
    beside: int | None = None


# The format of the ends of a colour scale: by default, Vega writes 1.46 as 1.
_END_LABEL = "abs(datum.value) >= 1000 ? format(datum.value, ',.0f') : format(datum.value, '.3~g')"


@dataclass(frozen=True)
class Scene:
    """The inputs of a panel.

    `rows` are those of all panels; a panel draws those with its `panel_values`, by column. What
    all panels share is in `shared`: a picture of a large model has 24 panels and 57,000 rows.
    """

    analysis: Analysis
    plot: Plot
    rows: list[Row]
    theme: Theme
    size: Size
    look: Look = field(default_factory=Look)
    panel_values: Mapping[str, Any] = field(default_factory=dict)
    shared: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What `make` returns, which is called once for all panels."""
        if key not in self.shared:
            self.shared[key] = make()
        return self.shared[key]

    @property
    def panel_rows(self) -> list[Row]:
        """The rows of this panel."""
        names = tuple(self.panel_values)

        def by_panel() -> dict[tuple[Any, ...], list[Row]]:
            panels: dict[tuple[Any, ...], list[Row]] = {}
            for row in self.rows:
                panels.setdefault(tuple(row[name] for name in names), []).append(row)
            return panels

        panels: dict[tuple[Any, ...], list[Row]] = self.once(("panels", *names), by_panel)
        return panels[tuple(self.panel_values.values())]

    @property
    def tooltip(self) -> list[Spec]:
        """The tooltip of a mark: every column of its row."""
        known = self.rows[0]  # without columns of lists and bytes
        return [{"field": column.name} for column in self.analysis.columns if column.name in known]

    @property
    def background(self) -> Spec:
        """The background of cells, visible where there is no value."""
        return {"fill": self.theme.missing, "stroke": self.theme.faint}

    @property
    def coloured(self) -> list[Row]:
        """The rows whose amounts are coloured: all, or the significant ones."""
        column = self.plot.significant
        return [row for row in self.rows if column is None or is_significant(row[column])]

    def unit(self, width: Any, height: Any, **body: Any) -> Spec:
        """A Vega-Lite view of the panel's rows; sizes are in pixels, or {"step": pixels}."""
        filters: list[Spec] = [
            {"filter": {"field": name, "equal": value}} for name, value in self.panel_values.items()
        ]
        if self.plot.significant is not None:
            column = self.plot.significant
            # In Vega, null < 0.05 is true.
            filters.append({"filter": {"field": column, "valid": True}})
            filters.append({"filter": {"field": column, "lt": SIGNIFICANT}})
        return {"transform": filters, "width": width, "height": height, **body}

    def column(self, name: str) -> ResultColumn:
        """The declaration of a column in the header."""
        return next(column for column in self.analysis.columns if column.name == name)

    def help(self, column: str) -> str:
        """The help of a column, escaped."""
        return escape_harmful(self.column(column).help)

    def scale_ends(self, columns: Sequence[str]) -> list[float]:
        """The domain of a scale for some columns; see `scale_ends`."""

        def ends() -> list[float]:
            amounts = finite_numbers(self.coloured, columns)
            return scale_ends(amounts, self.plot.domain, stretch=self.look.stretch)

        return list(self.once(("ends", *columns), ends))


def axis_title(scene: Scene, columns: Sequence[str], longest: int = 64) -> str:
    """The title of an axis: the help of a column of numbers, the name of a column of texts."""
    if len(columns) > 1 and columns[0] != "shortest":
        return words_of_name(("-" if columns[0].startswith("layer") else ", ").join(columns))
    column = scene.column(columns[0])
    if column.caption is not None:
        return column.caption
    if column.type == "varchar" or column.name.startswith(("layer", "head")):
        return words_of_name(column.name)
    meaning = scene.help(column.name).split(";")[0].removesuffix(", in [0, 1]")
    for end in ("\n", ":", ", in nats", " ("):
        title = meaning if len(meaning) <= longest else meaning.split(end)[0]
        if len(title) <= longest:
            return words_of_name(title)
    return words_of_name(column.name)


def wrap_pixels(scene: Scene, text: str, width: float) -> list[str]:
    """Break a text into lines of about `width` pixels."""
    return wrap_characters(text, max(14, int(width / (0.52 * (scene.look.font + 1)))))


def legend_label(scene: Scene, column: str) -> str:
    """The label of a column in a legend; `accuracy_a` is named by its run."""
    side = column[-2:]
    if side in ("_a", "_b") and (run := scene.rows[0].get(f"run{side}")) is not None:
        return f"{category_label(column[:-2])} of {short_text(run)}"
    return category_label(column)


def label_axes(scene: Scene, x: Sequence[str], y: Sequence[str]) -> tuple[list[str], list[str]]:
    """Add the labels of both axes to the rows, and return the labels in order."""

    def labels() -> tuple[list[str], list[str]]:
        x_labels, y_labels = row_labels(scene.rows, tuple(x)), row_labels(scene.rows, tuple(y))
        index_of = {name: index for index, name in enumerate(x_labels)}
        for row in scene.rows:
            row[X], row[Y] = row_label(row, x), row_label(row, y)
            row[PLACE] = index_of[row[X]]
        return x_labels, y_labels

    x_labels, y_labels = scene.once(("axes", tuple(x), tuple(y)), labels)
    return [*x_labels], [*y_labels]


def names_axis(scene: Scene, domain: list[str], title: str, source: str, step: float) -> Spec:
    """A discrete axis with `step` pixels per name; horizontal if `source` is X.

    If there is no room, names are turned upright, then made smaller. If that is not enough,
    every second is shown, or every fifth, or the first of each layer: always at regular
    intervals.
    """
    longest, font = max(map(len, domain)), scene.look.font
    # The width of a horizontal label in ems; a vertical one takes 1.15, the height of a line.
    ems = 0.6 * longest + 0.4
    # Short names that have no room even upright stay horizontal and are thinned out.
    is_turned = source == X and ems * font > step
    is_turned &= longest > 4 or (longest > 2 and 1.15 * scene.look.min_font_size <= step)
    width = ems if source == X and not is_turned else 1.15
    if scene.look.min_font_size <= step / width < font:
        font = step / width
    angle = 0
    if is_turned:
        angle = -45 if step > 1.6 * font else -90
    spacing = math.ceil(round(width * font / step, 6))
    return {
        "field": source,
        "type": "ordinal",
        "scale": {"domain": domain},
        "title": wrap_pixels(scene, title, step * len(domain)) if source == X else title,
        "axis": {
            "labelAngle": angle,
            "labelOverlap": False,
            "labelFontSize": font,
            "values": _thin_out(domain, spacing),
            "grid": False,
            "domain": False,
            "tickColor": scene.theme.faint,
        },
    }


def _thin_out(domain: list[str], step: int) -> list[str]:
    """Thin out the values of an axis at regular intervals: every 2nd, 5th, 10th, and so on.

    Of heads (`8-10`), keep the first of each layer, or of every few layers.
    """
    if step <= 1:
        return domain
    layers = [name.partition("-")[0] for name in domain]
    heads = layers.count(layers[0])
    if 1 < heads < len(domain) and layers == [name for name in dict.fromkeys(layers)
                                              for _ in range(heads)]:  # fmt: skip
        return domain[:: heads * math.ceil(step / heads)]
    return domain[
        :: next(spacing for spacing in (2, 5, 10, 20, 50, 100, len(domain)) if spacing >= step)
    ]


def amounts_axis(scene: Scene, source: str, columns: Sequence[str], **axis: Any) -> Spec:
    """An axis of amounts of the field `source`, whose domain includes those of `columns`."""
    ends = scene.scale_ends(columns)
    return {
        "field": source,
        "type": "quantitative",
        "scale": {"domain": [ends[0], ends[-1]], "nice": scene.plot.domain is None},
        "axis": axis,
    }


def amount_color(scene: Scene, columns: Sequence[str], source: str, title: Any) -> Spec:
    """Encode the amounts of the field `source` as colours, on one scale for `columns`."""
    ends = scene.scale_ends(columns)
    colors = scene.theme.diverging if len(ends) == 3 else scene.theme.sequence
    steps = [at / (len(colors) - 1) for at in range(len(colors))]
    is_sqrt = scene.plot.scale == "sqrt" and len(ends) == 2
    if is_sqrt:
        # On a sqrt scale, squares of even steps space the colours evenly.
        steps = [step * step for step in steps]
    return {
        "field": source,
        "type": "quantitative",
        "scale": {
            "type": "sqrt" if is_sqrt else "linear",
            "domain": [ends[0] + step * (ends[-1] - ends[0]) for step in steps],
            "range": list(colors),
            "interpolate": "lab",
        },
        "legend": {"title": title, "gradientLength": 140, "labelExpr": _END_LABEL},
    }


def kind_colors(
    scene: Scene,
    source: str,
    values: list[str],
    title: str | None,
    domain_values: list[str] | None = None,
) -> Spec:
    """Encode the categories of a field as colours, shapes and dashes.

    `values` are those of all panels; the legend has `domain_values`, by default all.
    """
    encoding_of = encodings_of(values)
    domain = [value for value in values if domain_values is None or value in domain_values]
    names: dict[str, Any] = {value: legend_label(scene, value) for value in domain}
    legend: Spec = {"title": title}
    if scene.look.width is not None:  # the legend is below, in as many columns as fit
        font, room = scene.look.font, scene.look.width / (scene.size.beside or 1)
        # In ems, a letter is about 0.55 wide, and a symbol with its gaps about 3.
        letters = max(10, int(0.65 * room / (0.55 * font)))
        names = {name: textwrap.wrap(text, letters) for name, text in names.items()}
        widest = max(len(line) for lines in names.values() for line in lines)
        legend["columns"] = max(1, int(room / (font * (3 + 0.55 * widest))))
    legend["labelExpr"] = f"{json.dumps(names, ensure_ascii=False)}[datum.label]"
    ranges: dict[str, list[Any]] = {
        "color": [encoding_of[value].color(scene.theme) for value in domain],
        "shape": [encoding_of[value].shape for value in domain],
        "strokeDash": [encoding_of[value].dash for value in domain],
    }
    return {
        channel: {
            "field": source,
            "type": "nominal",
            # Lines have marks on them, whose legend is enough.
            "legend": None if channel == "strokeDash" else legend,
            "scale": {"domain": domain, "range": outputs},
        }
        for channel, outputs in ranges.items()
    }


@dataclass
class ChartParts:
    """Panels of a chart: `columns` of them, `width` pixels each, side by side.

    `independent_scales` are the channels for which each panel has its own scale.
    """

    panels: list[Spec]
    columns: int
    width: float
    notes: list[str] = field(default_factory=list)
    independent_scales: tuple[str, ...] = ()


def layer(mark: Spec, encoding: Spec, *transform: Spec) -> Spec:
    """A Vega-Lite layer."""
    body = {"mark": mark, "encoding": encoding}
    return {"transform": list(transform), **body} if transform else body


def panel_title(text: str, theme: Theme, width: float, font: float) -> Spec:
    """The title of a panel, broken into lines of a width in pixels."""
    return {
        "text": wrap_characters(text, max(18, int(width / (0.55 * font)))),
        "anchor": "start",
        "fontSize": font + 1,
        "fontWeight": "normal",
        "color": theme.ink,
    }
