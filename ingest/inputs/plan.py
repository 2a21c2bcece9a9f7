"""Which inputs go through the model together, and in what order.

The plan is a function of the corpus, the tokenizer and the options alone, so that an
interrupted run finds its place again by counting batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from attnbank.ingest.inputs.contexts import context_of
from attnbank.ingest.inputs.drafts import WINDOW, Draft, Input, Skip, tokenised
from attnbank.ingest.inputs.reading import Ask
from attnbank.ingest.inputs.sampling import draw, sampled
from attnbank.ingest.inputs.spans import Multiword
from attnbank.ingest.models.tokenizer import InputTokenizer, Unit

__all__ = ["Batch", "Input", "Plan", "Planner", "Skip"]

USUAL_LENGTH = 128
"""Tokens from which on the weights (a square), not the tokens, limit a batch."""


@dataclass
class Batch:
    """Inputs that go through the model together, shortest first, and sentences left out."""

    number: int  # 1-based in the run
    inputs: list[Input] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    is_part: bool = False  # of a plan that takes a part of the corpus by design

    @property
    def sentences(self) -> int:
        """How many of the sentences that the plan counts it accounts for."""
        inside = sum(len(each.sentences) for each in self.inputs)
        return inside if self.is_part else inside + len(self.skips)


@dataclass(frozen=True)
class Plan:
    """The batches of a run, in order, and the sentences that all of them account for.

    `sentences` are those of the corpus; of a sample, or of truncated documents, those that the
    inputs hold.
    """

    sentences: int
    batches: Iterator[Batch]


@dataclass
class _Window:
    """Inputs that are sorted by length together: little padding, little memory."""

    drafts: list[Draft] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    sentences: int = 0

    def sort(self) -> _Window:
        self.drafts.sort(key=lambda draft: (draft.tokens, draft.sentences[0].id))
        return self


@dataclass(frozen=True)
class Planner:
    """Makes the batches of a run from the corpus in the bank."""

    input_tokenizer: InputTokenizer
    unit: Unit
    max_tokens: int
    batch_tokens: int
    context: str = "sentence"
    truncate: bool = False
    limit: int | None = None
    seed: int = 0
    multiword: Multiword = "written"

    @property
    def is_part(self) -> bool:
        """Whether it takes a part of the corpus by design: a sample, or truncated documents."""
        return self.truncate or self.limit is not None

    def plan(
        self,
        ask: Ask,
        corpus: int,
        looked: Callable[[int], None] = lambda inputs: None,
    ) -> Plan:
        """The batches of the run, and how many sentences they account for.

        A part of the corpus must be counted, and a sample drawn, before the first batch: then
        `looked(inputs)` tells how many inputs were gone through so far.
        """

        def drafts() -> Iterator[Draft | Skip]:
            context = context_of(
                self.context,
                self.input_tokenizer,
                self.max_tokens,
                truncate=self.truncate,
                seed=self.seed,
            )
            return context.drafts(tokenised(ask, corpus, self.input_tokenizer, self.multiword))

        if not self.is_part:
            (extent,) = ask("ingest/corpus_extent", {"corpus": corpus})
            return Plan(extent[0], self._batches(drafts()))
        first = _told(drafts(), looked)
        if self.limit is None:
            held = sum(len(each.sentences) for each in first if isinstance(each, Draft))
            return Plan(held, self._batches(drafts()))
        sample = draw(first, self.limit, self.seed)
        return Plan(sample.sentences, self._batches(sampled(drafts(), sample)))

    def _batches(self, items: Iterator[Draft | Skip]) -> Iterator[Batch]:
        """Every batch of the run, in order.

        Inputs are gathered in windows, sorted by length (then by place), and cut where one more
        input would take more than `batch_tokens`, padding included, or more attention weights
        than that many tokens in inputs of 128. What is left out of a window goes with its first
        batch.
        """
        number = sequences = 0
        for window in _windows(items):
            batch = Batch(number + 1, skips=window.skips, is_part=self.is_part)
            for draft in window.drafts:
                if batch.inputs and not self._has_room(batch, draft):
                    number += 1
                    yield batch
                    batch = Batch(number + 1, is_part=self.is_part)
                batch.inputs.append(draft.finish(self.input_tokenizer, self.unit, sequences))
                sequences += 1
            if batch.inputs or batch.skips:
                number += 1
                yield batch

    def _has_room(self, batch: Batch, draft: Draft) -> bool:
        """Whether the draft, the longest so far, may join the batch."""
        padded = draft.tokens * (len(batch.inputs) + 1)
        return padded * max(draft.tokens, USUAL_LENGTH) <= self.batch_tokens * USUAL_LENGTH


def _windows(items: Iterator[Draft | Skip]) -> Iterator[_Window]:
    window = _Window()
    for each in items:
        if isinstance(each, Draft):
            window.drafts.append(each)
            window.skips.extend(each.cut)
            window.sentences += each.covered
        else:
            window.skips.append(each)
            window.sentences += 1
        if window.sentences >= WINDOW:
            yield window.sort()
            window = _Window()
    yield window.sort()


def _told(items: Iterator[Draft | Skip], looked: Callable[[int], None]) -> Iterator[Draft | Skip]:
    """The same drafts; `looked` is told their number after every thousand."""
    for number, each in enumerate(items, start=1):
        if number % 1000 == 0:
            looked(number)
        yield each
