"""What notebooks show of a bank.

Names and texts in a bank may come from anyone, so everything is escaped.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql.html import of_frame

if TYPE_CHECKING:
    import polars as pl

    from attnbank.queries.contents import Contents

_OF_RUNS = ("id", "name", "model", "corpus", "context", "unit", "sentences", "words", "weights",
            "skipped", "finished")  # fmt: skip


def of_bank(path: Path, runs: pl.DataFrame | None) -> str:
    """A bank with a table of its runs; `runs` is None if the bank is closed."""
    if runs is None:
        return f"<p>Bank <code>{escape(str(path))}</code>, closed</p>"
    shown = runs.select(name for name in _OF_RUNS if name in runs.columns)
    return f"<p>Bank <code>{escape(str(path))}</code></p>{of_frame(shown, 'Runs')}"


def of_contents(contents: Contents) -> str:
    """What is in a bank, as one HTML table for each kind of thing."""
    parts = ("runs", "models", "corpora", "skipped", "tables")
    tables = (of_frame(getattr(contents, part), part.capitalize()) for part in parts)
    return (
        f"<p><code>{escape(str(contents.path))}</code>: {contents.bytes:,} bytes,"
        f" format {contents.format}, written by attnbank {escape(contents.created_by)}</p>"
        + "".join(tables)
    )
