"""Batches of sentences of similar length, with their attention, read directly from the bank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from duckdb import DuckDBPyConnection
from torch import Tensor

from attnbank.ingest.derived.probes.data.runs import ProbeRun
from attnbank.ingest.derived.probes.data.sentences import Ints, Sentences
from attnbank.sql.errors import QueryError

CELLS_AT_ONCE = 4_000_000
"""The most numbers in the largest tensor of a batch, padding included: 16 MB. With 64 MB an epoch
of distance_words took twice as long, most of it for fresh pages of memory."""


@dataclass(frozen=True)
class Batch:
    """B sentences padded to P positions. Candidate heads are ROOT (0) and p + 1 for position p.

    entry      [B, P] int64, index into the arrays of Sentences; -1 for padding
    is_word    [B, P] bool
    is_barred  [B, P, P] bool, whether the second position cannot be the head of the first
    opens      [B, P] float, 1 for [CLS], else 0
    closes     [B, P] float, 1 for any other special token, else 0
    gold       [K, B, P] int64, the candidate that is the gold head of word k there; -1 for none
    position   [B, P] int64, 0-based position
    words      [B] float, number of words of each sentence
    vector     [B, P] int64, row of the word vectors; 0, the zero vector, for all but words
    attention  [B, P, P, K] float: from, to, map (layer by layer); None if it is not read
    """

    entry: Tensor
    is_word: Tensor
    is_barred: Tensor
    opens: Tensor
    closes: Tensor
    gold: Tensor
    position: Tensor
    words: Tensor
    vector: Tensor
    attention: Tensor | None

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if value is not None}
        return replace(self, **moved)


class Batches:
    """The batches of some sentences of a run, by number; a number always gives the same batch.

    Sentences with neighbouring ids are in one batch: ingest numbers them by length within a window,
    so there is little padding. A batch has at most `most` sentences. Attention is read when a batch
    is asked for, and kept as long as all kept batches fit into `memory` bytes. `width` is the
    number of values per pair of positions in the largest tensor; it limits how many long sentences
    are together.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        run: ProbeRun,
        sentences: Sentences,
        chosen: Ints,
        vector: Ints,
        *,
        most: int,
        width: int,
        with_attention: bool,
        memory: int = 0,
        device: torch.device | None = None,
    ) -> None:
        self._connection = connection
        self._run = run
        self._sentences = sentences
        self._vector = vector
        self._with_attention = with_attention
        self._device = device or torch.device("cpu")
        self._groups = _groups(chosen, sentences.lengths, most, width)
        self._kept: dict[int, Batch] = {}
        self._left = memory

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Batch]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Batch:
        """Batch `number`. Raises QueryError if the bank lacks some of its attention."""
        if number in self._kept:
            return self._kept[number]
        chosen = self._groups[number]
        batch = _padded(self._sentences, chosen, self._vector)
        if self._with_attention:
            weights = read_attention(
                self._connection,
                self._run,
                self._sentences.sequence[chosen],
                self._sentences.lengths[chosen],
            )
            batch = replace(batch, attention=weights)
        batch = batch.to(self._device)
        size = sum(each.nbytes for each in vars(batch).values() if isinstance(each, Tensor))
        if size <= self._left:
            self._left -= size
            self._kept[number] = batch
        return batch


def _groups(chosen: Ints, lengths: Ints, most: int, width: int) -> list[Ints]:
    """Cut sentences, in order, into groups of at most `most` and at most CELLS_AT_ONCE numbers.

    A sentence that is larger than that is a group of its own.
    """
    groups, begin, longest = [], 0, 0
    for at, length in enumerate(lengths[chosen].tolist()):
        longest = max(longest, length)
        count = at - begin + 1
        if count > 1 and (count > most or count * width * longest**2 > CELLS_AT_ONCE):
            groups.append(chosen[begin:at])
            begin, longest = at, length
    groups.append(chosen[begin:])
    return [group for group in groups if len(group)]


def _padded(sentences: Sentences, chosen: Ints, vector: Ints) -> Batch:
    """A batch without its attention."""
    lengths = sentences.lengths[chosen]
    position = np.broadcast_to(np.arange(lengths.max()), (len(chosen), lengths.max()))
    is_real = position < lengths[:, None]
    entry = np.where(is_real, sentences.start[chosen][:, None] + position, 0)

    def field(values: np.ndarray, padding: float) -> Tensor:
        taken = values[..., entry]  # entries are the last axis
        return torch.from_numpy(np.where(is_real, taken, padding).astype(values.dtype))

    is_word = field(sentences.is_word, False)
    return Batch(
        entry=torch.from_numpy(np.where(is_real, entry, -1)),
        is_word=is_word,
        is_barred=barred(is_word),
        opens=field(sentences.opens, False).float(),
        closes=field(sentences.closes, False).float(),
        gold=field(sentences.gold, -1),
        position=torch.from_numpy(position.copy()),
        words=is_word.sum(1).float(),
        vector=field(vector, 0),
        attention=None,
    )


def barred(is_word: Tensor) -> Tensor:
    """Which positions cannot be the head of a position, [B, P, P]: itself, and all but words."""
    return ~is_word[:, None, :] | torch.eye(is_word.shape[1], dtype=torch.bool)


def read_attention(
    connection: DuckDBPyConnection, run: ProbeRun, sequences: Ints, lengths: Ints
) -> Tensor:
    """The attention of B sequences, [B, P, P, K] (from, to, map), zero where padded.

    `sequences` are ids, ascending; `lengths` are their numbers of positions. Map k is layer
    k // heads + 1, head k % heads + 1. The maps are the last dimension, so that a weighted sum of
    them is one matrix product. Raises QueryError if the bank lacks some of the attention.
    """
    listed = ", ".join(map(str, sequences.tolist()))
    rows = (
        connection.query(  # by the bounds DuckDB skips whole row groups, by the list single rows
            "select attention.sequence, attention.layer, attention.head,"
            " attention.from_position, attention.weights from attention"
            f" where attention.sequence between {sequences[0]} and {sequences[-1]}"
            f" and attention.sequence in ({listed})"
        )
        .to_arrow_table()
        .combine_chunks()
    )
    count, longest, maps = len(sequences), int(lengths.max()), run.maps
    slot = np.searchsorted(sequences, rows["sequence"].to_numpy())
    layer, head = rows["layer"].to_numpy().astype(np.int64), rows["head"].to_numpy()
    map_ = (layer - 1) * run.heads + head - 1
    key = (slot * maps + map_) * longest + rows["from_position"].to_numpy()
    if not (np.diff(key) > 0).all():
        order = np.argsort(key)
        rows, key = rows.take(order).combine_chunks(), key[order]
    weights = rows["weights"].combine_chunks()
    values = weights.flatten().to_numpy()
    is_real = np.arange(longest) < lengths[:, None]
    is_cell = is_real[:, None, :, None] & is_real[:, None, None, :]
    expected = np.flatnonzero(np.broadcast_to(is_real[:, None], (count, maps, longest)))
    if not np.array_equal(key, expected) or len(values) != maps * int((lengths**2).sum()):
        raise QueryError(
            f"The run {run.name} lacks attention of some of its sentences.",
            "Ingest it again with --replace.",
        )
    padded = np.zeros((count, maps, longest, longest), dtype=np.float32)
    padded[np.broadcast_to(is_cell, padded.shape)] = values
    return torch.from_numpy(padded).permute(0, 2, 3, 1).contiguous()
