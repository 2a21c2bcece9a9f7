"""The rows of one batch: sequences, positions, attention, its sums and peaks, as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attnbank.ingest.attention.merging import merged
from attnbank.ingest.attention.pooling import Peaks, Subword
from attnbank.ingest.attention.sums import TOTALS, MapSums
from attnbank.ingest.inputs.plan import Batch, Input, Skip
from attnbank.ingest.inputs.spans import Span
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
    last_word=INT,
)
_SKIPPED = schema(
    corpus=INT, run=INT, batch=INT, sentence=INT, name=TEXT, place=TEXT, reason=TEXT, detail=TEXT
)


Keep = Literal["weights", "peaks"]
"""What is kept of a map: all its weights, or only its sums and peaks."""


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
    keep: Keep = "weights"


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
        """Rows of the longest of its tables."""
        return max((len(each) for each in self.tables.values()), default=0)


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
    attentions: list[Tensor],
    facts: RunFacts,
    measured: Measured | None = None,
) -> BatchRows:
    """Merge pieces into positions, find the peaks, and lay the rows out.

    `attentions` holds a tensor [B, H, T, T] for each layer, and is emptied: what is merged is not
    kept. `measured` is what the masked inputs gave, where the run masks them. An input with a row
    of attention that does not sum to 1 within 1e-3, or with no token to mask, is left out: its
    sentences become rows of `skipped`.
    """
    rows = BatchRows(batch.number, batch.sentences, {}, 0)
    skips = list(batch.skips)
    tables: dict[str, pa.Table] = {}
    weights = 0
    if batch.inputs:
        bare = [measured is not None and not each for each in _masked(batch, measured)]
        layers, heads = len(attentions), attentions[0].shape[1]
        found = merged(
            [each.encoded for each in batch.inputs],
            attentions,
            bare,
            subword=facts.subword,
            decimals=facts.decimals,
            with_weights=facts.keep == "weights",
        )
        kept = found.kept
        for at, each in enumerate(batch.inputs):
            if at in found.odd:
                skips += _odd(each)
            elif bare[at]:
                skips += _bare(each)
        if kept:
            inputs = [batch.inputs[at] for at in kept]
            sizes = np.array([len(each.encoded.positions) for each in inputs])
            index = _Index(facts, inputs, sizes, layers, heads)
            weights = len(found.weights)
            rows.unknown_words = sum(each.encoded.words_with(facts.unknown) for each in inputs)
            tables["sequence"] = _sequences(batch.number, inputs, facts)
            tables["position"] = _positions(inputs, facts)
            if facts.keep == "weights":
                tables["attention"] = index.distributions("weights", found.weights)
            tables["attention_map"] = index.attention_map(found.sums)
            tables["peak"] = index.peak(found.peaks, found.candidates)
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


def _masked(batch: Batch, measured: Measured | None) -> Sequence[int]:
    """How many tokens of each input were masked."""
    return [0] * len(batch.inputs) if measured is None else measured.masked.tolist()


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
        """One row per distribution; `values` are all the weights (column `name`) in order."""
        sequence, layer, head, position = self._columns([np.arange(size) for size in self.sizes])
        lengths = np.repeat(self.sizes, self.layers * self.heads * self.sizes)
        weights = _lists(lengths, pa.array(values))
        return pa.table(
            {
                "sequence": sequence,
                "layer": layer,
                "head": head,
                "from_position": position,
                name: weights,
            }
        )

    def attention_map(self, found: list[MapSums]) -> pa.Table:
        """One row per map: the sums of each input."""
        maps = self.layers * self.heads
        totals = np.concatenate([each.totals for each in found])
        columns = {name: pa.array(totals[:, at]) for at, name in enumerate(TOTALS)}
        last = totals[:, -1]
        columns[TOTALS[-1]] = pa.array(last, mask=np.isnan(last))
        offsets = np.concatenate([each.offsets for each in found])
        columns["offsets"] = _lists(
            np.full(len(offsets), offsets.shape[1]), pa.array(offsets.reshape(-1))
        )
        lengths = np.repeat(self.sizes, maps)
        is_sep = np.concatenate([each.largest_positions.reshape(-1) for each in found]) < 0
        for name in ("received", "given", "largest_positions", "largest_weights"):
            values = np.concatenate([getattr(each, name).reshape(-1) for each in found])
            is_missing = is_sep if name.startswith("largest") else None
            columns[name] = _lists(lengths, pa.array(values, mask=is_missing))
        sequence, layer, head, _ = self._columns([np.zeros(1)] * len(self.sizes))
        return pa.table({"sequence": sequence, "layer": layer, "head": head, **columns})

    def peak(self, found: list[Peaks], candidates: list[np.ndarray]) -> pa.Table:
        """One row per word (token): the peaks of each input at its candidate positions."""
        attended, attended_weight, attending, attending_weight = (
            np.concatenate([getattr(each, name).reshape(-1) for each in found])
            for name in Peaks.__dataclass_fields__
        )
        sequence, layer, head, position = self._columns(candidates)
        return pa.table(
            {
                "sequence": sequence,
                "layer": layer,
                "head": head,
                "position": position,
                "most_attended": pa.array(attended, mask=attended < 0),
                "most_attended_weight": pa.array(attended_weight, mask=attended < 0),
                "most_attending": pa.array(attending, mask=attending < 0),
                "most_attending_weight": pa.array(attending_weight, mask=attending < 0),
            }
        )


def _lists(lengths: np.ndarray, values: pa.Array) -> pa.ListArray:
    """A column of lists of these lengths, of all their values in order."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), values)


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
            None if each.word is None else one.spans[each.word].first,
            each.text,
            one.encoded.pieces[each.start : each.end],
            None if each.word is None else _last_of_several(one.spans[each.word]),
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


def _last_of_several(span: Span) -> int | None:
    return span.last if span.last != span.first else None


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
