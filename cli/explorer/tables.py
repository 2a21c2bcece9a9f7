"""Frames as tables of a page: the text of the terminal's tables, with links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from attnbank.cli.explorer.paging import Paging
from attnbank.cli.explorer.visit import link
from attnbank.queries.formats.table import columns_as_text

_LONGEST = 2000
"""Characters of a cell that a page shows."""

Link = Callable[[Mapping[str, Any]], str | None]


@dataclass(frozen=True)
class Cell:
    """A cell has a text, and the address that it leads to, if any."""

    text: str
    href: str | None = None


@dataclass(frozen=True)
class Table:
    """A frame as text: all of its rows, or those of the part that `paging` says.

    `names` and `is_number` have an entry a column, `rows` a list of cells for each row.
    """

    names: list[str]
    is_number: list[bool]
    rows: list[list[Cell]]
    paging: Paging | None = None


def table_of(
    frame: pl.DataFrame,
    links: Mapping[str, Link] | None = None,
    *,
    run: str | None = None,
    part: Paging | None = None,
) -> Table:
    """A frame as a table; of a long one the rows that `part` says.

    Heads lead to their page (columns layer and head), sentences to theirs (sent_id), unless
    `links` says otherwise. A column `run` that has one value is left out: the page names it.
    """
    if part is not None:
        frame = frame.slice(part.start, part.size)
    if "run" in frame.columns and frame["run"].n_unique() <= 1:
        frame = frame.drop("run")
    ways = _usual(frame, run) | dict(links or {})
    columns = columns_as_text(frame)
    values = frame.to_dicts() if any(name in frame.columns for name in ways) else []
    made = []
    for at in range(frame.height):
        cells = []
        for column in columns:
            text = column.cells[at]
            text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
            way = ways.get(column.name)
            cells.append(Cell(text, way(values[at]) if way is not None and text else None))
        made.append(cells)
    return Table(
        [each.name for each in columns],
        [each.is_number for each in columns],
        made,
        part,
    )


def _usual(frame: pl.DataFrame, run: str | None) -> dict[str, Link]:
    """The links that the columns of every analysis have."""
    found: dict[str, Link] = {}
    for end in ("", "_a", "_b"):
        if f"layer{end}" in frame.columns and f"head{end}" in frame.columns:
            found[f"head{end}"] = _to_head(end, run)
    if "sent_id" in frame.columns:
        found["sent_id"] = lambda row: link("/sentence", sentence=row["sent_id"], run=run)
    return found


def _to_head(end: str, run: str | None) -> Link:
    def way(row: Mapping[str, Any]) -> str | None:
        layer, head = row[f"layer{end}"], row[f"head{end}"]
        if not isinstance(layer, int) or not isinstance(head, int):
            return None
        own = row.get(f"run{end}") if end else run
        relation = row.get("relation")
        return link(f"/head/{layer}-{head}", run=own, relation=relation,
                    direction=row.get(f"direction{end}"))  # fmt: skip

    return way
