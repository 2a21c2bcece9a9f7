"""Compares what a bank finds for a request with what the independent slow matcher finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from patterns.corpus import Corpus, of_bank
from patterns.matcher import hits

from attnbank.queries import Bank, open_bank

Hits = list[tuple[Any, ...]]
Judged = tuple[Bank, Corpus]
Places = range | None


def judged_bank(path: Path) -> Iterator[Judged]:
    """An open bank with at most one run, and the data that the matcher reads from it."""
    with open_bank(path) as bank:
        yield bank, of_bank(path, next(iter(bank.runs()["name"]), None))


def _expected(request: str, corpus: Corpus, within: str, places: Places) -> Hits:
    """The hits of the matcher: each node as (sent_id, index), then each edge as its label.

    Both are in the order of their names.
    """
    return sorted(
        (*(place for _, place in hit.nodes), *(label for _, label in hit.edges))
        for hit in hits(request, corpus, within, places)
    )


def _found(request: str, bank: Bank, run: str | None, within: str) -> Hits:
    reads_run = "=[" in request or "surprisal" in request
    frame = bank.find(request, within=within, run=run if reads_run else None, context=False)
    nodes = sorted(name for name, dtype in frame.schema.items() if dtype.is_integer())
    shown = {"sent_id", "run", *nodes}
    shown |= {f"{name}.{each}" for name in nodes for each in ("sent_id", "surprisal")}
    edges = sorted(name for name in frame.columns if name not in shown)
    return sorted(
        (
            *((row.get(f"{name}.sent_id", row["sent_id"]), row[name]) for name in nodes),
            *(row[name] for name in edges),
        )
        for row in frame.iter_rows(named=True)
    )


def check(
    requests: Iterable[str], judged: Judged, within: str = "sentence", *, step: int = 1
) -> int:
    """Assert that both find the same hits for each request; returns how many requests have hits.

    The matcher looks at every step-th sentence, or at all where it finds no nodes in these.
    """
    bank, corpus = judged
    some = range(0, len(corpus.sentences), step)
    names = {corpus.sentences[place].name for place in some}
    count = 0
    for request in requests:
        found = _found(request, bank, corpus.run, within)
        expected = _expected(request, corpus, within, some)
        if step > 1 and any(expected):
            found = [hit for hit in found if hit[0][0] in names]
        elif step > 1:
            expected = _expected(request, corpus, within, None)
        assert found == expected, request
        count += bool(expected)
    return count
