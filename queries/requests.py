"""What people ask of a bank in the language of requests: the methods of Bank for it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import polars as pl

from attnbank.queries.connections.opened import OpenBank
from attnbank.queries.sandbox.isolated import check_limits
from attnbank.queries.sandbox.select import MEMORY
from attnbank.sql.errors import AttnbankWarning
from attnbank.sql.runs import Run, UnfinishedRunWarning

if TYPE_CHECKING:
    from attnbank.queries.patterns import Choice, RunFacts


class Requests(OpenBank):
    """The part of a Bank that finds and counts words by a request."""

    def find(
        self,
        request: str,
        *,
        columns: str = "",
        corpus: str | None = None,
        run: str | int | None = None,
        within: str = "sentence",
        sort: str = "",
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        timeout: float = 30.0,
        memory: int = MEMORY,
    ) -> pl.DataFrame:
        """Find what a request in Grew's language describes: one row per hit, in text order.

        The columns are `sent_id`, one for each node with the word's index in its sentence (0 is
        the node before the first word), one for each named edge with its label, and what `columns`
        names (`"V.lemma, delta(V, O)"`). Without `corpus` every sentence of the bank is read; where
        attention is asked about, the sentences that one run read: `run`, by name or id, else the
        one that answers as for an analysis. `within="document"` lets nodes that only attention or
        coreference ties stand in several sentences, each named in a column `N.sent_id`.
        `sort` names what comes first in the order, as `columns` does. `limit` is the most rows;
        `sample` draws so many at random, the same ones for the same `seed`. `timeout` is the most
        seconds.

        Raises RequestError, with line and column, for a request that cannot be read; CallError for
        an unknown corpus; QueryError where it runs out of time or memory. Warns with
        AttnbankWarning where nothing is found and no word has what is asked for.
        """
        from attnbank.queries.patterns import Choice, RunFacts, finding

        is_wide = finding.is_document(within)
        chosen = self.run_of_request(request, run, within, f"{columns}, {sort}")
        facts = None if chosen is None else RunFacts.of(chosen)
        choice = Choice(corpus, limit, sample, seed, is_wide=is_wide, run=facts)
        return self.hits(request, choice, columns, sort, timeout, memory)

    def count(
        self,
        request: str,
        by: str = "",
        *,
        corpus: str | None = None,
        run: str | int | None = None,
        within: str = "sentence",
        limit: int | None = None,
        timeout: float = 30.0,
        memory: int = MEMORY,
    ) -> pl.DataFrame:
        """Count what `find` finds by some keys: a column for each, `n`, and `share` in [0, 1].

        Keys are features and labels (`"V.lemma, e.label"`), distances (`"delta(V, O)"`), metadata
        (`"document.genre"`) and patterns (`"{ O =[3-1]=> V }"`: whether it holds). The most
        frequent come first, `limit` of them at most. Raises and warns as `find` does.
        """
        from attnbank.queries.patterns import Choice, RunFacts, finding

        chosen = self.run_of_request(request, run, within, by)
        facts = None if chosen is None else RunFacts.of(chosen)
        choice = Choice(corpus, limit, is_wide=finding.is_document(within), run=facts)
        return self.hits(request, choice, by, "", timeout, memory, counts=True)

    def run_of_request(
        self,
        request: str,
        run: str | int | None = None,
        within: str = "sentence",
        columns: str = "",
    ) -> Run | None:
        """The run whose attention `find` reads for a request; None where it asks about none.

        Raises RequestError as `find` does, and as `query` does for a run.
        """
        from attnbank.queries.patterns import finding

        with self._answering():
            asked = None if run is None else str(run)
            is_wide = finding.is_document(within)
            reads = finding.asks_about_attention(request, columns)
            return finding.choose(self.connection, self.path, asked, reads=reads, is_wide=is_wide)

    def hits(
        self,
        request: str,
        choice: Choice,
        columns: str = "",
        sort: str = "",
        timeout: float = 30.0,
        memory: int = MEMORY,
        *,
        counts: bool = False,
    ) -> pl.DataFrame:
        """What `find` or `count` finds, with the choice of hits in one value: see there."""
        from attnbank.queries.patterns import finding

        check_limits(timeout, memory)
        asked = finding.question(request, columns=columns, sort=sort, choice=choice, counts=counts)
        if choice.corpus is not None:
            with self._answering():
                finding.check_corpus(self.connection, choice.corpus)
        if choice.run is not None:
            self._tell_of_run(choice.run)
        found = self._sandboxed("find", timeout, memory).run(asked.statement)
        if choice.sample is not None:
            found = asked.in_order(found, choice)
        if not found.height and choice.limit != 0:
            with self._answering():
                for told in finding.unknown_names(self.connection, asked.checked):
                    warnings.warn(told, AttnbankWarning, stacklevel=3)
        return found

    def _tell_of_run(self, run: RunFacts) -> None:
        """Warn where the run whose attention is asked about has not read every sentence."""
        from attnbank.queries.patterns import finding

        with self._answering():
            count = finding.left_out(self.connection, run.id)
        if not run.is_finished:
            told = f"The run {run.name} is not finished: the hits are of its first part."
            warnings.warn(told, UnfinishedRunWarning, stacklevel=4)
        if count:
            told = f"The run {run.name} left out {count:,} sentences: nothing is found there."
            warnings.warn(told, AttnbankWarning, stacklevel=4)

    def concordance(self, found: pl.DataFrame, context: int | None = None) -> pl.DataFrame:
        """Hits of `hits` with their column `sentence`, as people read them.

        The columns are `sent_id`, `left`, `hit` (from the first matched word to the last, each in
        brackets) and `right`; `context` is how many words stand left and right, all where None.
        """
        from attnbank.queries.patterns import concordance

        with self._answering():
            return concordance.lines(self.connection, found, context)
