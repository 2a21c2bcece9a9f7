"""A frame as HTML, for notebooks. Texts in a bank may come from anyone, so all is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

# The number of rows that are shown at most.
_MOST = 50


def html_table(frame: pl.DataFrame, title: str) -> str:
    """An HTML table of the frame's first 50 rows, with a caption and the number of rows left."""
    right, left = ' style="text-align: right"', ' style="text-align: left" dir="auto"'
    aligned = [right if dtype.is_numeric() else left for dtype in frame.dtypes]
    first_rows = frame.head(_MOST).rows()
    rows = "".join(f"<tr>{''.join(map(_cell, row, aligned))}</tr>" for row in first_rows)
    further = frame.height - _MOST
    more = f"<p>and {further:,} more</p>" if further > 0 else ""
    named = zip(frame.columns, aligned, strict=True)
    heads = "".join(f"<th{how}>{escape(name)}</th>" for name, how in named)
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{more}"
    )


def _cell(value: Any, how: str) -> str:
    if value is None:
        text = ""
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, int) and not isinstance(value, bool):
        text = f"{value:,}"
    else:
        text = str(value)
    return f"<td{how}>{escape(text)}</td>"
