"""The methods of Bank that take a request in Grew's language, which exports on Spark have, too."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import polars as pl

from attnbank.queries.connections.asking import Asking
from attnbank.queries.sandbox.isolated import check_limits
from attnbank.queries.sandbox.select import MEMORY
from attnbank.sql.errors import AttnbankWarning
from attnbank.sql.runs import Run, UnfinishedRunWarning

if TYPE_CHECKING:
    from attnbank.queries.patterns import Choice, RunFacts


class Requests(Asking):
    """The part of a Bank that finds and counts what a request describes."""

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

        The columns are `sent_id`, one per node with the word's index in its sentence (0 is the node
        before the first word), one per named edge with its label, and what `columns` names
        (`"V.lemma, delta(V, O)"`). Without `corpus` every sentence of the bank is read. A request
        about attention reads only the sentences of one run: `run`, by name or id, or else the one
        that an analysis would choose. With `within="document"`, nodes that only attention or
        coreference connects may be in different sentences; a column `N.sent_id` names that of each.
        `sort` names values to sort by, in the form of `columns`. `limit` is the most rows; `sample`
        draws that many at random, the same ones for the same `seed`. `timeout` is in seconds,
        `memory` in bytes.

        Raises RequestError, with line and column, for a request that cannot be read; CallError for
        an unknown corpus or run and for limits out of range; QueryError if it runs out of time or
        memory. Warns with AttnbankWarning if nothing is found because no word has what is asked
        for, or if the run has not read every sentence.
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
        """Count what `find` finds, grouped by keys: one column per key, `n`, and `share` in [0, 1].

        Keys are features and labels (`"V.lemma, e.label"`), distances (`"delta(V, O)"`), metadata
        (`"document.genre"`) and patterns (`"{ O =[3-1]=> V }"`: whether it holds). The most
        frequent come first, at most `limit` of them. Raises and warns as `find` does.
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
        """The run whose attention `find` reads for a request; None if it is not about attention.

        Raises RequestError as `find` does; for the run it raises as `query` does, and CallError if
        one is named and none is read.
        """
        from attnbank.queries.patterns import finding

        with self.answering():
            asked = None if run is None else str(run)
            is_wide = finding.is_document(within)
            checked = finding.described(request, columns)
            return finding.choose(
                self.connection, self.path, asked, reads=checked.attends, is_wide=is_wide,
                weights=checked.reads_weights,
            )  # fmt: skip

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
        """What `find` returns, or `count` with `counts`, for a choice of hits that is already made.

        Raises and warns as they do.
        """
        from attnbank.queries.patterns import finding

        check_limits(timeout, memory)
        asked = finding.question(request, columns=columns, sort=sort, choice=choice, counts=counts)
        if choice.corpus is not None:
            with self.answering():
                finding.check_corpus(self.connection, choice.corpus)
        if choice.run is not None:
            self._tell_of_run(choice.run)
        found = self.found_by(asked.statement, timeout, memory)
        if choice.sample is not None:
            found = asked.in_order(found, choice)
        if not found.height and choice.limit != 0:
            with self.answering():
                for told in finding.unknown_names(self.connection, asked.checked):
                    warnings.warn(told, AttnbankWarning, stacklevel=3)
        return found

    def _tell_of_run(self, run: RunFacts) -> None:
        """Warn if the run whose attention is asked about has not read every sentence."""
        from attnbank.queries.patterns import finding

        with self.answering():
            count = finding.left_out(self.connection, run.id)
        if not run.is_finished:
            told = f"The run {run.name} is not finished: the hits are of its first part."
            warnings.warn(told, UnfinishedRunWarning, stacklevel=4)
        if count:
            told = f"The run {run.name} left out {count:,} sentences: nothing is found there."
            warnings.warn(told, AttnbankWarning, stacklevel=4)

    def concordance(self, found: pl.DataFrame, context: int | None = None) -> pl.DataFrame:
        """The hits of `hits` as a concordance: the matched words in their sentence.

        `found` must have the column `sentence` (`Choice.keys`). The columns are `sent_id`, `left`,
        `hit` (from the first matched word to the last, each in brackets) and `right`, then any
        further columns of `found`. `context` is the number of words left and right; None for all.
        """
        from attnbank.queries.patterns import concordance

        with self.answering():
            return concordance.lines(self.connection, found, context)
