"""A sentence that somebody types: the bank's model reads it, and nothing of it is kept."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import markupsafe

from attnbank.cli.explorer.request import RequestContext
from attnbank.queries import open_bank
from attnbank.queries.sentences.choosing import run_over
from attnbank.queries.sentences.showing import Shown
from attnbank.sql.errors import CallError

_LONGEST = 1000
"""Characters of a sentence that is read."""
_MOST_HEADS = 16
_STYLE = re.compile(r' style="[^"]*"')


def view(context: RequestContext, shown: dict[str, Any]) -> None:
    """Show what heads look at in a text, beside a sentence of the bank if one is named."""
    text = " ".join(context.text("text").split())
    heads, beside = context.text("head", "1-1").strip(), context.text("sentence").strip()
    shown |= {"text": text, "heads": heads, "sentence": beside, "model": _model(context)}
    if not text:
        return
    if len(text) > _LONGEST:
        raise CallError(f"The text has {len(text):,} characters.", f"Give at most {_LONGEST:,}.")
    names = heads.split(",")[:_MOST_HEADS]
    found = context.handle.once(
        ("typed", text, heads, shown["model"]), lambda: _read(text, names, shown["model"])
    )
    shown |= {
        "drawn": _picture(found),
        "figure": found.as_bytes,
        "rows": found.rows,
        "table": context.table(found.rows, {"sent_id": lambda row: None}),
    }
    if beside:
        own = context.bank.show(beside, names, run=context.run, timeout=context.cache.seconds)
        shown |= {"own": _picture(own), "answered": own.run.name}


def _model(context: RequestContext) -> str:
    """The model that reads: the one that the explorer was given, else the one of the run."""
    if context.cache.model is not None:
        return context.cache.model
    run = run_over(context.bank, context.run, None, None)
    rows = context.bank.connection.execute(
        "select model.name from run inner join model on model.id = run.model where run.id = $run",
        {"run": run.id},
    ).fetchall()
    return str(rows[0][0])


def _read(text: str, heads: list[str], model: str) -> Shown:
    """What heads look at in a text. Raises ModelError where the model is not at hand."""
    from attnbank.ingest import IngestOptions, ingest

    with tempfile.TemporaryDirectory(prefix="attnbank-typed-") as folder:
        corpus, bank = Path(folder) / "typed.txt", Path(folder) / "typed.duckdb"
        corpus.write_text(f"{text}\n", encoding="utf-8")
        ingest(IngestOptions((str(corpus),), bank, model, format="lines", unit="token"))
        with open_bank(bank) as opened:
            return opened.show(1, heads)


def _picture(found: Shown) -> markupsafe.Markup:
    # The picture escapes every word itself; the page allows no style within it.
    return markupsafe.Markup(_STYLE.sub("", found.draw("light")))
