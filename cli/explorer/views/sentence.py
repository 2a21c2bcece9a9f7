"""One sentence: its words, tree and coreference, and what the chosen heads look at in it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import markupsafe
import polars as pl

from attnbank.cli.explorer.grids import DIRECTIONS
from attnbank.cli.explorer.paging import paging
from attnbank.cli.explorer.tables import table_of
from attnbank.cli.explorer.views.heads import relations
from attnbank.cli.explorer.visit import Page, Visit, link
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankError, CallError

_MOST_PANELS = 16
_STYLE = re.compile(r' style="[^"]*"')


def view(visit: Visit) -> Page:
    """Show the sentence that the address names, or the box that asks for one."""
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
        "words": (),
        "hit": visit.text("hit"),
        "pattern": visit.text("pattern"),
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
        matched=_matched(name, asked["hit"]),
        timeout=visit.desk.seconds,
    )
    number = next(iter(found.marked))
    return {
        # The picture escapes every word itself, since it is written to files as it is. Styles
        # within its tree are refused by the browser; those of the page take their place.
        "drawn": markupsafe.Markup(_STYLE.sub("", found.draw("light"))),
        "table": table_of(
            found.rows,
            {"sent_id": lambda row: None},
            run=visit.run,
            part=paging(visit, found.rows.height),
        ),
        "answered": found.run.name,
        "heads": heads,
        "words": _words(visit, number, found.marked[number]),
        "around": _around(visit, number),
    }


def _matched(name: str, hit: str) -> list[int]:
    """The words of the hit that the address has, where it is of the sentence that is shown.

    A hit is SENTENCE:WORDS, as in 12:3,5: the number of its sentence (sentence.id), and the indexes
    of its words, counted from 1. Raises CallError for what is none.
    """
    number, _, words = hit.partition(":")
    indexes = words.split(",")
    if not hit:
        return []
    if not all(each.isascii() and each.isdecimal() for each in (number, *indexes)):
        raise CallError(f"hit cannot be {hit[:40]}.", "A hit is SENTENCE:WORDS, as in 12:3,5.")
    return [int(each[:9]) for each in indexes] if number == name else []


def _words(visit: Visit, number: int, marked: Collection[int]) -> list[tuple[str, bool]]:
    """The text of a sentence in parts, each with whether it is a word that is marked."""
    rows = visit.bank.connection.execute(
        registry.statement("examples/words"), {"sentence": number}
    ).fetchall()
    parts: list[tuple[str, bool]] = []
    for form, index, space_after in rows:
        parts.append((form, index in marked))
        if space_after:
            parts.append((" ", False))
    return parts


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


def _around(visit: Visit, number: int) -> tuple[str | None, str | None]:
    """The addresses of the sentence before that of a number (sentence.id), and of the one after.

    The hit stays in them: its words are marked again on the way back.
    """
    beside = visit.bank.connection.execute(
        "select max(sentence.id) filter (where sentence.id < $id),"
        " min(sentence.id) filter (where sentence.id > $id) from sentence",
        {"id": number},
    ).fetchall()[0]
    kept = {name: value for name, value in visit.given.items() if name not in ("sentence", "page")}
    before, after = (
        None if each is None else link("/sentence", sentence=each, **kept) for each in beside
    )
    return before, after
