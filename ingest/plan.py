"""Which inputs go through the model together, and in what order.

The plan is a function of the corpus, the tokenizer and the options alone, so that an
interrupted run finds its place again by counting batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from duckdb import DuckDBPyConnection

from attnbank.ingest.contexts import context_of
from attnbank.ingest.inputs import WINDOW, Draft, Input, Skip, tokenised
from attnbank.ingest.sampling import Passed, sampled
from attnbank.ingest.tokens import TokenizerLayout, Unit

__all__ = ["Batch", "Input", "Planner", "Skip"]

USUAL_LENGTH = 128
"""Tokens from which on the weights (a square), not the tokens, limit a batch."""


@dataclass
class Batch:
    """Inputs that go through the model together, shortest first, and sentences left out."""

    number: int  # 1-based in the run
    inputs: list[Input] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    passed: int = 0  # sentences of inputs that are not in the sample

    @property
    def sentences(self) -> int:
        """How many sentences of the corpus it accounts for."""
        inside = sum(len(each.sentences) for each in self.inputs)
        return inside + len(self.skips) + self.passed


@dataclass
class _Window:
    """Inputs that are sorted by length together: little padding, little memory."""

    drafts: list[Draft] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    passed: int = 0
    sentences: int = 0  # those passed over left out: few of many inputs still fill batches

    def sort(self) -> _Window:
        self.drafts.sort(key=lambda draft: (draft.tokens, draft.sentences[0].id))
        return self


@dataclass(frozen=True)
class Planner:
    """Makes the batches of a run from the corpus in the bank."""

    layout: TokenizerLayout
    unit: Unit
    max_tokens: int
    batch_tokens: int
    context: str = "sentence"
    truncate: bool = False
    limit: int | None = None
    seed: int = 0

    def batches(self, connection: DuckDBPyConnection, corpus: int) -> Iterator[Batch]:
        """Every batch of the run, in order.

        Inputs are gathered in windows, sorted by length (then by place), and cut where one more
        input would take more than `batch_tokens`, padding included, or more attention weights
        than that many tokens in inputs of 128. What is left out of a window goes with its first
        batch.
        """
        number = sequences = 0
        for window in self._windows(connection, corpus):
            batch = Batch(number + 1, skips=window.skips, passed=window.passed)
            for draft in window.drafts:
                if batch.inputs and not self._has_room(batch, draft):
                    number += 1
                    yield batch
                    batch = Batch(number + 1)
                batch.inputs.append(draft.finish(self.layout, self.unit, sequences))
                sequences += 1
            if batch.inputs or batch.skips:
                number += 1
                yield batch

    def _has_room(self, batch: Batch, draft: Draft) -> bool:
        """Whether the draft, the longest so far, may join the batch."""
        padded = draft.tokens * (len(batch.inputs) + 1)
        return padded * max(draft.tokens, USUAL_LENGTH) <= self.batch_tokens * USUAL_LENGTH

    def _windows(self, connection: DuckDBPyConnection, corpus: int) -> Iterator[_Window]:
        window = _Window()
        for each in self._items(connection, corpus):
            if isinstance(each, Draft):
                window.drafts.append(each)
                window.skips.extend(each.cut)
                window.sentences += each.covered
            elif isinstance(each, Skip):
                window.skips.append(each)
                window.sentences += 1
            else:
                window.passed += each.sentences
            if window.sentences >= WINDOW:
                yield window.sort()
                window = _Window()
        yield window.sort()

    def _items(
        self, connection: DuckDBPyConnection, corpus: int
    ) -> Iterator[Draft | Skip | Passed]:
        """What the context makes of the corpus, or the sample of it."""
        context = context_of(
            self.context, self.layout, self.max_tokens, truncate=self.truncate, seed=self.seed
        )

        def drafts() -> Iterator[Draft | Skip]:
            return context.drafts(tokenised(connection, corpus, self.layout))

        return drafts() if self.limit is None else sampled(drafts, self.limit, self.seed)
