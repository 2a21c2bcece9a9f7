"""Merges the attention of a batch from pieces into positions, and finds peaks and sums.

Section 4.1 of the paper: attention *to* a split word is the sum over its pieces, attention
*from* a split word the mean over them. The published code takes the first piece instead of
the mean. Sums and means are computed in float64 and rounded once to float32, so that the result
does not depend on the order of the arithmetic.

Each input is merged alone, without padding, and a few maps of it at a time, so that the temporary
arrays stay in the processor's cache. Its sums, the rows of table attention_map, are in float64.

In shapes, M is the number of maps (layers times heads) of an input, T of its tokens, P of its
positions, and S of positions with several pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from torch import Tensor

from attnbank.ingest.models.attention_behaviour import ROW_SUM
from attnbank.ingest.models.tokenizer import Encoded, Position
from attnbank.ingest.options import IngestOptions, Subword

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
_Arrays = TypeVar("_Arrays")

AT_ONCE = 2**19  # weights of an input that are merged together, at least one map
SUMS_AT_ONCE = 2**18  # weights; they and their logarithms fit the processor's cache
FARTHEST = 10  # the largest offset, to the left and to the right, that has a sum of its own
# What vocabularies write for a space before a token, or for a token that continues a word.
_MARKS = ("Ġ", "▁", "##", "</w>")
_TINY = 1e-300  # makes 0 ln 0 be 0; too small to change any other weight


@dataclass
class MergedMaps:
    """The merged attention of a batch, and which of its inputs are skipped.

    `kept_inputs` are 0-based indices into the inputs of the batch. `weights` are in the order (kept
    input, layer, head, from, to), and empty unless all weights are stored. The lists have one item
    for each kept input; `candidates` are its positions that have peaks.
    """

    weights: Floats
    kept_inputs: list[int]
    peaks: list[Peaks]
    sums: list[MapSums]
    candidates: list[Ints]
    largest: list[Largest]


# The maps of a batch in one layer: a tensor [B, H, T, T], or an array [H, T, T] for each input.
Layer = Tensor | list[Floats]


@dataclass(frozen=True)
class Maps:
    """The maps of a batch, layer by layer, as the model computes them."""

    layers: int
    heads: int
    arriving: Iterable[Layer]

    @classmethod
    def from_list(cls, computed: list[Tensor]) -> Maps:
        """Return the maps of one or more layers; empties the list as the layers are read."""
        shape = len(computed), computed[0].shape[1]
        return cls(*shape, (computed.pop(0) for _ in range(shape[0])))


# What the rows of a map sum to: 1 (shares), at most 1 (parts, of models with attention sinks), or
# anything (lengths).
RowSums = Literal["shares", "parts", "lengths"]


@dataclass(frozen=True)
class RunFacts:
    """What all rows of a run share."""

    run: int
    corpus: int
    options: IngestOptions
    unknown: int | None = None  # id of the unknown token
    rows: RowSums = "shares"  # what the rows of its maps sum to
    layers: tuple[int, ...] | None = None  # the numbers of the layers; None: from 1 on


@dataclass
class _InputAccumulator:
    """The results for one input so far, in parts of a few of its maps each."""

    pieces: PieceMap
    positions: PositionKinds
    tokens: int
    is_unnormalised: bool = False
    peaks: list[Peaks] = field(default_factory=list)
    sums: list[MapSums] = field(default_factory=list)
    largest: list[Largest] = field(default_factory=list)

    @classmethod
    def from_encoded(cls, encoded: Encoded, *, is_pooled: bool) -> _InputAccumulator:
        positions = encoded.positions
        ranges = [(position.start, position.end) for position in positions]
        if is_pooled:
            ranges = [(at, at + 1) for at in range(len(positions))]
        pieces = PieceMap.from_ranges(ranges, [position.is_candidate for position in positions])
        kinds = PositionKinds.from_positions(positions)
        return cls(pieces, kinds, ranges[-1][1])

    @property
    def square(self) -> int:
        """The number of weights of a map."""
        return self.pieces.positions**2

    def add(self, maps: Floats, buffer: Floats, facts: RunFacts) -> None:
        """Merge `maps` [N, T, T] into `buffer` (N times `square`), and find peaks and sums."""
        pooled = buffer.reshape(len(maps), self.pieces.positions, -1)
        options, largest = facts.options, facts.options.largest
        merge_pieces(maps, self.pieces, options.subword, pooled)
        self.is_unnormalised |= is_unnormalised(pooled, facts.rows)
        if self.is_unnormalised:
            return
        self.peaks.append(find_peaks(pooled, self.pieces.candidates))
        if largest:
            self.largest.append(find_largest(pooled, largest, options.decimals))
        if options.decimals is not None:
            np.round(pooled, options.decimals, out=pooled)
        self.sums.append(map_sums(pooled, self.positions))


def merge_maps(inputs: Sequence[Encoded], attentions: Maps, facts: RunFacts) -> MergedMaps:
    """Merge the pieces of each input, and find the peaks and the sums of its maps.

    Weights are between tokens, other measures between positions already. The memory of a layer is
    freed once it is merged. Peaks are those of the unrounded weights, sums those of the weights as
    they are stored (rounded to `decimals`). An input with a row that is not what `facts.rows` says
    is unnormalised (see `is_unnormalised`), and skipped.
    """
    heads = attentions.heads
    maps = attentions.layers * heads
    accumulators = [
        _InputAccumulator.from_encoded(encoded, is_pooled=facts.options.measure != "weights")
        for encoded in inputs
    ]
    with_weights = facts.options.largest is None
    ends = np.cumsum([accumulator.square for accumulator in accumulators]) * maps
    weights = np.empty(int(ends[-1]) if with_weights else 0, dtype=np.float32)
    longest = max(accumulator.tokens for accumulator in accumulators)
    for before, layers in _group_layers(attentions, longest):
        for at, accumulator in enumerate(accumulators):
            if accumulator.is_unnormalised:
                continue
            start = ends[at] - (maps - before * heads) * accumulator.square
            for part in _maps_of_input(layers, at, accumulator.tokens):
                length = len(part) * accumulator.square
                buffer = weights[start:][:length] if with_weights else np.empty(length, np.float32)
                accumulator.add(part, buffer, facts)
                start += length
    kept_inputs = [
        at for at, accumulator in enumerate(accumulators) if not accumulator.is_unnormalised
    ]
    unskipped = [accumulators[at] for at in kept_inputs]
    if with_weights and len(unskipped) < len(inputs):
        of_kept = [
            weights[ends[at] - maps * accumulators[at].square : ends[at]] for at in kept_inputs
        ]
        weights = np.concatenate(of_kept) if unskipped else weights[:0]
    return MergedMaps(
        weights,
        kept_inputs,
        [concatenate_parts(result.peaks) for result in unskipped],
        [concatenate_parts(result.sums) for result in unskipped],
        [result.pieces.candidates for result in unskipped],
        [concatenate_parts(result.largest) for result in unskipped if result.largest],
    )


def _group_layers(
    attentions: Maps, longest: int
) -> Iterator[tuple[int, list[Floats | list[Floats]]]]:
    """Yield a few layers at a time, and how many came before them.

    As many layers as fit AT_ONCE for inputs of up to `longest` tokens. No layer is referred to here
    once the next ones are asked for, so that its memory is freed.
    """
    at_once = max(1, AT_ONCE // (attentions.heads * longest**2))
    arriving = (
        layer.detach().float().cpu().numpy() if isinstance(layer, Tensor) else layer
        for layer in attentions.arriving
    )
    before = 0
    while before < attentions.layers:
        layers = [*islice(arriving, min(at_once, attentions.layers - before))]
        yield before, layers
        before += len(layers)
        del layers


def _maps_of_input(
    layers: Sequence[Floats | list[Floats]], at: int, tokens: int
) -> Iterator[Floats]:
    """Yield the maps of one input, without padding, a few at a time: [N, T, T]."""
    heads = len(layers[0][at])
    maps = len(layers) * heads
    at_once = max(1, AT_ONCE // tokens**2)
    for begin in range(0, maps, at_once):
        end = min(begin + at_once, maps)
        part = np.empty((end - begin, tokens, tokens), np.float32)
        for layer in range(begin // heads, (end - 1) // heads + 1):
            before = layer * heads
            first, last = max(begin, before), min(end, before + heads)
            of_layer = layers[layer][at][first - before : last - before, :tokens, :tokens]
            part[first - begin : last - begin] = of_layer
        yield part


@dataclass(frozen=True)
class PieceMap:
    """Which tokens are the pieces of each position of an input.

    `first` [P] is the first token of each position, `count` [P] its number of tokens, and
    `candidates` are the positions that are words (or tokens), not special tokens.
    """

    first: Ints
    count: Ints
    candidates: Ints

    @classmethod
    def from_ranges(
        cls, pieces: Sequence[tuple[int, int]], is_candidate: Sequence[bool]
    ) -> PieceMap:
        """Return the map for the half-open range of tokens of each position."""
        first, end = np.array(pieces, dtype=np.int64).reshape(-1, 2).T
        return cls(first, end - first, np.flatnonzero(np.array(is_candidate, dtype=bool)))

    @property
    def positions(self) -> int:
        """The number of positions."""
        return len(self.first)

    @cached_property
    def split(self) -> Ints:
        """The positions of two or more pieces."""
        return np.flatnonzero(self.count > 1)

    def sum_pieces(self, tokens: NDArray[np.floating], axis: int) -> NDArray[np.float64]:
        """Sum over the pieces of each split position, along an axis of tokens, in float64."""
        first, count = self.first[self.split], self.count[self.split]
        sums = np.take(tokens, first, axis).astype(np.float64)
        for piece in range(1, int(count.max(initial=1))):
            longer = np.flatnonzero(count > piece)
            more = np.take(tokens, first[longer] + piece, axis)
            if axis == 1:
                sums[:, longer] += more
            else:
                sums[:, :, longer] += more
        return sums


def merge_pieces(attention: Floats, pieces: PieceMap, subword: Subword, out: Floats) -> None:
    """Pool `attention` [M, T, T] between tokens into `out` [M, P, P] between positions.

    Both must be contiguous; a weight is from the row to the column. `measures.Pooling` does the
    same with tensors, for the other measures.
    """
    maps, tokens, _ = attention.shape
    size = pieces.positions
    if size == tokens:  # no word is split
        out[:] = attention
        return
    between = (pieces.first[:, None] * tokens + pieces.first[None, :]).reshape(-1)
    # With the default mode, take() would write into a buffer first.
    np.take(attention.reshape(maps, -1), between, 1, out.reshape(maps, size * size), mode="clip")
    split = pieces.split
    # To a split position: the sum over its pieces, for every token that attends.
    to_split = pieces.sum_pieces(attention, 2)  # [M, T, S]
    out[:, :, split] = np.take(to_split, pieces.first, 1)
    if subword == "first":
        return
    # From a split position: the mean over its pieces, to every position of one piece ...
    count = pieces.count[split]
    from_split = pieces.sum_pieces(attention, 1)  # [M, S, T]
    from_split /= count[:, None]
    out[:, split, :] = np.take(from_split, pieces.first, 2)
    # ... and, of the sums above, to every split position.
    out[:, split[:, None], split[None, :]] = pieces.sum_pieces(to_split, 1) / count[:, None]


@dataclass(frozen=True)
class Peaks:
    """The largest weights from and to each of K candidates, and the positions at the other end.

    Arrays are [M, K]; a position is -1 if there is no positive weight.
    """

    most_attended: NDArray[np.int16]
    most_attended_weight: Floats
    most_attending: NDArray[np.int16]
    most_attending_weight: Floats


def find_peaks(pooled: Floats, candidates: Ints) -> Peaks:
    """Return the arg-max of each row and column of `pooled` [M, P, P] among the candidates.

    Special tokens and the position itself do not count; of equal weights the leftmost wins
    (section 4.2 of the paper). A position with no positive weight has no peak.
    """
    maps, count = len(pooled), len(candidates)
    if not count:
        none, nothing = np.empty((maps, 0), np.int16), np.empty((maps, 0), np.float32)
        return Peaks(none, nothing, none, nothing)
    weights = submatrices(pooled, candidates)
    weights.reshape(maps, -1)[:, :: count + 1] = 0.0  # a position's weight on itself
    flat = weights.reshape(-1)
    first = np.arange(maps)[:, None] * count**2
    index = np.arange(count)[None, :]
    attended, attending = weights.argmax(2), weights.argmax(1)
    attended_weight = flat[first + index * count + attended]
    attending_weight = flat[first + attending * count + index]
    return Peaks(
        np.where(attended_weight > 0, candidates[attended], -1).astype(np.int16),
        attended_weight,
        np.where(attending_weight > 0, candidates[attending], -1).astype(np.int16),
        attending_weight,
    )


@dataclass(frozen=True)
class Largest:
    """The K largest weights of each row, [M, P, K], largest first, of equal ones the leftmost.

    K is at most P. `to_positions` are the attended positions; `rest` [M, P] is the sum of all other
    weights of the row.
    """

    to_positions: NDArray[np.int16]
    weights: Floats
    rest: Floats


def find_largest(pooled: Floats, count: int, decimals: int | None) -> Largest:
    """Return the `count` largest weights of each row of `pooled` [M, P, P], and the others' sum.

    They are chosen before they are rounded.
    """
    size = pooled.shape[-1]
    count = min(count, size)
    least = np.partition(pooled, size - count, 2)[:, :, size - count, None]
    is_kept = pooled >= least
    # Rows in which more weights equal the smallest kept one than there is room for: drop the last.
    tied = np.nonzero(is_kept.sum(2) > count)
    rows, is_least = pooled[tied], pooled[tied] == least[tied]
    quota = count - (rows > least[tied]).sum(1, keepdims=True)
    is_kept[tied] &= ~is_least | (is_least.cumsum(1) <= quota)
    to = np.nonzero(is_kept)[2].reshape(*pooled.shape[:2], count)
    order = np.argsort(-np.take_along_axis(pooled, to, 2), axis=2, kind="stable")
    to = np.take_along_axis(to, order, 2)
    remainder = pooled.astype(np.float64)
    np.put_along_axis(remainder, to, 0.0, 2)
    weights, rest = np.take_along_axis(pooled, to, 2), np.einsum("mpq->mp", remainder)
    values = [weights, rest.astype(np.float32)]
    if decimals is not None:
        values = [np.round(array, decimals) for array in values]
    return Largest(to.astype(np.int16), *values)


def is_unnormalised(pooled: Floats, rows: RowSums = "shares") -> bool:
    """Return whether some row of `pooled` [M, P, P] is not what `rows` says.

    Shares sum to 1 within ROW_SUM, parts to at most 1; parts and lengths are not negative.
    """
    sums = np.einsum("mpq->mp", pooled)  # takes half the time of sum(), and starts no threads
    if rows == "shares":
        return not bool((np.abs(sums - 1) <= ROW_SUM).all())
    most = np.inf if rows == "lengths" else 1 + ROW_SUM
    return not bool((np.isfinite(sums) & (sums <= most)).all() and (pooled >= -ROW_SUM).all())


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


def map_sums(pooled: Floats, positions: PositionKinds) -> MapSums:
    """Return the sums of each map of `pooled` [M, P, P]; a weight is from the row to the column."""
    maps, size, _ = pooled.shape
    at_once = max(1, SUMS_AT_ONCE // size**2)
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
