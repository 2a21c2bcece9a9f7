"""Merging a batch: the same rows however few maps are taken at a time, and layers let go."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnbank.ingest.attention import merged_maps
from attnbank.ingest.attention.merged_maps import (
    PieceMap,
    PositionKinds,
    find_largest,
    find_peaks,
    map_sums,
    merge_pieces,
)
from attnbank.ingest.models.tokenizer import Encoded, Position
from attnbank.ingest.options import IngestOptions

LAYERS, HEADS = 3, 4
COUNTS = ([1, 1, 2, 1], [1, 3, 1, 2, 1, 1], [1, 1, 1], [1, 2, 4, 1, 1])
"""The pieces of each position of four inputs; the first and the last are special tokens."""


def _encoded(counts: list[int]) -> Encoded:
    ends = np.cumsum(counts).tolist()
    last = len(counts) - 1
    kinds = {0: "cls", last: "sep"}
    positions = tuple(
        Position(kinds.get(at, "word"), None if at in kinds else at - 1, f"w{at}", end - count, end)
        for at, (count, end) in enumerate(zip(counts, ends, strict=True))
    )
    tokens = sum(counts)
    return Encoded(tuple(range(tokens)), (0,) * tokens, ("w",) * tokens, positions)


INPUTS = [_encoded(each) for each in COUNTS]


def _attentions() -> list[torch.Tensor]:
    """Random maps, padded, [B, H, T, T] for each layer; the padding holds no weights."""
    random = np.random.default_rng(3)
    longest = max(len(each.ids) for each in INPUTS)
    found = np.full((LAYERS, len(INPUTS), HEADS, longest, longest), 7.0, np.float32)
    for at, each in enumerate(INPUTS):
        size = len(each.ids)
        found[:, at, :, :size, :size] = random.dirichlet(np.ones(size), (LAYERS, HEADS, size))
    return [torch.from_numpy(each.copy()) for each in found]


def _alone(at: int, decimals: int | None) -> tuple[np.ndarray, Any, Any]:
    """The weights, peaks and sums of one input, all its maps at once."""
    one = INPUTS[at]
    size, places = len(one.ids), len(one.positions)
    maps = np.stack([attention[at, :, :size, :size].numpy() for attention in _attentions()])
    pieces = PieceMap.from_ranges(
        [(position.start, position.end) for position in one.positions],
        [each.word is not None for each in one.positions],
    )
    pooled = np.empty((LAYERS * HEADS, places, places), np.float32)
    merge_pieces(np.ascontiguousarray(maps.reshape(-1, size, size)), pieces, "mean", pooled)
    highest = find_peaks(pooled, pieces.candidates)
    if decimals is not None:
        pooled = np.round(pooled, decimals)
    return pooled, highest, map_sums(pooled, PositionKinds.from_positions(one.positions))


@pytest.mark.usual(4)
@pytest.mark.parametrize("at_once", [1, 50, 100, 250, 500, 2**19])
@pytest.mark.parametrize("decimals", [None, 3])
@pytest.mark.parametrize("with_weights", [True, False])
@pytest.mark.parametrize("unnormalised", [(), (1,), (0, 3), (0, 1, 2, 3)], ids=str)
def test_the_number_of_maps_that_are_taken_together_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    decimals: int | None,
    with_weights: bool,
    unnormalised: tuple[int, ...],
) -> None:
    monkeypatch.setattr(merged_maps, "AT_ONCE", at_once)
    attentions = _attentions()
    for at in unnormalised:
        attentions[1][at, 2, 0, 0] += 0.01  # a row of the second layer
    keep = "weights" if with_weights else "peaks"
    options = IngestOptions(("x",), Path("x"), decimals=decimals, keep=keep)
    found = merged_maps.merge_maps(
        INPUTS, merged_maps.Maps.from_list(attentions), merged_maps.RunFacts(1, 1, options)
    )
    kept = [at for at in range(len(INPUTS)) if at not in unnormalised]
    alone = [_alone(at, decimals) for at in kept]
    assert attentions == []
    assert found.kept_inputs == kept
    assert len(found.peaks) == len(found.sums) == len(found.candidates) == len(kept)
    nothing = np.empty(0, np.float32)
    weights = np.concatenate([nothing, *(each[0].reshape(-1) for each in alone)])
    np.testing.assert_array_equal(found.weights, weights if with_weights else nothing)
    for (_, highest, sums), peak, total in zip(alone, found.peaks, found.sums, strict=True):
        for one, other in ((highest, peak), (sums, total)):
            for name in (field.name for field in fields(one)):
                np.testing.assert_array_equal(getattr(other, name), getattr(one, name), name)


def test_of_equal_weights_the_leftmost_is_the_peak() -> None:
    """From a position and to it; special tokens and the position itself do not count."""
    peaks = find_peaks(np.full((1, 5, 5), 0.2, np.float32), np.array([1, 2, 3]))
    assert peaks.most_attended.tolist() == [[2, 1, 1]]
    assert peaks.most_attending.tolist() == [[2, 1, 1]]


def test_of_equal_weights_the_leftmost_are_kept_in_their_order() -> None:
    weights = np.tile(np.array([0.005, 0.02], np.float32), (1, 80, 40))
    largest = find_largest(weights, 60, None)
    assert largest.to_positions.tolist() == [[[*range(1, 80, 2), *range(0, 40, 2)]] * 80]
    np.testing.assert_allclose(largest.rest, 0.005 * 20, rtol=1e-6)
