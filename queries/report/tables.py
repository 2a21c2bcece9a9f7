"""Frames as tables of a page: rounded as on a terminal, and whole as CSV to download."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnbank.queries.formats.table import Column, columns_as_text
from attnbank.queries.formats.values import csv_text

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 40
"""Rows of a longer table that are not cut."""
FIRST_ROWS = 15
"""Rows of a table that is cut."""
_NEVER = ("run", "run_a", "run_b")
_LONG = 40
"""Characters of a cell from which its column takes several lines."""


@dataclass(frozen=True)
class Table:
    """A table of a page: names of columns, what they hold, and the rows as text.

    `kinds` has for each column number, long (text of several lines) or word.
    `total` is how many rows there are, `csv` the address of all of them as a file, whose name is
    `file`.
    """

    caption: str
    names: Sequence[str]
    kinds: Sequence[str]
    rows: Sequence[Sequence[str]]
    total: int
    csv: str
    file: str


def table_of(frame: pl.DataFrame, caption: str, file: str, *, cuts: bool = True) -> Table:
    """Lay a frame out as a table; with `cuts` a long one has its first rows alone.

    Columns that name runs stand above the table, and are in the CSV alone.
    """
    shown = frame.drop(_NEVER, strict=False)
    shown = shown.head(FIRST_ROWS) if cuts and frame.height > MOST_ROWS else shown
    columns = columns_as_text(shown)
    return Table(
        caption,
        [each.name.replace("_", " ") for each in columns],
        [_kind(each) for each in columns],
        list(zip(*(each.cells for each in columns), strict=True)),
        frame.height,
        csv_address(frame),
        f"{file}.csv",
    )


def _kind(column: Column) -> str:
    if column.is_number:
        return "number"
    return "long" if max(map(len, column.cells), default=0) >= _LONG else "word"


def csv_address(frame: pl.DataFrame) -> str:
    """All rows as CSV, as -f csv writes them, in an address that has the file in it."""
    coded = base64.b64encode(csv_text(frame).encode()).decode()
    return f"data:text/csv;charset=utf-8;base64,{coded}"
