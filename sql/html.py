"""A frame as HTML, for notebooks.

Names and texts in a bank may come from anyone, so everything is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_MOST = 50
"""The number of rows that are shown at most."""


def of_frame(frame: pl.DataFrame, title: str) -> str:
    """An HTML table of the frame's first 50 rows, with a caption and the number of rows left."""
    aligned = [
        ' style="text-align: right"'
        if each.is_numeric()
        else ' style="text-align: left" dir="auto"'
        for each in frame.dtypes
    ]
    rows = "".join(
        f"<tr>{''.join(map(_cell, row, aligned))}</tr>" for row in frame.head(_MOST).rows()
    )
    left = frame.height - _MOST
    more = f"<p>and {left:,} more</p>" if left > 0 else ""
    heads = "".join(
        f"<th{how}>{escape(name)}</th>" for name, how in zip(frame.columns, aligned, strict=True)
    )
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
