"""The rows of one batch as Arrow tables: sequences, positions, attention, its sums and peaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attnbank.ingest.arrow_tables import arrow_table
from attnbank.ingest.attention.measures import PaddedInputs, compute_maps
from attnbank.ingest.attention.merged_maps import (
    TOTALS,
    Largest,
    Maps,
    MapSums,
    MergedMaps,
    Peaks,
    RunFacts,
    merge_maps,
)
from attnbank.ingest.candidate_inputs import Input
from attnbank.ingest.models.loading import Model
from attnbank.ingest.planning import Batch
from attnbank.sql.ids import row_id

_UNNORMALISED = ("not-normalised", "a row of its attention does not sum to 1 within 0.001")


@dataclass
class BatchRows:
    """The rows of a batch, by table."""

    batch: int
    sentences: int
    tables: dict[str, pa.Table] = field(default_factory=dict)
    weights: int = 0  # or gradients
    effort: float = 0.0  # that of the batch
    unknown_words: int = 0  # words with an unknown token
    joined_words: int = 0  # words that the tokenizer splits differently in the text than alone
    misspelled_words: int = 0  # words whose text the given tokens do not match

    @property
    def max_rows(self) -> int:
        """The number of rows of the longest table."""
        return max((len(table) for table in self.tables.values()), default=0)


def pad_batch(batch: Batch, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return token ids, mask and segments of a batch, [B, T] int64, padded on the right."""

    def stacked(rows: Iterable[Sequence[int]], value: int = 0) -> Tensor:
        tensors = [torch.tensor(row) for row in rows]
        return pad_sequence(tensors, batch_first=True, padding_value=value)

    encodings = [model_input.encoded for model_input in batch.inputs]
    mask = stacked((1,) * len(encoding.ids) for encoding in encodings)
    segments = stacked(encoding.segments for encoding in encodings)
    return stacked((encoding.ids for encoding in encodings), padding), mask, segments


def run_model(
    model: Model, batch: Batch, facts: RunFacts, on_layer: Callable[[Tensor], None]
) -> None:
    """Call `on_layer` with the maps of each layer of a batch as soon as they are computed.

    Weights are [inputs, heads, tokens, tokens]; other measures are between positions. There are no
    layers if all sentences of the batch were skipped.
    """
    if not batch.inputs:
        return
    inputs = pad_batch(batch, model.input_tokenizer.padding)
    if facts.options.measure == "weights":
        model.stream_attentions(*inputs, on_layer)
        return
    encodings = [model_input.encoded for model_input in batch.inputs]
    padded, options = PaddedInputs(encodings, *inputs), facts.options
    maps = compute_maps(model, padded, options.measure, options.subword)
    while maps:
        on_layer(maps.pop(0))


def rows_of_batch(batch: Batch, attentions: Maps | None, facts: RunFacts) -> BatchRows:
    """Merge pieces into positions, find the peaks, and make the Arrow tables of a batch.

    `attentions` may be None if the batch has no inputs. An input is skipped, and its sentences
    become rows of `skipped`, if a row of its attention does not sum to 1 within 1e-3 (in a model
    with sinks: sums to more).
    """
    rows = BatchRows(batch.number, batch.sentence_count, effort=batch.effort)
    skips = list(batch.skips)
    if batch.inputs:
        assert attentions is not None
        encodings = [model_input.encoded for model_input in batch.inputs]
        merged = merge_maps(encodings, attentions, facts)
        for at in sorted(set(range(len(batch.inputs))) - set(merged.kept_inputs)):
            skips += [sentence.skip(*_UNNORMALISED) for sentence in batch.inputs[at].sentences]
        if merged.kept_inputs:
            inputs = [batch.inputs[at] for at in merged.kept_inputs]
            _add_tables(rows, inputs, attentions, merged, facts)
    if skips:
        key = (facts.corpus, facts.run, batch.number)
        skipped = [(*key, s.sentence, s.name, s.place, s.reason, s.detail) for s in skips]
        rows.tables["skipped"] = arrow_table("skipped", skipped)
    return rows


def _add_tables(
    rows: BatchRows,
    inputs: list[Input],
    attentions: Maps,
    merged: MergedMaps,
    facts: RunFacts,
) -> None:
    """Make the tables of the inputs that are not skipped, and count what is in them."""
    tables = rows.tables
    sizes = np.array([len(model_input.encoded.positions) for model_input in inputs])
    index = _KeyColumns(facts, inputs, sizes, attentions.layers, attentions.heads)
    rows.weights = len(merged.weights) + sum(largest.weights.size for largest in merged.largest)
    rows.joined_words = sum(model_input.joined_words for model_input in inputs)
    rows.unknown_words = sum(
        model_input.encoded.count_words_with(facts.unknown) for model_input in inputs
    )
    tables["sequence"] = _sequence_rows(rows.batch, inputs, facts)
    tables["position"] = _position_rows(inputs, facts)
    if facts.options.largest is None:
        tables["attention"] = index.distributions("weights", merged.weights)
    elif facts.options.largest:
        tables["attention_top"] = index.attention_top(merged.largest)
    tables["attention_map"] = index.attention_map(merged.sums)
    tables["peak"] = index.peak(merged.peaks, merged.candidates)


def distribution_rows(
    name: str, maps: list[np.ndarray], inputs: list[Input], facts: RunFacts
) -> pa.Table:
    """Return a row per distribution, as in table attention; its values are the column `name`.

    `maps` are padded, [B, H, P, P] for each layer.
    """
    sizes = np.array([len(model_input.encoded.positions) for model_input in inputs])
    layers, heads = len(maps), maps[0].shape[1]
    ends = np.cumsum(layers * heads * sizes**2)
    values = np.empty(int(ends[-1]), dtype=np.float32)
    for at, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        block = values[end - layers * heads * size**2 : end].reshape(layers, heads, size, size)
        for layer, layer_maps in enumerate(maps):
            block[layer] = layer_maps[at, :, :size, :size]
    return _KeyColumns(facts, inputs, sizes, layers, heads).distributions(name, values)


class _KeyColumns:
    """The key columns (sequence, layer, head, position) of rows, and the tables that have them."""

    def __init__(
        self, facts: RunFacts, inputs: list[Input], sizes: np.ndarray, layers: int, heads: int
    ) -> None:
        self.sizes = sizes
        self.maps = layers * heads
        numbers = np.array(facts.layers or range(1, layers + 1), dtype=np.int16)
        self.layer = np.repeat(numbers, heads)
        self.head = np.tile(np.arange(1, heads + 1, dtype=np.int16), layers)
        sequences = [row_id(facts.run, model_input.ordinal) for model_input in inputs]
        self.sequences = np.array(sequences, dtype=np.int64)

    def _columns(self, name: str, positions: list[np.ndarray]) -> dict[str, Any]:
        """Return sequence, layer, head and position (called `name`) of every row.

        `positions` are those of each input that have a row.
        """
        counts = np.array([len(input_positions) for input_positions in positions])
        return {
            "sequence": np.repeat(self.sequences, self.maps * counts),
            "layer": np.concatenate([np.repeat(self.layer, count) for count in counts]),
            "head": np.concatenate([np.repeat(self.head, count) for count in counts]),
            name: np.concatenate(
                [np.tile(input_positions, self.maps) for input_positions in positions]
            ).astype(np.int16),
        }

    def distributions(self, name: str, values: np.ndarray) -> pa.Table:
        """Return a row per distribution; `values` are all weights (column `name`) in order."""
        columns = self._columns("from_position", [np.arange(size) for size in self.sizes])
        columns[name] = _list_column(
            np.repeat(self.sizes, self.maps * self.sizes), pa.array(values)
        )
        return pa.table(columns)

    def attention_top(self, largest: list[Largest]) -> pa.Table:
        """Return a row per distribution: its largest weights, and the sum of the others."""
        columns = self._columns("from_position", [np.arange(size) for size in self.sizes])
        counts = np.array([input_largest.weights.shape[2] for input_largest in largest])
        lengths = np.repeat(counts, self.maps * self.sizes)
        for name in ("to_positions", "weights"):
            columns[name] = _list_column(lengths, pa.array(_concatenate(largest, name)))
        columns["rest"] = pa.array(_concatenate(largest, "rest"))
        return pa.table(columns)

    def attention_map(self, sums: list[MapSums]) -> pa.Table:
        """Return a row per map: its sums."""
        columns = self._columns("position", [np.zeros(1)] * len(self.sizes))
        del columns["position"]  # a row is a whole map
        totals = np.concatenate([input_sums.totals for input_sums in sums])
        columns |= {name: pa.array(totals[:, at]) for at, name in enumerate(TOTALS)}
        columns[TOTALS[-1]] = pa.array(totals[:, -1], mask=np.isnan(totals[:, -1]))
        offsets = np.concatenate([input_sums.offsets for input_sums in sums])
        widths = np.full(len(offsets), offsets.shape[1])
        columns["offsets"] = _list_column(widths, pa.array(offsets.reshape(-1)))
        lengths = np.repeat(self.sizes, self.maps)
        is_sep = _concatenate(sums, "largest_positions") < 0
        for name in ("received", "given", "largest_positions", "largest_weights"):
            is_missing = is_sep if name.startswith("largest") else None
            columns[name] = _list_column(
                lengths, pa.array(_concatenate(sums, name), mask=is_missing)
            )
        return pa.table(columns)

    def peak(self, peaks: list[Peaks], candidates: list[np.ndarray]) -> pa.Table:
        """Return a row per candidate (word or token): its peaks."""
        columns = self._columns("position", candidates)
        for name in ("most_attended", "most_attending"):
            is_missing = _concatenate(peaks, name) < 0
            for column in (name, f"{name}_weight"):
                columns[column] = pa.array(_concatenate(peaks, column), mask=is_missing)
        return pa.table(columns)


def _concatenate(parts: Sequence[MapSums | Peaks | Largest], name: str) -> np.ndarray:
    """Concatenate the field `name` of all inputs."""
    return np.concatenate([getattr(part, name).reshape(-1) for part in parts])


def _list_column(lengths: np.ndarray, values: pa.Array) -> pa.ListArray:
    """Return a column of lists of these lengths; `values` are all their values in order."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), values)


def _sequence_rows(number: int, inputs: list[Input], facts: RunFacts) -> pa.Table:
    rows = []
    for model_input in inputs:
        id = row_id(facts.run, model_input.ordinal)
        sentence = model_input.sentences[0].id if facts.options.context == "sentence" else None
        sizes = len(model_input.encoded.positions), len(model_input.encoded.ids)
        rows.append((id, facts.run, number, model_input.document, sentence, *sizes))
    return arrow_table("sequence", rows)


def _position_rows(inputs: list[Input], facts: RunFacts) -> pa.Table:
    rows = []
    for model_input in inputs:
        sequence = row_id(facts.run, model_input.ordinal)
        for number, position in enumerate(model_input.encoded.positions):
            span = None if position.word is None else model_input.spans[position.word]
            word = None if span is None else span.first
            last = None if span is None or span.last == word else span.last
            pieces = model_input.encoded.pieces[position.start : position.end]
            columns = (sequence, number, position.kind, position.segment)
            rows.append((*columns, word, position.text, pieces, last))
    return arrow_table("position", rows)
