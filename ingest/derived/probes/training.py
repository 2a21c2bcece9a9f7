"""Trains a probe on one run of a bank, scores it on another, and stores the result."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import fields
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import torch
from duckdb import DuckDBPyConnection
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attnbank.ingest.derived.probes.head_weights import HeadWeights, right_branching, scores
from attnbank.ingest.derived.probes.probe_options import (
    WITH_WORDS,
    Epoch,
    OnEpoch,
    ProbeOptions,
    ProbeReport,
    check_options,
)
from attnbank.ingest.derived.probes.scorers import HeadScorer, make_scorer
from attnbank.ingest.derived.probes.sentences import Ints, Sentences
from attnbank.ingest.derived.probes.tasks import Batches, ProbeBatch, Task, read_task
from attnbank.ingest.models.runtime import device_of
from attnbank.ingest.store.writer import insert, insert_row, next_ids
from attnbank.sql import provenance
from attnbank.sql.bank.compaction import checkpoint_and_compact
from attnbank.sql.bank.connections import transaction
from attnbank.sql.bank.error_messages import translate_errors
from attnbank.sql.bank.opening import open_to_read, open_to_write
from attnbank.sql.bank.references import table_references
from attnbank.sql.errors import QueryError
from attnbank.sql.outputs.atomic import remove_parts

_LIBRARIES = ("duckdb", "torch", "transformers", "tokenizers", "numpy", "pyarrow", "spacy")
# Options that have a column of their own in table `probe`.
_COLUMNS = frozenset({"embeddings", "root_at", "train_split", "test_split", "seed"})

# Options that change no figure. Word vectors are compared by their digest, not by their model.
_NOT_COMPARED = frozenset({"memory", "model", "trust_remote_code"})


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

    `kind` is one of KINDS; runs are given by name or id; right_branching needs no `train_run`. If
    the bank has a probe of the same runs, options and word vectors, that is reported, or, with
    `replace`, trained again. Raises CallError for an invalid argument or run, QueryError for a run
    without trees or an unfinished one and for a loss that is not finite, EmbeddingsError for
    embeddings that cannot be read, BankError if the bank cannot be opened or written.
    """
    options = options or ProbeOptions()
    learns_from = None if train_run is None or kind == "right_branching" else str(train_run)
    check_options(kind, learns_from, options)
    device = device_of(options.device)
    path = Path(bank)
    with open_to_read(path) as connection:
        task = read_task(connection, path, kind, learns_from, str(test_run), options)
        same = [] if replace else _find_same(connection, task)
        if same:
            remove_parts(path.resolve())  # left by a process that was killed while it compacted
            return _report(connection, task, same[0])
    began, started = time.perf_counter(), provenance.now()
    # Opened for writing before the training, to fail now and not after it if the bank is in use.
    connection = open_to_write(path, provenance.version(), {"memory_limit": "1GB"}, makes=False)
    saved = "the probe was not saved", "type the same command again"
    with closing(connection), translate_errors(path, *saved, only_duckdb=True):
        with connection.cursor() as reading:
            columns, tables = _run_task(reading, task, device, on_progress)
        columns |= {"device": str(device), "started": started}
        probe = _write_probe(connection, task, columns, tables)
        report = _report(connection, task, probe, time.perf_counter() - began)
        checkpoint_and_compact(connection, path, has_deleted=replace)
    return report


def _run_task(
    connection: DuckDBPyConnection, task: Task, device: torch.device, on_progress: OnEpoch
) -> tuple[dict[str, object], dict[str, pl.DataFrame]]:
    """Train and score a probe; return columns of table `probe`, and rows of other tables."""
    options, sentences = task.options, task.test.sentences
    rng = np.random.default_rng(options.seed)
    if task.train is None:
        table = scores(sentences, right_branching(sentences), options.resamples, rng)
        nothing = ("train_sentences", "held_out_sentences", "epochs", "best_epoch")
        return dict.fromkeys(nothing, 0), {"probe_score": table}
    scorer = make_scorer(task).to(device)
    training_sentences, held_out_sentences = hold_out(task.train.sentences, options.held_out, rng)
    training = Batches(connection, task, task.train, training_sentences, device)
    held_out = (
        Batches(connection, task, task.train, held_out_sentences, device)
        if len(held_out_sentences)
        else None
    )
    learnt = train_scorer(scorer, training, held_out, options, rng, on_progress)
    test_sentences = np.arange(len(sentences.sequence))
    predicted = np.full(len(sentences.is_word), -1, dtype=np.int64)
    weights = HeadWeights(task.test, scorer) if isinstance(scorer, HeadScorer) else None
    total = 0.0
    with torch.inference_mode():
        for batch in Batches(connection, task, task.test, test_sentences, device, keeps=False):
            loss, word_scores = loss_of(scorer, batch)
            total += float(loss)
            entry = batch.entry[batch.is_word].cpu().numpy()
            predicted[entry] = word_scores.argmax(2)[batch.is_word].cpu().numpy()
            if weights is not None:
                weights.add_batch(batch)
    columns = {
        "train_sentences": len(training_sentences),
        "held_out_sentences": len(held_out_sentences),
        **learnt,
        "test_loss": total / int((sentences.gold >= 0).sum()),
    }
    tables = {"probe_score": scores(sentences, predicted, options.resamples, rng)}
    if isinstance(scorer, HeadScorer):
        columns |= {"opens": scorer.opens.item(), "closes": scorer.closes.item()}
    if weights is not None:
        tables["probe_weight"] = weights.to_frame()
    return columns, tables


def hold_out(sentences: Sentences, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the indices of training sentences and of held-out sentences, both ascending.

    Random documents are held out until they have `share` of the sentences (single sentences, if the
    source does not mark several documents). At least one sentence is left for training.
    """
    indices = np.arange(len(sentences.sequence))
    if share == 0 or len(indices) < 2:
        return indices, indices[:0]
    cluster = sentences.clusters
    order = rng.permutation(cluster.max() + 1)
    sizes = np.bincount(cluster)[order]
    count = int(np.searchsorted(np.cumsum(sizes), share * len(indices))) + 1
    is_held_out = np.isin(cluster, order[: min(count, len(order) - 1)])
    return indices[~is_held_out], indices[is_held_out]


def loss_of(scorer: nn.Module, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
    """Return the negative log-likelihood of all gold heads, in nats, and scores [B, P, 1 + P]."""
    scores = scorer(batch)
    rows = scores.flatten(0, 1)
    losses = [
        cross_entropy(rows, gold.flatten(), reduction="sum", ignore_index=-1) for gold in batch.gold
    ]
    return sum(losses[1:], start=losses[0]), scores


def _mean_loss(scorer: nn.Module, batches: Iterable[ProbeBatch]) -> float:
    total, words = 0.0, 0
    with torch.inference_mode():
        for batch in batches:
            total += float(loss_of(scorer, batch)[0])
            words += int((batch.gold >= 0).sum())
    return total / words


def train_scorer(
    scorer: nn.Module,
    training: Batches,
    held_out: Batches | None,
    options: ProbeOptions,
    rng: np.random.Generator,
    on_progress: OnEpoch,
) -> dict[str, object]:
    """Train a scorer and load the weights of its best epoch; return columns of `probe`.

    The best epoch has the lowest held-out loss; if nothing is held out, it is the last. Raises
    QueryError if a loss is not finite.
    """
    optimiser = torch.optim.Adam(scorer.parameters(), lr=options.learning_rate)
    best: dict[str, object] = {}
    best_epoch, best_loss, best_state = 0, math.inf, {}
    for number in range(1, options.epochs + 1):
        began = time.perf_counter()
        loss = run_epoch(scorer, optimiser, training, rng.permutation(len(training)))
        stop_loss = None if held_out is None else _mean_loss(scorer, held_out)
        seconds = time.perf_counter() - began
        on_progress(Epoch("training", number, options.epochs, loss, stop_loss, seconds))
        if not math.isfinite(loss):
            raise QueryError(
                f"Training diverged: the loss of epoch {number} is {loss}.",
                "Give a lower learning rate.",
            )
        if stop_loss is None or stop_loss < best_loss:
            best_epoch, best_loss = number, best_loss if stop_loss is None else stop_loss
            best = {"best_epoch": number, "loss": loss, "held_out_loss": stop_loss}
            best_state = {name: value.clone() for name, value in scorer.state_dict().items()}
        elif number - best_epoch >= options.patience:
            break
    scorer.load_state_dict(best_state)
    return {"epochs": number, **best}


def run_epoch(
    scorer: nn.Module, optimiser: torch.optim.Optimizer, batches: Batches, order: Ints
) -> float:
    """Train on all batches in this order; return the mean loss per word meanwhile, in nats."""
    total, words = torch.zeros((), dtype=torch.float64), 0
    for number in order.tolist():
        batch = batches[number]
        optimiser.zero_grad()
        loss, _ = loss_of(scorer, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total += loss.detach().cpu().double()
        words += int((batch.gold >= 0).sum())
    return float(total) / words


def _identity_columns(task: Task) -> dict[str, object]:
    options, vectors, train = task.options, task.vectors, task.train
    return {
        "kind": task.kind,
        "train_run": None if train is None else train.run.id,
        "test_run": task.test.run.id,
        "train_split": None if train is None else options.train_split,
        "test_split": options.test_split,
        "embeddings": options.embeddings if task.kind in WITH_WORDS else None,
        "vectors_sha256": None if vectors is None else sha256(vectors.tobytes()).hexdigest(),
        "root_at": options.root_at,
        "seed": options.seed,
    }


def _other_options(options: ProbeOptions) -> dict[str, str]:
    """Return the options without a column of their own as text by name."""
    names = [field.name for field in fields(options) if field.name not in _COLUMNS]
    return {name: str(getattr(options, name)) for name in names}


def _find_same(connection: DuckDBPyConnection, task: Task) -> list[int]:
    """Return the ids of probes of the same kind, runs, options and vectors, the newest first."""

    def matters(options: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in options.items() if name not in _NOT_COMPARED}

    identity, further = _identity_columns(task), matters(_other_options(task.options))
    rows = connection.execute(
        "select id, options from probe"
        f" where {' and '.join(f'{name} is not distinct from ?' for name in identity)}"
        " order by id desc",
        list(identity.values()),
    ).fetchall()
    return [number for number, options in rows if matters(options) == further]


def _write_probe(
    connection: DuckDBPyConnection,
    task: Task,
    columns: dict[str, object],
    tables: dict[str, pl.DataFrame],
) -> int:
    """Write a probe in one transaction, replacing those of `_find_same`; return its id."""
    with transaction(connection):
        probe = next_ids(connection)["probe"]
        for same in _find_same(connection, task):
            for reference in table_references(connection):
                if reference.target == "probe":
                    condition = reference.condition(f"id = {same}")
                    connection.execute(f"delete from {reference.qualified_table} where {condition}")
            connection.execute("delete from probe where id = ?", [same])
        insert_row(
            connection,
            "probe",
            id=probe,
            **_identity_columns(task),
            dimension=None if task.vectors is None else task.vectors.shape[1],
            coverage=task.coverage,
            options=_other_options(task.options),
            test_sentences=len(task.test.sentences.sequence),
            **columns,
            code_version=provenance.version(),
            libraries=provenance.libraries(*_LIBRARIES),
            finished=provenance.now(),
        )
        for table, rows in tables.items():
            insert(connection, table, rows.with_columns(probe=probe).to_arrow())
    return probe


def _report(
    connection: DuckDBPyConnection, task: Task, probe: int, seconds: float | None = None
) -> ProbeReport:
    """Read the report of a probe; `seconds` is None if it was not trained just now."""
    epochs, best = connection.execute(
        "select epochs, best_epoch from probe where id = ?", [probe]
    ).fetchall()[0]
    scores = connection.query(
        "select * exclude (probe) from probe_score where probe = $probe order by rowid",
        params={"probe": probe},
    )
    return ProbeReport(
        probe=probe,
        kind=task.kind,
        train_run=None if task.train is None else task.train.run.name,
        test_run=task.test.run.name,
        epochs=epochs,
        best_epoch=best,
        seconds=seconds or 0.0,
        scores=scores.pl(),
        is_new=seconds is not None,
    )
