"""Trains a probe on one run of a bank, scores it on another, and stores the result.

A probe scores the candidate heads of every word (section 5 of the paper): p(head | dependent) is
the softmax of the scores over ROOT, which comes first, and the words of the sentence except the
dependent itself (one too in the published code). Its results are UAS and UUAS by relation, and the
weights of the attention heads.

In shapes, B is the number of sentences, P of positions, K of maps (layers times heads) and D of
numbers in a word vector.
"""

from __future__ import annotations

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import torch
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from attnbank.ingest.derived.probes.probe_options import (
    HIDDEN,
    WITH_WORDS,
    Epoch,
    OnEpoch,
    ProbeOptions,
    ProbeReport,
    check_options,
)
from attnbank.ingest.derived.probes.sentences import ROOT, Bools, Ints, Sentences
from attnbank.ingest.derived.probes.tasks import Batches, ProbeBatch, ProbeInput, Task, read_task
from attnbank.ingest.models.runtime import device_of
from attnbank.ingest.store.deleting import delete_rows
from attnbank.ingest.store.writer import (
    insert,
    insert_row,
    matching_rows,
    next_id,
    open_for_changes,
)
from attnbank.sql import provenance
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import QueryError
from attnbank.sql.names import TO_DEPENDENT, TO_HEAD

Floats = NDArray[np.float64]
_RESAMPLES_AT_ONCE = 50

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
    without trees and for a loss that is not finite, EmbeddingsError for embeddings that cannot be
    read, BankError if the bank cannot be opened or written.
    """
    options = options or ProbeOptions()
    learns_from = None if train_run is None or kind == "right_branching" else str(train_run)
    check_options(kind, learns_from, options)
    device = device_of(options.device)
    path, outcome, settings = Path(bank), "the probe was not saved", {"memory_limit": "1GB"}
    with open_for_changes(path, outcome, settings, has_deleted=replace) as connection:
        task = read_task(connection, path, kind, learns_from, str(test_run), options)
        if not replace and (same := _find_same(connection, task)):
            return _report(connection, task, same[0])
        began, started = time.perf_counter(), provenance.now()
        with connection.cursor() as reading:
            columns, tables = _run_task(reading, task, device, on_progress)
        columns["device"] = str(device)
        probe = _write_probe(connection, task, started, columns, tables)
        return _report(connection, task, probe, time.perf_counter() - began)


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
    held_out = Batches(connection, task, task.train, held_out_sentences, device)
    learnt = train_scorer(scorer, training, held_out or None, options, rng, on_progress)
    test_sentences = np.arange(len(sentences.sequence))
    predicted = np.full(len(sentences.is_word), -1, dtype=np.int64)
    weights = HeadWeights(task.test, scorer) if isinstance(scorer, HeadScorer) else None
    total = 0.0
    with torch.inference_mode():
        for batch in Batches(connection, task, task.test, test_sentences, device, keeps=False):
            loss, word_scores = loss_of(scorer, batch)
            total += float(loss.detach())
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
        order = rng.permutation(len(training)).tolist()
        loss = run_epoch(scorer, (training[at] for at in order), optimiser)
        stop_loss = None if held_out is None else run_epoch(scorer, held_out)
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
    scorer: nn.Module, batches: Iterable[ProbeBatch], optimiser: torch.optim.Optimizer | None = None
) -> float:
    """Return the mean loss per word, in nats; with an optimiser, of the training meanwhile."""
    total, words = 0.0, 0
    with torch.inference_mode(optimiser is None):
        for batch in batches:
            loss, _ = loss_of(scorer, batch)
            if optimiser is not None:
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            total += float(loss.detach())
            words += int((batch.gold >= 0).sum())
    return total / words


_DISTANCES = 6  # numbers that describe the distance of a pair; see DistanceWordsScorer


def make_scorer(task: Task) -> nn.Module:
    """Return an untrained probe of the task's kind."""
    maps = task.test.run.maps_per_sentence
    if task.vectors is None:
        return AttentionScorer(maps)
    vectors = torch.from_numpy(task.vectors)
    if task.kind == "attention_words":
        return AttentionWordsScorer(maps, vectors, task.options.root_at)
    generator = torch.Generator().manual_seed(task.options.seed)
    return DistanceWordsScorer(vectors, task.options.root_at, generator)


class HeadScorer(nn.Module, ABC):
    """A probe that weighs attention heads.

    The score of a pair is the sum over heads of weight times attention, from the dependent to the
    candidate and from the candidate to the dependent. The score of ROOT is that sum for the special
    tokens, times `opens` for [CLS] and `closes` for all others ([SEP] in the published code).
    """

    def __init__(self) -> None:
        super().__init__()
        self.opens = nn.Parameter(torch.ones(()))
        self.closes = nn.Parameter(torch.ones(()))

    @abstractmethod
    def pair_scores(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, P] of (dependent, candidate), special tokens included."""

    @abstractmethod
    def coefficients(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """Weights of attention from and to the dependent, [B, P, P, K] or broadcastable to it."""

    def forward(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, 1 + P] of each dependent's candidates, ROOT first; -inf for the others."""
        pairs = self.pair_scores(batch)
        special = self.opens * batch.opens + self.closes * batch.closes
        return _candidates(pairs @ special[..., None], pairs, batch)


class AttentionScorer(HeadScorer):
    """The attention-only probe: one weight per head and direction.

    p(candidate | dependent) is proportional to
    exp(sum over heads k of w_k a^k(dependent, candidate) + u_k a^k(candidate, dependent)).
    """

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(2, maps))

    def pair_scores(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, P]; see HeadScorer."""
        first, second = linear(batch.required_attention, self.weights).unbind(-1)
        return first + second.transpose(1, 2)

    def coefficients(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """The same weights for every pair, [1, 1, 1, K] each."""
        from_dependent, to_dependent = self.weights
        return from_dependent[None, None, None], to_dependent[None, None, None]


class AttentionWordsScorer(HeadScorer):
    """The attention-and-words probe: w_k = b_k + W_k (v(dependent), v(candidate)), u_k likewise.

    This is linear, so the sum over the D numbers of a vector is computed once per word, not pair.
    """

    vectors: Tensor

    def __init__(self, maps: int, vectors: Tensor, root_at: str) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.root_at = root_at
        size = vectors.shape[1]
        self.bias = nn.Parameter(torch.zeros(2, maps))
        self.dependent = nn.Parameter(torch.zeros(size, 2 * maps))
        self.candidate = nn.Parameter(torch.zeros(size, 2 * maps))

    def _terms(self, batch: ProbeBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the terms of dependents and of candidates (plus bias), and `is_paired`.

        Terms are [2, B, P, K], `is_paired` is [B, P].
        """
        rows, _, is_paired = _candidate_rows(batch, self.root_at)
        shape = (*batch.is_word.shape, 2, -1)
        dependent = (self.vectors[batch.vector] @ self.dependent).view(shape).permute(2, 0, 1, 3)
        candidate = (self.vectors[rows] @ self.candidate).view(shape).permute(2, 0, 1, 3)
        return dependent, candidate + self.bias[:, None, None], is_paired

    def pair_scores(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, P]; see HeadScorer."""
        attention = batch.required_attention
        dependent, candidate, is_paired = self._terms(batch)
        # The dependent's position is the first index of the attention from it, and the second index
        # of the attention to it. Both terms of a position are summed in one product over the maps.
        first = _weighted(attention, dependent[0], candidate[1])
        second = _weighted(attention.transpose(1, 2), candidate[0], dependent[1])
        by_dependent = first[:, :, 0] + second[:, :, 1]
        by_candidate = (second[:, :, 0] + first[:, :, 1]).transpose(1, 2)
        return by_dependent * is_paired[:, None, :] + by_candidate

    def coefficients(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """Weights [B, P, P, K] of each pair, from and to the dependent."""
        dependent, candidate, is_paired = self._terms(batch)
        pairs = dependent[:, :, :, None] * is_paired[:, None, :, None] + candidate[:, :, None]
        return pairs[0], pairs[1]


class DistanceWordsScorer(nn.Module):
    """The baseline without attention: 256 tanh units over distance and the two words' vectors.

    For a pair at offset d = candidate - dependent in a sentence of n words, the distance is six
    numbers: d / n if d is positive, -d / n if it is negative (else 0), and whether d is 1, -1, 2
    and -2. ROOT has no distance, but weights of its own.
    """

    vectors: Tensor

    def __init__(self, vectors: Tensor, root_at: str, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.root_at = root_at
        size = vectors.shape[1]
        spread = math.sqrt(6 / (2 * size + _DISTANCES + 1 + HIDDEN))
        self.dependent = _uniform(size, HIDDEN, spread, generator)
        self.candidate = _uniform(size, HIDDEN, spread, generator)
        self.distance = _uniform(_DISTANCES, HIDDEN, spread, generator)
        self.root = _uniform(1, HIDDEN, spread, generator)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.out = _uniform(1, HIDDEN, math.sqrt(6 / (HIDDEN + 1)), generator)

    def forward(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, 1 + P] of each dependent's candidates, ROOT first; -inf for the others."""
        rows, root_rows, is_paired = _candidate_rows(batch, self.root_at)
        dependent = self.vectors[batch.vector] @ self.dependent
        candidate = self.vectors[rows] @ self.candidate + self.bias
        offset = batch.position[:, None, :] - batch.position[:, :, None]
        share = offset / batch.words[:, None, None]
        near = [(offset == at).float() for at in (1, -1, 2, -2)]
        distances = torch.stack([share.clamp(min=0), (-share).clamp(min=0), *near], -1)
        # [B, P, P, 256] is by far the largest tensor, so it is filled in place.
        hidden = (distances @ self.distance).add_(candidate[:, None])
        if self.root_at == "published":
            hidden.add_(dependent[:, :, None] * is_paired[:, None, :, None])
        else:
            hidden.add_(dependent[:, :, None])
        # As ROOT, a candidate has no distance, but the weights `root`.
        of_root = self.vectors[root_rows] @ self.candidate + self.bias + self.root
        root = self._sum_of_tanh(dependent + of_root[:, None])
        return _candidates(root, self._sum_of_tanh(hidden)[..., 0], batch)

    def _sum_of_tanh(self, hidden: Tensor) -> Tensor:
        """Return tanh(hidden) times `out`, [..., 1]; overwrites `hidden` [..., 256]."""
        # tanh(x) = 2 sigmoid(2 x) - 1
        units = hidden.mul_(2).sigmoid_()
        return 2 * linear(units, self.out) - self.out.sum()


def _candidate_rows(batch: ProbeBatch, root_at: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of the vectors of candidates [B, P] and of ROOT [B], and `is_paired` [B, P].

    As a candidate, a special token has the vector of ROOT, which is zero. With root_at `published`
    the candidates are shifted by one, as in the published code: ROOT has the vector of the first
    word, each word that of the next one, and a pair whose candidate is the last word has no vectors
    at all, not even the dependent's: its `is_paired` is 0, that of all others 1.
    """
    if root_at != "published":
        return batch.vector, torch.zeros_like(batch.vector[:, 0]), torch.ones_like(batch.opens)
    root = batch.vector.gather(1, batch.is_word.float().argmax(1, keepdim=True))[:, 0]
    has_next = batch.is_word.roll(-1, 1) & (batch.position + 1 == batch.position.roll(-1, 1))
    rows = torch.where(batch.is_word & has_next, batch.vector.roll(-1, 1), 0)
    is_special = (batch.opens + batch.closes) > 0
    rows = torch.where(is_special, root[:, None], rows)
    return rows, root, (has_next | ~batch.is_word).float()


def _candidates(root: Tensor, pairs: Tensor, batch: ProbeBatch) -> Tensor:
    """Concatenate the scores of ROOT [B, P, 1] and of pairs [B, P, P]; -inf if no candidate.

    The dependent itself and special tokens are not candidates.
    """
    itself = torch.eye(pairs.shape[1], dtype=torch.bool, device=pairs.device)
    barred = ~batch.is_word[:, None, :] | itself
    return torch.cat([root, pairs.masked_fill(barred, -math.inf)], 2)


def _weighted(attention: Tensor, *terms: Tensor) -> Tensor:
    """Sum attention [B, X, Y, K] times each of some terms [B, X, K] over K: [B, X, terms, Y]."""
    count, first, second, maps = attention.shape
    stacked = torch.stack(terms, 2).view(count * first, len(terms), maps)
    product = stacked @ attention.reshape(count * first, second, maps).transpose(1, 2)
    return product.view(count, first, len(terms), second)


def _uniform(rows: int, columns: int, spread: float, generator: torch.Generator) -> nn.Parameter:
    return nn.Parameter((torch.rand(rows, columns, generator=generator) * 2 - 1) * spread)


def compare_to_gold(sentences: Sentences, predicted: Ints) -> tuple[Bools, Bools, Bools]:
    """Compare the predicted candidate of each position, [N] (-1 for no word), to the gold ones.

    Returns flags [K, N]: for UAS, whether the predicted head of the word is correct; for UUAS,
    whether word and gold head count as an edge (neither is ROOT or punctuation), and whether one of
    them is predicted as the head of the other.
    """
    offset = np.repeat(sentences.start[:-1], sentences.lengths)
    is_edge = sentences.is_scored & sentences.is_head_scored
    head = np.where(is_edge, offset + sentences.gold - 1, 0)
    is_correct = sentences.is_scored & (predicted == sentences.gold)
    is_found = is_edge & (is_correct | (predicted[head] == sentences.position + 1))
    return is_correct, is_edge, is_found


def right_branching(sentences: Sentences) -> Ints:
    """Return the baseline: the candidate of each position [N] is the next word, at last ROOT."""
    has_next = np.append(sentences.is_word[1:], False)
    has_next[sentences.start[1:] - 1] = False
    return np.where(has_next, sentences.position + 2, ROOT)


def scores(
    sentences: Sentences, predicted: Ints, resamples: int, rng: np.random.Generator
) -> pl.DataFrame:
    """Return rows of `probe_score`, without the column `probe`: `all`, then by frequency.

    `predicted` is as in `compare_to_gold`. Intervals are percentiles over resamples of documents
    (of sentences if there is only one document), and null if all counted words are in one.
    """
    count = len(sentences.relations)
    cluster = np.repeat(sentences.clusters, sentences.lengths)
    clusters = int(cluster.max()) + 1

    def per_cluster(words: Bools) -> Floats:
        """Return counts [C, 1 + relations]: of the whole cluster first, then of each relation."""
        cell = cluster * (count + 1) + sentences.relation + 1
        counts = np.bincount(cell[words], minlength=clusters * (count + 1))
        table = counts.reshape(-1, count + 1).astype(np.float64)
        table[:, 0] = table.sum(1)  # column 0 holds words without a relation
        return table

    judged = compare_to_gold(sentences, predicted)
    tables = [per_cluster(words) for words in (sentences.is_scored, *judged)]
    totals = [table.sum(0) for table in tables]
    resampled = _resample_totals(tables, resamples, rng)
    columns: dict[str, object] = {"relation": ["all", *sentences.relations]}
    # 0 / 0 is NaN, which becomes null.
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        for share, names, at in (("uas", ("n", "correct"), 0), ("uuas", ("edges", "found"), 2)):
            columns |= {name: totals[at + k].astype(np.int64) for k, name in enumerate(names)}
            columns[share] = totals[at + 1] / totals[at]
            ends = np.nanpercentile(resampled[at + 1] / resampled[at], (2.5, 97.5), axis=0)
            low, high = np.where((tables[at] > 0).sum(0) > 1, ends, np.nan)
            columns |= {f"{share}_low": low, f"{share}_high": high}
    return (
        pl.DataFrame(columns)
        .with_columns(pl.col(pl.Float64).fill_nan(None))
        .filter(pl.col("n") > 0)
        .sort([pl.col("relation") != "all", -pl.col("n"), pl.col("relation")])
    )


def _resample_totals(
    tables: list[Floats], resamples: int, rng: np.random.Generator
) -> list[Floats]:
    """Return totals [resamples, R] of each table [C, R]: C clusters drawn with replacement."""
    clusters = len(tables[0])
    parts: list[list[Floats]] = []
    for begin in range(0, resamples, _RESAMPLES_AT_ONCE):
        size = min(_RESAMPLES_AT_ONCE, resamples - begin)
        times = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=size)
        parts.append([times.astype(np.float64) @ table for table in tables])
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


class HeadWeights:
    """The mean weight that a probe gives each head, over the gold dependencies of a test run.

    Weights that are the same for every pair are those learnt, even if there is no pair.
    """

    def __init__(self, part: ProbeInput, scorer: HeadScorer) -> None:
        self._run = part.run
        self._scorer = scorer
        # Roots do not count, because ROOT is not a word, nor does punctuation.
        self._counts = part.sentences.is_scored & part.sentences.is_head_scored
        self._weight = torch.zeros(2, part.run.maps_per_sentence, dtype=torch.float64)
        self._contribution = torch.zeros(2, part.run.maps_per_sentence, dtype=torch.float64)
        self._count = 0

    def add_batch(self, batch: ProbeBatch) -> None:
        """Add the dependencies of a batch."""
        counts = torch.from_numpy(self._counts[:, batch.entry.cpu().numpy()])
        is_counted = batch.is_word & counts.to(batch.is_word.device)
        word, at, dependent = is_counted.nonzero(as_tuple=True)
        gold = batch.gold[word, at, dependent] - 1
        itself = torch.arange(batch.is_word.shape[1], device=at.device) == dependent[:, None]
        other_words = batch.is_word[at] & ~itself  # [D, P]
        number = (other_words.sum(1) - 1).clamp(min=1)
        pair = torch.arange(len(at), device=at.device)
        maps = (batch.required_attention, batch.required_attention.transpose(1, 2))
        for direction, weights in enumerate(self._scorer.coefficients(batch)):
            attention = maps[direction]
            rows = weights.expand(attention.shape)[at, dependent]  # [D, P, K]
            terms = rows * attention[at, dependent]
            of_gold = terms[pair, gold]
            of_others = (terms * other_words[..., None]).sum(1) - of_gold
            contribution = of_gold - of_others / number[:, None]
            self._weight[direction] += rows[pair, gold].sum(0).cpu().double()
            self._contribution[direction] += contribution.sum(0).cpu().double()
        self._count += len(at)

    def to_frame(self) -> pl.DataFrame:
        """Return rows of `probe_weight`, without the column `probe`: by direction and head."""
        run, count = self._run, max(self._count, 1)
        weight = self._weight / count
        if isinstance(self._scorer, AttentionScorer):
            weight = self._scorer.weights.detach().cpu().double()
        return pl.DataFrame(
            {
                "layer": np.tile(np.repeat(run.numbers, run.heads), 2),
                "head": np.tile(np.arange(1, run.heads + 1), 2 * len(run.numbers)),
                "direction": np.repeat((TO_HEAD, TO_DEPENDENT), run.maps_per_sentence),
                "weight": weight.flatten().numpy(),
                "contribution": (self._contribution / count).flatten().numpy(),
            }
        )


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
    rows = matching_rows(connection, "probe", **identity)
    return [row["id"] for row in rows if matters(row["options"]) == further]


def _write_probe(
    connection: DuckDBPyConnection,
    task: Task,
    started: datetime,
    columns: dict[str, object],
    tables: dict[str, pl.DataFrame],
) -> int:
    """Write a probe in one transaction, replacing those of `_find_same`; return its id."""
    with transaction(connection):
        probe = next_id(connection, "probe")
        if same := _find_same(connection, task):
            delete_rows(connection, "probe", same)
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
            **provenance.stamp(started),
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
