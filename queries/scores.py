"""What a bank says about the pairs of words that a request finds: the methods of Bank for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import polars as pl

from attnbank.queries.sandbox.select import MEMORY

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank


class Scores:
    """The part of a Bank that judges pairs of words."""

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

        `dependent` and `head` are two nodes of the request, which stand for the two words of a
        dependency. One row: the best head of a run, as analysis `best_head_test` has it, and
        another one for the run's control of random weights, where the bank has one. With `every`,
        all heads, as `head_score` has them; with `by`, keys as `columns` of `find`, the accuracy of
        the best head in each group. `within="document"` judges pairs that coreference or attention
        ties over sentences, in a run that reads documents.

        Raises as `find` and `query` do, CallError for a node that the request has not. Warns with
        AttnbankWarning where pairs stand in no input of the run.
        """
        from attnbank.queries.patterns import scoring

        bank = cast("Bank", self)
        pairs, keys, _ = scoring.pairs_of(
            bank, request, dependent, head,
            by=by, corpus=corpus, run=run, within=within, timeout=timeout, memory=memory,
        )  # fmt: skip
        with bank._answering():
            name = scoring.run_over(bank, within, run)
        if every:
            return scoring.every_head(bank, pairs, name)
        if by:
            return scoring.best_in_groups(bank, pairs, keys, name)
        return scoring.best_heads(bank, pairs, name)

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

        The columns are word and head_word, both word.id. Raises as `score` does.
        """
        from attnbank.queries.patterns import scoring

        pairs, _, statement = scoring.pairs_of(
            cast("Bank", self), request, dependent, head,
            run=run, within=within, timeout=timeout, memory=memory,
        )  # fmt: skip
        return pairs, statement

    def saved(self) -> pl.DataFrame:
        """The saved relations: pairs, request and its two nodes, meaning, time."""
        from attnbank.queries import contents

        return contents.saved(cast("Bank", self).connection)
