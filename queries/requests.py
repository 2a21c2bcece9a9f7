"""Requests in Grew's language on a bank, or on an export on Spark: find, count, pairs, score."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from attnbank.queries.answers import AnyBank
from attnbank.queries.backend import Backend
from attnbank.queries.options import (
    CONTEXT,
    MEMORY,
    CountOptions,
    FindOptions,
    ScoreOptions,
    keywords_of,
)
from attnbank.sql.errors import AttnbankWarning, CallError
from attnbank.sql.messages import to_type
from attnbank.sql.run_choice import Run, UnfinishedRunWarning, find_corpus
from attnbank.sql.worker import check_limits

if TYPE_CHECKING:
    from attnbank.queries.patterns import CompiledRequest
    from attnbank.queries.patterns.resolver import ResolvedRequest


class WordPairs(NamedTuple):
    """The pairs of words that a request finds, their SELECT, and whether it reads attention.

    The frame has a row for each pair, with the columns `word` (the dependent) and `head_word`, both
    word.id, and one for each key to group by.
    """

    frame: pl.DataFrame
    statement: str
    is_circular: bool


class Requests(AnyBank):
    """Find and count what a request describes, and score heads on it, on any engine."""

    @keywords_of(FindOptions)
    def find(self, options: FindOptions) -> pl.DataFrame:
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
        context = options.context
        if context is None or context is True:
            context = False if options.columns and context is None else CONTEXT
        compiled = compile_options(options, self.backend, ids=context is not False)
        hits = run_hits(self.backend, compiled, options.timeout, options.memory)
        if context is False:
            return hits
        for name in {"left", "hit", "right"} & {*hits.columns}:
            raise CallError(
                f"{name} is a name in the request and also a column of the context of a hit.",
                "Rename it in the request, or pass context=False.",
            )
        words = add_context(self.backend, hits.drop("run", strict=False), context)
        keys = [name for name in hits.columns if name.rpartition(".")[2] == "sentence"]
        parts = (words.select("sent_id", "left", "hit", "right"), hits.drop("sent_id", *keys))
        return pl.concat(parts, how="horizontal")

    @keywords_of(CountOptions)
    def count(self, options: CountOptions) -> pl.DataFrame:
        """Count what `find` finds, grouped by keys: one column per key, `n`, and `share` in [0, 1].

        Keys are features and labels (`"V.lemma, e.label"`), distances (`"delta(V, O)"`), metadata
        (`"document.genre"`) and patterns (`"{ O =[3-1]=> V }"`: whether it holds). A surprisal
        (`"V.surprisal"`) is counted by whole nats, as `"V.surprisal[gap=1]"`. The most frequent
        come first, at most `limit` of them; if the first key is a number or an interval, these are
        in the order of the numbers. Raises and warns as `find` does.
        """
        compiled = compile_options(options, self.backend)
        return run_hits(self.backend, compiled, options.timeout, options.memory)

    @keywords_of(ScoreOptions)
    def score(self, options: ScoreOptions) -> pl.DataFrame:
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

        checked = run_request.parse_and_resolve(options.request, options.by)
        runs = _runs_to_score(self.backend, options, checked)
        pairs = find_pairs(self.backend, options, runs[0] if checked.reads_run() else None).frame
        if runs == [None] and options.in_documents:
            with self.backend.answering():
                runs = [run_request.choose_run_of_request(self.backend, in_documents=True).id]
        frames = [
            scoring.score_heads(
                self, pairs, None if run is None else str(run), all_heads=options.every,
                per_group=options.each, min_count=options.min_count, has_control=len(runs) == 1,
            )
            for run in runs
        ]  # fmt: skip
        grouped = run_request.with_keys_to_count_by(checked).keys
        if grouped and isinstance(grouped[0], syntax.Interval):
            keys = pairs.columns[2:]
            frames = [_in_order(frame, keys) if frame.height else frame for frame in frames]
        frame = pl.concat(frames)
        ends = {options.dependent, options.head}
        if any(
            isinstance(key, syntax.NodeFunction) and {key.first, key.second} == ends
            for key in checked.keys
        ):
            frame = scoring.without_offsets(frame)
        return scoring.without_p_values(frame) if checked.attention() else frame

    def pairs(
        self,
        request: str,
        *,
        dependent: str,
        head: str,
        run: str | int | None = None,
        within: str = "sentence",
        timeout: float = 30.0,
    ) -> WordPairs:
        """The pairs of words that a request finds, which `score` judges and `save` saves.

        Raises and warns as `score` does.
        """
        options = ScoreOptions(
            request, dependent=dependent, head=head, run=run, within=within, timeout=timeout
        )
        return find_pairs(self.backend, options, run)


def compile_options(
    options: FindOptions | CountOptions, backend: Backend | None = None, *, ids: bool = False
) -> CompiledRequest:
    """Compile the request of some options, for the run that it reads in a bank.

    With `ids` the hits have a column `sentence`, with sentence.id. Raises as `find`, and CallError
    without a `backend` for a request that reads a run.
    """
    from attnbank.queries.patterns import HitOptions, compile_request

    request, run = options.request, None
    if backend is not None:
        run = run_of_request(backend, request, options.run, options.within, options.keys)
    choice = HitOptions(options.corpus, options.limit, cross_sentence=options.in_documents, run=run)
    if isinstance(options, CountOptions):
        return compile_request(request, columns=options.by, choice=choice, counts=True)
    choice = replace(choice, sample=options.sample, seed=options.seed, keys=ids)
    return compile_request(request, columns=options.columns, sort=options.sort, choice=choice)


def run_of_request(
    backend: Backend,
    request: str,
    run: str | int | None = None,
    within: str = "sentence",
    columns: str = "",
) -> Run | None:
    """The run whose attention or surprisal `find` reads for a request; None if it reads none.

    Raises as `find` and `query` do, and CallError if a run is named and none is read.
    """
    from attnbank.queries.patterns import run_request

    checked = run_request.parse_and_resolve(request, columns)
    if checked.reads_run():
        with backend.answering():
            chosen = run_request.choose_run_of_request(
                backend, run, in_documents=within == "document", weights=checked.reads_weights(),
                attention=bool(checked.attention()), surprisal=checked.reads_surprisal(),
            )  # fmt: skip
            run_request.check_thresholds(backend, checked, chosen)
            return chosen
    if run is not None:
        raise CallError(
            "The request does not ask about attention or surprisal, so it reads no run.",
            "Leave the run out, or ask: A =[3-1]=> B, A.surprisal > 8.",
        )
    return None


def run_hits(
    backend: Backend, compiled: CompiledRequest, timeout: float = 30.0, memory: int = MEMORY
) -> pl.DataFrame:
    """The rows of a compiled request, as `find` or `count` returns them, with their errors."""
    from attnbank.queries.patterns import syntax

    choice, run = compiled.choice, compiled.choice.run
    if run is not None:
        with backend.answering():
            ((skipped,),) = backend.connection.execute(
                "select count(distinct skipped.sentence) from skipped where skipped.run = $run",
                {"run": run.id},
            ).fetchall()
        if not run.is_finished:
            text = f"The run {run.name} is not finished: only its first part is searched."
            warnings.warn(text, UnfinishedRunWarning, stacklevel=4)
        if skipped:
            text = f"The run {run.name} skipped {skipped:,} sentences, which are not searched."
            warnings.warn(text, AttnbankWarning, stacklevel=4)
        if compiled.resolved.reads_surprisal():
            _warn_of_unmeasured(backend, run)
    hits = _run_statement(backend, compiled, timeout, memory)
    keys = list(dict.fromkeys(map(str, compiled.resolved.keys)))
    if compiled.is_count and keys and hits.schema[keys[0]].is_numeric():  # as numbers are read
        return hits.sort(keys, nulls_last=True)
    if compiled.is_count and keys and isinstance(compiled.resolved.keys[0], syntax.Interval):
        return _in_order(hits, keys)
    if choice.sample is None:
        return hits
    hits = hits.sort("sentence", *compiled.resolved.pattern.nodes)  # as the text is read
    return hits if choice.keys else hits.drop("sentence")


def _warn_of_unmeasured(backend: Backend, run: Run) -> None:
    """Warn of words of a run that `attnbank surprisal` has not come to, or not again."""
    with backend.answering():
        left = backend.internal("losses/words_without_surprisal", run=run.id).item()
    if left:
        warnings.warn(
            f"{left:,} words of the run {run.name} have not been measured; their sentences are"
            f" not searched. {to_type(backend.path, f'surprisal {shlex.quote(run.name)}')}",
            AttnbankWarning,
            stacklevel=5,
        )


def _run_statement(
    backend: Backend, compiled: CompiledRequest, timeout: float, memory: int
) -> pl.DataFrame:
    from attnbank.queries.patterns import unmatched_names

    check_limits(timeout, memory)
    checked, corpus = compiled.resolved, compiled.choice.corpus
    with backend.answering():
        if corpus is not None:
            find_corpus(backend.connection, backend.path, corpus)
        unmatched_names.check_enhanced(backend.connection, checked)
    hits = backend.run_request(compiled.statement, timeout, memory)
    with backend.answering():
        for warning in unmatched_names.messages_of_unmatched_names(
            backend.connection, checked, corpus
        ):
            warnings.warn(warning, AttnbankWarning, stacklevel=5)
    return hits


def find_pairs(backend: Backend, options: ScoreOptions, run: str | int | None) -> WordPairs:
    """The pairs of words to score; `run` is what the request reads. Raises and warns as `score`."""
    from attnbank.queries.patterns import CompiledRequest, HitOptions, run_request, scoring
    from attnbank.queries.patterns.select import check_ends, compile_pairs

    request, by, dependent, head = options.request, options.by, options.dependent, options.head
    is_read = run_request.reads_run(request, by)
    chosen = run_of_request(backend, request, run, options.within, by) if is_read else None
    choice = HitOptions(options.corpus, keys=True, cross_sentence=options.in_documents, run=chosen)
    checked = run_request.with_keys_to_count_by(
        run_request.resolve_with_options(request, by, "", choice)
    )
    check_ends(checked.pattern.nodes, dependent, head)
    statement = compile_pairs(checked, choice, dependent, head, options.apart)
    if chosen is not None and checked.reads_surprisal():
        _warn_of_unmeasured(backend, chosen)
    compiled = CompiledRequest(checked, statement, choice)
    pairs = _run_statement(backend, compiled, options.timeout, options.memory)
    if checked.attention():
        warnings.warn(scoring.CIRCULAR, AttnbankWarning, stacklevel=4)
    elif run_request.parse_and_resolve(request).reads_surprisal():
        warnings.warn(scoring.SELECTED, AttnbankWarning, stacklevel=4)
    return WordPairs(pairs, statement, run_request.reads_attention(request))


def _runs_to_score(
    backend: Backend, options: ScoreOptions, checked: ResolvedRequest
) -> list[str | int | None]:
    """The runs whose heads are scored, by name or id; None for the default of the analysis."""
    from attnbank.queries.patterns import run_request

    run = options.run
    if checked.reads_surprisal() and run is None:  # one of which heads can be judged, too
        with backend.answering():
            run = run_request.choose_run_of_request(
                backend, in_documents=options.in_documents, weights=checked.reads_weights(),
                surprisal=True,
            ).id  # fmt: skip
    if run is None or isinstance(run, str | int):
        return [run]
    runs = list(dict.fromkeys(run))
    if checked.reads_run() and len(runs) > 1:
        about = "attention" if checked.attention() else "surprisal"
        fact = f"A request about {about} can read only one run."
        raise CallError(fact, "Choose one (--run, run=).")
    return [*runs]


def _in_order(hits: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Rows by some keys in the order of the first one, an interval: as its numbers are read."""
    from attnbank.queries.patterns.run_request import interval_start

    begins = hits[keys[0]].map_elements(interval_start, pl.Float64)
    order = [begins, *(hits[key] for key in keys[1:])]
    return hits.select(pl.all().sort_by(order, nulls_last=True))


# Hits whose context one statement reads.
_BATCH_SIZE = 10_000


def add_context(backend: Backend, hits: pl.DataFrame, context: int | None = None) -> pl.DataFrame:
    """Replace the node columns of hits by the text columns `left`, `hit` and `right`.

    Left and right are sides of the page: in a right-to-left sentence, the words before the hit are
    on its right.

    `hits` has `sent_id`, `sentence` (`HitOptions.keys`) and one column of word indexes per node,
    and also `N.sentence` for each node N if nodes may be in different sentences. Other columns are
    kept. `context` is the number of words left and right; None for all.
    """
    lines = hits_in_context(backend, hits, context).drop("forms")
    node_sentences = [f"{node}.sentence" for node in node_columns(hits)]
    other_columns = hits.drop(
        "sent_id", "sentence", *node_columns(hits), *node_sentences, strict=False
    )
    return pl.concat([hits.select("sent_id"), lines, other_columns], how="horizontal")


def hits_in_context(backend: Backend, hits: pl.DataFrame, context: int | None) -> pl.DataFrame:
    """The columns `left`, `hit` and `right` of `add_context`, and `forms`: of the nodes of a hit.

    The forms are in the order of the nodes, null for one without a word. Of a hit in several
    sentences they are those in the first.
    """
    batches = [hits[at : at + _BATCH_SIZE] for at in range(0, hits.height or 1, _BATCH_SIZE)]
    with backend.answering():
        return pl.concat(
            backend.internal("patterns/concordance", context=context, **_parts_of_hits(batch))
            for batch in batches
        )


def _parts_of_hits(hits: pl.DataFrame) -> dict[str, list[Any]]:
    """Where hits have words: the number of each, a sentence, and the indexes in it (0: none)."""
    nodes = node_columns(hits)
    own_sentences = [f"{node}.sentence" for node in nodes]
    of_node = ["sentence" if name not in hits.columns else name for name in own_sentences]
    parts: dict[str, list[Any]] = {"hits": [], "sentences": [], "words": []}
    for number, row in enumerate(hits.iter_rows(named=True)):
        words: dict[int, list[int]] = {row["sentence"]: []}
        for node, column in zip(nodes, of_node, strict=True):
            words.setdefault(row[column], []).append(row[node] or 0)
        matched = {sentence: indexes for sentence, indexes in words.items() if any(indexes)}
        for sentence, indexes in (matched or {row["sentence"]: words[row["sentence"]]}).items():
            parts["hits"].append(number)
            parts["sentences"].append(sentence)
            parts["words"].append(indexes)
    return parts


def node_columns(hits: pl.DataFrame) -> list[str]:
    """The node columns of a frame of hits; they hold word indexes.

    An index counts from 1 within the sentence; 0 is the node before the first word.
    """
    # Keys such as delta(A, B) or N.__id__ may be 16-bit integers too, but have a sign in the name.
    indexes = (name for name, dtype in hits.schema.items() if dtype == pl.Int16)
    return [name for name in indexes if not any(sign in name for sign in ".(")]
