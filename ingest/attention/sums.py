"""The sums of each attention map that analyses read: the rows of table attention_map.

They are computed while the map is in the processor's cache. All sums are in float64. In shapes, M
is the number of maps (layers times heads) of an input and P of its positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from attnbank.ingest.models.tokenizer import Position

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
_Arrays = TypeVar("_Arrays")

FARTHEST = 10  # the largest offset, to the left and to the right, that has a sum of its own
# What vocabularies write for a space before a token, or for a token that continues a word.
_MARKS = ("Ġ", "▁", "##", "</w>")
_TINY = 1e-300  # makes 0 ln 0 be 0; too small to change any other weight


@dataclass(frozen=True)
class PositionKinds:
    """The kinds of the positions of an input, as flags [P].

    `first` is a first word (or token) that is set apart as an attention sink, `words` are all
    others, `second` the words in the second of two segments, and `punctuation` the words that are a
    full stop or a comma.
    """

    cls: Flags
    sep: Flags
    first: Flags
    punctuation: Flags
    words: Flags
    second: Flags

    @classmethod
    def from_positions(cls, positions: Sequence[Position]) -> PositionKinds:
        """Return the flags of the positions of an input, as view placement has them in a bank."""
        kinds = np.array([position.kind for position in positions])
        words = np.array([position.is_candidate for position in positions])
        return cls(
            cls=kinds == "cls",
            sep=kinds == "sep",
            first=kinds == "first",
            punctuation=words
            & np.array([_text_of_position(position) in (".", ",") for position in positions]),
            words=words,
            second=words & np.array([position.segment == 1 for position in positions]),
        )


@dataclass(frozen=True)
class MapSums:
    """The columns of attention_map for each of M maps.

    `totals` [M, 12] are the columns from `to_cls` to `entropy_from_cls` (NaN for null), `offsets`
    is [M, 21]; the others are [M, P]. `largest_positions` is -1 for null.
    """

    totals: Doubles
    offsets: Doubles
    received: Doubles
    given: Doubles
    largest_positions: NDArray[np.int16]
    largest_weights: Floats


# The columns of `MapSums.totals`, in order.
TOTALS = (
    "to_cls", "to_sep", "to_punctuation", "to_other", "sep_to_sep", "word_to_word", "same_segment",
    "word_before", "word_itself", "word_after", "entropy", "entropy_from_cls",
)  # fmt: skip
AT_ONCE = 2**18  # weights; they and their logarithms fit the processor's cache


def map_sums(pooled: Floats, positions: PositionKinds) -> MapSums:
    """Return the sums of each map of `pooled` [M, P, P]; a weight is from the row to the column."""
    maps, size, _ = pooled.shape
    at_once = max(1, AT_ONCE // size**2)
    parts = (pooled[begin : begin + at_once] for begin in range(0, maps, at_once))
    return concatenate_parts([_sums_of_part(part, positions) for part in parts])


def concatenate_parts(parts: Sequence[_Arrays]) -> _Arrays:
    """Concatenate dataclasses of arrays, of a few maps each, into one of all maps."""
    if len(parts) == 1:
        return parts[0]
    kind: Any = type(parts[0])
    arrays = zip(*(vars(part).values() for part in parts), strict=True)
    concatenated: _Arrays = kind(*map(np.concatenate, arrays))
    return concatenated


def _sums_of_part(pooled: Floats, positions: PositionKinds) -> MapSums:
    maps, size, _ = pooled.shape
    weights = pooled.astype(np.float64)
    cls, sep, words, marks = positions.cls, positions.sep, positions.words, positions.punctuation
    first = words & ~positions.second
    second = words & positions.second
    other = ~(cls | sep | positions.first | marks)
    groups = np.stack([cls, sep, marks, other, words, first, second], axis=1)
    to = weights @ groups.astype(np.float64)  # [M, P, 7]: from each position to each group
    to_group = to.sum(1)
    diagonal = weights.reshape(maps, -1)[:, :: size + 1]
    itself = diagonal * words
    entropy = -np.einsum("mpq,mpq->mp", weights, np.log(weights + _TINY))
    totals = np.stack(
        [
            *(to_group[:, group] for group in range(4)),
            to[:, sep, 1].sum(1),
            to[:, words, 4].sum(1),
            to[:, first, 5].sum(1) + to[:, second, 6].sum(1),
            _neighbour_sums(weights, words, -1),
            itself.sum(1),
            _neighbour_sums(weights, words, 1),
            entropy.mean(1),
            entropy[:, cls].mean(1) if cls.any() else np.full(maps, np.nan),
        ],
        axis=1,
    )
    largest, at = _largest_weights(pooled, sep)
    return MapSums(totals, _offset_sums(weights), weights.sum(1), to[:, :, 4] - itself, at, largest)


def _text_of_position(position: Position) -> str:
    # The text of a token, without the marks of its vocabulary.
    text = position.text
    for mark in _MARKS if position.kind == "token" else ():
        text = text.replace(mark, "")
    return text


def _neighbour_sums(weights: Doubles, words: Flags, distance: int) -> Doubles:
    """Return the sum [M] of the weights to the neighbour at -1 or 1, if it is a word."""
    diagonal = np.diagonal(weights, distance, 1, 2)  # for 1: from 0 to 1, from 1 to 2, ...
    neighbours = words[1:] if distance > 0 else words[:-1]
    total: Doubles = diagonal[:, neighbours].sum(1)
    return total


def _offset_sums(weights: Doubles) -> Doubles:
    """Return the sums of the diagonals from -10 to 10, [M, 21]."""
    # Rows are padded with zeros on both sides. With a stride of one row and one weight, each
    # diagonal becomes a column of a view, without a copy.
    maps, size, _ = weights.shape
    wide = np.zeros((maps, size, size + 2 * FARTHEST))
    wide[:, :, FARTHEST : FARTHEST + size] = weights
    of_map, of_row, of_weight = wide.strides
    diagonals = as_strided(
        wide, (maps, size, 2 * FARTHEST + 1), (of_map, of_row + of_weight, of_weight)
    )
    offset_sums: Doubles = np.einsum("mpo->mo", diagonals)
    return offset_sums


def _largest_weights(pooled: Floats, sep: Flags) -> tuple[Floats, NDArray[np.int16]]:
    """Return the largest weight of each position and the position it goes to, [M, P] each.

    [SEP] does not count: no weight goes to it, and from it the weight is 0 and the position -1.
    """
    maps, size, _ = pooled.shape
    at = np.full((maps, size), -1, np.int16)
    largest = np.zeros((maps, size), np.float32)
    not_sep: Ints = np.flatnonzero(~sep)
    count = len(not_sep)
    if count:
        weights = submatrices(pooled, not_sep)
        best = weights.argmax(2)
        rows = np.arange(0, maps * count**2, count).reshape(maps, count)
        at[:, not_sep] = not_sep[best]
        largest[:, not_sep] = weights.reshape(-1)[rows + best]
    return largest, at


def submatrices(pooled: Floats, positions: Ints) -> Floats:
    """Return a copy of the weights between some positions of `pooled` [M, P, P].

    There is at least one position, and they are ascending.
    """
    begin, end = positions[0], positions[-1] + 1
    if end - begin == len(positions):  # without gaps, a slice is copied several times faster
        return pooled[:, begin:end, begin:end].copy()
    return np.ascontiguousarray(pooled[:, positions[:, None], positions[None, :]])
