"""What the kinds of pictures are made of: axes, scales, legends and words."""

from __future__ import annotations

import json
import math
import textwrap
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from typing import Any

import polars as pl

from attnbank.queries.pictures.encodings import (
    caption_of,
    encodings,
    ends_of,
    in_order,
    label_of,
    unit_of,
)
from attnbank.queries.pictures.theme import Look, Theme
from attnbank.sql.header import Analysis, Plot, ResultColumn

# Characters of a name that a subtitle shows.
MAX_NAME = 80

# Characters of a name that stands at an axis or in a legend.
MAX_LABEL = 34

# Characters of a text that the rows of a picture have.
_MAX_TEXT = 500

# What stands for a null among the labels of an axis.
NO_VALUE = "\u2013"

# Below it, a p value is that of what is shown as found.
SIGNIFICANT = 0.05

Row = dict[str, Any]


def json_rows(frame: pl.DataFrame) -> list[Row]:
    """The rows as JSON knows them: not finite is null, columns of lists and bytes are left out."""
    columns = [
        name for name, kind in frame.schema.items() if not (kind.is_nested() or kind == pl.Binary)
    ]
    return [
        {name: _json_cell(value) for name, value in row.items()}
        for row in frame.select(columns).iter_rows(named=True)
    ]


def _json_cell(value: Any) -> Any:
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (int, bool)) or value is None:
        return value
    text = value.isoformat() if isinstance(value, (date, time)) else str(value)
    if len(text) > _MAX_TEXT:  # each mark has it as a label: a long name would be there often
        text = f"{text[:_MAX_TEXT]}…{_checksum(text)}"
    return escape_harmful(text)


_FORBIDDEN = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def escape_harmful(text: str) -> str:
    """Foreign text with each character written out (`\\x1b`) that could harm a picture.

    Control characters, which end the converter, and those that turn the direction beside them.
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
    """Foreign text as a short line that cannot harm a picture, isolated if from right to left.

    A long one is cut (a wide character counts twice): Vega fails if it cuts within a character.
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


def label(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """What a row is called by some columns: `8-10` of layer and head, else words side by side.

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


def _axis_text(text: str) -> str:
    """A text that fits beside an axis. What is cut has a number, since two may begin alike."""
    short = short_text(text, MAX_LABEL)
    if not short.rstrip("\u2069").endswith("…") or text.endswith("…"):
        return short
    return f"{short}{_checksum(text)}"


def _checksum(text: str) -> str:
    """What tells texts apart that begin alike, where they are cut."""
    return f"{zlib.crc32(text.encode('utf-8', 'replace')) % 10_000:04}"


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def labels(rows: Iterable[Row], columns: tuple[str, ...]) -> list[str]:
    """The different labels: numbers by their size, texts in the order of the rows, null last."""
    values_of: dict[str, tuple[Any, ...]] = {}
    for row in rows:
        values_of.setdefault(label(row, columns), tuple(row[column] for column in columns))
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
    """Whether what has this p value is shown as found."""
    return p is not None and p < SIGNIFICANT


def finite_numbers(rows: Iterable[Row], columns: Iterable[str]) -> list[float]:
    """Return the numbers of some columns, without nulls and texts."""
    names = tuple(columns)
    return [
        float(row[column]) for row in rows for column in names if _is_finite_number(row[column])
    ]


def is_amount(rows: list[Row], column: str) -> bool:
    """Whether a column holds numbers alone, nulls left out."""
    return all(row[column] is None or _is_finite_number(row[column]) for row in rows)


def add_label_column(rows: list[Row], column: str) -> tuple[str, list[str]]:
    """Put the labels of a column into a field of the rows; its name, and its values in order."""
    source = f"{column} label"
    for row in rows:
        row[source] = label(row, (column,))
    return source, in_order(labels(rows, (column,)))


def words_of_name(name: str) -> str:
    """Return the name of a column as words."""
    text = name.replace("_", " ")
    return f"{text[:1].upper()}{text[1:]}"


def wrap_characters(text: str, width: int) -> list[str]:
    """Break a text into lines of at most so many characters."""
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


Spec = dict[str, Any]

# Fields that are put beside those of a row; no column is called so, for the space in them.
X, Y, MARK, PLACE = "x label", "y label", "mark label", "x place"

# Fields of several columns that are drawn one beside the other.
NAME, VALUE = "column name", "column value"


@dataclass(frozen=True)
class Size:
    """The width and height of one panel in pixels. None stands for what suits it.

    Panels stand `beside` each other at most so many.
    """

    width: float | None = None
    height: float | None = None
    beside: int | None = None


# How Vega labels the ends of a scale of colours: left to itself, it writes 1.46 as 1.
_END_LABEL = "abs(datum.value) >= 1000 ? format(datum.value, ',.0f') : format(datum.value, '.3~g')"


@dataclass(frozen=True)
class Scene:
    """What a panel is drawn from; of the `rows` of all panels, it has those of `chosen`."""

    analysis: Analysis
    plot: Plot
    rows: list[Row]
    theme: Theme
    size: Size
    look: Look = field(default_factory=Look)
    panel_values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def panel_rows(self) -> list[Row]:
        """The rows of this panel."""
        return [
            row
            for row in self.rows
            if all(row[name] == value for name, value in self.panel_values.items())
        ]

    @property
    def tooltip(self) -> list[Spec]:
        """Every figure of a row, shown where somebody points at its mark."""
        known = self.rows[0]
        return [{"field": column.name} for column in self.analysis.columns if column.name in known]

    @property
    def background(self) -> Spec:
        """The ground of cells, which is seen where there is no value."""
        return {"fill": self.theme.missing, "stroke": self.theme.faint}

    @property
    def coloured(self) -> list[Row]:
        """The rows whose amounts are coloured: all, or those that are significant."""
        column = self.plot.significant
        return [row for row in self.rows if column is None or is_significant(row[column])]

    def unit(self, width: Any, height: Any, **body: Any) -> Spec:
        """A panel of Vega-Lite with its rows alone; sizes are pixels, or those of a step."""
        chosen: list[Spec] = [
            {"filter": {"field": name, "equal": value}} for name, value in self.panel_values.items()
        ]
        if self.plot.significant is not None:
            column = self.plot.significant
            # A null is less than any number to Vega.
            chosen.append({"filter": {"field": column, "valid": True}})
            chosen.append({"filter": {"field": column, "lt": SIGNIFICANT}})
        return {"transform": chosen, "width": width, "height": height, **body}

    def column(self, name: str) -> ResultColumn:
        """What the header says of a column."""
        return next(column for column in self.analysis.columns if column.name == name)

    def axis_title(self, columns: Sequence[str], longest: int = 64) -> str:
        """What an axis is called: the meaning of a number in the header, the name of a text."""
        if len(columns) > 1 and columns[0] != "shortest":
            return words_of_name(("-" if columns[0].startswith("layer") else ", ").join(columns))
        column = self.column(columns[0])
        title = caption_of(self.analysis.name, column.name)
        if title is not None:
            return title
        if column.type == "varchar" or column.name.startswith(("layer", "head")):
            return words_of_name(column.name)
        meaning = self.help(column.name).split(";")[0].removesuffix(", in [0, 1]")
        for end in ("\n", ":", ", in nats", " ("):
            title = meaning if len(meaning) <= longest else meaning.split(end)[0]
            if len(title) <= longest:
                return words_of_name(title)
        return words_of_name(column.name)

    def wrap_pixels(self, text: str, width: float) -> list[str]:
        """Break a text into lines that are about so many pixels wide."""
        return wrap_characters(text, max(14, int(width / (0.52 * (self.look.font + 1)))))

    def help(self, column: str) -> str:
        """The meaning of a column."""
        return escape_harmful(self.column(column).help)

    def common_axis_title(self, columns: Sequence[str]) -> str:
        """What several columns have in common: their caption, or what they are measured in."""
        if len(columns) == 1:
            return self.axis_title(columns)
        unit = unit_of(self.help(columns[0])) or "value"
        return words_of_name("share" if unit.startswith("share") else unit)

    def label_axes(self, x: Sequence[str], y: Sequence[str]) -> tuple[list[str], list[str]]:
        """Write what each row is called along both axes into it; the labels in order."""
        across, down = labels(self.rows, tuple(x)), labels(self.rows, tuple(y))
        places = {name: index for index, name in enumerate(across)}
        for row in self.rows:
            row[X], row[Y] = label(row, x), label(row, y)
            row[PLACE] = places[row[X]]
        return across, down

    def legend_label(self, column: str) -> str:
        """What a column of a figure is called in a key; `accuracy_a` is named by its run."""
        side = column[-2:]
        if side in ("_a", "_b") and (run := self.rows[0].get(f"run{side}")) is not None:
            return f"{label_of(column[:-2])} of {short_text(run)}"
        return label_of(column)

    def names_axis(self, domain: list[str], title: str, source: str, step: float) -> Spec:
        """An axis with a name for each place, `step` pixels each; it lies if `source` is X.

        Where names are many they stand upright, then get smaller. Where that is not enough, every
        second is written, or every fifth, or the first of each layer: never some and not others.
        """
        longest, font = max(map(len, domain)), self.look.font
        wide = 0.6 * longest + 0.4
        # Short names that have no room even upright are thinned out, and lie.
        is_turned = source == X and wide * font > step
        is_turned &= longest > 4 or (longest > 2 and 1.15 * self.look.smallest <= step)
        width = wide if source == X and not is_turned else 1.15
        if self.look.smallest <= step / width < font:
            font = step / width
        angle = 0
        if is_turned:
            angle = -45 if step > 1.6 * font else -90
        spacing = math.ceil(round(width * font / step, 6))
        return {
            "field": source,
            "type": "ordinal",
            "scale": {"domain": domain},
            "title": self.wrap_pixels(title, step * len(domain)) if source == X else title,
            "axis": {
                "labelAngle": angle,
                "labelOverlap": False,
                "labelFontSize": font,
                "values": _thin_out(domain, spacing),
                "grid": False,
                "domain": False,
                "tickColor": self.theme.faint,
            },
        }

    def amounts_axis(self, source: str, columns: Sequence[str], **axis: Any) -> Spec:
        """An axis of amounts, of the field `source`, that has room for some columns."""
        ends = self.scale_ends(columns)
        return {
            "field": source,
            "type": "quantitative",
            "scale": {"domain": [ends[0], ends[-1]], "nice": self.plot.domain is None},
            "axis": axis,
        }

    def amount_color(self, columns: Sequence[str], source: str, title: Any) -> Spec:
        """Amounts as colours, read from the field `source`, on one scale for some columns."""
        ends = self.scale_ends(columns)
        colors = self.theme.diverging if len(ends) == 3 else self.theme.sequence
        steps = [at / (len(colors) - 1) for at in range(len(colors))]
        is_sqrt = self.plot.scale == "sqrt" and len(ends) == 2
        if is_sqrt:
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

    def scale_ends(self, columns: Sequence[str]) -> list[float]:
        """The ends of the scale of some columns, as `ends_of` has them."""
        amounts = finite_numbers(self.coloured, columns)
        return ends_of(amounts, self.plot.domain, stretch=self.look.stretch)

    def kind_colors(
        self,
        source: str,
        values: list[str],
        title: str | None,
        domain_values: list[str] | None = None,
    ) -> Spec:
        """Kinds of a field as colours, shapes and dashes; of all `values` a panel has `shown`."""
        encoding_of = encodings(values)
        domain = [value for value in values if domain_values is None or value in domain_values]
        names: dict[str, Any] = {value: self.legend_label(value) for value in domain}
        legend: Spec = {"title": title}
        if self.look.width is not None:  # the key stands below, as many side by side as there fit
            font, room = self.look.font, self.look.width / (self.size.beside or 1)
            letters = max(10, int(0.65 * room / (0.55 * font)))
            names = {name: textwrap.wrap(text, letters) for name, text in names.items()}
            widest = max(len(line) for lines in names.values() for line in lines)
            legend["columns"] = max(1, int(room / (font * (3 + 0.55 * widest))))
        legend["labelExpr"] = f"{json.dumps(names, ensure_ascii=False)}[datum.label]"
        ranges: dict[str, list[Any]] = {
            "color": [encoding_of[value].color(self.theme) for value in domain],
            "shape": [encoding_of[value].shape for value in domain],
            "strokeDash": [encoding_of[value].dash for value in domain],
        }
        return {
            channel: {
                "field": source,
                "type": "nominal",
                # Lines have marks on them, whose key says enough.
                "legend": None if channel == "strokeDash" else legend,
                "scale": {"domain": domain, "range": outputs},
            }
            for channel, outputs in ranges.items()
        }


def _thin_out(domain: list[str], step: int) -> list[str]:
    """Some of the places of an axis, as far apart as each other: each, every 2nd, 5th, 10th.

    Of heads (`8-10`) the first of each layer, or of every few layers.
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


@dataclass
class ChartParts:
    """Panels (`columns` of `width` pixels side by side); `apart`: channels with own scales."""

    panels: list[Spec]
    columns: int
    width: float
    notes: list[str] = field(default_factory=list)
    independent_scales: tuple[str, ...] = ()


def layer(mark: Spec, encoding: Spec, *transform: Spec) -> Spec:
    """A layer of Vega-Lite."""
    body = {"mark": mark, "encoding": encoding}
    return {"transform": list(transform), **body} if transform else body


def panel_title(text: str, theme: Theme, width: float, font: float) -> Spec:
    """The title of a panel, broken into lines for a width in pixels."""
    return {
        "text": wrap_characters(text, max(18, int(width / (0.55 * font)))),
        "anchor": "start",
        "fontSize": font + 1,
        "fontWeight": "normal",
        "color": theme.ink,
    }
