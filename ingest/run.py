"""Fills a bank: checks the corpus, loads the model, writes the text, runs the batches.

The checkpoints of a training are ingested in the order of steps; their runs share one plan.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.ingest.attention.measures import NORMALISED_MEASURES
from attnbank.ingest.attention.merged_maps import RowSums, RunFacts
from attnbank.ingest.candidate_inputs import cursor_query
from attnbank.ingest.corpora.corpus import random_corpus
from attnbank.ingest.losses.masked import MaskedPasses, measure_masked
from attnbank.ingest.model_setup import (
    configure_tokenizer,
    describe_model,
    load_model,
    longest_input,
)
from attnbank.ingest.models import loading
from attnbank.ingest.models.files import Checkpoint, find_checkpoints, step_of
from attnbank.ingest.models.runtime import gc_frozen, malloc_tuned, memory_bytes, tell_what_is_saved
from attnbank.ingest.options import IngestOptions, check_run
from attnbank.ingest.planning import Planner, SharedPlans
from attnbank.ingest.progress import OnProgress, Progress, ProgressCounter, ignore_progress
from attnbank.ingest.reports import Estimate, Report
from attnbank.ingest.store import runs
from attnbank.ingest.store.corpus import (
    CheckedCorpus,
    count_violations,
    find_and_check,
    write_corpus_once,
)
from attnbank.ingest.store.deleting import delete_run
from attnbank.ingest.store.pipeline import BatchRunner, PendingRun, run_batches
from attnbank.ingest.store.writer import WRITER, open_for_ingest, rows_by_name
from attnbank.sql import provenance, registry
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import AttnbankError, AttnbankWarning, CallError, is_full_disk
from attnbank.sql.run_choice import behaviour_lines

# Bytes in a bank, as measured on real runs. The key: whether the weights are unrounded.
_BYTES_PER_WEIGHT = {True: 3.6, False: 2.5}
_BYTES_PER_LARGEST = {True: 4.35, False: 3.2}  # a weight of --keep top:K, with its position
_BYTES_PER_POSITION = 27.0  # of each map: its peaks and the lists of its sums
_BYTES_PER_MAP = 220.0
_BYTES_PER_GRADIENT = 4.2
LARGE = 10_000_000_000  # bytes of a run that a warning tells before it starts
# What to do where every input was skipped, by reason; the last reason that occurs decides.
_REMEDIES = {
    "unpaired": "Segments of a pair come from one document: use another --context.",
    "no-pieces": "Use a tokenizer that knows this script: another --model.",
    "not-placed": "Leave out --edges share: words are then tokenized one by one, without offsets.",
    "not-normalised": "Use another model: the attention of this one is not a distribution.",
    "too-long": "Give a larger --max-tokens, or --context document, which cuts what is longer.",
}
_SMALLEST_BATCH = 32  # tokens; with fewer, each batch is a single input


def ingest(
    options: IngestOptions,
    on_progress: OnProgress = ignore_progress,
    loaded: loading.Model | None = None,
    checked: CheckedCorpus | None = None,
) -> Report:
    """Run a model over a corpus and write its attention into a bank.

    An interrupted ingest resumes where it stopped; a complete one adds nothing. Pass `loaded` if
    the model has been loaded with these options, `checked` if the corpus has been checked.

    Raises CorpusError for a corpus that cannot be read (the bank is not touched), CallError for
    invalid options, ModelError for a model that does not return its attention, BankError if the
    bank cannot be written, KeyboardInterrupt (its message says what was written) on an interrupt.
    """
    if options.series is not None:
        raise CallError("--series makes several runs.", "Use ingest_series (attnbank ingest does).")
    return ingest_run(options, on_progress, run_batches, loaded=loaded, checked=checked)


def ingest_run(
    options: IngestOptions,
    on_progress: OnProgress,
    batch_runner: BatchRunner,
    series: Series | None = None,
    loaded: loading.Model | None = None,
    checked: CheckedCorpus | None = None,
) -> Report:
    """Do what `ingest` does, but run the batches with `batch_runner` (see `run_batches`).

    With a `series`, the model is its current checkpoint, and the run shares the plan of the others.
    """
    check_run(options)
    if options.repeat is None:
        checked = checked or find_and_check(options, on_progress)
    model = loaded or load_model(options)
    masked = MaskedPasses.of_options(model, options)
    model.facts = _with_step(model.facts, options, series)
    if options.repeat is not None:
        checked = CheckedCorpus(random_corpus(options, model.input_tokenizer))
        options = checked.corpus.options
    assert checked is not None
    tokenizer = configure_tokenizer(options, model.input_tokenizer, is_causal=model.facts.causal)
    max_tokens = longest_input(options, tokenizer, model.facts.max_positions)
    planner = Planner(
        tokenizer, options, max_tokens, model.batching, shared=series.plans if series else None
    )
    with gc_frozen(), open_for_ingest(options.bank, has_deleted=options.replace) as connection:
        corpus_id = write_corpus_once(connection, checked, on_progress)
        model_id = runs.find_or_insert_model(connection, model.facts)
        spec = runs.RunSpec(
            corpus_id, model_id, model.facts, options, max_tokens, str(model.device),
            model.batching, tokenizer.first_word, tokenizer.bos.text if tokenizer.bos else None,
        )  # fmt: skip
        run = runs.find_same_run(connection, spec)
        if run is None:
            maps = _maps_per_input(options, model.facts)
            sized = connection, corpus_id, planner, maps, on_progress
            if series is None:
                _warn_if_large(*sized)
            elif not series.has_estimate:
                size, sums = _estimate_run(*sized)
                series.has_estimate = True
                series.on_estimate(size.bytes * series.left, sums * series.left)
        run, state, replaced = runs.begin_run(connection, spec, run)
        if state == "unchanged":
            return _report(connection, run.id, state, checked)
        if state == "resumed":
            run = runs.reduce_batch_tokens(connection, run, options.batch_tokens)
        planner = replace(planner, earlier_batch_tokens=run.earlier_batch_tokens)
        rows: RowSums = "lengths"
        if options.measure in NORMALISED_MEASURES:
            rows = "parts" if model.facts.sinks and options.measure == "weights" else "shares"
        facts = RunFacts(
            run.id, corpus_id, options, tokenizer.unknown, rows, model.facts.layer_numbers
        )
        progress = ProgressCounter(on_progress)

        def saved() -> str:
            totals = report_columns(connection, run.id)
            return f"{totals['batches']:,} batches ({totals['inputs']:,} inputs) are saved"

        smaller = run.batch_tokens // 2
        remedy = (
            f"Repeat the command with --batch-tokens {smaller}: it resumes where it stopped."
            if smaller >= _SMALLEST_BATCH
            else "Start over with shorter inputs or on the CPU: --replace with --max-tokens or"
            " --device cpu."
        )
        with tell_what_is_saved(saved, remedy), malloc_tuned():
            batch_runner(PendingRun(connection, model, planner, facts, run.batches, progress))
        if masked is not None:
            planner = replace(planner, earlier_batch_tokens=())
            measure_masked(connection, masked, planner, facts, on_progress, remedy)
        report = _report(connection, run.id, state, checked)
        runs.finish_run(connection, run.id)
        return replace(report, replaced=replaced)


@dataclass
class Series:
    """The state that the runs of a series share.

    `left` is the number of checkpoints from the current one on. Before the first new run,
    `on_estimate` is called with the bytes of all of these, and of their peaks and sums alone.
    """

    name: str
    left: int
    on_estimate: Callable[[int, int], None]
    checkpoint: Checkpoint | None = None
    plans: SharedPlans = field(default_factory=dict)
    has_estimate: bool = False


def ingest_series(
    options: IngestOptions,
    on_progress: OnProgress = ignore_progress,
    on_estimate: Callable[[int, int, int], None] = lambda count, size, peaks: None,
    checkpoints: Sequence[Checkpoint] = (),
) -> Iterator[Report]:
    """Ingest each checkpoint of `options.model` that matches `options.series`, by step.

    Finished runs are skipped, an interrupted one resumes. Before the first run is written,
    `on_estimate` is called with the number of runs to make, their bytes, and the bytes of their
    peaks and sums alone. `checkpoints` spares the search for them, after `find_checkpoints`.

    Raises the errors of `ingest`; CallError, before anything is written, for checkpoints that are
    not of one training.
    """
    members = _find_members(options, checkpoints)
    shared = Series(
        str(Path(options.model)) if Path(options.model).is_dir() else options.model,
        len(members),
        lambda size, peaks: on_estimate(shared.left, size, peaks),
    )
    for at, (checkpoint, of_run) in enumerate(members):
        shared.checkpoint, shared.left = checkpoint, len(members) - at
        yield ingest_run(of_run, on_progress, run_batches, shared)


def _find_members(
    options: IngestOptions, checkpoints: Sequence[Checkpoint] = ()
) -> list[tuple[Checkpoint, IngestOptions]]:
    """Return the checkpoints of a series, each with the options of its run.

    Raises CallError if they differ in more than their weights.
    """
    check_run(options)
    assert options.series is not None
    members: list[tuple[Checkpoint, IngestOptions]] = []
    first = None
    for checkpoint in checkpoints or find_checkpoints(options.model, options.series):
        of_run = replace(options, model=checkpoint.name, revision=checkpoint.revision, series=None)
        model = describe_model(of_run)
        own = model.layers, model.heads, model.max_positions, model.tokenizer_sha256
        first = first or own
        if own != first:
            # A series shares one plan and one estimate, which depend on these.
            what = "tokenizer" if own[:3] == first[:3] else "layers, heads or longest input"
            raise CallError(
                f"{checkpoint.revision or checkpoint.name} does not have the same {what} as"
                f" {members[0][0].revision or members[0][0].name}: they are not of one training.",
                "Use a --series pattern that does not match it.",
            )
        members.append((checkpoint, of_run))
    return members


def estimate(
    options: IngestOptions,
    on_progress: OnProgress = ignore_progress,
    checked: CheckedCorpus | None = None,
) -> Estimate:
    """Count what an ingest would write, without running the model or touching the bank.

    Raises the errors of `ingest` that can be detected without the model's weights.
    """
    check_run(options)
    if options.repeat is None:
        checked = checked or find_and_check(options, on_progress, reads_bank=False)
    described = describe_model(options)
    if checked is None:
        checked = CheckedCorpus(random_corpus(options, described.input_tokenizer))
        options = checked.corpus.options
    tokenizer = configure_tokenizer(options, described.input_tokenizer)
    max_tokens = longest_input(options, tokenizer, described.max_positions)
    with tempfile.TemporaryDirectory(prefix="attnbank-") as folder:
        path = Path(folder, "estimate.duckdb")
        try:
            with open_to_write(path, provenance.version(), WRITER) as connection:
                corpus_id = write_corpus_once(connection, checked, on_progress)
                result, _ = _estimate_run(
                    connection, corpus_id, Planner(tokenizer, options, max_tokens),
                    _maps_per_input(options, described), on_progress,
                )  # fmt: skip
        except (duckdb.Error, AttnbankError, OSError) as error:
            if not is_full_disk(error):
                raise
            raise AttnbankError(
                f"The disk of {Path(folder).parent} is full; a dry run writes a temporary bank"
                " there.",
                "Free some space, or name another folder for temporary files (TMPDIR).",
            ) from error
        text = path.stat().st_size  # the schema and the annotated text, as a bank holds them
    result.problems, result.notes = [*checked.problems], checked.corpus.notes
    result.skipped = Counter(problem.id for problem in checked.problems) + result.skipped
    result.bytes += text
    return result


def estimate_series(
    options: IngestOptions, on_progress: OnProgress = ignore_progress
) -> tuple[int, Estimate]:
    """Return the number of checkpoints of a series, and the estimate of one run."""
    members = _find_members(options)
    return len(members), estimate(members[0][1], on_progress)


def _maps_per_input(options: IngestOptions, model: loading.ModelFacts | loading.Described) -> int:
    return model.layers * options.maps_per_layer(model.heads)


def _warn_if_large(
    connection: DuckDBPyConnection,
    corpus: int,
    planner: Planner,
    maps: int,
    on_progress: OnProgress,
) -> None:
    """Warn if a run of long inputs takes more bytes than LARGE, the free disk or the memory."""
    options = planner.options
    if options.context == "sentence" or options.keep == "peaks":
        return
    ((words,),) = connection.execute(
        "select count(*) from word inner join sentence on sentence.id = word.sentence"
        " inner join document on document.id = sentence.document where document.corpus = ?",
        [corpus],
    ).fetchall()
    free = shutil.disk_usage(options.bank.absolute().parent).free
    large = min(LARGE, free, memory_bytes())
    if words * planner.max_tokens * maps * _BYTES_PER_WEIGHT[True] < large:
        return  # an upper bound is enough: an exact count tokenizes the whole corpus
    expected, sums = _estimate_run(connection, corpus, planner, maps, on_progress)
    if expected.bytes < large:
        return
    less = "" if options.gradients else f" --keep peaks takes about {sums / 1e9:,.1f} GB."
    warnings.warn(
        f"The run will take about {expected.bytes / 1e9:,.1f} GB ({expected.weights:,} weights);"
        f" the disk has {free / 1e9:,.1f} GB free, the machine {memory_bytes() / 1e9:,.1f} GB of"
        f" memory.{less}",
        AttnbankWarning,
        stacklevel=2,
    )


def _with_step(
    facts: loading.ModelFacts, options: IngestOptions, series: Series | None
) -> loading.ModelFacts:
    """Add the training step to a model's facts if it is a checkpoint, by series or revision."""
    if series is not None and series.checkpoint is not None:
        checkpoint = series.checkpoint
        return replace(
            facts, series=series.name, step=checkpoint.step, tokens_seen=checkpoint.tokens_seen
        )
    step = None if options.revision is None else step_of(options.revision)
    if step is None:
        return facts
    return replace(facts, series=options.model, step=step[0], tokens_seen=step[1])


def _estimate_run(
    connection: DuckDBPyConnection,
    corpus: int,
    planner: Planner,
    maps: int,
    on_progress: OnProgress,
) -> tuple[Estimate, int]:
    """Count what a run would write, with `maps` maps of each input.

    Also returns the bytes of peaks and sums alone, which --keep peaks would write.
    """
    options, result = planner.options, Estimate()
    result.departures = count_violations(connection, corpus)
    ((result.documents, result.empty_nodes),) = connection.execute(
        "select (select count(*) from document),"
        " (select coalesce(sum(empty_nodes), 0) from sentence)"
    ).fetchall()
    counted = positions = stored = 0
    plan = planner.plan(cursor_query(connection.cursor()), corpus)
    on_progress(Progress("counting", counted, plan.sentences))
    for batch in plan.batches:
        counted += batch.sentence_count
        on_progress(Progress("counting", counted, plan.sentences))
        result.skipped.update(skip.reason for skip in batch.skips)
        for input in batch.inputs:
            result.inputs += 1
            result.sentences += len(input.sentences)
            result.words += len(input.words)
            result.joined_words += input.joined_words
            result.unknown_words += input.encoded.count_words_with(planner.input_tokenizer.unknown)
            result.pieces += len(input.encoded.ids)
            size = len(input.encoded.positions)
            result.weights += size**2
            positions += size
            # With `largest`, that many from each position, and the sum of the others as one more.
            largest = size if options.largest is None else options.largest
            stored += size * (min(largest, size) + bool(options.largest))
    result.weights *= maps
    result.passes = positions if options.measure == "value-zeroing" else 0
    of_kind = _BYTES_PER_WEIGHT if options.largest is None else _BYTES_PER_LARGEST
    weights = maps * stored * of_kind[options.decimals is None or options.decimals > 5]
    gradients = result.weights * _BYTES_PER_GRADIENT * options.gradients
    sums = maps * (positions * _BYTES_PER_POSITION + result.inputs * _BYTES_PER_MAP)
    result.bytes = round(weights + gradients + sums)
    return result, round(sums)


def _report(connection: DuckDBPyConnection, run: int, state: str, checked: CheckedCorpus) -> Report:
    """Return the report on a run; if it has no inputs, delete it and raise AttnbankError."""
    columns = report_columns(connection, run)
    departures = count_violations(connection, columns.pop("corpus_id"))
    conduct = ("batching", "sinks", "layer_numbers", "sliding_window")
    behaviour = behaviour_lines(*(columns.pop(column) for column in conduct))
    statement = registry.internal_statement("ingest/skipped_counts")
    skipped = dict(connection.execute(statement, {"run": run}).fetchall())
    if columns["inputs"]:
        return Report(
            **columns, state=state, skipped=skipped, notes=checked.corpus.notes + behaviour,
            problems=checked.problems, departures=departures,
        )  # fmt: skip
    delete_run(connection, run)
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in skipped.items())
    remedies = ["Check the corpus and the options: --dry-run counts what would be written."]
    remedies += [remedy for reason, remedy in _REMEDIES.items() if reason in skipped]
    raise AttnbankError(
        f"No input of {columns['corpus']} could be used, so no run was made. Skipped:"
        f" {left_out or 'nothing; it has no text'}.",
        remedies[-1],
    )


def report_columns(connection: DuckDBPyConnection, run: int) -> dict[str, Any]:
    """Return the columns of a run's report that the bank has, by name."""
    rows = connection.execute(registry.internal_statement("ingest/run_totals"), {"run": run})
    (row,) = rows_by_name(rows)
    return row
