"""The rows of an analysis as a picture takes them, and the foreign text in them."""

from __future__ import annotations

import math
import unicodedata
import zlib
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import polars as pl

LONGEST = 80
"""Characters of a name that a subtitle shows."""
LONGEST_LABEL = 34
"""Characters of a name that stands at an axis or in a legend."""
NO_VALUE = "\u2013"
"""What stands for a null among the labels of an axis."""

Row = dict[str, Any]


def rows_of(frame: pl.DataFrame) -> list[Row]:
    """The rows with values that JSON knows: a number that is not finite is null.

    Columns of lists and bytes are left out: nothing draws them.
    """
    kept = [
        name for name, kind in frame.schema.items() if not (kind.is_nested() or kind == pl.Binary)
    ]
    return [
        {name: _json(value) for name, value in row.items()}
        for row in frame.select(kept).iter_rows(named=True)
    ]


def _json(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, (int, bool)) or value is None:
        return value
    return harmless(str(value))


def harmless(text: str) -> str:
    """Foreign text with each character written out (`\\x1b`) that could harm a picture.

    These are control characters, which SVG forbids, so that the converter would end the process,
    and those that turn the direction of what stands beside them.
    """
    return "".join(_written_out(each) if _is_harmful(each) else each for each in text)


def _written_out(character: str) -> str:
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def plain(text: str, longest: int = LONGEST) -> str:
    """Foreign text as a short line that cannot harm a picture; a long text is cut.

    Vega must not cut it: it does so between the two halves of a character, and fails. A wide
    character counts twice. A text from right to left is set apart from its neighbours.
    """
    shown = harmless(text[: longest + 1])
    width = 0
    for at, each in enumerate(shown):
        width += 2 if unicodedata.east_asian_width(each) in ("W", "F") else 1
        if width > longest:
            shown = f"{shown[: max(0, at - 1)]}…"
            break
    if any(unicodedata.bidirectional(each) in ("R", "AL", "AN") for each in shown):
        return f"\u2068{shown}\u2069"
    return shown


def _is_harmful(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Cs", "Cn", "Co", "Zl", "Zp")
        or unicodedata.bidirectional(character) in _TURNING
    )


_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def label(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """What a row is called by some columns: `8-10` of layer and head, else words side by side."""
    names = tuple(columns)
    parts = [NO_VALUE if row[each] is None else _short(_text(row[each])) for each in names]
    is_head = len(names) == 2 and names[0].startswith("layer") and names[1].startswith("head")
    return ("-" if is_head else ", ").join(parts)


def _short(text: str) -> str:
    """A text that fits beside an axis. What is cut has a number, since two may begin alike."""
    shown = plain(text, LONGEST_LABEL)
    if not shown.rstrip("\u2069").endswith("…") or text.endswith("…"):
        return shown
    return f"{shown}{zlib.crc32(text.encode('utf-8', 'replace')) % 10_000:04}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def labels(rows: Iterable[Row], columns: tuple[str, ...]) -> list[str]:
    """The different labels: numbers by their size, texts in the order of the rows, null last."""
    found: dict[str, tuple[Any, ...]] = {}
    for row in rows:
        found.setdefault(label(row, columns), tuple(row[each] for each in columns))
    values = list(found.values())
    if all(isinstance(each, (int, float)) or each is None for value in values for each in value):
        return sorted(found, key=lambda name: [(each is None, each or 0) for each in found[name]])
    return list(found)


def finite(rows: Iterable[Row], columns: Iterable[str]) -> list[float]:
    """Return the numbers of some columns, without nulls and texts."""
    names = tuple(columns)
    return [
        float(row[each])
        for row in rows
        for each in names
        if isinstance(row[each], (int, float)) and not isinstance(row[each], bool)
    ]
