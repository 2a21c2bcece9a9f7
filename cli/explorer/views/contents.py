"""What is in the bank: its runs, its corpora, its tables and what was left out."""

from __future__ import annotations

from attnbank.cli.explorer.paging import paging
from attnbank.cli.explorer.tables import table_of
from attnbank.cli.explorer.visit import Page, Visit, link

_OF_RUNS = ("id", "name", "model", "corpus", "context", "unit", "sentences", "words", "weights",
            "skipped", "finished")  # fmt: skip


def view(visit: Visit) -> Page:
    """Show what is in the bank, as `attnbank info` does."""
    found = visit.opened.once("info", visit.bank.info)
    runs = found.runs.select(name for name in _OF_RUNS if name in found.runs.columns)
    return Page(
        "contents.html",
        "What is in the bank",
        {
            "run": visit.run,
            "size": f"{found.bytes / 1e6:,.1f} MB",
            "format": found.format,
            "runs_table": table_of(
                runs,
                {"name": lambda row: link("/", run=row["name"])},
                part=paging(visit, runs.height, name="runs"),
            ),
            "tables": [
                (told, table_of(frame, part=paging(visit, frame.height, name=name)))
                for told, name, frame in (
                    ("Which run answers where none is named", "choices", visit.bank.choices()),
                    ("Corpora", "corpora", found.corpora),
                    ("Models", "models", found.models),
                    ("Left out", "left_out", found.skipped),
                    ("Tables", "tables", found.tables),
                )
            ],
        },
    )
