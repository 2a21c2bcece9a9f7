"""Tables: every analysis with its picture, anyone's SELECT, and what is in the bank."""

from __future__ import annotations

import shlex
from typing import Any

import polars as pl

from attnbank.cli.commands.query import by_section
from attnbank.cli.explorer.request import RequestContext, link
from attnbank.cli.output import MOST_ROWS
from attnbank.queries import parameters
from attnbank.queries.contents import OF_RUNS
from attnbank.queries.pictures import SCREENS
from attnbank.queries.pictures.charts import why_not_drawn
from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis
from attnbank.sql.registry import find_analysis

_OWN = ("theme", "page")
"""Parameters of an address that belong to the explorer, not to the analysis."""


def index(context: RequestContext, shown: dict[str, Any]) -> None:
    """List all analyses by what their section is about."""
    shown["sections"] = by_section()


def analysis(context: RequestContext, shown: dict[str, Any]) -> None:
    """Show the form, the picture and the rows of one analysis. Raises CallError for another."""
    found = find_analysis(context.parts["name"])
    shown |= {"analysis": found, "title": found.name}
    own = {key: value for key, value in context.given.items() if key not in _OWN}
    values = _parameters_of_address(context, found)
    shown["command"] = context.rows_command(found.name, own)
    answer = context.query(found.name, **values)
    shown |= {
        "answered": answer.run_name,
        "table": context.table(answer.frame),
        "rows": answer.frame,
    }
    why = why_not_drawn(found, answer.frame)
    if why is not None:
        shown["error"] = why
    elif found.plot is not None and answer.frame.height:
        shown["figure"] = lambda ending: context.bank.picture(found.name, **values).as_bytes(ending)
        shown["plot_command"] = context.plot_command(found.name, own)
        shown["picture"] = {
            theme: link(f"/pictures/{found.name}", **own, theme=theme) for theme in SCREENS
        }


def picture(context: RequestContext, shown: dict[str, Any]) -> bytes:
    """Draw an analysis as SVG, so that the page needs no script. Raises as `Bank.plot`."""
    found = find_analysis(context.parts["name"])
    theme = context.choice_parameter("theme", SCREENS)
    values = _parameters_of_address(context, found)
    key = ("picture", found.name, repr(sorted(values.items())), theme)

    def render_picture() -> bytes:
        return context.bank.picture(found.name, theme=theme, **values).as_bytes(".svg")

    return context.handle.once(key, render_picture, len)


def _parameters_of_address(context: RequestContext, analysis: Analysis) -> dict[str, Any]:
    declared = {each.name: each for each in analysis.parameters}
    given = [each for each in context.given if each not in _OWN]
    if unknown := [each for each in given if each not in declared]:
        raise CallError(
            f"{analysis.name} has no parameter {unknown[0][:60]}.",
            f"It takes: {', '.join(declared) or 'none'}.",
        )
    return {
        name: parameters.from_text(declared[name], context.text_parameter(name)) for name in given
    }


def contents(context: RequestContext, shown: dict[str, Any]) -> None:
    """Show what is in the bank, as `attnbank info` does."""
    found = context.handle.once("info", context.bank.info)
    to_heads = {"name": lambda row: link("/", run=row["name"])}
    shown |= {
        "command": context.command("info"),
        "size": f"{found.bytes / 1e6:,.1f} MB",
        "format": found.format,
        "runs_table": context.table(found.runs.select(OF_RUNS), to_heads, name="runs"),
        "tables": [
            (title, context.table(frame, name=name))
            for title, name, frame in (
                ("Default run", "choices", context.bank.choices()),
                ("Corpora", "corpora", found.corpora),
                ("Models", "models", found.models),
                ("Skipped", "left_out", found.skipped),
                ("Tables", "tables", found.filled),
            )
        ],
    }


_MOST_BYTES = 15_000_000
"""Bytes of the rows of a statement; the cache keeps no more of one answer."""


def sql_view(context: RequestContext, shown: dict[str, Any]) -> None:
    """Show the box for a statement, which runs as `attnbank sql` runs it, and its rows below.

    Only the first page runs it: without ORDER BY the rows of another run may have another order.
    """
    shown["example"] = "select upos, count(*) as n from word group by upos order by n desc"
    text = context.text_parameter("statement").strip()
    if not text:
        return
    shown |= {"statement": text, "command": context.command(f"sql {shlex.quote(text)}")}
    key = ("statement", text)
    if context.page_number() == 1:
        context.handle.forget(key)
    frame, is_cut = context.handle.once(
        key, lambda: _first_rows(context, text), lambda made: made[0].estimated_size()
    )
    shown |= {"table": context.table(frame, has_more=is_cut), "cut": is_cut, "rows": frame}


def _first_rows(context: RequestContext, statement: str) -> tuple[pl.DataFrame, bool]:
    """The first rows of a statement, which is then ended; and whether there are more."""
    kept: list[pl.DataFrame] = []
    rows, size, is_cut = 0, 0.0, False
    cache = context.cache
    with (
        context.bank.stream(statement, seconds=cache.seconds, memory=cache.memory) as running,
        context.visit.stopping(running.close),
    ):
        for part in running:
            kept.append(part.head(MOST_ROWS - rows))
            rows += kept[-1].height
            size += kept[-1].estimated_size()
            is_cut = part.height > kept[-1].height or size > _MOST_BYTES
            if is_cut:
                break
    return (pl.concat(kept) if kept else pl.DataFrame()), is_cut
