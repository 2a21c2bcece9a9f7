"""Requests in Grew's language on a bank, or on an export on Spark: find, count, pairs, score."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from attnbank.queries.engine import MEMORY, Backend
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankWarning, CallError
from attnbank.sql.messages import did_you_mean, join_names
from attnbank.sql.run_choice import Run, UnfinishedRunWarning, find_corpus
from attnbank.sql.worker import check_limits

if TYPE_CHECKING:
    from attnbank.queries.patterns import HitOptions
    from attnbank.queries.patterns.resolver import ResolvedRequest

_CONTEXT = 10  # words; the default of `attnbank find`, too, where no terminal limits it


def _in_order(hits: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Rows by some keys in the order of the first one, an interval: as its numbers are read."""
    from attnbank.queries.patterns.run_request import interval_start

    begins = hits[keys[0]].map_elements(interval_start, pl.Float64)
    order = [begins, *(hits[key] for key in keys[1:])]
    return hits.select(pl.all().sort_by(order, nulls_last=True))


class Requests(Backend):
    """Find and count what a request describes, and score heads on it, on any engine."""

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
        context: int | bool | None = None,
        timeout: float = 30.0,
        memory: int = MEMORY,
    ) -> pl.DataFrame:
        """Find what a request in Grew's language describes: one row per hit, in text order.

        The columns are `sent_id`, one per node with the word's index in its sentence (0 is the node
        before the first word), one per named edge with its label, and what `columns` names
        (`"V.lemma, delta(V, O)"`); `sort` names what to sort by. A request about attention or
        surprisal reads the sentences of one `run` (name or id), by default the one that an analysis
        would choose, and has a column for each surprisal that it reads (`V.surprisal`, in nats).
        With `within="document"`, nodes that only attention or coreference connects may be in
        different sentences; a column `N.sent_id` names that of each. `limit` is the most rows;
        `sample` draws that many at random, by the `seed`. The column `hit` shows the matched words,
        each in brackets, between `left` and `right` with `context` words each (10); `context=False`
        or naming `columns` without a `context` leaves the three out. `timeout` is in seconds,
        `memory` in bytes.

        Raises RequestError, with line and column, for a request that cannot be read; CallError for
        an unknown corpus or run and for limits out of range; QueryError if it runs out of time or
        memory. Warns with AttnbankWarning of what no word has, and of sentences not in the run.
        """
        from attnbank.queries.patterns import HitOptions, run_request

        if context is None or context is True:
            context = False if columns and context is None else _CONTEXT
        choice = HitOptions(
            corpus, limit, sample, seed, keys=context is not False,
            cross_sentence=run_request.may_span_sentences(within),
            run=self.run_of_request(request, run, within, f"{columns}, {sort}"),
        )  # fmt: skip
        hits = self.run_hits(request, choice, columns, sort, timeout, memory)
        if context is False:
            return hits
        for name in {"left", "hit", "right"} & {*hits.columns}:
            raise CallError(
                f"{name} is a name in the request and also a column of the context of a hit.",
                "Rename it in the request, or pass context=False.",
            )
        words = self.concordance(hits.drop("run", strict=False), context)
        keys = [name for name in hits.columns if name.rpartition(".")[2] == "sentence"]
        parts = (words.select("sent_id", "left", "hit", "right"), hits.drop("sent_id", *keys))
        return pl.concat(parts, how="horizontal")

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
        (`"document.genre"`) and patterns (`"{ O =[3-1]=> V }"`: whether it holds). A surprisal
        (`"V.surprisal"`) is counted by whole nats, as `"V.surprisal[gap=1]"`. The most frequent
        come first, at most `limit` of them; if the first key is a number or an interval, these are
        in the order of the numbers. Raises and warns as `find` does.
        """
        from attnbank.queries.patterns import HitOptions, run_request

        chosen = self.run_of_request(request, run, within, by)
        choice = HitOptions(
            corpus, limit, cross_sentence=run_request.may_span_sentences(within), run=chosen
        )
        return self.run_hits(request, choice, by, "", timeout, memory, counts=True)

    def run_of_request(
        self,
        request: str,
        run: str | int | None = None,
        within: str = "sentence",
        columns: str = "",
    ) -> Run | None:
        """The run whose attention or surprisal `find` reads for a request; None if it reads none.

        Raises as `find` and `query` do, and CallError if a run is named and none is read.
        """
        from attnbank.queries.patterns import run_request

        wide = run_request.may_span_sentences(within)
        checked = run_request.parse_and_resolve(request, columns)
        if checked.reads_run():
            with self.answering():
                chosen = run_request.choose_run_of_request(
                    self.connection, self.path, run, in_documents=wide,
                    weights=checked.reads_weights(),
                    attention=bool(checked.attention()), surprisal=checked.reads_surprisal(),
                )  # fmt: skip
                run_request.check_thresholds(self.connection, self.path, checked, chosen)
                return chosen
        if run is not None:
            raise CallError(
                "The request does not ask about attention or surprisal, so it reads no run.",
                "Leave the run out, or ask: A =[3-1]=> B, A.surprisal > 8.",
            )
        return None

    def run_hits(
        self,
        request: str,
        choice: HitOptions,
        columns: str = "",
        sort: str = "",
        timeout: float = 30.0,
        memory: int = MEMORY,
        *,
        counts: bool = False,
    ) -> pl.DataFrame:
        """What `find`, or `count` with `counts`, returns for a choice of hits, with its errors."""
        from attnbank.queries.patterns import run_request, syntax

        compiled = run_request.compile_request(
            request, columns=columns, sort=sort, choice=choice, counts=counts
        )
        run = choice.run
        if run is not None:
            with self.answering():
                ((skipped,),) = self.connection.execute(
                    "select count(distinct skipped.sentence) from skipped where skipped.run = $run",
                    {"run": run.id},
                ).fetchall()
            if not run.is_finished:
                text = f"The run {run.name} is not finished: only its first part is searched."
                warnings.warn(text, UnfinishedRunWarning, stacklevel=3)
            if skipped:
                text = f"The run {run.name} skipped {skipped:,} sentences, which are not searched."
                warnings.warn(text, AttnbankWarning, stacklevel=3)
            if compiled.resolved.reads_surprisal():
                self._warn_of_unmeasured(run)
        hits = self._run_statement(
            compiled.resolved, compiled.statement, choice.corpus, timeout, memory
        )
        keys = list(dict.fromkeys(map(str, compiled.resolved.keys)))
        if counts and keys and hits.schema[keys[0]].is_numeric():  # as numbers are read
            return hits.sort(keys, nulls_last=True)
        if counts and keys and isinstance(compiled.resolved.keys[0], syntax.Interval):
            return _in_order(hits, keys)
        if choice.sample is None:
            return hits
        hits = hits.sort("sentence", *compiled.resolved.pattern.nodes)  # as the text is read
        return hits if choice.keys else hits.drop("sentence")

    def _warn_of_unmeasured(self, run: Run) -> None:
        """Warn of words of a run that `attnbank surprisal` has not come to, or not again."""
        with self.answering():
            ((left,),) = self.connection.execute(
                registry.internal_statement("losses/words_without_surprisal"), {"run": run.id}
            ).fetchall()
        if left:
            warnings.warn(
                f"{left:,} words of the run {run.name} have not been measured; their sentences are"
                f" not searched. Type: attnbank surprisal {shlex.quote(run.name)}",
                AttnbankWarning,
                stacklevel=4,
            )

    def _run_statement(
        self,
        checked: ResolvedRequest,
        statement: str,
        corpus: str | None,
        timeout: float,
        memory: int,
    ) -> pl.DataFrame:
        from attnbank.queries.patterns import unmatched_names

        check_limits(timeout, memory)
        with self.answering():
            if corpus is not None:
                find_corpus(self.connection, self.path, corpus)
            unmatched_names.check_enhanced(self.connection, checked)
        hits = self.run_request(statement, timeout, memory)
        with self.answering():
            for warning in unmatched_names.messages_of_unmatched_names(
                self.connection, checked, corpus
            ):
                warnings.warn(warning, AttnbankWarning, stacklevel=4)
        return hits

    def is_circular(self, request: str) -> bool:
        """Whether a request is about attention, so that no head can be tested on its pairs.

        Raises RequestError for a request that cannot be read.
        """
        from attnbank.queries.patterns import reads_attention

        return reads_attention(request)

    def concordance(self, hits: pl.DataFrame, context: int | None = None) -> pl.DataFrame:
        """The hits as a concordance: the matched words in their sentence.

        `hits` has the column `sentence` (`HitOptions.keys`). The columns are `sent_id`, `left`,
        `hit` (first to last matched word, each in brackets), `right`, and any further columns of
        `hits`. `context` is the number of words left and right; None for all.
        """
        from attnbank.queries.patterns import concordance

        with self.answering():
            return concordance.add_context(self.connection, hits, context)

    def score(
        self,
        request: str,
        *,
        dependent: str,
        head: str,
        by: str = "",
        every: bool = False,
        each: bool = False,
        min_count: int = 1,
        apart: int = 1,
        corpus: str | None = None,
        run: str | int | Sequence[str | int] | None = None,
        within: str = "sentence",
        timeout: float = 30.0,
        memory: int = MEMORY,
    ) -> pl.DataFrame:
        """Score every head on the pairs of words that a request finds, as on a relation.

        `dependent` and `head` are two nodes of the request, taken for those of a dependency. The
        result has one row for the best head of a run, as in the analysis `best_head_test`, and one
        for each seed of random weights that the bank has beside it, in order; with `every`, all
        heads, as in `head_score`. With `by`, keys as in `find`, it has the accuracy of the best
        head in each group of at least `min_count` pairs, or with `each` the best head of each
        group, in the order of the first key if it is a number or an interval, else the largest
        first. Groups by the distance of the two words have no accuracy of an offset, which follows
        from the distance. Pairs closer than `apart` words are left out. `run` may be several runs.
        With `within="document"` the words may be in different sentences, and a run that reads
        documents is judged.

        If the request reads surprisal, the heads of the run that has it are judged.

        Raises as `find` and `query` do, and CallError for a node that the request does not have.
        Warns with AttnbankWarning of pairs that are not in one input of the run, if the request is
        about attention (its figures are circular, and its p values null), and if it reads surprisal
        (they hold for the pairs that it chooses).
        """
        from attnbank.queries.patterns import run_request, scoring, syntax

        if not by and (each or min_count > 1):
            raise CallError("--each and --min-count need groups.", "Add --by KEYS (by=).")
        if by and every:
            raise CallError("--by and --every are mutually exclusive.", "Give one of them.")
        checked, wide = (
            run_request.parse_and_resolve(request, by),
            run_request.may_span_sentences(within),
        )
        if checked.reads_surprisal() and run is None:  # one of which heads can be judged, too
            with self.answering():
                run = run_request.choose_run_of_request(
                    self.connection, self.path, None, in_documents=wide,
                    weights=checked.reads_weights(), surprisal=True,
                ).id  # fmt: skip
        runs = [run] if run is None or isinstance(run, str | int) else list(dict.fromkeys(run))
        if checked.reads_run() and len(runs) > 1:
            about = "attention" if checked.attention() else "surprisal"
            fact = f"A request about {about} can read only one run."
            raise CallError(fact, "Choose one (--run, run=).")
        pairs, _ = self.pairs(
            request, dependent=dependent, head=head, by=by, corpus=corpus, within=within,
            apart=apart, run=runs[0] if checked.reads_run() else None, timeout=timeout,
            memory=memory,
        )  # fmt: skip
        in_intervals = isinstance(
            next(iter(run_request.with_keys_to_count_by(checked).keys), None), syntax.Interval
        )
        by_distance = any(
            isinstance(key, syntax.NodeFunction) and {key.first, key.second} == {dependent, head}
            for key in checked.keys
        )
        frames = []
        for named in runs:
            with self.answering():
                if named is None and wide:
                    named = run_request.choose_run_of_request(
                        self.connection, self.path, None, in_documents=True
                    ).id
            judged = scoring.score_heads(
                self, pairs, None if named is None else str(named), all_heads=every, per_group=each,
                min_count=min_count, has_control=len(runs) == 1,
            )  # fmt: skip
            if judged.height and in_intervals:
                judged = _in_order(judged, pairs.columns[2:])
            if by and by_distance:
                judged = scoring.without_offsets(judged)
            frames.append(judged)
        frame = pl.concat(frames)
        return scoring.without_p_values(frame) if checked.attention() else frame

    def pairs(
        self,
        request: str,
        *,
        dependent: str,
        head: str,
        by: str = "",
        corpus: str | None = None,
        run: str | int | None = None,
        within: str = "sentence",
        apart: int = 1,
        timeout: float = 30.0,
        memory: int = MEMORY,
    ) -> tuple[pl.DataFrame, str]:
        """The pairs of words that a request finds, as `score` judges them, and their SELECT.

        The frame has one row per pair, with the columns `word` (the dependent) and `head_word`,
        both word.id, and one per key of `by`. Raises and warns as `score` does.
        """
        from attnbank.queries.patterns import HitOptions, run_request, scoring
        from attnbank.queries.patterns.compiler.select import compile_pairs

        is_read = run_request.reads_run(request, by)
        chosen = self.run_of_request(request, run, within, by) if is_read else None
        wide = run_request.may_span_sentences(within)
        choice = HitOptions(corpus, keys=True, cross_sentence=wide, run=chosen)
        checked = run_request.with_keys_to_count_by(
            run_request.resolve_with_options(request, by, "", choice)
        )
        nodes = checked.pattern.nodes
        for name in (dependent, head):
            if name not in nodes:
                hint = f"{did_you_mean(name, nodes)} Its nodes: {', '.join(nodes) or 'none'}."
                raise CallError(f"The request has no node {name}.", hint.strip())
        if dependent == head:
            raise CallError(
                "--from and --to name the same node.", f"Give two of: {join_names(nodes)}."
            )
        statement = compile_pairs(checked, choice, dependent, head, apart)
        if chosen is not None and checked.reads_surprisal():
            self._warn_of_unmeasured(chosen)
        pairs = self._run_statement(checked, statement, corpus, timeout, memory)
        if checked.attention():
            warnings.warn(scoring.CIRCULAR, AttnbankWarning, stacklevel=3)
        elif run_request.parse_and_resolve(request).reads_surprisal():
            warnings.warn(scoring.SELECTED, AttnbankWarning, stacklevel=3)
        return pairs, statement
