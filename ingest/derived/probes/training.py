"""Training: Adam over shuffled batches, with early stopping on held-out training sentences."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnbank.ingest.derived.probes.data.batches import Batch, Batches
from attnbank.ingest.derived.probes.data.sentences import Ints, Sentences
from attnbank.ingest.derived.probes.options import Epoch, OnEpoch, ProbeOptions
from attnbank.ingest.derived.probes.scorers import Scorer
from attnbank.sql.errors import QueryError


@dataclass(frozen=True)
class Learnt:
    """How the training went; losses are of the best epoch, in nats per word."""

    epochs: int
    best_epoch: int
    loss: float
    held_out_loss: float | None


def hold_out(sentences: Sentences, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The indices of sentences to learn from and of held-out sentences, both ascending.

    Whole documents are held out, in a random order, until they have at least `share` of the
    sentences; if there is only one document, single sentences are. At least one document or
    sentence is left to learn from.
    """
    every = np.arange(len(sentences.sequence))
    if share == 0 or len(every) < 2:
        return every, every[:0]
    documents, document = np.unique(sentences.document, return_inverse=True)
    if len(documents) == 1:
        document = every
    order = rng.permutation(document.max() + 1)
    sizes = np.bincount(document)[order]
    count = int(np.searchsorted(np.cumsum(sizes), share * len(every))) + 1
    is_held_out = np.isin(document, order[: min(count, len(order) - 1)])
    return every[~is_held_out], every[is_held_out]


def loss_of(scorer: Scorer, batch: Batch) -> tuple[Tensor, Tensor]:
    """Summed negative log-likelihood of the gold heads, in nats, and the scores [B, P, 1 + P]."""
    scores = scorer(batch)
    rows = scores.flatten(0, 1)
    losses = [
        cross_entropy(rows, gold.flatten(), reduction="sum", ignore_index=-1) for gold in batch.gold
    ]
    return sum(losses[1:], start=losses[0]), scores


def mean_loss(scorer: Scorer, batches: Iterable[Batch]) -> float:
    """Mean negative log-likelihood over the words of some batches, in nats per word."""
    total, words = 0.0, 0
    with torch.inference_mode():
        for batch in batches:
            total += float(loss_of(scorer, batch)[0])
            words += int((batch.gold >= 0).sum())
    return total / words


def learn(
    scorer: Scorer,
    training: Batches,
    held_out: Batches | None,
    options: ProbeOptions,
    rng: np.random.Generator,
    on_progress: OnEpoch,
) -> Learnt:
    """Train a scorer; at the end it has the weights of the best epoch.

    That is the epoch with the lowest held-out loss, or the last one if nothing is held out. Raises
    QueryError if the loss of an epoch is not finite.
    """
    optimiser = torch.optim.Adam(scorer.parameters(), lr=options.learning_rate)
    best, best_loss, kept = Learnt(0, 0, math.nan, None), math.inf, {}
    number = 0
    for number in range(1, options.epochs + 1):
        began = time.perf_counter()
        loss = run_epoch(scorer, optimiser, training, rng.permutation(len(training)))
        stop_loss = None if held_out is None else mean_loss(scorer, held_out)
        on_progress(
            Epoch("training", number, options.epochs, loss, stop_loss, time.perf_counter() - began)
        )
        if not math.isfinite(loss):
            raise QueryError(
                f"The training went astray: the loss of epoch {number} is {loss}.",
                "Give a lower learning rate.",
            )
        if stop_loss is None or stop_loss < best_loss:
            best = Learnt(number, number, loss, stop_loss)
            best_loss = best_loss if stop_loss is None else stop_loss
            kept = {name: value.clone() for name, value in scorer.state_dict().items()}
        elif number - best.best_epoch >= options.patience:
            break
    scorer.load_state_dict(kept)
    return Learnt(number, best.best_epoch, best.loss, best.held_out_loss)


def run_epoch(
    scorer: Scorer, optimiser: torch.optim.Optimizer, batches: Batches, order: Ints
) -> float:
    """One pass over the batches in this order; the mean loss per word during it, in nats."""
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
