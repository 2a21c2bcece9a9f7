"""From token-level attention to the attention between positions, and its peaks.

Section 4.1 of the paper: attention *to* a split word is the sum over its pieces, attention
*from* a split word the mean over them. The published code takes the first piece instead of
the mean. Sums and means are computed in float64 and rounded once to float32, so that the result
does not depend on the order of the arithmetic.

Inputs are processed one at a time, with the maps of all layers and heads together. So there is no
padding, and the data are small enough to stay in the processor's cache between steps. In shapes, M
is the number of maps (layers times heads), T of tokens and P of positions of the input, and S of
positions with several pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Subword = Literal["mean", "first"]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PieceMap:
    """Which tokens are the pieces of each position of an input.

    `first` [P] is the token of each position's first piece, `count` [P] how many it has, and
    `candidates` are the positions that are words (or tokens), not special tokens.
    """

    first: Ints
    count: Ints
    candidates: Ints

    @classmethod
    def of(cls, pieces: Sequence[tuple[int, int]], is_candidate: Sequence[bool]) -> PieceMap:
        """Make one from the half-open range of tokens of each position."""
        ranges = np.array(pieces, dtype=np.int64).reshape(-1, 2)
        return cls(
            first=ranges[:, 0],
            count=ranges[:, 1] - ranges[:, 0],
            candidates=np.flatnonzero(np.array(is_candidate, dtype=bool)),
        )

    @property
    def positions(self) -> int:
        """How many positions there are."""
        return len(self.first)

    @cached_property
    def split(self) -> Ints:
        """The positions of two or more pieces."""
        return np.flatnonzero(self.count > 1)

    def summed(self, tokens: NDArray[np.floating], axis: int) -> NDArray[np.float64]:
        """The sum over the pieces of each split position, along an axis of tokens, in float64."""
        first, count = self.first[self.split], self.count[self.split]
        found = np.take(tokens, first, axis).astype(np.float64)
        for piece in range(1, int(count.max(initial=1))):
            longer = np.flatnonzero(count > piece)
            more = np.take(tokens, first[longer] + piece, axis)
            if axis == 1:
                found[:, longer] += more
            else:
                found[:, :, longer] += more
        return found


def pool(attention: Floats, pieces: PieceMap, subword: Subword, out: Floats) -> None:
    """Write the attention between positions, from `attention` [M, T, T], into `out` [M, P, P].

    Both must be contiguous; a weight is from the row to the column.
    """
    maps, tokens, _ = attention.shape
    size = pieces.positions
    if size == tokens:  # no word is split
        out[:] = attention
        return
    between = (pieces.first[:, None] * tokens + pieces.first[None, :]).reshape(-1)
    np.take(attention.reshape(maps, -1), between, 1, out.reshape(maps, size * size), mode="clip")
    split = pieces.split
    # To a split position: the sum over its pieces, for every token that attends.
    to_split = pieces.summed(attention, 2)  # [M, T, S]
    out[:, :, split] = np.take(to_split, pieces.first, 1)
    if subword == "first":
        return
    # From a split position: the mean over its pieces, to every position of one piece ...
    count = pieces.count[split]
    from_split = pieces.summed(attention, 1)  # [M, S, T]
    from_split /= count[:, None]
    out[:, split, :] = np.take(from_split, pieces.first, 2)
    # ... and, of the sums above, to every split position.
    out[:, split[:, None], split[None, :]] = pieces.summed(to_split, 1) / count[:, None]


@dataclass(frozen=True)
class Peaks:
    """The largest weights from and to each of K candidates, [M, K], and the positions they go to.

    A position is -1 if there is no positive weight.
    """

    most_attended: NDArray[np.int16]
    most_attended_weight: Floats
    most_attending: NDArray[np.int16]
    most_attending_weight: Floats


def peaks(pooled: Floats, candidates: Ints) -> Peaks:
    """The arg-max of every row and every column of `pooled` [M, P, P] among the candidates.

    Special tokens and the position itself are left out; the leftmost of equals is taken
    (section 4.2 of the paper). A position with no positive weight has no peak.
    """
    maps, count = len(pooled), len(candidates)
    if not count:
        none, nothing = np.empty((maps, 0), np.int16), np.empty((maps, 0), np.float32)
        return Peaks(none, nothing, none, nothing)
    begin, end = candidates[0], candidates[-1] + 1
    among = pooled[:, begin:end, begin:end]
    if end - begin == count:
        among = among.copy()
    else:  # there are special tokens between the candidates
        inner = candidates - begin
        among = among[:, inner[:, None], inner[None, :]]
    among = np.ascontiguousarray(among)
    among.reshape(maps, -1)[:, :: count + 1] = 0.0  # a position's weight on itself
    flat = among.reshape(-1)
    first = np.arange(maps)[:, None] * count**2
    place = np.arange(count)[None, :]
    attended, attending = among.argmax(2), among.argmax(1)
    attended_weight = flat[first + place * count + attended]
    attending_weight = flat[first + attending * count + place]
    return Peaks(
        np.where(attended_weight > 0, candidates[attended], -1).astype(np.int16),
        attended_weight,
        np.where(attending_weight > 0, candidates[attending], -1).astype(np.int16),
        attending_weight,
    )


def is_odd(pooled: Floats, tolerance: float = 1e-3) -> bool:
    """Whether a row of `pooled` [M, P, P] does not sum to 1 within the tolerance."""
    sums = np.einsum("mpq->mp", pooled)  # takes half the time of sum(), and starts no threads
    return not bool((np.abs(sums - 1) <= tolerance).all())
