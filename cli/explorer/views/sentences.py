"""Sentences by a request: the concordance of its hits, or their counts by a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from attnbank.cli.explorer.paging import paging
from attnbank.cli.explorer.tables import table_of
from attnbank.cli.explorer.visit import Page, Visit, link
from attnbank.queries.formats.crossing import can_be_crossed, crossed
from attnbank.queries.patterns import Choice, RunFacts
from attnbank.queries.patterns.concordance import nodes_of
from attnbank.sql.errors import AttnbankError

MOST_HITS = 10_000
"""Hits that can be paged through; the command line has all of them."""
_CONTEXT = 10
"""Words that stand left and right of a hit."""
_EXAMPLE = "pattern { V -[obj]-> O }"


def view(visit: Visit) -> Page:
    """Show the box for a request, and below it what the request finds, where there is one."""
    request, by = visit.text("pattern").strip(), visit.text("by").strip()
    corpora = visit.opened.once("corpora", lambda: _corpora(visit))
    shown: dict[str, Any] = {
        "pattern": request,
        "by": by,
        "run": visit.run,
        "runs": visit.runs(),
        "corpus": visit.text("corpus"),
        "corpora": corpora,
        "limit": visit.number("limit", 50, 1, 500),
        "sample": visit.flag("sample"),
        "answered": None,
        "table": None,
        "hits": None,
        "error": None,
        "example": _EXAMPLE,
        "head": visit.text("head"),
        "part": None,
    }
    status = 200
    if request:
        try:
            shown |= _counts(visit, request, by) if by else _hits(visit, request, shown["limit"])
        except AttnbankError as error:  # said beside the box, with what was typed still in it
            shown["error"], status = error, 400
    return Page("sentences.html", "Sentences", shown, status)


def _corpora(visit: Visit) -> list[str]:
    rows = visit.bank.connection.execute("select name from corpus order by id").fetchall()
    return [name for (name,) in rows]


def _asked(visit: Visit, request: str, keys: str = "") -> tuple[Choice, str | None]:
    """The choice of hits, with the run whose attention is asked about, and its name."""
    of = visit.bank.run_of_request(request, visit.run, "sentence", keys)
    facts = None if of is None else RunFacts.of(of)
    choice = Choice(visit.optional("corpus"), run=facts)
    return choice, None if of is None else of.name


def _hits(visit: Visit, request: str, limit: int) -> dict[str, Any]:
    """A page of the hits, or some hits at random, each with its words left and right.

    The hits are found once, in the order of the text, and kept for the pages after the first.
    """
    is_sample = visit.flag("sample")
    choice, run = _asked(visit, request)
    choice = replace(
        choice,
        limit=None if is_sample else MOST_HITS + 1,
        sample=limit if is_sample else None,
        keys=True,
    )
    found = visit.opened.rows(
        ("hits", request, choice),
        lambda: visit.bank.hits(
            request, choice, timeout=visit.desk.seconds, memory=visit.desk.memory
        ),
    ).frame
    total = min(found.height, MOST_HITS)
    part = paging(visit, total, size=limit, has_more=found.height > MOST_HITS)
    found = found.slice(part.start, part.size)
    lines = visit.bank.concordance(found.drop("run", strict=False), _CONTEXT)
    nodes = nodes_of(found)
    hits = [
        {**line, "href": _to_sentence(visit, request, row, nodes)}
        for line, row in zip(lines.to_dicts(), found.to_dicts(), strict=True)
    ]
    return {"hits": hits, "answered": run, "part": part}


def _to_sentence(visit: Visit, request: str, row: dict[str, Any], nodes: Sequence[str]) -> str:
    """The address of the sentence of a hit, which says the request and the words of the hit."""
    number = row["sentence"]
    words = ",".join(str(each) for each in sorted({row[node] for node in nodes if row[node]}))
    return link(
        "/sentence",
        sentence=number,
        hit=f"{number}:{words}" if words else None,
        pattern=request,
        run=visit.run,
        head=visit.text("head"),
    )


def _counts(visit: Visit, request: str, by: str) -> dict[str, Any]:
    """How many hits have each value of the keys; a cross table of two keys that have room."""
    choice, run = _asked(visit, request, by)
    found = visit.opened.rows(
        ("counts", request, by, choice),
        lambda: visit.bank.hits(
            request, choice, by, "", visit.desk.seconds, visit.desk.memory, counts=True
        ),
    ).frame
    keys = [name for name in found.columns if name not in ("n", "share", "run")]
    if can_be_crossed(found, keys):
        found = crossed(found, *keys)
    return {"table": table_of(found, part=paging(visit, found.height)), "answered": run}
