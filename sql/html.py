"""A frame as HTML, for notebooks. Names in a bank are foreign text: everything is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_MOST = 50
"""Rows of a table that are shown."""


def of_frame(frame: pl.DataFrame, title: str) -> str:
    """A frame as a table with a caption; of a long one the first rows."""
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
