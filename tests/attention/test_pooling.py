"""From tokens to words: sums to, means from, peaks, ties; inputs of a batch without its padding."""

from __future__ import annotations

from collections.abc import Sequence

import bounds
import numpy as np
import oracle_reference as slow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbank.ingest.attention.merged_maps import (
    Floats,
    PieceMap,
    find_peaks,
    is_unnormalised,
    merge_pieces,
)
from attnbank.ingest.options import Subword


def _pieces(counts: Sequence[int], special: Sequence[int] = ()) -> PieceMap:
    """A map from the number of pieces of every position; `special` are no words."""
    ends = np.cumsum(counts).tolist()
    ranges = [(end - count, end) for count, end in zip(counts, ends, strict=True)]
    return PieceMap.from_ranges(ranges, [at not in special for at in range(len(counts))])


def _attention(tokens: int, maps: int, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    return random.dirichlet(np.ones(tokens), size=(maps, tokens)).astype(np.float32)


def _pooled(attention: Floats, pieces: PieceMap, subword: Subword = "mean") -> Floats:
    out = np.full((len(attention), pieces.positions, pieces.positions), np.nan, dtype=np.float32)
    merge_pieces(attention, pieces, subword, out)
    return out


inputs = st.lists(st.integers(1, 4), min_size=1, max_size=9)


@settings(max_examples=25)
@given(inputs, st.sampled_from(["mean", "first"]), st.integers(0, 100))
def test_equals_the_loop(counts: list[int], subword: Subword, seed: int) -> None:
    attention = _attention(sum(counts), 3, seed)
    pooled = _pooled(attention, _pieces(counts), subword)
    ends = np.cumsum(counts).tolist()
    groups = [list(range(end - count, end)) for count, end in zip(counts, ends, strict=True)]
    for tokens, found in zip(attention, pooled, strict=True):
        expected = slow.word_attention(tokens, groups, subword)
        np.testing.assert_allclose(found, expected, rtol=bounds.NEIGHBOURS)  # float64, rounded once


@given(inputs, st.integers(0, 100))
def test_rows_still_sum_to_one(counts: list[int], seed: int) -> None:
    assert not is_unnormalised(_pooled(_attention(sum(counts), 2, seed), _pieces(counts)))


@pytest.mark.parametrize("wrong", [0.99, 1.01, float("nan"), float("inf")])
def test_an_odd_row_is_seen(wrong: float) -> None:
    attention = _attention(5, 2, 0)
    attention[1, 3] *= wrong
    assert is_unnormalised(_pooled(attention, _pieces([1, 2, 1, 1])))


def test_a_worked_example() -> None:
    """One split word: to it the sum, from it the mean, as in section 4.1."""
    tokens = np.array([[[0.5, 0.25, 0.25], [0.2, 0.4, 0.4], [0.6, 0.3, 0.1]]], dtype=np.float32)
    pieces = PieceMap.from_ranges([(0, 1), (1, 3)], [True, True])
    assert _pooled(tokens, pieces, "mean").flatten().tolist() == pytest.approx(
        [0.5, 0.5, 0.4, 0.6],
        rel=2 * bounds.NEIGHBOURS,  # 0.2 + 0.4 and the like, of float32
    )
    assert _pooled(tokens, pieces, "first").flatten().tolist() == pytest.approx(
        [0.5, 0.5, 0.2, 0.8], rel=2 * bounds.NEIGHBOURS
    )


@given(inputs, st.data(), st.integers(0, 100))
def test_peaks_equal_the_loop(counts: list[int], data: st.DataObject, seed: int) -> None:
    """With special tokens anywhere, and weights of few values, so that there are ties."""
    size = len(counts)
    special = data.draw(st.sets(st.integers(0, size - 1)))
    pieces = _pieces([1] * size, tuple(special))
    weights = np.random.default_rng(seed).integers(0, 3, (2, size, size)).astype(np.float32)
    found = find_peaks(weights, pieces.candidates)
    words = [at for at in range(size) if at not in special]
    assert pieces.candidates.tolist() == words
    for head in range(2):
        for at, one in enumerate(words):
            others = [other for other in words if other != one]
            rows = [(weights[head, one, other], -other) for other in others]
            columns = [(weights[head, other, one], -other) for other in others]
            for pairs, position, weight in (
                (rows, found.most_attended, found.most_attended_weight),
                (columns, found.most_attending, found.most_attending_weight),
            ):
                most, place = max(pairs, default=(0.0, 0))
                assert position[head, at] == (-place if most > 0 else -1)
                assert weight[head, at] == most


def test_peaks_leave_out_special_tokens_and_the_word_itself() -> None:
    weights = [[0.1, 0.2, 0.3, 0.4], [0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.2, 0.3, 0.4, 0]]
    found = find_peaks(np.array([weights], dtype=np.float32), np.array([1, 2]))
    assert found.most_attended.tolist() == found.most_attending.tolist() == [[2, 1]]
    assert found.most_attended_weight.tolist() == np.array([[0.1, 0.1]], np.float32).tolist()


def test_ties_go_to_the_leftmost() -> None:
    found = find_peaks(np.full((1, 6, 6), 1 / 6, dtype=np.float32), np.arange(1, 5))
    assert found.most_attended.tolist() == found.most_attending.tolist() == [[2, 1, 1, 1]]


def test_no_weight_no_peak() -> None:
    """The first word of a decoder attends to no other word, and no word attends to the last."""
    causal = np.array([[[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]], dtype=np.float32)
    found = find_peaks(causal, np.arange(3))
    assert found.most_attended.tolist() == [[-1, 0, 1]]
    assert found.most_attending.tolist() == [[1, 2, -1]]
