"""A frame as a table for people: all rows, numbers rounded and right-aligned, fitted in width."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnbank.queries.directions import isolated
from attnbank.sql.outputs.lines import shown

if TYPE_CHECKING:
    import polars as pl

_GAP = "  "
_NARROWEST = 8
"""Columns of a terminal below which a column of text is not made narrower."""


@dataclass
class Column:
    """A column as text: its name and cells, and whether they are numbers."""

    name: str
    cells: list[str]
    is_number: bool

    @property
    def width(self) -> int:
        """The width of its widest cell, in columns of a terminal."""
        return max((display_width(cell) for cell in self.cells), default=0)


def table(frame: pl.DataFrame, width: int | None = None, *, wraps: bool = False) -> Iterator[str]:
    """The lines of a table, no wider than `width` columns of a terminal if that is possible.

    Names of columns break at their underscores, then texts are cut short, the widest first. With
    `wraps` the last column is wrapped onto further lines instead.
    """
    columns = columns_as_text(frame)
    if wraps and width is not None:
        columns = _wrapped(columns, width)
    heads = [[column.name] for column in columns]
    widths = [max(each.width, display_width(each.name)) for each in columns]
    gap = _GAP
    if width is not None and _total(widths, gap) > width:
        heads = [_broken(each.name, each.width) for each in columns]
        widths = [
            max(each.width, *map(display_width, head))
            for each, head in zip(columns, heads, strict=True)
        ]
        gap = _narrow(columns, widths, width)
    height = max((len(head) for head in heads), default=0)
    heads = [[""] * (height - len(head)) + head for head in heads]
    for at in range(height):
        yield _line([head[at] for head in heads], columns, widths, gap)
    yield gap.join("-" * each for each in widths)
    for row in zip(*(column.cells for column in columns), strict=True):
        yield _line(row, columns, widths, gap)


def markdown(frame: pl.DataFrame) -> Iterator[str]:
    """The lines of a table in Markdown, with the same cells."""
    columns = columns_as_text(frame)
    yield f"| {' | '.join(_escaped(column.name) for column in columns)} |"
    yield f"|{'|'.join('--:' if column.is_number else '---' for column in columns)}|"
    for row in zip(*(column.cells for column in columns), strict=True):
        yield f"| {' | '.join(_escaped(cell) for cell in row)} |"


def display_width(text: str) -> int:
    """The columns of a terminal that a text takes: 2 for wide characters, 0 for combining ones."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    return max(0, int(wcswidth(text)))  # -1 for control characters, which cells have written out


def as_text(value: Any) -> str:
    """A value of any type as one line, with control characters escaped."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _rounded(value, _pattern([value]))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return f"{{{', '.join(f'{as_text(name)}: {_part(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_part, value))}]"
    return shown(str(value))


def _part(value: Any) -> str:
    return "null" if value is None else as_text(value)


def columns_as_text(frame: pl.DataFrame) -> list[Column]:
    """The columns as text for people: every cell is one line, and numbers are rounded."""
    found = []
    for series in frame:
        values = series.to_list()
        if series.dtype.is_float():
            pattern = _pattern(values)
            cells = ["" if value is None else _rounded(value, pattern) for value in values]
        else:
            cells = [as_text(value) for value in values]
        found.append(Column(as_text(series.name), cells, series.dtype.is_numeric()))
    return found


def _wrapped(columns: list[Column], width: int) -> list[Column]:
    """The columns with the text of the last one wrapped onto as many rows as it needs."""
    others = columns[:-1]
    taken = sum(max(each.width, display_width(each.name)) + len(_GAP) for each in others)
    room = max(width - taken, 3 * _NARROWEST)
    found = [Column(each.name, [], each.is_number) for each in columns]
    for *cells, text in zip(*(column.cells for column in columns), strict=True):
        for at, line in enumerate(textwrap.wrap(text, room) or [""]):
            row = [*([""] * len(cells) if at else cells), line]
            for column, cell in zip(found, row, strict=True):
                column.cells.append(cell)
    return found


def _pattern(values: Sequence[float | None]) -> str:
    """The format of a column of floats: three decimals, fewer for large values.

    If all values are tiny, or some are huge, it is three significant digits instead.
    """
    sizes = [abs(each) for each in values if each is not None and math.isfinite(each) and each]
    if sizes and (max(sizes) >= 1e6 or max(sizes) < 0.005):
        return ".3g"
    return ".1f" if sizes and max(sizes) >= 1000 else ".3f"


def _rounded(value: float, pattern: str) -> str:
    shown = format(value, pattern) if math.isfinite(value) else str(value)
    return shown.removeprefix("-") if not shown.strip("-0.") else shown  # no -0.000


def _total(widths: Sequence[int], gap: str) -> int:
    return sum(widths) + len(gap) * (len(widths) - 1)


def _broken(name: str, width: int) -> list[str]:
    """A name broken at underscores into lines that are, if possible, no wider than `width`."""
    lines = [""]
    for part in name.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1] + part) > max(width, _NARROWEST):
            lines.append(part)
        else:
            lines[-1] += part
    return lines


def _narrow(columns: Sequence[Column], widths: list[int], most: int) -> str:
    """Make the widest columns of text narrower until the line is no longer than `most`.

    Returns the gap between columns, which is narrower too if that was not enough.
    """
    texts = [at for at, column in enumerate(columns) if not column.is_number]
    while _total(widths, _GAP) > most:
        widest = max(texts, key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= _NARROWEST:
            return " "
        widths[widest] -= 1
    return _GAP


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], gap: str) -> str:
    parts = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        shown = cut(cell, width)
        space = " " * (width - display_width(shown))
        if not column.is_number:
            shown = isolated(shown)
        parts.append(space + shown if column.is_number else shown + space)
    return gap.join(parts).rstrip()


def cut(text: str, width: int) -> str:
    """The beginning of a text in so many columns of a terminal, with … where it goes on."""
    if display_width(text) <= width:
        return text
    from wcwidth import iter_graphemes

    room, kept = width - 1, []
    for sign in iter_graphemes(text):  # a letter is not parted from its accents
        room -= display_width(sign)
        if room < 0:
            break
        kept.append(sign)
    return f"{''.join(kept)}…"


def cut_start(text: str, width: int) -> str:
    """The end of a text in so many columns of a terminal, with … where it begins before."""
    if display_width(text) <= width:
        return text
    from wcwidth import iter_graphemes

    signs = list(iter_graphemes(text))
    room = width - 1
    first = len(signs)
    while first and (wide := display_width(signs[first - 1])) <= room:
        room -= wide
        first -= 1
    return f"…{''.join(signs[first:])}"


def _escaped(text: str) -> str:
    """The text with a backslash before each character that Markdown could take for markup."""
    return re.sub(r"[\\|<&*`]", r"\\\g<0>", text)
