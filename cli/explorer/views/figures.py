"""Every analysis as a table and a picture, the tables and figures of the paper among them."""

from __future__ import annotations

from typing import Any

from attnbank.cli.commands.ask.query import by_section
from attnbank.cli.explorer.paging import paging
from attnbank.cli.explorer.tables import table_of
from attnbank.cli.explorer.visit import Page, Picture, Visit, link
from attnbank.queries import parameters
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.header import Analysis
from attnbank.sql.registry import find

_OWN = ("theme", "page")
"""Parameters of an address that are the explorer's, and none of an analysis."""


def index(visit: Visit) -> Page:
    """List all analyses by what their section is about."""
    return Page("tables.html", "Tables and figures", {"sections": by_section(), "run": visit.run})


def view(visit: Visit) -> Page:
    """Show the form, the picture and the rows of one analysis.

    Raises CallError for an unknown one; what else is wrong stands on the page.
    """
    analysis = find(visit.parts["name"])
    shown: dict[str, Any] = {
        "analysis": analysis,
        "given": visit.given,
        "run": visit.run,
        "runs": visit.runs(),
        "answered": None,
        "table": None,
        "picture": None,
        "error": None,
    }
    status = 200
    try:
        values = _values(visit, analysis)
        answer = visit.ask(analysis.name, **values)
        shown["answered"] = answer.run
        part = paging(visit, answer.frame.height)
        shown["table"] = table_of(answer.frame, run=visit.run, part=part)
        if analysis.plot is not None and answer.frame.height:
            shown["picture"] = {
                theme: link(f"/pictures/{analysis.name}", **_others(visit), theme=theme)
                for theme in ("light", "dark")
            }
    except AttnbankError as error:
        shown["error"], status = error, 400
    return Page("analysis.html", analysis.name, shown, status)


def picture(visit: Visit) -> Picture:
    """Draw the picture of an analysis here, so that the page needs no script for it.

    Raises as `Bank.plot`.
    """
    from attnbank.queries.pictures import as_bytes

    analysis = find(visit.parts["name"])
    theme = visit.chosen("theme", ("light", "dark"))
    values = _values(visit, analysis)
    key = ("picture", analysis.name, repr(sorted(values.items())), theme)

    def make() -> bytes:
        made = visit.bank.plot_specification(analysis.name, theme=theme, **values)
        return as_bytes(made, ".svg")

    return Picture(visit.opened.once(key, make, len))


def _others(visit: Visit) -> dict[str, str]:
    """What the address says beside the page of the table and the theme of the picture."""
    return {name: value for name, value in visit.given.items() if name not in _OWN}


def _values(visit: Visit, analysis: Analysis) -> dict[str, Any]:
    """The parameters of the analysis that the address gives. Raises CallError for odd ones."""
    declared = {each.name: each for each in analysis.parameters}
    if unknown := [each for each in visit.given if each not in declared and each not in _OWN]:
        raise CallError(
            f"{analysis.name} has no parameter {unknown[0][:60]}.",
            f"It takes: {', '.join(declared) or 'none'}.",
        )
    return {
        name: parameters.from_text(declared[name], visit.text(name))
        for name in visit.given
        if name in declared
    }
