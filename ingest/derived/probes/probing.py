"""Training a probe on one run of a bank, scoring it on another, and keeping the result."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb
import numpy as np
import torch
from duckdb import DuckDBPyConnection

from attnbank.ingest.derived.probes import recording
from attnbank.ingest.derived.probes.data.batches import Batches
from attnbank.ingest.derived.probes.data.sentences import Ints
from attnbank.ingest.derived.probes.data.tasks import Part, Task, read_task
from attnbank.ingest.derived.probes.head_weights import HeadWeights
from attnbank.ingest.derived.probes.options import (
    WITH_ATTENTION,
    OnEpoch,
    ProbeOptions,
    ProbeReport,
    check_options,
)
from attnbank.ingest.derived.probes.recording import Outcome
from attnbank.ingest.derived.probes.scorers import (
    HIDDEN,
    AttentionScorer,
    AttentionWordsScorer,
    DistanceWordsScorer,
    HeadScorer,
    Scorer,
)
from attnbank.ingest.derived.probes.scoring import judge, right_branching, scores
from attnbank.ingest.derived.probes.training import hold_out, learn, loss_of
from attnbank.ingest.models.runtime import device_of
from attnbank.sql import provenance
from attnbank.sql.bank.opening import explain, open_to_read, open_to_write
from attnbank.sql.bank.room import close_tidily

_MEGABYTE = 1_000_000


def train_probe(
    bank: str | Path,
    kind: str,
    train_run: str | int | None,
    test_run: str | int,
    options: ProbeOptions | None = None,
    on_progress: OnEpoch = lambda epoch: None,
    *,
    replace: bool = False,
) -> ProbeReport:
    """Train a probe on one run of a bank, score it on another, and write both into the bank.

    `kind` is one of KINDS; runs are given by name or id; right_branching learns nothing and
    needs no `train_run`. `on_progress` is called after every epoch. The rows are written to
    `probe`, `probe_score` and `probe_weight`, all of them or none. If the bank has a probe of the
    same runs, options and word vectors already, that one is reported; with `replace` it is trained
    anew and replaced.

    Raises CallError for an unknown kind, run, split or source of embeddings, for an invalid option,
    for runs of different models, and for a run that is not of single sentences at word level;
    QueryError for a run without trees or an unfinished one, and for a training whose loss is not
    finite; EmbeddingsError for embeddings that cannot be read; BankError if the bank cannot be
    opened or written. Then the bank is unchanged.
    """
    options = options or ProbeOptions()
    learns_from = None if train_run is None or kind == "right_branching" else str(train_run)
    check_options(kind, learns_from, options)
    device = device_of(options.device)
    path = Path(bank)
    with open_to_read(path) as connection:
        task = read_task(connection, kind, learns_from, str(test_run), options)
        same = [] if replace else recording.find_same(connection, task, options)
        if same:
            return recording.report(connection, task, same[0])
    began, started = time.perf_counter(), provenance.now()
    # Opened for writing before the training, so that a bank in use is refused now and not after it.
    connection = open_to_write(path, provenance.version(), {"memory_limit": "1GB"}, makes=False)
    try:
        with connection.cursor() as reading:
            outcome = run_task(reading, task, options, device, on_progress)
        probe = recording.write(
            connection, task, options, outcome, str(device), (started, provenance.now())
        )
        found = recording.report(connection, task, probe, time.perf_counter() - began)
        close_tidily(connection, path, has_deleted=replace)
    except duckdb.Error as error:
        raise explain(
            error, path, "nothing of the probe was kept", "type the same command again"
        ) from error
    finally:
        connection.close()
    return found


def run_task(
    connection: DuckDBPyConnection,
    task: Task,
    options: ProbeOptions,
    device: torch.device,
    on_progress: OnEpoch,
) -> Outcome:
    """Train and score a probe; this reads attention from the bank, and writes nothing."""
    rng = np.random.default_rng(options.seed)
    sentences = task.test.sentences
    if task.train is None:
        judged = judge(sentences, right_branching(sentences))
        table = scores(sentences, judged, options.resamples, rng)
        return Outcome(0, 0, None, None, table, None)
    scorer = make_scorer(task, options).to(device)
    chosen, kept = hold_out(task.train.sentences, options.held_out, rng)
    training = make_batches(connection, task, task.train, chosen, options, device)
    held_out = make_batches(connection, task, task.train, kept, options, device)
    learnt = learn(scorer, training, held_out if len(kept) else None, options, rng, on_progress)
    predicted, test_loss, weights = _predict(connection, task, scorer, options, device)
    table = scores(sentences, judge(sentences, predicted), options.resamples, rng)
    return Outcome(
        train_sentences=len(chosen),
        held_out_sentences=len(kept),
        learnt=learnt,
        test_loss=test_loss,
        scores=table,
        weights=None if weights is None else weights.rows(),
        opens=scorer.opens.item() if isinstance(scorer, HeadScorer) else None,
        closes=scorer.closes.item() if isinstance(scorer, HeadScorer) else None,
    )


def make_scorer(task: Task, options: ProbeOptions) -> Scorer:
    """An untrained probe of the task's kind."""
    maps = task.test.run.maps
    if task.vectors is None:
        return AttentionScorer(maps)
    vectors = torch.from_numpy(task.vectors)
    if task.kind == "attention_words":
        return AttentionWordsScorer(maps, vectors, options.root_at)
    generator = torch.Generator().manual_seed(options.seed)
    return DistanceWordsScorer(vectors, options.root_at, generator)


def make_batches(
    connection: DuckDBPyConnection,
    task: Task,
    part: Part,
    chosen: Ints,
    options: ProbeOptions,
    device: torch.device,
    *,
    is_kept: bool = True,
) -> Batches:
    """The batches of the sentences `chosen` of a part.

    With `is_kept` they may stay in memory between epochs: the held-out and the training sentences
    share `options.memory` in proportion to their number.
    """
    share = len(chosen) / len(part.sentences.sequence) if is_kept else 0
    return Batches(
        connection,
        part.run,
        part.sentences,
        chosen,
        part.vector,
        most=options.batch_sentences,
        width=part.run.maps if task.kind in WITH_ATTENTION else HIDDEN,
        with_attention=task.kind in WITH_ATTENTION,
        memory=int(options.memory * _MEGABYTE * share),
        device=device,
    )


def _predict(
    connection: DuckDBPyConnection,
    task: Task,
    scorer: Scorer,
    options: ProbeOptions,
    device: torch.device,
) -> tuple[Ints, float, HeadWeights | None]:
    """What a trained probe does on the test sentences.

    Returns the predicted candidate of each position [N] (-1 for special tokens), the mean loss per
    word in nats, and the weights of the heads, or None for a probe that reads no attention.
    """
    sentences = task.test.sentences
    every = np.arange(len(sentences.sequence))
    batches = make_batches(connection, task, task.test, every, options, device, is_kept=False)
    predicted = np.full(len(sentences.is_word), -1, dtype=np.int64)
    weights = HeadWeights(task.test.run) if isinstance(scorer, HeadScorer) else None
    total = 0.0
    with torch.inference_mode():
        for batch in batches:
            loss, found = loss_of(scorer, batch)
            total += float(loss)
            entry = batch.entry[batch.is_word].cpu().numpy()
            predicted[entry] = found.argmax(2)[batch.is_word].cpu().numpy()
            if weights is not None and isinstance(scorer, HeadScorer):
                places = batch.entry.cpu().numpy()
                counts = sentences.is_scored & sentences.is_head_scored
                is_counted = torch.from_numpy(counts[:, places]).to(device)
                weights.add(scorer, batch, batch.is_word & is_counted)
    return predicted, total / int((sentences.gold >= 0).sum()), weights
