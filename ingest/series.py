"""Ingests every checkpoint of a training, in the order of steps; the runs share one plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from attnbank.ingest.models.training_steps import Checkpoint, Series, find_checkpoints
from attnbank.ingest.options import Estimate, IngestOptions, Report, check_run
from attnbank.ingest.progress import OnProgress, ignore_progress
from attnbank.ingest.run import describe_model, estimate, ingest_run
from attnbank.ingest.store.pipeline import run_batches
from attnbank.sql.errors import CallError


def ingest_series(
    options: IngestOptions,
    on_progress: OnProgress = ignore_progress,
    on_estimate: Callable[[int, int, int], None] = lambda count, size, peaks: None,
) -> Iterator[Report]:
    """Ingest each checkpoint of `options.model` that matches `options.series`, by step.

    Finished runs are skipped, an interrupted one resumes. Before the first run is written,
    `on_estimate` is called with the number of runs to make, their bytes, and the bytes of their
    peaks and sums alone.

    Raises the errors of `ingest`; CallError, before anything is written, for checkpoints that are
    not of one training.
    """
    check_run(options)
    assert options.series is not None
    members = find_checkpoints(options.model, options.series)
    _check_alike(members, options)
    shared = Series(
        str(Path(options.model)) if Path(options.model).is_dir() else options.model,
        len(members),
        lambda size, peaks: on_estimate(shared.left, size, peaks),
    )
    for at, checkpoint in enumerate(members):
        shared.checkpoint, shared.left = checkpoint, len(members) - at
        yield ingest_run(_options_of(checkpoint, options), on_progress, run_batches, shared)


def estimate_series(
    options: IngestOptions, on_progress: OnProgress = ignore_progress
) -> tuple[int, Estimate]:
    """Return the number of checkpoints of a series, and the estimate of one run."""
    check_run(options)
    assert options.series is not None
    members = find_checkpoints(options.model, options.series)
    _check_alike(members, options)
    return len(members), estimate(_options_of(members[0], options), on_progress)


def _options_of(checkpoint: Checkpoint, options: IngestOptions) -> IngestOptions:
    return replace(options, model=checkpoint.name, revision=checkpoint.revision, series=None)


def _check_alike(members: list[Checkpoint], options: IngestOptions) -> None:
    """Raise CallError if checkpoints differ in more than their weights."""
    first = None
    for checkpoint in members:
        model = describe_model(_options_of(checkpoint, options))
        own = model.layers, model.heads, model.max_positions, model.tokenizer_sha256
        first = first or own
        if own != first:
            # A series shares one plan and one estimate, which depend on these.
            what = "tokenizer" if own[:3] == first[:3] else "layers, heads or longest input"
            raise CallError(
                f"{checkpoint.revision or checkpoint.name} does not have the same {what} as"
                f" {members[0].revision or members[0].name}: they are not of one training.",
                "Use a --series pattern that does not match it.",
            )
