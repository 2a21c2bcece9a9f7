"""Sentences by a request: the concordance of its hits, or their counts by a key."""

from __future__ import annotations

from typing import Any

from attnbank.cli.explorer.tables import table_of
from attnbank.cli.explorer.visit import Page, Visit, link
from attnbank.queries.patterns import Choice, RunFacts
from attnbank.sql.errors import AttnbankError

_CONTEXT = 10
_EXAMPLE = "pattern { V -[obj]-> O }"


def view(visit: Visit) -> Page:
    """The box for a request, and below it what it finds, where there is one."""
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
        "more": None,
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
    """The first hits, or some at random, each with its words left and right."""
    choice, run = _asked(visit, request)
    is_sample = visit.flag("sample")
    choice = Choice(
        choice.corpus,
        None if is_sample else limit + 1,
        limit if is_sample else None,
        keys=True,
        run=choice.run,
    )
    found = visit.bank.hits(request, choice, timeout=visit.desk.seconds, memory=visit.desk.memory)
    has_more = found.height > limit
    found = found.head(limit)
    lines = visit.bank.concordance(found.drop("run", strict=False), _CONTEXT)
    hits = [
        {
            **line,
            "href": link(
                "/sentence", sentence=row["sentence"], run=visit.run, head=visit.text("head")
            ),
        }
        for line, row in zip(lines.to_dicts(), found.to_dicts(), strict=True)
    ]  # fmt: skip
    return {"hits": hits, "answered": run, "more": limit if has_more else None}


def _counts(visit: Visit, request: str, by: str) -> dict[str, Any]:
    """How many hits have each value of the keys."""
    choice, run = _asked(visit, request, by)
    found = visit.bank.hits(
        request, choice, by, "", visit.desk.seconds, visit.desk.memory, counts=True
    )
    return {"table": table_of(found), "answered": run}
