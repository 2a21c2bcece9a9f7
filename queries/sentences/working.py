"""One head at work on a relation: words whose gold head it finds, and what it finds instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from attnbank.queries.results import frame_of
from attnbank.sql import registry, runs

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank

_COUNTED_AS = "head_error"
"""The analysis that counts the same errors, and so reads the same runs and relations."""
_HITS = ("sent_id", "sentence", "dependent", "gold")
_KINDS = ("right", "wrong")


@dataclass(frozen=True)
class AtWork:
    """What one head finds for the dependents of a relation.

    `right` and `wrong` have a row an example, as `Bank.concordance` takes them: sent_id, sentence
    (its number), dependent and gold (indexes of words, counted from 1), and `found`, the form of
    the word that the head finds (null where it finds none). `errors` has a row a value of each
    breakdown with the columns breakdown, value, n, share (of the errors, in [0, 1]), errors and
    dependents, as `head_error` counts them, the most frequent first.
    """

    right: pl.DataFrame
    wrong: pl.DataFrame
    errors: pl.DataFrame


def at_work(
    bank: Bank, layer: int, head: int, relation: str, direction: str, run: str | None, most: int
) -> AtWork:
    """What a head of a run finds for a relation, with up to `most` examples right and wrong each.

    Raises CallError where the run is not there or its corpus has no such relation, QueryError where
    no run fits or the statement runs out of time.
    """
    of = bank.run_of(_COUNTED_AS, run=run)
    assert of is not None, "the analysis reads one run"
    with bank._answering():
        connection = bank.connection
        runs.check_relation(connection, registry.find(_COUNTED_AS), {"relation": relation}, of)
        values = {
            "run": of.name,
            "relation": relation,
            "layer": layer,
            "head": head,
            "direction": direction,
            "most": most,
        }
        found = frame_of(connection.query(registry.statement("examples/at_work"), params=values))
    right, wrong = (
        found.filter(breakdown=kind).select(*_HITS, pl.col("value").alias("found"))
        for kind in _KINDS
    )
    errors = found.filter(pl.col("breakdown").is_in(_KINDS).not_())
    return AtWork(
        right, wrong, errors.select("breakdown", "value", "n", "share", "errors", "dependents")
    )
