"""UAS and UUAS by relation, with bootstrap intervals (section 5 of the paper, table 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from attnbank.ingest.derived.probes.data.sentences import ROOT, Bools, Ints, Sentences

Floats = NDArray[np.float64]
_RESAMPLES_AT_ONCE = 50
_LEVELS = (2.5, 97.5)


@dataclass(frozen=True)
class Judged:
    """The words of some sentences, [K, N]: whether each counts, and whether it is right.

    `is_correct`, for UAS, is true for words that are not punctuation and whose predicted head is
    the gold one. For UUAS, `is_edge` is true if a word and its gold head are both words that are
    not punctuation, and `is_found` if moreover one of the two has the other as predicted head.
    """

    is_correct: Bools
    is_edge: Bools
    is_found: Bools


def judge(sentences: Sentences, predicted: Ints) -> Judged:
    """Compare the predicted candidate of each position, [N] (-1 for no word), to the gold ones."""
    offset = np.repeat(sentences.start[:-1], sentences.lengths)
    is_edge = sentences.is_scored & sentences.is_head_scored
    head = np.where(is_edge, offset + sentences.gold - 1, 0)
    is_correct = sentences.is_scored & (predicted == sentences.gold)
    is_found = is_edge & (is_correct | (predicted[head] == sentences.position + 1))
    return Judged(is_correct, is_edge, is_found)


def right_branching(sentences: Sentences) -> Ints:
    """The right-branching baseline: the candidate of each position [N] is the next word.

    For the last word of a sentence it is ROOT.
    """
    has_next = np.append(sentences.is_word[1:], False)
    has_next[sentences.start[1:] - 1] = False
    return np.where(has_next, sentences.position + 2, ROOT)


def scores(
    sentences: Sentences, judged: Judged, resamples: int, rng: np.random.Generator
) -> pl.DataFrame:
    """The rows of `probe_score`, without the column `probe`: `all`, then the most frequent first.

    The intervals are percentiles over resamples of the sentences; all rows share the resamples.
    """
    count = len(sentences.relations)
    sentence = np.repeat(np.arange(len(sentences.lengths)), sentences.lengths)

    def per_sentence(which: Bools) -> Floats:
        """Counts [S, 1 + relations]: of the whole sentence first, then of each relation."""
        cell = sentence * (count + 1) + sentences.relation + 1
        own = np.bincount(cell[which], minlength=len(sentences.lengths) * (count + 1))
        table = own.reshape(-1, count + 1).astype(np.float64)
        table[:, 0] = table.sum(1)  # column 0 holds words without a relation
        return table

    n, correct = per_sentence(sentences.is_scored), per_sentence(judged.is_correct)
    edges, found = per_sentence(judged.is_edge), per_sentence(judged.is_found)
    drawn = _resampled([n, correct, edges, found], resamples, rng)
    low, high = _interval(drawn[1], drawn[0])
    undirected_low, undirected_high = _interval(drawn[3], drawn[2])
    frame = pl.DataFrame(
        {
            "relation": ["all", *sentences.relations],
            "n": n.sum(0).astype(np.int64),
            "correct": correct.sum(0).astype(np.int64),
            "uas": _share(correct.sum(0), n.sum(0)),
            "uas_low": low,
            "uas_high": high,
            "edges": edges.sum(0).astype(np.int64),
            "found": found.sum(0).astype(np.int64),
            "uuas": _share(found.sum(0), edges.sum(0)),
            "uuas_low": undirected_low,
            "uuas_high": undirected_high,
        }
    )
    return (
        frame.with_columns(pl.col(pl.Float64).fill_nan(None))
        .filter(pl.col("n") > 0)
        .sort([pl.col("relation") != "all", -pl.col("n"), pl.col("relation")])
    )


def _resampled(tables: list[Floats], resamples: int, rng: np.random.Generator) -> list[Floats]:
    """Totals [resamples, R] of each table [S, R], for resamples of S sentences with replacement."""
    sentences = len(tables[0])
    parts: list[list[Floats]] = [[] for _ in tables]
    for begin in range(0, resamples, _RESAMPLES_AT_ONCE):
        size = min(_RESAMPLES_AT_ONCE, resamples - begin)
        times = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size=size)
        for part, table in zip(parts, tables, strict=True):
            part.append(times.astype(np.float64) @ table)
    return [np.concatenate(part) for part in parts]


def _share(part: Floats, whole: Floats) -> Floats:
    """The share of part in whole, NaN if whole is 0."""
    share = np.full(part.shape, np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _interval(part: Floats, whole: Floats) -> tuple[Floats, Floats]:
    """The 2.5th and 97.5th percentile of each column [R]; resamples without any case are ignored.

    NaN if no resample has a case.
    """
    share = _share(part, whole)
    low, high = (np.full(share.shape[1], np.nan) for _ in _LEVELS)
    some = ~np.isnan(share).all(0)
    if some.any():
        low[some], high[some] = np.nanpercentile(share[:, some], _LEVELS, axis=0)
    return low, high
