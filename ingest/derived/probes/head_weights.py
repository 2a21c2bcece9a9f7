"""The scores of a probe, UAS and UUAS by relation, and the weights of its heads (section 5)."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from attnbank.ingest.derived.probes.scorers import AttentionScorer, HeadScorer
from attnbank.ingest.derived.probes.sentences import ROOT, Bools, Ints, Sentences
from attnbank.ingest.derived.probes.tasks import ProbeBatch, ProbeInput
from attnbank.sql.relation_names import TO_DEPENDENT, TO_HEAD

Floats = NDArray[np.float64]
_RESAMPLES_AT_ONCE = 50


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
