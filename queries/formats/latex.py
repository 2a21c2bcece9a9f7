"""A frame as a LaTeX table in the style of the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attnbank.queries.formats.table import columns_as_text

if TYPE_CHECKING:
    import polars as pl

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
}
"""Characters that LaTeX does not print as they are, and what to write instead. In its default font
encoding, < > and | would be printed as other characters."""

_LIGATURES = re.compile(r"([-`',])(?=\1)|([?!])(?=`)")
"""Characters that LaTeX would join with the next one, as two hyphens to a dash."""


def latex(frame: pl.DataFrame) -> Iterator[str]:
    """The lines of a tabular: numbers are rounded as in a table for people, and right-aligned."""
    columns = columns_as_text(frame)
    yield r"% \usepackage{booktabs}"
    yield f"\\begin{{tabular}}{{{''.join('r' if each.is_number else 'l' for each in columns)}}}"
    yield r"\toprule"
    yield _row([escaped(each.name) for each in columns])
    yield r"\midrule"
    for row in zip(*(column.cells for column in columns), strict=True):
        yield _row(
            [
                _number(cell) if column.is_number else escaped(cell)
                for cell, column in zip(row, columns, strict=True)
            ]
        )
    yield r"\bottomrule"
    yield r"\end{tabular}"


def escaped(text: str) -> str:
    """A text that LaTeX prints as it is."""
    found = "".join(_ESCAPES.get(each, each) for each in text)
    found = _LIGATURES.sub(r"\g<0>{}", found)
    # After the \\ that ends a row, these two would be taken for an argument of it.
    return f"{{{found[0]}}}{found[1:]}" if found[:1] in ("[", "*") else found


def _number(cell: str) -> str:
    """A number, with a minus sign instead of a hyphen if it is negative."""
    return f"$-${cell[1:]}" if cell.startswith("-") else cell


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
