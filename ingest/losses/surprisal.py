"""Measures the surprisal of words and minimal pairs, with and without sets of heads.

The model of the run reads the same inputs as in the run. Rows are committed by whole inputs, with
those of all sets together, so that an interrupted measurement resumes where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from attnbank.ingest.inputs.candidate_inputs import Input, cursor_query
from attnbank.ingest.inputs.planning import Batch, Planner
from attnbank.ingest.losses.head_sets import (
    AblateOptions,
    HeadSet,
    LossOptions,
    add_controls,
    choose_scored_run,
)
from attnbank.ingest.losses.language_model import Scorer, Surprisal, Text
from attnbank.ingest.losses.minimal_pairs import Pair, PairSide, agreement_pairs, read_pairs
from attnbank.ingest.models.files import model_of_run
from attnbank.ingest.models.loading import MINILM, Model, load
from attnbank.ingest.models.runtime import gc_frozen, is_out_of_memory, malloc_tuned
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.progress import OnProgress, Progress, ProgressCounter, ignore_progress
from attnbank.ingest.run import configure_tokenizer, planner_of
from attnbank.ingest.store.arrow import insert
from attnbank.ingest.store.pipeline import ROWS_AT_ONCE, SECONDS_AT_ONCE
from attnbank.ingest.store.writer import insert_row, open_for_changes, rows_by_name
from attnbank.sql import provenance, registry
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.interrupts import postponed

AGREEMENT = "agreement"  # the source of the pairs that are made from the trees
_OUTCOME = "earlier measurements are unchanged"
_LIBRARIES = ("duckdb", "torch", "transformers", "tokenizers", "numpy")
_PAIRS_AT_ONCE = 64
# By how much the surprisal of a word may differ between devices and batches.
_NATS_TOLERANCE = 0.05
_TABLES = ("ablated_head", "ablated_surprisal", "ablated_pair", "ablation_set")


@dataclass
class SurprisalReport:
    """Counts of a finished measurement: words, pairs by source, ablated head sets.

    `words` have a surprisal; `first_words` have none because nothing precedes them, and
    `sharing_words` because another word of their position has it. `is_new` is false if the bank had
    all results already. `unmeasurable` counts the pairs that the model cannot score (a verb with
    nothing before it or, for a causal model, before its subject). `outdated` are ablations whose
    baseline surprisals have changed. `ends` are the tokens that end a text, for a causal model
    whose vocabulary marks spaces.
    """

    run: str
    words: int = 0
    first_words: int = 0
    sharing_words: int = 0
    sets: int = 0
    controls: int = 0
    pairs: dict[str, int] = field(default_factory=dict)
    unmeasurable: int = 0
    is_new: bool = True
    outdated: list[str] = field(default_factory=list)
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
    work = _SurprisalJob(Path(bank), run, options, on_progress, on_estimate)
    return work.measure([], None, replace=replace)


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

    Fills the tables ablation_set, ablated_head, ablated_surprisal and ablated_pair, under the name
    of the ablation. Also raises CallError for invalid sets, and if the bank has another ablation of
    this run and name, unless `replace`.
    """
    work = _SurprisalJob(Path(bank), run, options, on_progress, on_estimate)
    return work.measure(sets, name, replace=replace)


@dataclass
class _PendingRows:
    """Rows of words that wait to be committed."""

    surprisal: list[pa.Table] = field(default_factory=list)
    ablated: list[pa.Table] = field(default_factory=list)
    words: int = 0

    @property
    def count(self) -> int:
        return sum(table.num_rows for table in (*self.surprisal, *self.ablated))


class _SurprisalJob:
    def __init__(
        self,
        path: Path,
        run: str | int | None,
        options: LossOptions,
        on_progress: OnProgress,
        on_estimate: OnEstimate,
    ) -> None:
        self.path, self.requested_run, self.options = path, run, options
        self.on_progress, self.on_estimate = on_progress, on_estimate
        self.words_written = 0  # words that the bank has with all of the sets

    def measure(
        self, head_sets: Sequence[HeadSet], name: str | None, *, replace: bool
    ) -> SurprisalReport:
        try:
            return self._measure(head_sets, name, replace=replace)
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(self._words_kept if self.words_written else "") from error

    @property
    def _words_kept(self) -> str:
        return f"{self.words_written:,} words are saved"

    def _measure(
        self, head_sets: Sequence[HeadSet], name: str | None, *, replace: bool
    ) -> SurprisalReport:
        options = self.options
        with (
            gc_frozen(),
            # One thread leaves the other cores to the model.
            open_for_changes(
                self.path, _OUTCOME, {"threads": "1"}, has_deleted=replace
            ) as connection,
        ):
            self.connection = connection
            self.row = self._read_run()
            pairs_by_source = _read_pair_files(options.pairs)
            sets = self._add_controls(head_sets)
            self.set_count = len(sets)
            self.ablation = name
            if name is not None:
                self._check_same_ablation(name, sets, replace=replace)
            report = SurprisalReport(
                self.row["name"], sets=sum(head_set.control_of is None for head_set in sets),
                controls=sum(head_set.control_of is not None for head_set in sets),
            )  # fmt: skip
            if options.agreement:
                pairs_by_source = {AGREEMENT: self._agreement_pairs()} | pairs_by_source
            sources = self._unmeasured_pairs(pairs_by_source, len(sets), replace=replace)
            is_begun = not replace and self._has_rows(name)
            if is_begun and not sources and self._is_finished(name):
                report.words, report.first_words, report.sharing_words = self._count_words()
                report.is_new = False
                report.pairs = {source: len(pairs) for source, pairs in pairs_by_source.items()}
                return report
            self.words_written = len(self._measured_words())
            self._load_model()
            if replace:  # not before: loading the model may fail
                self._delete_rows(name)
                self.words_written = 0
            if name is not None and not is_begun:
                self._write_sets(name, sets)
            self._set_finished(None)
            disabled_sets = [self._heads_by_layer(head_set) for head_set in sets]
            with malloc_tuned():
                try:
                    if isinstance(options, AblateOptions) and options.replacement == "mean":
                        self._average_outputs()
                    self._measure_words(disabled_sets)
                    for source, pairs in sources.items():
                        report.unmeasurable += self._measure_pairs(source, pairs, disabled_sets)
                except (RuntimeError, MemoryError) as error:
                    if not is_out_of_memory(error):
                        raise
                    raise AttnbankError(
                        f"The device ran out of memory; {self._words_kept}.",
                        "Type the same command with a smaller --batch-tokens: it resumes where it"
                        " stopped.",
                    ) from error
            self._set_finished(provenance.now())
            report.words, report.first_words, report.sharing_words = self._count_words()
            report.ends = self.scorer.end_tokens
            if replace and name is None:
                report.outdated = self._outdated()
            report.pairs = {source: len(pairs) for source, pairs in pairs_by_source.items()}
            return report

    def _read_run(self) -> dict[str, Any]:
        """Read the row of the run, with that of its model."""
        run = choose_scored_run(self.connection, self.path, self.requested_run)
        (row,) = rows_by_name(
            self.connection.execute(registry.internal_statement("losses/run"), {"run": run.id})
        )
        if row["device"] == "given":
            raise CallError(
                f"The run {run.name} was added by add_run: attnbank does not know its model.",
                "Ingest the corpus with its model.",
            )
        return row

    def _agreement_pairs(self) -> list[Pair]:
        """Return the agreement pairs of the words of the run, numbered within the corpus."""
        rows = self.connection.execute(
            registry.internal_statement("losses/words_of_run"), {"run": self.row["id"]}
        ).fetchnumpy()
        had = set(rows["word"].tolist())
        pairs = agreement_pairs(self.connection, self.row["corpus"])
        if not (agreement := [pair for pair in pairs if pair.word in had]):
            raise CallError(
                f"The run {self.row['name']} has no agreement pairs: they need trees with features"
                " (Number, VerbForm, Tense), and both forms of a verb in the corpus.",
                "Leave --agreement out.",
            )
        return agreement

    def _add_controls(self, head_sets: Sequence[HeadSet]) -> list[HeadSet]:
        if not head_sets:
            return []
        assert isinstance(self.options, AblateOptions)
        return add_controls(head_sets, self.layer_numbers, self.row["heads"], self.options)

    @property
    def layer_numbers(self) -> list[int]:
        """The numbers of the layers with attention."""
        return self.row["layer_numbers"] or [*range(1, self.row["layers"] + 1)]

    def _load_model(self) -> None:
        """Load the model with its LM head, and check that it is that of the run."""
        row, options = self.row, self.options
        name = model_of_run(options.model, row["name"], row["model_name"])
        is_folder = name == MINILM or Path(name).is_dir()
        self.model: Model = load(
            name,
            random_seed=row["random_seed"],
            revision=None if is_folder else row["revision"],
            device=options.device,
            trust_remote_code=options.trust_remote_code,
            with_head=True,
        )
        facts = self.model.facts
        for what, loaded, stored in (
            ("weights", facts.sha256, row["sha256"]),
            ("tokenizer", facts.tokenizer_sha256, row["tokenizer_sha256"]),
        ):
            if stored is not None and loaded != stored:
                raise CallError(
                    f"{facts.name} does not have the {what} of the run {row['name']}: the digest"
                    f" is {str(loaded)[:8]}, not {stored[:8]}.",
                    "Name the same model (--model), or ingest the corpus with this one.",
                )
        self.scorer = Scorer(self.model, options.batch_tokens)
        self.tokenizer, self.planner = self._make_planner(self.model.input_tokenizer)

    def _make_planner(self, tokenizer: InputTokenizer) -> tuple[InputTokenizer, Planner]:
        """Return the tokenizer and the planner that make the inputs of the run again."""
        row, stored_options = self.row, self.row["options"] or {}
        batch_tokens = self.options.batch_tokens
        options = IngestOptions(
            (), self.path, self.model.facts.name, context=row["context"],
            multiword=row["multiword"] or "written", edges=row["edges"] or "cut",
            bos_token=row["bos"], max_tokens=row["max_tokens"],
            truncate="truncate" in stored_options,
            limit=int(stored_options["limit"]) if "limit" in stored_options else None,
            seed=int(stored_options.get("seed", 0)),
            # Smaller batches for many sets, so that a process that is killed loses less.
            batch_tokens=min(batch_tokens, max(256, 8 * batch_tokens // max(8, self.set_count))),
        )  # fmt: skip
        opened = configure_tokenizer(options, tokenizer)
        return opened, planner_of(options, opened, row["max_tokens"])

    def _heads_by_layer(self, head_set: HeadSet) -> dict[int, list[int]]:
        """Return the 0-based heads of a set by the 0-based index of their layer."""
        heads_by_layer: dict[int, list[int]] = {}
        for layer, head in sorted(head_set.heads):
            heads_by_layer.setdefault(self.layer_numbers.index(layer), []).append(head - 1)
        return heads_by_layer

    def _count_words(self) -> tuple[int, int, int]:
        """Return `words`, `first_words` and `sharing_words` of SurprisalReport."""
        (row,) = rows_by_name(
            self.connection.execute(
                registry.internal_statement("losses/surprisal_counts"), {"run": self.row["id"]}
            )
        )
        return row["words"], row["first_words"], row["sharing_words"]

    def _outdated(self) -> list[str]:
        """Return the ablations of the run if the replaced surprisals differ from the new ones."""
        ((names,),) = self.connection.execute(
            "select coalesce(list_sort(list(distinct ablation)), []) from ablated_surprisal"
            " where run = $run and exists (from surprisal inner join replaced using (word)"
            " where run = $run and abs(surprisal.nats - replaced.nats) > $most)",
            {"run": self.row["id"], "most": _NATS_TOLERANCE},
        ).fetchall()
        return list(names)

    def _check_same_ablation(self, name: str, sets: Sequence[HeadSet], *, replace: bool) -> None:
        """Raise CallError if the bank has an ablation of this name with other sets."""
        if not name or len(name) > 100 or not name.isprintable():
            raise CallError(f"{name[:40]!r} is not a valid name.", "Use up to 100 characters.")
        assert isinstance(self.options, AblateOptions)
        rows = self.connection.execute(
            registry.internal_statement("losses/ablation_sets"),
            {"run": self.row["id"], "ablation": name},
        ).fetchall()
        if not rows or replace:
            return
        requested = [
            (
                number,
                head_set.name,
                self.options.replacement,
                [list(head) for head in sorted(head_set.heads)],
            )
            for number, head_set in enumerate(sets, start=1)
        ]
        stored = [(*row[:3], [list(head) for head in row[3]]) for row in rows]
        if requested != stored:
            raise CallError(
                f"The bank already has an ablation {name} of {self.row['name']}, with different"
                " sets, replacement or controls.",
                "Give this one another name, or replace that one: --replace.",
            )

    def _has_rows(self, name: str | None) -> bool:
        if name is None:
            return any(self._count_words())
        query = "select count(*) from ablation_set where run = ? and ablation = ?"
        ((count,),) = self.connection.execute(query, [self.row["id"], name]).fetchall()
        return bool(count)

    def _is_finished(self, name: str | None) -> bool:
        """Return whether the bank has all words of the run, or of the ablation."""
        if name is None:
            ((remaining,),) = self.connection.execute(
                registry.internal_statement("losses/words_without_surprisal"),
                {"run": self.row["id"]},
            ).fetchall()
            return not remaining
        query = (
            "select count(*) from ablation_set where run = ? and ablation = ? and finished is null"
        )
        ((remaining,),) = self.connection.execute(query, [self.row["id"], name]).fetchall()
        return not remaining

    def _delete_rows(self, name: str | None) -> None:
        parameters = [self.row["id"]]
        with transaction(self.connection):
            if name is None:
                self.connection.execute(
                    "create temporary table replaced as select word, nats from surprisal"
                    " where run = ?",
                    parameters,
                )
                for table in ("surprisal", "minimal_pair", "ablated_pair"):
                    self.connection.execute(f"delete from {table} where run = ?", parameters)
            else:
                for table in _TABLES:
                    self.connection.execute(
                        f"delete from {table} where run = ? and ablation = ?", [*parameters, name]
                    )

    def _write_sets(self, name: str, sets: Sequence[HeadSet]) -> None:
        assert isinstance(self.options, AblateOptions)
        with transaction(self.connection):
            for number, head_set in enumerate(sets, start=1):
                insert_row(
                    self.connection, "ablation_set", run=self.row["id"], ablation=name,
                    number=number, name=head_set.name, control_of=head_set.control_of,
                    replacement=self.options.replacement, head_count=len(head_set.heads),
                    chosen_by=head_set.chosen_by, seed=head_set.seed,
                    code_version=provenance.version(),
                    libraries=provenance.libraries(*_LIBRARIES), started=provenance.now(),
                )  # fmt: skip
                for layer, head in sorted(head_set.heads):
                    insert_row(
                        self.connection, "ablated_head", run=self.row["id"], ablation=name,
                        number=number, layer=layer, head=head,
                    )  # fmt: skip

    def _set_finished(self, when: datetime | None) -> None:
        """Store when the ablation was finished; None while it is not."""
        if self.ablation is not None:
            self.connection.execute(
                "update ablation_set set finished = ? where run = ? and ablation = ?",
                [when, self.row["id"], self.ablation],
            )

    def _plan_batches(self) -> tuple[int, Iterator[Batch]]:
        plan = self.planner.plan(cursor_query(self.connection.cursor()), self.row["corpus"])
        return plan.sentences, plan.batches

    def _average_outputs(self) -> None:
        """Compute the mean output of each head over the tokens of the run."""
        sums: list[Any] = []
        tokens = 0
        total, batches = self._plan_batches()
        progress = ProgressCounter(self.on_progress, "averaging")
        progress.start(0, 0.0, total)
        for batch in batches:
            texts = [_text_of_input(model_input) for model_input in batch.inputs]
            tokens += self.scorer.add_head_outputs(texts, sums) if texts else 0
            progress.add(batch.sentence_count, batch.effort)
        self.scorer.means = [head_sums / tokens for head_sums in sums]

    def _measure_words(self, sets: Sequence[dict[int, list[int]]]) -> None:
        known, measured = self._stored_nats(), self._measured_words()
        rows = _PendingRows()
        total, batches = self._plan_batches()
        progress = ProgressCounter(self.on_progress, "scoring")
        last_commit = time.monotonic()
        is_estimated = False
        with postponed() as interrupts:
            try:
                for batch in batches:
                    inputs = [
                        model_input
                        for model_input in batch.inputs
                        if not measured.issuperset(model_input.words)
                    ]
                    if not progress.total:
                        progress.start(0, 0.0, total)
                    if inputs:
                        texts = [_text_of_input(model_input) for model_input in inputs]
                        with interrupts.at_once():
                            if not is_estimated:
                                seconds = self._estimate_seconds(texts, sets)
                                seconds *= len(batch.inputs) / len(inputs)  # of the whole batch
                                seconds *= max(0.0, total - progress.effort) / batch.effort
                                self.on_estimate(seconds, len(sets), total - progress.done)
                                is_estimated = True
                            surprisals = self._score(texts, sets)
                        self._add_surprisals(rows, inputs, surprisals, known)
                    progress.add(batch.sentence_count, batch.effort)
                    due = time.monotonic() - last_commit >= SECONDS_AT_ONCE
                    if due or rows.count >= ROWS_AT_ONCE:
                        self._commit_rows(rows)
                        last_commit = time.monotonic()
            finally:
                self._commit_rows(rows)

    def _estimate_seconds(
        self, texts: Sequence[Text], sets: Sequence[dict[int, list[int]]]
    ) -> float:
        """Estimate how long texts take with all sets, by timing the whole model."""
        started = time.monotonic()
        self._score(texts, [])
        layers = int(self.row["layers"])
        # The layers below the lowest disabled head are replayed, not computed.
        passes = 1 + sum(1 - min(disabled) / layers for disabled in sets)
        return (time.monotonic() - started) * passes

    def _measured_words(self) -> set[int]:
        """Return the words that the bank has with all of the sets."""
        return self._words_in("surprisal" if self.ablation is None else "ablated_surprisal")

    def _stored_nats(self) -> dict[int, float]:
        """Return the stored surprisals with all heads by word; NaN for null."""
        query = "select word, coalesce(nats, 'nan') from surprisal where run = ?"
        return dict(self.connection.execute(query, [self.row["id"]]).fetchall())

    def _words_in(self, table: str) -> set[int]:
        # Words are written with all sets together, so those of the first set have all.
        condition = "" if table == "surprisal" else " and ablation = ? and number = 1"
        parameters = [self.row["id"]] if table == "surprisal" else [self.row["id"], self.ablation]
        words = self.connection.execute(
            f"select word from {table} where run = ?{condition}", parameters
        )
        return set(words.fetchnumpy()["word"].tolist())

    def _score(
        self, texts: Sequence[Text], sets: Sequence[dict[int, list[int]]]
    ) -> list[Surprisal]:
        cut = self.options.replacement if isinstance(self.options, AblateOptions) else "zero"
        return self.scorer.score(texts, [{}, *sets], cut)

    def _add_surprisals(
        self,
        rows: _PendingRows,
        inputs: Sequence[Input],
        surprisals: Sequence[Surprisal],
        known: dict[int, float],
    ) -> None:
        """Add the surprisals of inputs to the rows; with all heads only those not yet `known`.

        Raises CallError if a surprisal with all heads differs from the `known` one.
        """
        words: list[int] = []
        span_numbers: list[int] = []  # of each word; -1 if another word has the span's surprisal
        shared: list[int] = []
        at = 0
        for model_input in inputs:
            for position in model_input.encoded.positions:
                if position.word is None:
                    continue
                span = model_input.spans[position.word]
                word_ids = range(span.first, span.last + 1)
                words += word_ids
                span_numbers += [at] + [-1] * (len(word_ids) - 1)
                shared += [len(word_ids)] * len(word_ids)
                at += 1
        rows.words += len(words)
        word, span_index = np.array(words, np.int32), np.array(span_numbers)
        run = np.full(len(word), self.row["id"], np.int32)
        is_new = np.array([word_id not in known for word_id in words], bool)
        nats = _take_nats(surprisals[0].words, span_index)
        before = np.array([known.get(word_id, np.nan) for word_id in words])
        if (differ := np.abs(nats - before) > _NATS_TOLERANCE).any():
            raise CallError(
                f"The surprisals of {self.row['name']} in the bank are from another version of"
                f" attnbank: a word has {before[differ][0]:.3f} nats there, and"
                f" {nats[differ][0]:.3f} now.",
                "Measure them again first, with the same options: attnbank surprisal"
                f" {self.row['name']} --replace",
            )
        columns = {
            "nats": _nullable(nats),
            "nats_of_pieces": _nullable(_take_nats(surprisals[0].pieces, span_index)),
        }
        if is_new.any():
            rows.surprisal.append(
                pa.table(
                    {"run": run, "word": word, **columns, "words": np.array(shared, np.int16)}
                ).filter(pa.array(is_new))
            )
            known.update(zip(words, nats.tolist(), strict=True))
        if self.ablation is None:
            return
        for number, each_set in enumerate(surprisals[1:], start=1):
            rows.ablated.append(
                pa.table(
                    {
                        "run": run,
                        "ablation": pa.repeat(self.ablation, len(word)),
                        "number": np.full(len(word), number, np.int32),
                        "word": word,
                        "nats": _nullable(_take_nats(each_set.words, span_index)),
                    }
                )
            )

    def _commit_rows(self, rows: _PendingRows) -> None:
        """Commit the rows: whole inputs, with all of the sets."""
        if not rows.count:
            return
        with transaction(self.connection):
            for table, parts in (
                ("surprisal", rows.surprisal),
                ("ablated_surprisal", rows.ablated),
            ):
                if parts:
                    insert(self.connection, table, pa.concat_tables(parts))
        self.words_written += rows.words
        rows.words = 0
        self.connection.execute("checkpoint")
        rows.surprisal.clear()
        rows.ablated.clear()

    def _unmeasured_pairs(
        self, pairs_by_source: dict[str, list[Pair]], sets: int, *, replace: bool
    ) -> dict[str, list[Pair]]:
        """Return the pairs by source that the bank does not have with all sets; `replace`: all.

        Raises CallError if the bank has other pairs of a file of the same name.
        """
        if replace and self.ablation is None:
            return pairs_by_source
        remaining = {}
        for source, pairs in pairs_by_source.items():
            key = [self.row["id"], source]
            rows = self.connection.execute(
                "select number, good, bad, paradigm from minimal_pair where run = ? and source = ?",
                key,
            ).fetchall()
            stored = {number: facts for number, *facts in rows}
            for pair in pairs:
                facts = [
                    _word_or_text(pair.good, pair.at),
                    _word_or_text(pair.bad, pair.at),
                    pair.paradigm,
                ]
                if stored.get(pair.number, facts) != facts:
                    raise CallError(
                        f"The bank has other pairs called {source}: pair {pair.number} differs.",
                        "Rename the file, or measure the run's pairs again: attnbank surprisal"
                        f" {self.row['name']} --replace",
                    )
            measured = set() if replace else set(stored)
            if sets and measured:
                # Pairs are written with all sets together, so those of the last set have all.
                ((ablated,),) = self.connection.execute(
                    "select coalesce(list(pair), []) from ablated_pair where run = ? and source = ?"
                    " and ablation = ? and number = ?",
                    [*key, self.ablation, sets],
                ).fetchall()
                measured &= set(ablated)
            if unmeasured := [pair for pair in pairs if pair.number not in measured]:
                remaining[source] = unmeasured
        return remaining

    def _measure_pairs(
        self, source: str, pairs: Sequence[Pair], sets: Sequence[dict[int, list[int]]]
    ) -> int:
        """Measure pairs and write them; return how many the model cannot score."""
        unmeasurable = 0
        waiting: list[tuple[Sequence[Pair], np.ndarray]] = []
        last_write = time.monotonic()
        with postponed() as interrupts:
            try:
                for start in range(0, len(pairs), _PAIRS_AT_ONCE):
                    batch = pairs[start : start + _PAIRS_AT_ONCE]
                    with interrupts.at_once():
                        nats = self._score_pairs(batch, sets)
                    waiting.append((batch, nats))
                    unmeasurable += int(np.isnan(nats[0]).any(1).sum())
                    self.on_progress(Progress("judging", start + len(batch), len(pairs)))
                    if time.monotonic() - last_write >= SECONDS_AT_ONCE:
                        self._write_pairs(source, waiting)
                        last_write = time.monotonic()
            finally:
                self._write_pairs(source, waiting)
        return unmeasurable

    def _score_pairs(
        self, pairs: Sequence[Pair], sets: Sequence[dict[int, list[int]]]
    ) -> np.ndarray:
        """Return the nats of both texts of each pair, [1 + sets, pairs, 2]; NaN if unmeasurable."""
        nats = np.full((len(sets) + 1, len(pairs), 2), np.nan)
        measurable = [
            (at, sides) for at, pair in enumerate(pairs) if (sides := self._pair_texts(pair))
        ]
        texts = [text for _, sides in measurable for text in sides]
        if not texts:
            return nats
        ends = np.cumsum([len(text.spans) for text in texts])[:-1]
        for number, set_surprisal in enumerate(self._score(texts, sets)):
            sums = [_sum_or_nan(side_nats) for side_nats in np.split(set_surprisal.words, ends)]
            for index, (at, _) in enumerate(measurable):
                nats[number, at] = sums[2 * index : 2 * index + 2]
        return nats

    def _pair_texts(self, pair: Pair) -> tuple[Text, Text] | None:
        """Return the texts of a pair with the spans to score; None if the model cannot score them.

        A causal model has not seen a subject that follows the verb.
        """
        if pair.is_inverted and self.model.head == "causal":
            return None
        good, bad = (self._text_of_side(side, pair.at) for side in (pair.good, pair.bad))
        return None if good is None or bad is None else (good, bad)

    def _text_of_side(self, side: PairSide, at: int | None) -> Text | None:
        words, spaces, after = side.words, side.spaces, None
        is_causal = self.model.head == "causal"
        if at is not None and is_causal:  # later words matter only for where this one ends
            words, spaces = words[: at + 2], spaces[: at + 2]
        (pieces,) = self.tokenizer.pieces([(words, spaces)])
        if not isinstance(pieces, tuple):
            return None
        if at is not None and is_causal:
            after = next((piece.id for piece in pieces if piece.word > at), None)
            pieces = tuple(piece for piece in pieces if piece.word <= at)
        encoded = self.tokenizer.assemble([pieces], words, "word")
        if len(encoded.ids) > self.row["max_tokens"]:
            return None
        spans = [
            (position.start, position.end)
            for position in encoded.positions
            if position.word is not None and at in (None, position.word)
        ]
        if at is None and is_causal and spans and spans[0][0] == 0:
            spans = spans[1:]  # nothing precedes the first word
        return Text(encoded.ids, encoded.segments, tuple(spans), after) if spans else None

    def _write_pairs(self, source: str, waiting: list[tuple[Sequence[Pair], np.ndarray]]) -> None:
        """Commit pairs with all of the sets; those with all heads only if they are new."""
        if not waiting:
            return
        pairs = [pair for batch, _ in waiting for pair in batch]
        nats = np.concatenate([part for _, part in waiting], axis=1)
        waiting.clear()
        run, count = self.row["id"], len(pairs)
        numbers = np.array([pair.number for pair in pairs], np.int32)
        ((known,),) = self.connection.execute(
            "select coalesce(list(number), []) from minimal_pair where run = ? and source = ?",
            [run, source],
        ).fetchall()
        pair_rows = pa.table(
            {
                "run": np.full(count, run, np.int32),
                "source": pa.repeat(source, count),
                "number": numbers,
                "paradigm": [pair.paradigm for pair in pairs],
                "good": [_word_or_text(pair.good, pair.at) for pair in pairs],
                "bad": [_word_or_text(pair.bad, pair.at) for pair in pairs],
                "word": pa.array([pair.word for pair in pairs], pa.int32()),
                "attractors": pa.array([pair.attractors for pair in pairs], pa.int16()),
                "distance": pa.array([pair.distance for pair in pairs], pa.int16()),
                "good_nats": _nullable(nats[0, :, 0]),
                "bad_nats": _nullable(nats[0, :, 1]),
            }
        ).filter(pa.array(~np.isin(numbers, known)))
        with transaction(self.connection):
            insert(self.connection, "minimal_pair", pair_rows)
            for number in range(1, len(nats)):
                rows = {
                    "run": np.full(count, run, np.int32),
                    "ablation": pa.repeat(self.ablation, count),
                    "number": np.full(count, number, np.int32),
                    "source": pa.repeat(source, count),
                    "pair": numbers,
                    "good_nats": _nullable(nats[number, :, 0]),
                    "bad_nats": _nullable(nats[number, :, 1]),
                }
                insert(self.connection, "ablated_pair", pa.table(rows))
        self.connection.execute("checkpoint")


def _read_pair_files(names: Sequence[str]) -> dict[str, list[Pair]]:
    """Read the pairs of files by their names. Raises CallError for two files of one name."""
    pairs_by_file: dict[str, list[Pair]] = {}
    for path in map(Path, names):
        if path.name in (AGREEMENT, *pairs_by_file):
            what = "reserved for those of the trees" if path.name == AGREEMENT else "used twice"
            raise CallError(
                f"Pairs are stored under the name of their file, and {path.name} is {what}.",
                "Rename the file.",
            )
        pairs_by_file[path.name] = read_pairs(path)
    return pairs_by_file


def _text_of_input(model_input: Input) -> Text:
    """Return an input with the spans of its words, in order."""
    encoded = model_input.encoded
    spans = [
        (position.start, position.end)
        for position in encoded.positions
        if position.word is not None
    ]
    return Text(encoded.ids, encoded.segments, tuple(spans))


def _take_nats(nats: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the values at the indices; NaN for an index of -1."""
    if not len(nats):
        return np.full(len(indices), np.nan)
    return np.where(indices >= 0, nats[indices], np.nan)


def _nullable(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _sum_or_nan(nats: np.ndarray) -> float:
    """Sum over words; NaN if any is NaN or there are none."""
    return float(nats.sum()) if len(nats) else float("nan")


def _word_or_text(side: PairSide, at: int | None) -> str:
    """Return the word that is scored, or the whole text."""
    if at is not None:
        return side.words[at]
    spaced = zip(side.words, side.spaces, strict=True)
    return "".join(word + " " * space for word, space in spaced).rstrip()
