"""From tokens to words: sums to, means from, peaks, ties, padding."""

from __future__ import annotations

from collections.abc import Sequence

import bounds
import numpy as np
import oracle_reference as slow
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbank.ingest.attention.pooling import PieceMap, Subword, odd_rows, peaks, pool

CPU = torch.device("cpu")


def _layout(pieces: Sequence[Sequence[int]], special: bool = True) -> PieceMap:
    """A layout from the number of pieces of every position of every input."""
    ranges = []
    for counts in pieces:
        ends = np.cumsum(counts).tolist()
        ranges.append([(end - count, end) for count, end in zip(counts, ends, strict=True)])
    candidates = [
        [not special or 0 < at < len(counts) - 1 for at in range(len(counts))] for counts in pieces
    ]
    return PieceMap.of(ranges, candidates, CPU)


def _attention(pieces: Sequence[Sequence[int]], heads: int, seed: int) -> torch.Tensor:
    tokens = [sum(counts) for counts in pieces]
    longest = max(tokens)
    random = np.random.default_rng(seed)
    maps = np.zeros((len(pieces), heads, longest, longest), dtype=np.float32)
    for at, count in enumerate(tokens):
        maps[at, :, :count, :count] = random.dirichlet(np.ones(count), size=(heads, count))
    return torch.from_numpy(maps)


batches = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=7), min_size=1, max_size=4)


@given(batches, st.sampled_from(["mean", "first"]), st.integers(0, 100))
def test_equals_the_loop(pieces: list[list[int]], subword: Subword, seed: int) -> None:
    attention = _attention(pieces, 2, seed)
    pooled = pool(attention, _layout(pieces), subword)
    for at, counts in enumerate(pieces):
        ends = np.cumsum(counts).tolist()
        groups = [list(range(end - count, end)) for count, end in zip(counts, ends, strict=True)]
        size = len(counts)
        for head in range(2):
            tokens = attention[at, head].numpy()
            expected = slow.word_attention(tokens, groups, subword)
            np.testing.assert_allclose(  # float64, rounded once
                pooled[at, head, :size, :size], expected, rtol=bounds.NEIGHBOURS
            )


@given(batches, st.integers(0, 100))
def test_rows_still_sum_to_one(pieces: list[list[int]], seed: int) -> None:
    layout = _layout(pieces)
    assert not odd_rows(pool(_attention(pieces, 1, seed), layout), layout).any()


def test_an_odd_row_is_seen() -> None:
    pieces = [[1, 1, 1], [1, 2, 1, 1]]
    attention = _attention(pieces, 2, 0)
    attention[1, 1, 3] *= 0.99
    layout = _layout(pieces)
    assert odd_rows(pool(attention, layout), layout).tolist() == [False, True]
    attention[0, 0, 0, 0] = float("nan")
    assert odd_rows(pool(attention, layout), layout).tolist() == [True, True]


def test_a_worked_example() -> None:
    """One split word: to it the sum, from it the mean, as in section 4.1."""
    tokens = torch.tensor([[[[0.5, 0.25, 0.25], [0.2, 0.4, 0.4], [0.6, 0.3, 0.1]]]])
    layout = PieceMap.of([[(0, 1), (1, 3)]], [[True, True]], CPU)
    assert pool(tokens, layout, "mean")[0, 0].flatten().tolist() == pytest.approx(
        [0.5, 0.5, 0.4, 0.6],
        rel=2 * bounds.NEIGHBOURS,  # 0.2 + 0.4 and the like, of float32
    )
    assert pool(tokens, layout, "first")[0, 0].flatten().tolist() == pytest.approx(
        [0.5, 0.5, 0.2, 0.8], rel=2 * bounds.NEIGHBOURS
    )


def test_peaks_leave_out_special_tokens_and_the_word_itself() -> None:
    weights = torch.tensor(
        [
            [0.1, 0.2, 0.3, 0.4],
            [0.6, 0.2, 0.1, 0.1],
            [0.1, 0.1, 0.7, 0.1],
            [0.2, 0.3, 0.4, 0.1],
        ]
    )
    found = peaks(weights[None, None], _layout([[1, 1, 1, 1]]))
    assert found.most_attended[0, 0].tolist()[1:3] == [2, 1]
    assert found.most_attending[0, 0].tolist()[1:3] == [2, 1]
    assert (
        found.most_attended_weight[0, 0, 1:3].tolist() == np.array([0.1, 0.1], np.float32).tolist()
    )


def test_ties_go_to_the_leftmost() -> None:
    even = torch.full((1, 1, 6, 6), 1 / 6)
    found = peaks(even, _layout([[1] * 6]))
    assert found.most_attended[0, 0].tolist()[1:5] == [2, 1, 1, 1]
    assert found.most_attending[0, 0].tolist()[1:5] == [2, 1, 1, 1]


def test_no_weight_no_peak() -> None:
    """The first word of a decoder attends to no other word, and no word attends to the last."""
    causal = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
    found = peaks(causal[None, None], _layout([[1, 1, 1]], special=False))
    assert found.most_attended[0, 0].tolist() == [-1, 0, 1]
    assert found.most_attending[0, 0].tolist() == [1, 2, -1]


def test_padding_is_never_a_peak() -> None:
    pieces = [[1, 1, 1, 1], [1] * 9]
    found = peaks(pool(_attention(pieces, 1, 3), _layout(pieces)), _layout(pieces))
    assert set(found.most_attended[0, 0, 1:3].tolist()) <= {1, 2}
    assert set(found.most_attending[0, 0, 1:3].tolist()) <= {1, 2}
