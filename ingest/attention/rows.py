"""The rows of one batch: sequences, positions, attention and peaks, as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attnbank.ingest.attention.pooling import Peaks, PieceMap, Subword, odd_rows, peaks, pool
from attnbank.ingest.inputs.plan import Batch, Input, Skip
from attnbank.ingest.masked.passes import Measured
from attnbank.ingest.store.arrow import INT, SMALL, TEXT, schema

_SEQUENCE = schema(
    id=INT, run=INT, batch=INT, document=INT, sentence=INT, positions=SMALL, tokens=SMALL
)
_POSITION = schema(
    sequence=INT,
    position=SMALL,
    kind=TEXT,
    segment=SMALL,
    word=INT,
    text=TEXT,
    pieces=pa.list_(TEXT),
)
_SKIPPED = schema(
    corpus=INT, run=INT, batch=INT, sentence=INT, name=TEXT, place=TEXT, reason=TEXT, detail=TEXT
)


@dataclass(frozen=True)
class RunFacts:
    """What the rows of a run share."""

    run: int
    corpus: int
    first_sequence: int
    subword: Subword
    decimals: int | None
    context: str = "sentence"
    unknown: int | None = None  # id of the piece for what the vocabulary lacks


@dataclass
class BatchRows:
    """The rows of a batch, by table."""

    batch: int
    sentences: int
    tables: dict[str, pa.Table]
    weights: int  # gradients included
    losses: np.ndarray | None = None  # [variants] float64, summed over the masked tokens
    masked: int = 0  # masked tokens
    unknown_words: int = 0  # words with a piece that the vocabulary lacks

    @property
    def rows(self) -> int:
        """Rows of table attention."""
        return len(self.tables["attention"]) if "attention" in self.tables else 0


def padded(batch: Batch, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids, mask and segments of a batch, [B, T] int64 each, padded on the right."""
    longest = max(len(each.encoded.ids) for each in batch.inputs)
    ids = np.full((len(batch.inputs), longest), padding, dtype=np.int64)
    mask = np.zeros_like(ids)
    segments = np.zeros_like(ids)
    for row, each in enumerate(batch.inputs):
        length = len(each.encoded.ids)
        ids[row, :length] = each.encoded.ids
        mask[row, :length] = 1
        segments[row, :length] = each.encoded.segments
    return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(segments)


def rows_of(
    batch: Batch,
    attentions: Sequence[Tensor],
    facts: RunFacts,
    measured: Measured | None = None,
) -> BatchRows:
    """Merge pieces into positions, find the peaks, and lay the rows out.

    `attentions` holds a tensor [B, H, T, T] for each layer; `measured` is what the masked inputs
    gave, where the run masks them. An input with a row of attention that does not sum to 1 within
    1e-3, or with no token to mask, is left out: its sentences become rows of `skipped`.
    """
    rows = BatchRows(batch.number, batch.sentences, {}, 0)
    skips = list(batch.skips)
    kept: list[int] = []
    tables: dict[str, pa.Table] = {}
    weights = 0
    if batch.inputs:
        heads = attentions[0].shape[1]
        layout = PieceMap.of(
            [[(each.start, each.end) for each in one.encoded.positions] for one in batch.inputs],
            [[each.word is not None for each in one.encoded.positions] for one in batch.inputs],
            attentions[0].device,
        )
        pooled, found, odd = _per_layer(attentions, layout, facts.subword)
        bare = np.zeros_like(odd) if measured is None else (measured.masked == 0) & ~odd
        kept = [at for at in range(len(batch.inputs)) if not odd[at] and not bare[at]]
        skips += [skip for at, each in enumerate(batch.inputs) if odd[at] for skip in _odd(each)]
        skips += [skip for at, each in enumerate(batch.inputs) if bare[at] for skip in _bare(each)]
        if kept:
            inputs = [batch.inputs[at] for at in kept]
            sizes = layout.positions[kept]
            index = _Index(facts, inputs, sizes, len(attentions), heads)
            values = _weights(pooled, kept, sizes)
            if facts.decimals is not None:
                values = np.round(values, facts.decimals)
            weights = len(values)
            rows.unknown_words = sum(each.encoded.words_with(facts.unknown) for each in inputs)
            tables["sequence"] = _sequences(batch.number, inputs, facts)
            tables["position"] = _positions(inputs, facts)
            tables["attention"] = index.distributions("weights", values)
            tables["peak"] = index.peak(found, kept, layout.candidate.cpu().numpy())
            if measured is not None and measured.gradients is not None:
                gradients = _weights(measured.gradients, kept, sizes)  # a position is a token
                tables["gradient"] = index.distributions("gradients", gradients)
                weights += len(gradients)
        if measured is not None and measured.losses is not None:
            rows.losses = measured.losses[:, kept].sum(1)
            rows.masked = int(measured.masked[kept].sum())
    if skips:
        tables["skipped"] = pa.table(
            [
                pa.array(column, type=field.type)
                for column, field in zip(
                    zip(*(_skipped(each, batch.number, facts) for each in skips), strict=True),
                    _SKIPPED,
                    strict=True,
                )
            ],
            schema=_SKIPPED,
        )
    rows.tables, rows.weights = tables, weights
    return rows


def _per_layer(
    attentions: Sequence[Tensor], layout: PieceMap, subword: Subword
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Pooled attention ([B, H, P, P] a layer), the four peaks ([B, L, H, P]), odd inputs [B]."""
    pooled, found = [], []
    odd = np.zeros(len(layout.positions), dtype=bool)
    with torch.inference_mode():
        for attention in attentions:
            layer = pool(attention, layout, subword)
            odd |= odd_rows(layer, layout).cpu().numpy()
            found.append(peaks(layer, layout))
            pooled.append(layer.cpu().numpy())
    return pooled, [_stack(found, name) for name in Peaks.__dataclass_fields__], odd


def _stack(found: list[Peaks], name: str) -> np.ndarray:
    stacked: np.ndarray = torch.stack([getattr(each, name) for each in found], 1).cpu().numpy()
    return stacked


def _weights(pooled: list[np.ndarray], kept: list[int], sizes: np.ndarray) -> np.ndarray:
    """All weights in the order (sequence, layer, head, from, to), without padding."""
    layers, heads = len(pooled), pooled[0].shape[1]
    ends = np.cumsum(layers * heads * sizes**2)
    values = np.empty(int(ends[-1]), dtype=np.float32)
    for at, size, end in zip(kept, sizes, ends, strict=True):
        block = values[end - layers * heads * size**2 : end].reshape(layers, heads, size, size)
        for layer, each in enumerate(pooled):
            block[layer] = each[at, :, :size, :size]
    return values


class _Index:
    """The columns that say where a weight belongs, for inputs of different sizes."""

    def __init__(
        self, facts: RunFacts, inputs: list[Input], sizes: np.ndarray, layers: int, heads: int
    ) -> None:
        self.sizes = sizes
        self.layers = layers
        self.heads = heads
        self.sequences = np.array(
            [facts.first_sequence + each.sequence for each in inputs], dtype=np.int32
        )

    def _columns(self, places: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Sequence, layer, head and position of every row; `places` are the positions of each."""
        counts = np.array([len(each) for each in places])
        maps = self.layers * self.heads
        layer = np.repeat(np.arange(1, self.layers + 1, dtype=np.int16), self.heads)
        head = np.tile(np.arange(1, self.heads + 1, dtype=np.int16), self.layers)
        return (
            np.repeat(self.sequences, maps * counts),
            np.concatenate([np.repeat(layer, count) for count in counts]),
            np.concatenate([np.repeat(head, count) for count in counts]),
            np.concatenate([np.tile(each, maps) for each in places]).astype(np.int16),
        )

    def distributions(self, name: str, values: np.ndarray) -> pa.Table:
        """One row a distribution; `values` are all the weights (column `name`) in order."""
        sequence, layer, head, position = self._columns([np.arange(size) for size in self.sizes])
        lengths = np.repeat(self.sizes, self.layers * self.heads * self.sizes)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        weights = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
        return pa.table(
            {
                "sequence": sequence,
                "layer": layer,
                "head": head,
                "from_position": position,
                name: weights,
            }
        )

    def peak(self, found: list[np.ndarray], kept: list[int], candidate: np.ndarray) -> pa.Table:
        """One row a word (token); `found` are the four peaks, [B, L, H, P] each."""
        places = [
            np.flatnonzero(candidate[at, :size]) for at, size in zip(kept, self.sizes, strict=True)
        ]
        attended, attended_weight, attending, attending_weight = (
            np.concatenate(
                [
                    one[at][:, :, position].reshape(-1)
                    for at, position in zip(kept, places, strict=True)
                ]
            )
            for one in found
        )
        sequence, layer, head, position = self._columns(places)
        return pa.table(
            {
                "sequence": sequence,
                "layer": layer,
                "head": head,
                "position": position,
                "most_attended": pa.array(attended.astype(np.int16), mask=attended < 0),
                "most_attended_weight": pa.array(attended_weight, mask=attended < 0),
                "most_attending": pa.array(attending.astype(np.int16), mask=attending < 0),
                "most_attending_weight": pa.array(attending_weight, mask=attending < 0),
            }
        )


def _sequences(number: int, inputs: list[Input], facts: RunFacts) -> pa.Table:
    count = len(inputs)
    return pa.table(
        [
            [facts.first_sequence + each.sequence for each in inputs],
            [facts.run] * count,
            [number] * count,
            [each.document for each in inputs],
            [each.sentences[0].id if facts.context == "sentence" else None for each in inputs],
            [len(each.encoded.positions) for each in inputs],
            [len(each.encoded.ids) for each in inputs],
        ],
        schema=_SEQUENCE,
    )


def _positions(inputs: list[Input], facts: RunFacts) -> pa.Table:
    rows = [
        (
            facts.first_sequence + one.sequence,
            position,
            each.kind,
            each.segment,
            None if each.word is None else one.words[each.word],
            each.text,
            one.encoded.pieces[each.start : each.end],
        )
        for one in inputs
        for position, each in enumerate(one.encoded.positions)
    ]
    return pa.table(
        [
            pa.array(column, type=field.type)
            for column, field in zip(zip(*rows, strict=True), _POSITION, strict=True)
        ],
        schema=_POSITION,
    )


def _odd(one: Input) -> list[Skip]:
    detail = "a row of its attention does not sum to 1 within 0.001"
    return [each.skip("not-normalised", detail) for each in one.sentences]


def _bare(one: Input) -> list[Skip]:
    detail = "none of its tokens can be masked: all are special tokens"
    return [each.skip("nothing-to-mask", detail) for each in one.sentences]


def _skipped(skip: Skip, batch: int, facts: RunFacts) -> tuple[object, ...]:
    return (
        facts.corpus,
        facts.run,
        batch,
        skip.sentence,
        skip.name,
        skip.place,
        skip.reason,
        skip.detail,
    )
