"""Which inputs go through the model together, and in what order.

The plan is a function of the corpus, the tokenizer and the options alone, so that an
interrupted run finds its place again by counting batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from duckdb import DuckDBPyConnection

from attnbank.ingest.contexts import (
    Context,
    DocumentContext,
    PairContext,
    Room,
    SentenceContext,
)
from attnbank.ingest.inputs import WINDOW, Draft, Input, Skip, tokenised
from attnbank.ingest.sampling import Passed, sampled
from attnbank.ingest.tokens import Piece, TokenizerLayout, Unit

__all__ = ["Batch", "Input", "Planner", "Skip"]


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
    sentences: int = 0


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
        input would take more than `batch_tokens`, padding included. What is left out of a window
        goes with its first batch.
        """
        number = sequences = passed = 0
        for window in self._windows(connection, corpus):
            batch = Batch(number + 1, skips=window.skips, passed=passed + window.passed)
            longest = self._special
            for draft in window.drafts:  # they are sorted: the last is the longest
                longest = draft.pieces + self._special
                if batch.inputs and longest * (len(batch.inputs) + 1) > self.batch_tokens:
                    number += 1
                    yield batch
                    batch = Batch(number + 1)
                batch.inputs.append(self._input(draft, sequences))
                sequences += 1
            if batch.inputs or batch.skips:
                number += 1
                yield batch
                passed = 0
            else:
                passed = batch.passed

    @property
    def _special(self) -> int:
        return (self.layout.pair if self.context == "pair" else self.layout.single).size

    def _context(self) -> Context:
        room = Room(self.max_tokens, self._special)
        if self.context == "pair":
            return PairContext(room, self.seed, parted=bool(self.layout.pair.around[1]))
        if self.context == "document":
            return DocumentContext(room, self.truncate)
        return SentenceContext(room)

    def _windows(self, connection: DuckDBPyConnection, corpus: int) -> Iterator[_Window]:
        context = self._context()

        def drafts() -> Iterator[Draft | Skip]:
            return context.drafts(tokenised(connection, corpus, self.layout))

        items: Iterator[Draft | Skip | Passed] = (
            drafts() if self.limit is None else sampled(drafts, self.limit, self.seed)
        )
        window = _Window()
        for each in items:
            if isinstance(each, Draft):
                window.drafts.append(each)
                window.skips.extend(each.cut)
                window.sentences += each.covered
            elif isinstance(each, Skip):
                window.skips.append(each)
                window.sentences += 1
            else:
                window.passed += each.sentences
                window.sentences += each.sentences
            if window.sentences >= WINDOW:
                yield _sorted(window)
                window = _Window()
        yield _sorted(window)

    def _input(self, draft: Draft, sequence: int) -> Input:
        """Give an input its special tokens and its place."""
        words: list[int] = []
        forms: list[str] = []
        segments: list[list[Piece]] = []
        for owned in draft.segments:
            pieces = []
            for sentence, (id, text, index) in owned:
                word = sentence.words[index]
                if not words or words[-1] != word:
                    words.append(word)
                    forms.append(sentence.forms[index])
                pieces.append(Piece(id, text, len(words) - 1))
            segments.append(pieces)
        return Input(
            sequence,
            draft.sentences[0].document,
            draft.sentences,
            tuple(words),
            self.layout.assemble(segments, forms, self.unit),
        )


def _sorted(window: _Window) -> _Window:
    window.drafts.sort(key=lambda draft: (draft.pieces, draft.sentences[0].id))
    return window
