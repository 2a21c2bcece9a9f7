"""Anyone's SELECT, in a process of its own, as `attnbank sql` runs it."""

from __future__ import annotations

from typing import Any

import polars as pl

from attnbank.cli.explorer.tables import MOST_ROWS, table_of
from attnbank.cli.explorer.visit import Page, Visit
from attnbank.sql.errors import AttnbankError

_EXAMPLE = "select upos, count(*) as n from word group by upos order by n desc"
_MOST_BYTES = 32_000_000


def view(visit: Visit) -> Page:
    """The box for a statement, and its rows below."""
    statement = visit.text("statement").strip()
    shown: dict[str, Any] = {
        "statement": statement,
        "example": _EXAMPLE,
        "table": None,
        "error": None,
        "run": visit.run,
        "cut": None,
    }
    status = 200
    if statement:
        try:
            frame, is_cut = _first_rows(visit, statement)
            shown["table"], shown["cut"] = table_of(frame), frame.height if is_cut else None
        except AttnbankError as error:
            shown["error"], status = error, 400
    return Page("statement.html", "SQL", shown, status)


def _first_rows(visit: Visit, statement: str) -> tuple[pl.DataFrame, bool]:
    """The first rows, and whether there are more; then the process is ended, which saves time."""
    kept: list[pl.DataFrame] = []
    rows, size, is_cut = 0, 0.0, False
    limits = {"seconds": visit.desk.seconds, "memory": visit.desk.memory}
    with visit.bank.stream(statement, **limits) as running:  # type: ignore[arg-type]
        for part in running:
            kept.append(part.head(MOST_ROWS - rows))
            rows += kept[-1].height
            size += kept[-1].estimated_size()
            is_cut = part.height > kept[-1].height or size > _MOST_BYTES
            if is_cut:
                break
    return (pl.concat(kept) if kept else pl.DataFrame()), is_cut
