"""One sentence: its words, tree and coreference, and what the chosen heads look at in it."""

from __future__ import annotations

import re
from typing import Any

import markupsafe
import polars as pl

from attnbank.cli.explorer.grids import DIRECTIONS
from attnbank.cli.explorer.tables import table_of
from attnbank.cli.explorer.views.heads import relations
from attnbank.cli.explorer.visit import Page, Visit, link
from attnbank.sql.errors import AttnbankError

_MOST_PANELS = 16
_STYLE = re.compile(r' style="[^"]*"')


def view(visit: Visit) -> Page:
    """The sentence that the address names; without one, the box that asks for it."""
    name = visit.text("sentence").strip()
    shown: dict[str, Any] = {
        "sentence": name,
        "heads": visit.text("head").strip(),
        "run": visit.run,
        "runs": visit.runs(),
        "corpus": visit.text("corpus"),
        "relation": visit.text("relation"),
        "relations": relations(visit),
        "direction": visit.chosen("direction", DIRECTIONS),
        "directions": DIRECTIONS,
        "coreference": visit.flag("coreference"),
        "tree": visit.flag("tree"),
        "special": not visit.flag("plain"),
        "before": visit.number("before", 0, 0, 20),
        "drawn": None,
        "table": None,
        "answered": None,
        "around": (None, None),
        "error": None,
    }
    status = 200
    if name:
        try:
            shown |= _shown(visit, name, shown)
        except AttnbankError as error:
            shown["error"], status = error, 400
    return Page("sentence.html", f"Sentence {name[:60]}" if name else "Sentence", shown, status)


def _shown(visit: Visit, name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The picture and the rows of the heads; of the first best head where none is named."""
    heads = asked["heads"] or _best(visit, asked["relation"] or None)
    found = visit.bank.show(
        name,
        heads.split(",")[:_MOST_PANELS],
        run=visit.run,
        corpus=visit.optional("corpus"),
        relation=asked["relation"] or None,
        direction=asked["direction"],
        coreference=asked["coreference"],
        tree=asked["tree"],
        special=asked["special"],
        before=asked["before"],
        timeout=visit.desk.seconds,
    )
    return {
        # The picture escapes every word itself, since it is written to files as it is. Styles
        # within its tree are refused by the browser; those of the page take their place.
        "drawn": markupsafe.Markup(_STYLE.sub("", found.draw("light"))),
        "table": table_of(found.rows, {"sent_id": lambda row: None}, run=visit.run),
        "answered": found.run.name,
        "heads": heads,
        "around": _around(visit, found.panels[0].sentence) if found.panels else (None, None),
    }


def _best(visit: Visit, relation: str | None) -> str:
    """The head that is shown where none is named: the best of the relation, else the first."""
    try:
        every = visit.ask("best_head", run=visit.run).frame  # which may be kept
        rows = every.filter(pl.col("relation") == (relation or "all"))
        if relation and not rows.height:
            rows = visit.ask("best_head", relation=relation, min_count=1, run=visit.run).frame
    except AttnbankError:
        return "1-1"
    return f"{rows['layer'][0]}-{rows['head'][0]}" if rows.height else "1-1"


def _around(visit: Visit, name: str) -> tuple[str | None, str | None]:
    """The addresses of the sentence before and of the one after."""
    rows = visit.bank.connection.execute(
        "select sentence.id from sentence where sentence.name = $name"
        " or cast(sentence.id as varchar) = $name order by sentence.name = $name desc limit 1",
        {"name": name},
    ).fetchall()
    if not rows:
        return None, None
    number = rows[0][0]
    beside = visit.bank.connection.execute(
        "select max(sentence.id) filter (where sentence.id < $id),"
        " min(sentence.id) filter (where sentence.id > $id) from sentence",
        {"id": number},
    ).fetchall()[0]
    kept = {each: value for each, value in visit.given.items() if each != "sentence"}
    before, after = (
        None if each is None else link("/sentence", sentence=each, **kept) for each in beside
    )
    return before, after
