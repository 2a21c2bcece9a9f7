"""Tables: every analysis with its plot, SQL statements, and the contents of the bank."""

from __future__ import annotations

import shlex
from typing import Any

import polars as pl

from attnbank.cli.commands.query import analyses_by_section
from attnbank.cli.explorer.request import RequestContext, link
from attnbank.cli.output import MOST_ROWS
from attnbank.queries import parameters
from attnbank.queries.contents import OF_RUNS
from attnbank.queries.pictures import SCREENS
from attnbank.queries.pictures.charts import why_not_drawn
from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis
from attnbank.sql.registry import find_analysis

# Parameters of an address that are not the analysis's.
_OWN = ("theme", "page")


def index(context: RequestContext, variables: dict[str, Any]) -> None:
    """List all analyses by section."""
    variables["sections"] = analyses_by_section()


def analysis(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the form, the plot and the rows of an analysis. Raises CallError for an unknown name."""
    chosen_analysis = find_analysis(context.parts["name"])
    variables |= {"analysis": chosen_analysis, "title": chosen_analysis.name}
    arguments = {key: value for key, value in context.parameters.items() if key not in _OWN}
    values = _parameters_of_address(context, chosen_analysis)
    variables["command"] = context.rows_command(chosen_analysis.name, arguments)
    answer = context.query(chosen_analysis.name, **values)
    variables |= {
        "answered": answer.run_name,
        "table": context.table(answer.frame),
        "rows": answer.frame,
    }
    why = why_not_drawn(chosen_analysis, answer.frame)
    if why is not None:
        variables["error"] = why
    elif chosen_analysis.plot is not None and answer.frame.height:
        variables["figure"] = lambda ending: context.bank.picture(
            chosen_analysis.name, **values
        ).as_bytes(ending)
        variables["plot_command"] = context.plot_command(chosen_analysis.name, arguments)
        variables["picture"] = {
            theme: link(f"/pictures/{chosen_analysis.name}", **arguments, theme=theme)
            for theme in SCREENS
        }


def picture(context: RequestContext, variables: dict[str, Any]) -> bytes:
    """Render the plot of an analysis as SVG. Raises what `Bank.plot` raises."""
    chosen_analysis = find_analysis(context.parts["name"])
    theme = context.choice_parameter("theme", SCREENS)
    values = _parameters_of_address(context, chosen_analysis)
    key = ("picture", chosen_analysis.name, repr(sorted(values.items())), theme)

    def render_picture() -> bytes:
        return context.bank.picture(chosen_analysis.name, theme=theme, **values).as_bytes(".svg")

    return context.handle.compute_once(key, render_picture, len)


def _parameters_of_address(context: RequestContext, analysis: Analysis) -> dict[str, Any]:
    declared = {parameter.name: parameter for parameter in analysis.parameters}
    names = [name for name in context.parameters if name not in _OWN]
    if unknown := [name for name in names if name not in declared]:
        raise CallError(
            f"{analysis.name} has no parameter {unknown[0][:60]}.",
            f"It takes: {', '.join(declared) or 'none'}.",
        )
    return {
        name: parameters.from_text(declared[name], context.text_parameter(name)) for name in names
    }


def contents(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the contents of the bank, as `attnbank info` does."""
    info = context.handle.compute_once("info", context.bank.info)
    to_heads = {"name": lambda row: link("/", run=row["name"])}
    variables |= {
        "command": context.command("info"),
        "size": f"{info.bytes / 1e6:,.1f} MB",
        "format": info.format,
        "runs_table": context.table(info.runs.select(OF_RUNS), to_heads, name="runs"),
        "tables": [
            (title, context.table(frame, name=name))
            for title, name, frame in (
                ("Default run", "choices", context.bank.choices()),
                ("Corpora", "corpora", info.corpora),
                ("Models", "models", info.models),
                ("Skipped", "left_out", info.skipped),
                ("Tables", "tables", info.filled),
            )
        ],
    }


# The most bytes of rows of a statement; the cache takes no larger answer.
_MOST_BYTES = 15_000_000


def sql_view(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the form for a SQL statement, run as by `attnbank sql`, and its rows.

    Only the first page runs it: without ORDER BY, running it again could return the rows in
    another order.
    """
    variables["example"] = "select upos, count(*) as n from word group by upos order by n desc"
    text = context.text_parameter("statement").strip()
    if not text:
        return
    variables |= {"statement": text, "command": context.command(f"sql {shlex.quote(text)}")}
    key = ("statement", text)
    if context.page_number() == 1:
        context.handle.forget(key)
    frame, is_cut = context.handle.compute_once(
        key, lambda: _first_rows(context, text), lambda result: result[0].estimated_size()
    )
    variables |= {"table": context.table(frame, has_more=is_cut), "cut": is_cut, "rows": frame}


def _first_rows(context: RequestContext, statement: str) -> tuple[pl.DataFrame, bool]:
    """Return the first rows of a statement, then stop it, and whether there are more."""
    parts: list[pl.DataFrame] = []
    rows, size, is_cut = 0, 0.0, False
    cache = context.cache
    with (
        context.bank.stream(statement, seconds=cache.seconds, memory=cache.memory) as running,
        context.visit.stopping(running.close),
    ):
        for part in running:
            parts.append(part.head(MOST_ROWS - rows))
            rows += parts[-1].height
            size += parts[-1].estimated_size()
            is_cut = part.height > parts[-1].height or size > _MOST_BYTES
            if is_cut:
                break
    return (pl.concat(parts) if parts else pl.DataFrame()), is_cut
