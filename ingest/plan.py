"""Which sentences go through the model together, and in what order.

The plan is a function of the corpus, the tokenizer and the options alone, so that an
interrupted run finds its place again by counting batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank import sql
from attnbank.ingest.tokens import Encoded, TokenizerLayout, Unalignable, Unit

WINDOW = 1024
"""Sentences that are read and sorted by length at a time: little padding, little memory."""


@dataclass(frozen=True)
class Input:
    """One input of the model: a sentence and its tokens."""

    sequence: int  # 0-based place in the plan
    document: int
    sentence: int
    name: str | None
    place: str
    words: tuple[int, ...]  # word.id of each word
    encoded: Encoded


@dataclass(frozen=True)
class Skip:
    """A sentence that is left out, and why."""

    sentence: int
    name: str | None
    place: str
    reason: str
    detail: str


@dataclass
class Batch:
    """Inputs that go through the model together, shortest first, and sentences left out."""

    number: int  # 1-based in the run
    inputs: list[Input] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)

    @property
    def sentences(self) -> int:
        """Sentences that the batch accounts for."""
        return len(self.inputs) + len(self.skips)


@dataclass(frozen=True)
class Planner:
    """Makes the batches of a run from the corpus in the bank."""

    layout: TokenizerLayout
    unit: Unit
    max_tokens: int
    batch_tokens: int

    def batches(self, connection: DuckDBPyConnection, corpus: int) -> Iterator[Batch]:
        """Every batch of the run, in order.

        A window of sentences is read, sorted by length (then by place), and cut where one more
        input would take more than `batch_tokens`, padding included. What is left out of a window
        goes with its first batch.
        """
        extent = connection.execute(sql.statement("corpus_extent"), {"corpus": corpus}).fetchone()
        assert extent is not None
        number = sequences = 0
        for start in range(extent[2], extent[3] + 1, WINDOW):
            inputs, skips = self._window(connection, corpus, start, sequences)
            batch = Batch(number + 1, skips=skips)
            for each in inputs:
                longest = len(each.encoded.ids)  # they are sorted: the last is the longest
                if batch.inputs and longest * (len(batch.inputs) + 1) > self.batch_tokens:
                    number += 1
                    yield batch
                    batch = Batch(number + 1)
                batch.inputs.append(each)
            if batch.sentences:
                number += 1
                yield batch
            sequences += len(inputs)

    def _window(
        self, connection: DuckDBPyConnection, corpus: int, start: int, sequences: int
    ) -> tuple[list[Input], list[Skip]]:
        rows = connection.execute(
            sql.statement("window"),
            {"first": start, "last": start + WINDOW - 1, "corpus": corpus},
        ).fetchall()
        full = [row for row in rows if row[4]]
        skips = [
            Skip(row[0], row[2], row[3], "empty", "the sentence has no words")
            for row in rows
            if not row[4]
        ]
        found = self.layout.encode([(row[5], row[6]) for row in full], self.unit)
        kept: list[tuple[Encoded, tuple[Any, ...]]] = []
        for row, encoded in zip(full, found, strict=True):
            sentence, _, name, place = row[:4]
            if isinstance(encoded, Unalignable):
                skips.append(Skip(sentence, name, place, "no-pieces", str(encoded)))
            elif len(encoded.ids) > self.max_tokens:
                detail = f"{len(encoded.ids)} tokens, more than {self.max_tokens}"
                skips.append(Skip(sentence, name, place, "too-long", detail))
            else:
                kept.append((encoded, row))
        kept.sort(key=lambda pair: (len(pair[0].ids), pair[1][0]))
        inputs = [
            Input(sequences + at, row[1], row[0], row[2], row[3], tuple(row[4]), encoded)
            for at, (encoded, row) in enumerate(kept)
        ]
        return inputs, skips
