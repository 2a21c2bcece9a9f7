"""The methods of Bank that judge heads on the pairs of words that a request finds."""

from __future__ import annotations

import polars as pl

from attnbank.queries.requests import Requests
from attnbank.queries.sandbox.select import MEMORY


class Scores(Requests):
    """The part of a Bank that judges heads on pairs of words."""

    def score(
        self,
        request: str,
        *,
        dependent: str,
        head: str,
        by: str = "",
        every: bool = False,
        corpus: str | None = None,
        run: str | int | None = None,
        within: str = "sentence",
        timeout: float = 30.0,
        memory: int = MEMORY,
    ) -> pl.DataFrame:
        """Judge every head on the pairs of words that a request finds, as on a relation.

        `dependent` and `head` are two nodes of the request that are taken for the dependent and the
        head of a dependency. The result has one row for the best head of a run, as in the analysis
        `best_head_test`, and a second one for the run's control of random weights, if the bank has
        one. With `every` it has all heads, as in `head_score`. With `by`, which has the form of
        `columns` of `find`, it has the accuracy of the best head in each group. With
        `within="document"` the two words may be in different sentences, connected by coreference or
        attention, and a run that reads documents is judged.

        Raises as `find` and `query` do, and CallError for a node that the request does not have.
        Warns with AttnbankWarning if the two words of a pair are not in one input of the run.
        """
        from attnbank.queries.patterns import scoring

        pairs, keys, _ = scoring.pairs_of(
            self, request, dependent, head,
            by=by, corpus=corpus, run=run, within=within, timeout=timeout, memory=memory,
        )  # fmt: skip
        with self.answering():
            name = scoring.run_over(self, within, run)
        if every:
            return scoring.every_head(self, pairs, name)
        if by:
            return scoring.best_in_groups(self, pairs, keys, name)
        return scoring.best_heads(self, pairs, name)

    def pairs(
        self,
        request: str,
        *,
        dependent: str,
        head: str,
        run: str | int | None = None,
        within: str = "sentence",
        timeout: float = 30.0,
        memory: int = MEMORY,
    ) -> tuple[pl.DataFrame, str]:
        """The pairs of words that a request finds, as `score` judges them, and their SELECT.

        The frame has one row per pair, with the columns `word` (the dependent) and `head_word`,
        both word.id. Raises as `score` does.
        """
        from attnbank.queries.patterns import scoring

        pairs, _, statement = scoring.pairs_of(
            self, request, dependent, head,
            run=run, within=within, timeout=timeout, memory=memory,
        )  # fmt: skip
        return pairs, statement
