"""Which inputs go through the model together, and in what order.

The plan is a function of the corpus, the model and the options alone, so that an
interrupted run finds its place again by counting batches.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from attnbank.ingest.inputs.candidate_inputs import (
    WINDOW,
    Ask,
    Draft,
    Input,
    Skip,
    tokenise_sentences,
)
from attnbank.ingest.inputs.contexts import Room, document_drafts, pair_drafts, sentence_drafts
from attnbank.ingest.models.attention_behaviour import Batching
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.options import Edges, Multiword, Unit

USUAL_LENGTH = 128  # tokens from which on the weights (a square) limit a batch


@dataclass
class Batch:
    """Inputs that go through the model together, shortest first, and sentences left out."""

    number: int  # 1-based in the run
    inputs: list[Input] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    is_part: bool = False  # of a plan that takes a part of the corpus by design
    effort: float = 0.0  # how long it takes, in sentences of which its window has as many

    @property
    def sentence_count(self) -> int:
        """How many of the sentences that the plan counts it accounts for."""
        inside = sum(len(input.sentences) for input in self.inputs)
        return inside if self.is_part else inside + len(self.skips)


@dataclass(frozen=True)
class Plan:
    """The batches of a run, in order, and the sentences that all of them account for."""

    sentences: int  # of the corpus; of a sample, or of truncated documents, those in the inputs
    batches: Iterator[Batch]


PlanKey = tuple[int, int, Batching, tuple[tuple[int, int], ...]]
SharedPlans = dict[PlanKey, tuple[int, list[Batch]]]
_MOST_SHARED_TOKENS = 3_000_000
"""Tokens of a plan that is kept for the next run: some hundred megabytes."""


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
    batching: Batching = "padded"
    edges: Edges = "cut"
    earlier_batch_tokens: tuple[tuple[int, int], ...] = ()
    """Up to which batch other budgets held before `batch_tokens`, in order: (batch, tokens)."""
    shared: SharedPlans | None = field(default=None, compare=False)
    """The batches that runs with the same plan share, kept from the first of them on."""

    @property
    def is_part(self) -> bool:
        """Whether it takes a part of the corpus by design: a sample, or truncated documents."""
        return self.truncate or self.limit is not None

    def plan(
        self, query: Ask, corpus: int, on_inputs: Callable[[int], None] = lambda inputs: None
    ) -> Plan:
        """The batches of the run, and how many sentences they account for.

        A part of the corpus must be counted, and a sample drawn, before the first batch: then
        `looked(inputs)` tells how many inputs were gone through so far.
        """
        if self.shared is None:
            return self._make_plan(query, corpus, on_inputs)
        key = (corpus, self.batch_tokens, self.batching, self.earlier_batch_tokens)
        if key in self.shared:
            sentences, batches = self.shared[key]
            return Plan(sentences, iter(batches))
        plan = self._make_plan(query, corpus, on_inputs)
        return Plan(plan.sentences, _shared_batches(plan, self.shared, key))

    def _make_plan(self, ask: Ask, corpus: int, looked: Callable[[int], None]) -> Plan:
        if not self.is_part:
            (extent,) = ask("ingest/corpus_extent", {"corpus": corpus})
            return Plan(extent[0], self._batches(self._drafts(ask, corpus)))
        first = _report_every_thousand(self._drafts(ask, corpus), looked)
        drafts = self._drafts(ask, corpus)
        if self.limit is None:
            sentence_count = sum(
                len(draft.sentences) for draft in first if isinstance(draft, Draft)
            )
            return Plan(sentence_count, self._batches(drafts))
        sample = sample_inputs(first, self.limit, self.seed)
        return Plan(sum(sample.values()), self._batches(select_sampled(drafts, sample)))

    def _drafts(self, query: Ask, corpus: int) -> Iterator[Draft | Skip]:
        tokenizer = self.input_tokenizer
        sentences = tokenise_sentences(query, corpus, tokenizer, self.multiword, self.edges)
        frame = tokenizer.pair if self.context == "pair" else tokenizer.single
        room = Room(self.max_tokens, frame.count)
        if self.context == "pair":
            return pair_drafts(sentences, room, seed=self.seed, parted=bool(frame.around[1]))
        if self.context == "document":
            return document_drafts(sentences, room, first_only=self.truncate)
        return sentence_drafts(sentences, room)

    def _batches(self, items: Iterator[Draft | Skip]) -> Iterator[Batch]:
        """Inputs are gathered in windows, sorted by length (then by place): little padding.

        They are cut where one more input would take more than `batch_tokens`, padding included, or
        more attention weights than that many tokens in inputs of 128; or where the model must not
        see it together with the others (`batching`). What is left out of a window goes with its
        first batch.
        """
        number = sequences = 0
        for drafts, skips in _group_by_window(items):
            drafts.sort(key=lambda draft: (draft.tokens, draft.sentences[0].id))
            batch = Batch(number + 1, skips=skips, is_part=self.is_part)
            sentence_count = sum(len(draft.sentences) for draft in drafts)
            counted = sentence_count if self.is_part else sentence_count + len(skips)
            of_effort = counted / max(1, sum(map(_effort, drafts)))
            for draft in drafts:
                if batch.inputs and not self._has_room(batch, draft):
                    number += 1
                    yield batch
                    batch = Batch(number + 1, is_part=self.is_part)
                batch.effort += _effort(draft) * of_effort
                batch.inputs.append(draft.finish(self.input_tokenizer, self.unit, sequences))
                sequences += 1
            if batch.inputs or batch.skips:
                number += 1
                yield batch

    def _has_room(self, batch: Batch, draft: Draft) -> bool:
        """Whether the draft, the longest so far, may join the batch."""
        if self.batching == "single":
            return False
        if self.batching == "equal" and len(batch.inputs[0].encoded.ids) != draft.tokens:
            return False
        earlier = (tokens for last, tokens in self.earlier_batch_tokens if batch.number <= last)
        budget = next(earlier, self.batch_tokens)
        padded = draft.tokens * (len(batch.inputs) + 1)
        return padded * max(draft.tokens, USUAL_LENGTH) <= budget * USUAL_LENGTH


def _shared_batches(plan: Plan, shared: SharedPlans, key: PlanKey) -> Iterator[Batch]:
    """The batches of a plan, which are shared from their end on, if there are not too many."""
    batches: list[Batch] = []
    tokens = 0
    for batch in plan.batches:
        tokens += sum(len(input.encoded.ids) for input in batch.inputs)
        if tokens <= _MOST_SHARED_TOKENS:
            batches.append(batch)
        yield batch
    if tokens <= _MOST_SHARED_TOKENS:
        shared[key] = plan.sentences, batches


def _effort(draft: Draft) -> int:
    """How long an input takes: part of it goes by its tokens, part by its weights, a square."""
    return draft.tokens * (draft.tokens + USUAL_LENGTH // 2)


def _group_by_window(items: Iterator[Draft | Skip]) -> Iterator[tuple[list[Draft], list[Skip]]]:
    """Inputs, and what is left out, of so many sentences at a time."""
    drafts: list[Draft] = []
    skips: list[Skip] = []
    sentence_count = 0
    for item in items:
        if isinstance(item, Draft):
            drafts.append(item)
            skips.extend(item.cut)
            sentence_count += len(item.sentences)
        else:
            skips.append(item)
        if sentence_count + len(skips) >= WINDOW:
            yield drafts, skips
            drafts, skips, sentence_count = [], [], 0
    yield drafts, skips


def _report_every_thousand(
    items: Iterator[Draft | Skip], on_inputs: Callable[[int], None]
) -> Iterator[Draft | Skip]:
    """The same drafts; `looked` is told their number after every thousand."""
    for number, item in enumerate(items, start=1):
        if number % 1000 == 0:
            on_inputs(number)
        yield item


def sample_inputs(drafts: Iterable[Draft | Skip], limit: int, seed: int) -> dict[int, int]:
    """Draw those `limit` inputs whose lots are the smallest.

    The lot of an input depends on the seed and on where it begins alone, so that a smaller sample
    is a part of a larger one. Returns how many sentences each holds, by its 0-based place.
    """
    inputs = (item for item in drafts if isinstance(item, Draft))
    lots = ((_lot(draft, seed), index, len(draft.sentences)) for index, draft in enumerate(inputs))
    return {index: sentences for _, index, sentences in heapq.nsmallest(limit, lots)}


def select_sampled(
    drafts: Iterable[Draft | Skip], places: Collection[int]
) -> Iterator[Draft | Skip]:
    """The inputs at these places and every sentence that is left out, in the order of the text."""
    index = count()
    return (item for item in drafts if isinstance(item, Skip) or next(index) in places)


def _lot(draft: Draft, seed: int) -> int:
    first = draft.sentences[0]
    text = f"sample {seed} {first.document_index} {first.index}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
