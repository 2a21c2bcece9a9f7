"""What is kept of the attention of a batch: weights between positions, their peaks and sums.

Each input is taken alone, without padding, and a few maps of it at a time: the copies that the
arithmetic makes then stay in the processor's cache, and take no more memory however long an input
is or however many heads a model has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np
from torch import Tensor

from attnbank.ingest.attention.pooling import (
    Floats,
    Ints,
    Peaks,
    PieceMap,
    Subword,
    is_odd,
    peaks,
    pool,
)
from attnbank.ingest.attention.sums import MapSums, Positions, map_sums
from attnbank.ingest.models.tokenizer import Encoded

AT_ONCE = 2**19
"""Weights of an input that are merged together, or those of one map, if it has more."""

_FLOAT = np.dtype(np.float32)
_Kept = TypeVar("_Kept", Peaks, MapSums)


@dataclass
class Merged:
    """What is kept of the attention of a batch, and the inputs to leave out.

    `kept` and `odd` are indices into the inputs of the batch, from 0. `weights` are float32, in the
    order (kept input, layer, head, from, to), or none where only peaks and sums are wanted. There
    is one of the others for each input that is kept: its peaks, its sums, and its positions that
    have peaks.
    """

    weights: Floats
    kept: list[int]
    odd: set[int]
    peaks: list[Peaks]
    sums: list[MapSums]
    candidates: list[Ints]


@dataclass
class _Gathered:
    """What was found of an input so far: a part for a few of its maps at a time."""

    pieces: PieceMap
    positions: Positions
    tokens: int
    is_odd: bool = False
    peaks: list[Peaks] = field(default_factory=list)
    sums: list[MapSums] = field(default_factory=list)

    @classmethod
    def of(cls, encoded: Encoded) -> _Gathered:
        positions = encoded.positions
        pieces = PieceMap.of(
            [(each.start, each.end) for each in positions],
            [each.word is not None for each in positions],
        )
        return cls(pieces, Positions.of(positions), len(encoded.ids))

    def add(self, pooled: Floats, decimals: int | None) -> None:
        """Find the peaks and sums of more of its maps, and round them."""
        self.peaks.append(peaks(pooled, self.pieces.candidates))
        if decimals is not None:
            np.round(pooled, decimals, out=pooled)
        self.sums.append(map_sums(pooled, self.positions))


def merged(
    inputs: Sequence[Encoded],
    attentions: list[Tensor],
    bare: Sequence[bool],
    *,
    subword: Subword,
    decimals: int | None,
    with_weights: bool,
) -> Merged:
    """Merge the pieces of each input, find its peaks, and sum its maps up.

    `attentions` holds a tensor [B, H, T, T] for each layer. It is emptied on the way, so that the
    memory of a layer is free once it is merged. Peaks are those of unrounded weights, sums those
    of the weights as they are stored. An input with a row that does not sum to 1 within 1e-3 is
    odd; neither it nor an input that is `bare` is kept.
    """
    heads = attentions[0].shape[1]
    maps = len(attentions) * heads
    gathered = [_Gathered.of(each) for each in inputs]
    squares = [each.pieces.positions**2 for each in gathered]
    ends = np.cumsum(squares) * maps
    weights = np.empty(int(ends[-1]) if with_weights else 0, dtype=np.float32)
    for before, layers in _groups(attentions, max(each.tokens for each in gathered)):
        for at, (one, square, end) in enumerate(zip(gathered, squares, ends, strict=True)):
            start = end - (maps - before * heads) * square
            for part in () if one.is_odd else _parts(layers, at, one.tokens):
                length = len(part) * square
                room = weights[start:][:length] if with_weights else np.empty(length, _FLOAT)
                pooled = room.reshape(len(part), one.pieces.positions, -1)
                pool(part, one.pieces, subword, pooled)
                one.is_odd |= is_odd(pooled)
                if not one.is_odd and not bare[at]:
                    one.add(pooled, decimals)
                start += length
    odd = {at for at, one in enumerate(gathered) if one.is_odd}
    kept = [at for at in range(len(inputs)) if at not in odd and not bare[at]]
    if with_weights and len(kept) < len(inputs):
        of_kept = [weights[ends[at] - maps * squares[at] : ends[at]] for at in kept]
        weights = np.concatenate(of_kept) if kept else weights[:0]
    return Merged(
        weights,
        kept,
        odd,
        [_joined(gathered[at].peaks) for at in kept],
        [_joined(gathered[at].sums) for at in kept],
        [gathered[at].pieces.candidates for at in kept],
    )


def _groups(attentions: list[Tensor], longest: int) -> Iterator[tuple[int, list[Floats]]]:
    """A few layers at a time, after how many; none is held here, or by the list, when it is done.

    Of inputs of up to `longest` tokens, as many layers as are merged together anyway.
    """
    at_once = max(1, AT_ONCE // (attentions[0].shape[1] * longest**2))
    before = 0
    while attentions:
        layers = [each.detach().float().cpu().numpy() for each in attentions[:at_once]]
        del attentions[:at_once]
        count = len(layers)
        yield before, layers
        del layers
        before += count


def _parts(layers: Sequence[Floats], at: int, tokens: int) -> Iterator[Floats]:
    """The maps of one input in some layers, [N, T, T] for a few of them at a time."""
    heads = layers[0].shape[1]
    maps = len(layers) * heads
    at_once = max(1, AT_ONCE // tokens**2)
    for begin in range(0, maps, at_once):
        end = min(begin + at_once, maps)
        part = np.empty((end - begin, tokens, tokens), _FLOAT)
        for layer in range(begin // heads, (end - 1) // heads + 1):
            before = layer * heads
            first, last = max(begin, before), min(end, before + heads)
            of_layer = layers[layer][at, first - before : last - before, :tokens, :tokens]
            part[first - begin : last - begin] = of_layer
        yield part


def _joined(parts: list[_Kept]) -> _Kept:
    """What was found of all maps, from what was found of a few layers at a time."""
    if len(parts) == 1:
        return parts[0]
    kind = type(parts[0])
    return kind(
        *(np.concatenate([getattr(each, name.name) for each in parts]) for name in fields(kind))
    )
