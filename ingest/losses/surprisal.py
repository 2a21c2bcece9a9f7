"""Measures the surprisal of words and minimal pairs, with and without sets of heads.

The model of the run reads the same inputs as in the run, in batches that go through
`store.pipeline` like those of an ingest. Rows are committed by whole batches, with those of all
sets together, so that an interrupted measurement resumes with the inputs that have none.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa

from attnbank.ingest.attention.rows import BatchRows
from attnbank.ingest.candidate_inputs import Input, Query, cursor_query
from attnbank.ingest.losses.edges import Edge, EdgeFinder, PlacedWord, expand_tokens
from attnbank.ingest.losses.head_sets import (
    ABLATION,
    AblateOptions,
    HeadReplacement,
    HeadSet,
    LossOptions,
    add_controls,
    choose_scored_run,
)
from attnbank.ingest.losses.language_model import Scorer, Surprisal, Text
from attnbank.ingest.losses.minimal_pairs import Pair, PairSide, agreement_pairs, read_pairs
from attnbank.ingest.model_setup import configure_tokenizer
from attnbank.ingest.models.files import model_of_run
from attnbank.ingest.models.loading import load
from attnbank.ingest.models.runtime import gc_frozen, malloc_tuned, tell_what_is_saved
from attnbank.ingest.models.tokenizer import Encoded
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.planning import Batch, Planner
from attnbank.ingest.progress import OnProgress, ProgressCounter, ignore_progress
from attnbank.ingest.store.pipeline import Writer, pending_batches, run_batches
from attnbank.ingest.store.writer import (
    delete_matching,
    insert_row,
    open_for_changes,
    rows_by_name,
)
from attnbank.sql import provenance, registry
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import CallError
from attnbank.sql.interrupts import Postponed
from attnbank.sql.option_fields import check_values

AGREEMENT = "agreement"  # the source of the pairs that are made from the trees
_OUTCOME = "earlier measurements are unchanged"
_PAIRS_AT_ONCE = 64
# By how much the surprisal of a word may differ between devices and batches.
_NATS_TOLERANCE = 0.05


@dataclass
class SurprisalReport:
    """Counts of a finished measurement: words, pairs by source, ablated head sets.

    `words` have a surprisal; `first_words` have none because nothing precedes them, and
    `sharing_words` because another word of their position has it. `is_new` is false if the bank had
    all results already. Pairs that the model cannot score: `unmeasurable` are those of agreement (a
    verb with nothing before it or, for a causal model, before its subject), `unpreceded` those of
    files that differ in their first word, or have no other, where nothing precedes it, `too_long`
    the others. `outdated` are ablations whose baseline surprisals have changed. `ends` are the
    tokens that end a text, for a causal model whose vocabulary marks spaces. `edges` counts those
    that each set cut, and `missing_edges` those that its controls lack, because an input has too
    few other pairs of words at a distance.
    """

    run: str
    words: int = 0
    first_words: int = 0
    sharing_words: int = 0
    sets: int = 0
    controls: int = 0
    pairs: dict[str, int] = field(default_factory=dict)
    unmeasurable: int = 0
    too_long: int = 0
    unpreceded: int = 0
    is_new: bool = True
    outdated: list[str] = field(default_factory=list)
    edges: dict[str, int] = field(default_factory=dict)
    missing_edges: int = 0
    ends: list[str] = field(default_factory=list)


# Called with the estimated seconds, the number of head sets and the number of sentences.
OnEstimate = Callable[[float, int, int], None]


def _ignore_estimate(seconds: float, sets: int, sentences: int) -> None:
    """An OnEstimate that does nothing."""


def surprisal(
    bank: str | Path,
    run: str | int | None = None,
    options: LossOptions = LossOptions(),  # noqa: B008 (frozen)
    on_progress: OnProgress = ignore_progress,
    on_estimate: OnEstimate = _ignore_estimate,
    *,
    replace: bool = False,
) -> SurprisalReport:
    """Measure the surprisal, in nats, of the words of a run and of minimal pairs.

    Fills the tables surprisal and minimal_pair. Rows that the bank has are not measured again,
    unless `replace`. Raises CallError for a run that cannot be used and a model that is not the
    run's, ModelError for a model without a language-modelling head, BankError if the bank cannot be
    written; KeyboardInterrupt, which says how much was saved, for an interrupt.
    """
    job = _SurprisalJob(options, on_progress, on_estimate, replace)
    return job.measure(Path(bank), run, [])


def ablate(
    bank: str | Path,
    name: str,
    sets: Sequence[HeadSet],
    run: str | int | None = None,
    options: AblateOptions = AblateOptions(),  # noqa: B008 (frozen)
    on_progress: OnProgress = ignore_progress,
    on_estimate: OnEstimate = _ignore_estimate,
    *,
    replace: bool = False,
) -> SurprisalReport:
    """Measure as `surprisal` does, and also without each set of heads and each of its controls.

    Of a set with edges only these are cut, in its heads. Fills the tables ablation_set,
    ablated_head, ablated_edge, ablated_surprisal and ablated_pair, under the name of the ablation.
    Also raises CallError for invalid sets, and if the bank has another ablation of this run and
    name, unless `replace`.
    """
    job = _SurprisalJob(options, on_progress, on_estimate, replace, name)
    return job.measure(Path(bank), run, sets)


@dataclass
class _SurprisalJob:
    """A measurement: of the words of a run, then of pairs, each in batches of `run_batches`."""

    options: LossOptions
    on_progress: OnProgress
    on_estimate: OnEstimate
    replace: bool
    ablation: str | None = None
    replacement: HeadReplacement = field(default="zero", init=False)
    is_begun: bool = field(default=False, init=False)  # whether the bank has the sets

    def measure(
        self, bank: Path, run: str | int | None, head_sets: Sequence[HeadSet]
    ) -> SurprisalReport:
        check_values(self.options)
        settings = {"threads": "1"}  # one thread leaves the other cores to the model
        with (
            gc_frozen(),
            open_for_changes(bank, _OUTCOME, settings, has_deleted=self.replace) as connection,
        ):
            self.connection, self.query = connection, cursor_query(connection)
            self._read_run(choose_scored_run(connection, bank, run).id)
            self.sets = self._add_controls(head_sets)
            pairs_by_source = self._read_pairs()
            unmeasured = self._unmeasured_pairs(pairs_by_source)
            report = SurprisalReport(
                self.run["name"], sets=len(head_sets), controls=len(self.sets) - len(head_sets),
                pairs={source: len(pairs) for source, pairs in pairs_by_source.items()},
            )  # fmt: skip
            remedy = "with a smaller --batch-tokens: it resumes where it stopped."
            with tell_what_is_saved(self._saved, f"Type the same command {remedy}"):
                report.is_new = bool(unmeasured) or self.replace or not self._is_finished()
                if report.is_new:
                    self._prepare()
                    with malloc_tuned():
                        self._run_batches(unmeasured, report)
                    self._finish(report)
            (counts,) = self.query("losses/surprisal_counts", self.of_run)
            report.words, report.first_words, report.sharing_words = counts
            return report

    def _read_run(self, id: int) -> None:
        self.of_run = {"run": id}
        statement = registry.internal_statement("losses/run")
        (self.run,) = rows_by_name(self.connection.execute(statement, self.of_run))
        # The numbers of the layers with attention.
        self.layers = self.run["layer_numbers"] or [*range(1, self.run["layers"] + 1)]
        if self.run["device"] == "given":
            raise CallError(
                f"The run {self.run['name']} was added by add_run: attnbank does not know its"
                " model.",
                "Ingest the corpus with its model.",
            )

    def _add_controls(self, head_sets: Sequence[HeadSet]) -> list[HeadSet]:
        """Return the sets with their controls.

        Raises CallError if the bank has an ablation of this name with other ones.
        """
        options, name = self.options, self.ablation
        if name is None:
            return []
        assert isinstance(options, AblateOptions)
        self.replacement = _replacement(options, head_sets)
        sets = add_controls(head_sets, self.layers, self.run["heads"], options) if head_sets else []
        if not name or len(name) > 100 or not name.isprintable():
            raise CallError(f"{name[:40]!r} is not a valid name.", "Use up to 100 characters.")
        stored = self.query("losses/ablation_sets", self.of_run | {"ablation": name})
        self.is_begun = bool(stored) and not self.replace
        requested = [
            (
                number,
                head_set.name,
                self.replacement,
                head_set.edges and head_set.edges.relation,
                head_set.edges and head_set.edges.direction,
                head_set.edges and head_set.edges.at,
                head_set.seed,
                [[*head] for head in sorted(head_set.heads)],
            )
            for number, head_set in enumerate(sets, start=1)
        ]
        if self.is_begun and stored != requested:
            raise CallError(
                f"The bank already has an ablation {name} of {self.run['name']}, with different"
                " sets, replacement or controls.",
                "Give this one another name, or replace that one: --replace.",
            )
        of_ablation = self.of_run | {"ablation": name}
        changed = self.query("losses/relations_saved_since", of_ablation) if self.is_begun else []
        for (relation,) in changed:
            raise CallError(
                f"The relation {relation} was saved again after the ablation {name} was begun.",
                "Give this one another name, or replace that one: --replace.",
            )
        return sets

    def _read_pairs(self) -> dict[str, list[Pair]]:
        """Return the pairs of the trees, and those of files by their names."""
        pairs_by_file: dict[str, list[Pair]] = {}
        for path in map(Path, self.options.pairs):
            if path.name in (AGREEMENT, *pairs_by_file):
                what = "reserved for those of the trees" if path.name == AGREEMENT else "used twice"
                raise CallError(
                    f"Pairs are stored under the name of their file, and {path.name} is {what}.",
                    "Rename the file.",
                )
            pairs_by_file[path.name] = read_pairs(path)
        if not self.options.agreement:
            return pairs_by_file
        words = {word for (word,) in self.query("losses/words_of_run", self.of_run)}
        pairs = agreement_pairs(self.connection, self.run["corpus"])  # numbered within the corpus
        if not (agreement := [pair for pair in pairs if pair.word in words]):
            raise CallError(
                f"The run {self.run['name']} has no agreement pairs: they need trees with features"
                " (Number, VerbForm, Tense), and both forms of a verb in the corpus.",
                "Leave --agreement out.",
            )
        return {AGREEMENT: agreement} | pairs_by_file

    def _unmeasured_pairs(self, pairs_by_source: dict[str, list[Pair]]) -> dict[str, list[Pair]]:
        """Return the pairs by source that the bank does not have with all sets; `replace`: all.

        Raises CallError if the bank has other pairs of a file of the same name.
        """
        rows = self.connection.execute(
            "select source, number, good, bad, paradigm from minimal_pair where run = $run",
            self.of_run,
        ).fetchall()
        # Pairs that `surprisal` replaces need not be the same.
        is_kept = self.ablation is not None or not self.replace
        self.stored_pairs = {row[:2]: row[2:] for row in rows if is_kept}
        for source, pairs in pairs_by_source.items():
            for pair in pairs:
                facts = (*pair.texts, pair.paradigm)
                if self.stored_pairs.get((source, pair.number), facts) != facts:
                    raise CallError(
                        f"The bank has other pairs called {source}: pair {pair.number} differs.",
                        "Rename the file, or measure the run's pairs again: attnbank surprisal"
                        f" {self.run['name']} --replace",
                    )
        measured = set() if self.replace else set(self.stored_pairs)
        if self.sets:
            # Pairs are written with all sets together, so those of the last set have all.
            measured &= set(
                self.connection.execute(
                    "select source, pair from ablated_pair"
                    " where run = $run and ablation = $ablation and number = $last",
                    self.of_run | {"ablation": self.ablation, "last": len(self.sets)},
                ).fetchall()
            )
        remaining = {
            source: [pair for pair in pairs if (source, pair.number) not in measured]
            for source, pairs in pairs_by_source.items()
        }
        return {source: pairs for source, pairs in remaining.items() if pairs}

    def _is_finished(self) -> bool:
        """Whether the bank has all words of the run, or of the ablation."""
        if self.ablation is None:
            ((remaining,),) = self.query("losses/words_without_surprisal", self.of_run)
            return not remaining
        ((is_finished,),) = self.connection.execute(
            "select bool_and(finished is not null) from ablation_set"
            " where run = $run and ablation = $ablation",
            self.of_run | {"ablation": self.ablation},
        ).fetchall()
        return bool(is_finished)

    def measured_words(self) -> set[int]:
        """Return the words that the bank has with all of the sets."""
        # Words are written with all sets together, so those of the first set have all.
        words = self.connection.execute(
            "select word from surprisal where run = $run and $ablation is null union all"
            " select word from ablated_surprisal"
            " where run = $run and ablation = $ablation and number = 1",
            self.of_run | {"ablation": self.ablation},
        )
        return set(words.fetchnumpy()["word"].tolist())

    def _saved(self) -> str:
        words = len(self.measured_words())
        return f"{words:,} words are saved" if words else ""

    def _prepare(self) -> None:
        """Load the model, delete what is replaced, and write the sets."""
        self._load_model()  # first: it may fail
        is_causal = self.model.head == "causal"
        self.finders = {
            edges: EdgeFinder(self.query, self.run["id"], edges, is_causal=is_causal)
            for edges in dict.fromkeys(head_set.edges for head_set in self.sets)
            if edges is not None
        }
        run, name, stamp = self.run["id"], self.ablation, provenance.stamp(provenance.now())
        with transaction(self.connection):
            if self.replace and name is None:
                self.connection.execute(
                    "create temporary table replaced as"
                    " select word, nats from surprisal where run = ?",
                    [run],
                )
                for table in ("surprisal", "minimal_pair", "ablated_pair"):
                    delete_matching(self.connection, table, run=run)
            elif self.replace:
                for table in ABLATION:
                    delete_matching(self.connection, table, run=run, ablation=name)
            for number, head_set in enumerate(() if self.is_begun else self.sets, start=1):
                key = {"run": run, "ablation": name, "number": number}
                insert_row(
                    self.connection, "ablation_set", **key, name=head_set.name,
                    control_of=head_set.control_of, replacement=self.replacement,
                    head_count=len(head_set.heads), chosen_by=head_set.chosen_by,
                    relation=head_set.edges and head_set.edges.relation,
                    direction=head_set.edges and head_set.edges.direction,
                    cut_at=head_set.edges and head_set.edges.at,
                    seed=head_set.seed, **stamp,
                )  # fmt: skip
                self.connection.execute(
                    "insert into ablated_head by name select $run as run, $ablation as ablation,"
                    " $number as number, unnest($layers) as layer, unnest($heads) as head",
                    key | {
                        "layers": [layer for layer, _ in sorted(head_set.heads)],
                        "heads": [head for _, head in sorted(head_set.heads)],
                    },
                )  # fmt: skip
            self._set_finished(None)

    def _set_finished(self, when: datetime | None) -> None:
        """Store when the ablation was finished; None while it is not."""
        self.connection.execute(
            "update ablation_set set finished = ? where run = ? and ablation = ?",
            [when, self.run["id"], self.ablation],
        )

    def _load_model(self) -> None:
        """Load the model with its LM head, and check that it is that of the run.

        Also make the tokenizer and the planner that make the inputs of the run again.
        """
        run, options = self.run, self.options
        name, revision = model_of_run(
            options.model, run["name"], run["model_name"], run["revision"]
        )
        self.model = load(
            name,
            random_seed=run["random_seed"],
            revision=revision,
            device=options.device,
            trust_remote_code=options.trust_remote_code,
            head="own",
        )
        facts = self.model.facts
        for what, loaded, stored in (
            ("weights", facts.sha256, run["sha256"]),
            ("tokenizer", facts.tokenizer_sha256, run["tokenizer_sha256"]),
        ):
            if stored is not None and loaded != stored:
                raise CallError(
                    f"{facts.name} does not have the {what} of the run {run['name']}: the digest"
                    f" is {str(loaded)[:8]}, not {stored[:8]}.",
                    "Name the same model (--model), or ingest the corpus with this one.",
                )
        self.scorer = Scorer(self.model, options.batch_tokens)
        if self.sets:
            _ = self.model.attention  # it may be refused: before anything is written
        # Smaller batches for many sets, so that a process that is killed loses less.
        tokens = options.batch_tokens
        tokens = min(tokens, max(256, 8 * tokens // max(8, len(self.sets))))
        shape = replace(IngestOptions.of_run(run), unit="word", batch_tokens=tokens)
        self.tokenizer = configure_tokenizer(shape, self.model.input_tokenizer)
        self.planner = Planner(self.tokenizer, shape, run["max_tokens"])

    def _run_batches(self, unmeasured: dict[str, list[Pair]], report: SurprisalReport) -> None:
        # The 0-based heads of each set by the 0-based index of their layer.
        self.disabled: list[dict[int, list[int]]] = [{} for _ in self.sets]
        for heads_by_layer, head_set in zip(self.disabled, self.sets, strict=True):
            for layer, head in sorted(head_set.heads):
                heads_by_layer.setdefault(self.layers.index(layer), []).append(head - 1)
        if self.replacement == "mean":
            self._average_outputs()
        run_batches(_WordBatches(self))
        if unmeasured:
            pairs = _PairBatches(self, unmeasured)
            run_batches(pairs)
            report.unpreceded = pairs.unpreceded
            report.unmeasurable = pairs.unmeasurable[AGREEMENT]
            report.too_long = pairs.unmeasurable.total() - report.unmeasurable - report.unpreceded

    def _average_outputs(self) -> None:
        """Compute the mean output of each head over the tokens of the run."""
        sums: list[Any] = []
        tokens = 0
        plan = self.planner.plan(self.query, self.run["corpus"])
        progress = ProgressCounter(self.on_progress, "averaging")
        progress.start(0, 0.0, plan.sentences)
        for batch in plan.batches:
            texts = [_text(model_input.encoded) for model_input in batch.inputs]
            tokens += self.scorer.add_head_outputs(texts, sums) if texts else 0
            progress.add(batch.sentence_count, batch.effort)
        self.scorer.means = [head_sums / tokens for head_sums in sums]

    def edges(self, words: Sequence[PlacedWord]) -> list[list[Edge]]:
        """Return the edges that each set cuts between words; empty if sets disable heads."""
        if not self.finders:
            return []
        edges: list[list[Edge]] = [[] for _ in self.sets]
        for relation_edges, finder in self.finders.items():
            own = [at for at, head_set in enumerate(self.sets) if head_set.edges == relation_edges]
            controls = [at for at in own if self.sets[at].control_of is not None]
            seeds = [f"{self.sets[at].seed} {self.sets[at].name}" for at in controls]
            of_relation = finder.find(words)
            for at in own:
                edges[at] = of_relation
            for at, drawn in zip(controls, finder.draw(words, seeds), strict=True):
                edges[at] = drawn
        return edges

    def with_cuts(self, text: Text, encoded: Encoded, edges: Sequence[Sequence[Edge]]) -> Text:
        """Add the edges that each set cuts, between the words of an input by their index."""
        if not self.finders:
            return text
        tokens = {
            position.word: (position.start, position.end)
            for position in encoded.positions
            if position.word is not None
        }
        cuts = []
        for head_set, edges_of_set in zip(self.sets, edges, strict=True):
            assert head_set.edges is not None
            is_before = head_set.edges.at == "prediction" and self.model.head == "causal"
            cuts.append(expand_tokens(edges_of_set, tokens, before=int(is_before)))
        return replace(text, cuts=((), *cuts))

    def score(self, texts: Sequence[Text]) -> list[Surprisal]:
        """Score texts with all heads, then without the heads or the edges of each set."""
        return self.scorer.score(texts, [{}, *self.disabled], self.replacement)

    def _finish(self, report: SurprisalReport) -> None:
        with transaction(self.connection):
            self._set_finished(provenance.now())
        report.ends = self.scorer.end_tokens
        if self.finders:
            of_ablation = self.of_run | {"ablation": self.ablation}
            edges: dict[int, int] = dict(self.query("losses/edge_counts", of_ablation))
            for number, head_set in enumerate(self.sets, start=1):
                if head_set.control_of is None:
                    report.edges[head_set.name] = edges.get(number, 0)
                else:
                    of_set = edges.get(head_set.control_of, 0)
                    report.missing_edges += of_set - edges.get(number, 0)
        if self.replace and self.ablation is None:
            ((names,),) = self.connection.execute(
                "select coalesce(list_sort(list(distinct ablation)), []) from ablated_surprisal"
                " where run = $run and exists (from surprisal inner join replaced using (word)"
                " where run = $run and abs(surprisal.nats - replaced.nats) > $most)",
                self.of_run | {"most": _NATS_TOLERANCE},
            ).fetchall()
            report.outdated = list(names)


class _Batches:
    """What the jobs of words and pairs have in common."""

    def __init__(self, job: _SurprisalJob, stage: str) -> None:
        self.job, self.connection, self.run = job, job.connection, job.run
        self.progress = ProgressCounter(job.on_progress, stage)

    def writer(self, turns: AbstractContextManager[object]) -> Writer:
        return Writer(self.connection, turns=turns)

    def keys_of_sets(self, count: int) -> dict[str, Any]:
        """Return the key columns of `count` rows for each set."""
        sets = len(self.job.sets)
        return {
            "run": pa.repeat(self.run["id"], sets * count),
            "ablation": pa.repeat(self.job.ablation, sets * count),
            "number": np.repeat(np.arange(1, sets + 1), count),
        }


# A batch, its inputs that were not measured before, the edges of each set in each of these, and
# their surprisals: with all heads, then without each set.
_ScoredBatch = tuple[Batch, list[Input], list[list[list[Edge]]], list[Surprisal]]


class _WordBatches(_Batches):
    def __init__(self, job: _SurprisalJob) -> None:
        super().__init__(job, "scoring")
        self.measured = job.measured_words()
        query = "select word, coalesce(nats, 'nan') from surprisal where run = $run"
        rows = self.connection.execute(query, job.of_run).fetchall()
        self.known: dict[int, float] = dict(rows)  # with all heads; NaN for null
        self.is_estimated = False

    def batches(self, query: Query, check: Callable[[], None]) -> Iterator[Batch]:
        return pending_batches(
            self.job.planner, query, self.run["corpus"], self.progress,
            lambda batch: not self._unmeasured(batch), check,
        )  # fmt: skip

    def _unmeasured(self, batch: Batch) -> list[Input]:
        return [
            model_input
            for model_input in batch.inputs
            if not self.measured.issuperset(model_input.words)
        ]

    def compute(self, batch: Batch, interrupts: Postponed, stop: Event) -> Iterator[_ScoredBatch]:
        inputs, surprisals = self._unmeasured(batch), []
        edges = [self.job.edges(_placed_words(model_input)) for model_input in inputs]
        if inputs:
            texts = [
                self.job.with_cuts(_text(model_input.encoded), model_input.encoded, edges_of_input)
                for model_input, edges_of_input in zip(inputs, edges, strict=True)
            ]
            with interrupts.at_once():
                if not self.is_estimated:
                    self._estimate(texts, batch.effort * len(inputs) / len(batch.inputs))
                surprisals = self.job.score(texts)
        yield batch, inputs, edges, surprisals

    def _estimate(self, texts: Sequence[Text], effort: float) -> None:
        """Estimate how long the rest takes, by timing the first texts with the whole model."""
        started = time.monotonic()
        self.job.scorer.score(texts)
        # The layers below the lowest disabled head are replayed, not computed.
        passes = 1 + sum(1 - min(disabled) / self.run["layers"] for disabled in self.job.disabled)
        left = max(0.0, self.progress.total - self.progress.effort) / effort
        seconds = (time.monotonic() - started) * passes * left
        sentences = self.progress.total - self.progress.done
        self.job.on_estimate(seconds, len(self.job.disabled), sentences)
        self.is_estimated = True

    def rows(self, scored: _ScoredBatch) -> BatchRows:
        """Return the rows of the inputs; with all heads only those not yet `known`.

        Raises CallError if a surprisal with all heads differs from the `known` one.
        """
        batch, inputs, edges, surprisals = scored
        rows = BatchRows(batch.number, batch.sentence_count, effort=batch.effort)
        if not inputs:
            return rows
        spans = [
            model_input.spans[position.word]
            for model_input in inputs
            for position in model_input.encoded.positions
            if position.word is not None
        ]
        word = np.concatenate([np.arange(span.first, span.last + 1) for span in spans])
        sizes = np.array([span.last - span.first + 1 for span in spans])

        def by_word(nats: np.ndarray) -> np.ndarray:
            """Give the surprisal of a position to the first of its words."""
            values = np.full(len(word), np.nan)
            values[np.cumsum(sizes) - sizes] = nats
            return values

        whole, *without = surprisals
        nats = by_word(whole.words)
        before = np.array([self.known.get(id, np.nan) for id in word.tolist()])
        if (differ := np.abs(nats - before) > _NATS_TOLERANCE).any():
            raise CallError(
                f"The surprisals of {self.run['name']} in the bank are from another version of"
                f" attnbank: a word has {before[differ][0]:.3f} nats there, and"
                f" {nats[differ][0]:.3f} now.",
                "Measure them again first, with the same options: attnbank surprisal"
                f" {self.run['name']} --replace",
            )
        columns = {
            "run": pa.repeat(self.run["id"], len(word)),
            "word": word,
            "nats": _nullable(nats),
            "nats_of_pieces": _nullable(by_word(whole.pieces)),
            "words": np.repeat(sizes, sizes),
        }
        is_new = [id not in self.known for id in word.tolist()]
        rows.tables["surprisal"] = pa.table(columns).filter(pa.array(is_new))
        if without:
            keys = self.keys_of_sets(len(word))
            without_nats = np.concatenate([by_word(of_set.words) for of_set in without])
            columns = {"word": np.tile(word, len(without)), "nats": _nullable(without_nats)}
            rows.tables["ablated_surprisal"] = pa.table(keys | columns)
        if self.job.finders:
            rows.tables["ablated_edge"] = self._edge_rows(inputs, edges)
        return rows

    def _edge_rows(self, inputs: list[Input], edges: list[list[list[Edge]]]) -> pa.Table:
        numbers: list[int] = []
        words: list[int] = []
        attended: list[int] = []
        for model_input, edges_of_input in zip(inputs, edges, strict=True):
            placed = _placed_words(model_input)
            for number, edges_of_set in enumerate(edges_of_input, start=1):
                numbers += [number] * len(edges_of_set)
                words += [placed[attending].first for attending, _ in edges_of_set]
                attended += [placed[place].first for _, place in edges_of_set]
        return pa.table(
            {
                "run": pa.repeat(self.run["id"], len(words)),
                "ablation": pa.repeat(self.job.ablation, len(words)),
                "number": pa.array(numbers, pa.int32()),
                "word": pa.array(words, pa.int64()),
                "attended_word": pa.array(attended, pa.int64()),
            }
        )


_Pairs = tuple[str, list[Pair]]  # some pairs, with the name of their source
# Pairs with the nats of both texts of each, [1 + sets, pairs, 2]; NaN if unmeasurable.
_ScoredPairs = tuple[str, list[Pair], np.ndarray]


class _PairBatches(_Batches):
    def __init__(self, job: _SurprisalJob, unmeasured: dict[str, list[Pair]]) -> None:
        super().__init__(job, "judging")
        self.unmeasured = unmeasured
        self.unmeasurable: Counter[str] = Counter()  # by source
        self.unpreceded = 0

    def batches(self, query: Query, check: Callable[[], None]) -> Iterator[_Pairs]:
        self.progress.start(0, 0.0, sum(map(len, self.unmeasured.values())))
        for source, pairs in self.unmeasured.items():
            for start in range(0, len(pairs), _PAIRS_AT_ONCE):
                yield source, pairs[start : start + _PAIRS_AT_ONCE]

    def compute(self, batch: _Pairs, interrupts: Postponed, stop: Event) -> Iterator[_ScoredPairs]:
        source, pairs = batch
        nats = np.full((len(self.job.disabled) + 1, len(pairs), 2), np.nan)
        measurable = [
            (at, sides) for at, pair in enumerate(pairs) if (sides := self._texts_of_pair(pair))
        ]
        if measurable:
            texts = [text for _, sides in measurable for text in sides]
            ends = np.cumsum([len(text.spans) for text in texts])[:-1]
            with interrupts.at_once():
                surprisals = self.job.score(texts)
            for of_set, by_pair in zip(surprisals, nats, strict=True):
                sums = [part.sum() for part in np.split(of_set.words, ends)]
                by_pair[[at for at, _ in measurable]] = np.reshape(sums, (-1, 2))
        yield source, pairs, nats

    def _texts_of_pair(self, pair: Pair) -> tuple[Text, Text] | None:
        """Return the texts of a pair with the spans to score; None if the model cannot score them.

        A causal model has not seen a subject that follows the verb.
        """
        if pair.is_inverted and self.job.model.head == "causal":
            return None
        edges = self.job.edges([PlacedWord(*word, 0) for word in pair.ids])
        good, bad = (self._text_of_side(side, pair.at, edges) for side in (pair.good, pair.bad))
        if good is None or bad is None:
            return None
        if pair.at is None and self.job.model.head == "causal" and good.spans[0][0] == 0:
            # Nothing precedes the first word, so that only the rest can be compared.
            good, bad = (replace(text, spans=text.spans[1:]) for text in (good, bad))
            if pair.good.words[0] != pair.bad.words[0] or not (good.spans and bad.spans):
                self.unpreceded += 1
                return None
        return good, bad

    def _text_of_side(
        self, side: PairSide, at: int | None, edges: Sequence[Sequence[Edge]]
    ) -> Text | None:
        words, spaces, after = side.words, side.spaces, None
        is_causal = self.job.model.head == "causal"
        if at is not None and is_causal:  # later words matter only for where this one ends
            words, spaces = words[: at + 2], spaces[: at + 2]
        (pieces,) = self.job.tokenizer.pieces([(words, spaces)])
        if not isinstance(pieces, tuple):
            return None
        if at is not None and is_causal:
            after = next((piece.id for piece in pieces if piece.word > at), None)
            pieces = tuple(piece for piece in pieces if piece.word <= at)
        encoded = self.job.tokenizer.assemble([pieces], words, "word")
        if len(encoded.ids) > self.run["max_tokens"]:
            return None
        text = _text(encoded, at, after)
        return self.job.with_cuts(text, encoded, edges) if text.spans else None

    def rows(self, scored: _ScoredPairs) -> BatchRows:
        """Return the rows of pairs; with all heads only those that the bank does not have."""
        source, pairs, nats = scored
        self.unmeasurable[source] += int((~np.isfinite(nats[0])).any(1).sum())
        rows = BatchRows(0, len(pairs), effort=len(pairs))
        count, numbers = len(pairs), np.array([pair.number for pair in pairs])
        columns = {
            "run": pa.repeat(self.run["id"], count),
            "source": pa.repeat(source, count),
            "number": numbers,
            "paradigm": [pair.paradigm for pair in pairs],
            "good": [pair.texts[0] for pair in pairs],
            "bad": [pair.texts[1] for pair in pairs],
            "word": pa.array([pair.word for pair in pairs], pa.int64()),
            "attractors": pa.array([pair.attractors for pair in pairs], pa.int16()),
            "distance": pa.array([pair.distance for pair in pairs], pa.int16()),
            "good_nats": _nullable(nats[0, :, 0]),
            "bad_nats": _nullable(nats[0, :, 1]),
        }
        is_new = [(source, pair.number) not in self.job.stored_pairs for pair in pairs]
        rows.tables["minimal_pair"] = pa.table(columns).filter(pa.array(is_new))
        if without := len(nats) - 1:
            columns = {
                "source": pa.repeat(source, without * len(pairs)),
                "pair": np.tile(numbers, without),
                "good_nats": _nullable(nats[1:, :, 0].reshape(-1)),
                "bad_nats": _nullable(nats[1:, :, 1].reshape(-1)),
            }
            rows.tables["ablated_pair"] = pa.table(self.keys_of_sets(len(pairs)) | columns)
        return rows


def _text(encoded: Encoded, at: int | None = None, after: int | None = None) -> Text:
    """Return an input with the spans of its words, in order, or of the word `at`."""
    spans = [
        (position.start, position.end)
        for position in encoded.positions
        if position.word is not None and at in (None, position.word)
    ]
    return Text(encoded.ids, encoded.segments, tuple(spans), after)


def _placed_words(model_input: Input) -> list[PlacedWord]:
    sentence_of = {
        span.first: sentence.id for sentence in model_input.sentences for span in sentence.spans
    }
    return [
        PlacedWord(span.first, span.last, sentence_of[span.first]) for span in model_input.spans
    ]


def _replacement(options: AblateOptions, head_sets: Sequence[HeadSet]) -> HeadReplacement:
    """Return what heads, or edges, are replaced by. Raises CallError if the options do not fit."""
    cuts = [head_set.edges is not None for head_set in head_sets]
    if any(cuts) != all(cuts):
        raise CallError(
            "An ablation disables heads or cuts edges, not both.", "Measure them under two names."
        )
    valid: tuple[HeadReplacement, ...] = (
        ("mask", "zero") if any(cuts) else ("zero", "mean", "uniform")
    )
    replacement = options.replacement or valid[0]
    if replacement not in valid:
        raise CallError(
            f"--with {replacement} does not apply to {'edges' if any(cuts) else 'heads'}.",
            f"Use --with {' or '.join(valid)}.",
        )
    if any(cuts) and options.pairs:
        raise CallError(
            "The sentences of --pairs have no trees, and so no edges to cut.",
            "Leave it out; --agreement makes pairs from the trees.",
        )
    if any(cuts) and options.controls_from != "layers":
        raise CallError(
            "--controls-from is for sets of heads: controls of edges have the same heads.",
            "Leave it out.",
        )
    return replacement


def _nullable(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=~np.isfinite(values))
