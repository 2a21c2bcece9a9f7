"""Anyone's SELECT, in a process of its own, as `attnbank sql` runs it."""

from __future__ import annotations

from typing import Any

import polars as pl

from attnbank.cli.explorer.paging import number_of, paging
from attnbank.cli.explorer.tables import table_of
from attnbank.cli.explorer.visit import Page, Visit
from attnbank.sql.errors import AttnbankError

_EXAMPLE = "select upos, count(*) as n from word group by upos order by n desc"
MOST_ROWS = 10_000
"""Rows of a statement that can be paged through."""
_MOST_BYTES = 15_000_000
"""Bytes of these rows; the desk keeps no more of one answer."""


def view(visit: Visit) -> Page:
    """Show the box for a statement, and its rows below, where there is one."""
    statement = visit.text("statement").strip()
    shown: dict[str, Any] = {
        "statement": statement,
        "example": _EXAMPLE,
        "table": None,
        "error": None,
        "run": visit.run,
        "cut": False,
    }
    status = 200
    if statement:
        try:
            frame, is_cut = _rows(visit, statement)
            part = paging(visit, frame.height, has_more=is_cut)
            shown["table"], shown["cut"] = table_of(frame, part=part), is_cut
        except AttnbankError as error:
            shown["error"], status = error, 400
    return Page("statement.html", "SQL", shown, status)


def _rows(visit: Visit, statement: str) -> tuple[pl.DataFrame, bool]:
    """The first rows of a statement, up to MOST_ROWS, and whether there are more.

    The first page runs the statement; the pages after it read the same rows, whose order a
    statement without ORDER BY may change from run to run.
    """
    key = ("statement", statement)
    if number_of(visit) == 1:
        visit.opened.forget(key)
    return visit.opened.once(
        key, lambda: _first_rows(visit, statement), lambda made: made[0].estimated_size()
    )


def _first_rows(visit: Visit, statement: str) -> tuple[pl.DataFrame, bool]:
    """The first rows, and whether there are more; then the process is ended, which saves time."""
    kept: list[pl.DataFrame] = []
    rows, size, is_cut = 0, 0.0, False
    with visit.bank.stream(
        statement, seconds=visit.desk.seconds, memory=visit.desk.memory
    ) as running:
        for part in running:
            kept.append(part.head(MOST_ROWS - rows))
            rows += kept[-1].height
            size += kept[-1].estimated_size()
            is_cut = part.height > kept[-1].height or size > _MOST_BYTES
            if is_cut:
                break
    return (pl.concat(kept) if kept else pl.DataFrame()), is_cut
