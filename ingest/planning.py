"""Plans the batches of a run: sentences become inputs, and inputs batches.

The plan depends on the corpus, the model and the options alone, so that an interrupted run can
resume by counting batches.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from attnbank.ingest.candidate_inputs import (
    WINDOW,
    Draft,
    Input,
    OwnedPiece,
    Query,
    Skip,
    TokenisedSentence,
    tokenise_sentences,
)
from attnbank.ingest.models.attention_behaviour import Batching
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.options import IngestOptions

_UNMASKABLE = ("nothing-to-mask", "none of its tokens can be masked: all are special tokens")
USUAL_LENGTH = 128  # tokens; of longer inputs the weights (quadratic) limit a batch, not the tokens


@dataclass
class Batch:
    """The inputs of one forward pass, shortest first, and skipped sentences."""

    number: int  # 1-based in the run
    inputs: list[Input] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    sentence_count: int = 0  # how many of `Plan.sentences` it accounts for
    effort: float = 0.0  # how long it takes, scaled so that a window's sum is its sentences


@dataclass(frozen=True)
class Plan:
    """The batches of a run, in order, and the number of sentences in all of them."""

    sentences: int  # of the corpus; of a sample, or of truncated documents, those in the inputs
    batches: Iterator[Batch]


class PlanKey(NamedTuple):
    """What tells the plans of the runs of a series apart; the rest of a Planner is the same."""

    corpus: int
    batching: Batching
    earlier_batch_tokens: tuple[tuple[int, int], ...]


SharedPlans = dict[PlanKey, tuple[int, list[Batch]]]  # the sentences and the batches of each
_MOST_SHARED_TOKENS = 3_000_000  # of a plan that is kept for the next run: some hundred megabytes


@dataclass(frozen=True)
class Planner:
    """Makes the batches of a run from the corpus in the bank."""

    input_tokenizer: InputTokenizer
    options: IngestOptions
    max_tokens: int
    batching: Batching = "padded"
    # Budgets that applied before `options.batch_tokens`, in order: (last batch, tokens). A run that
    # resumes with smaller batches must number the earlier ones as before.
    earlier_batch_tokens: tuple[tuple[int, int], ...] = ()
    # Batches by plan, for the runs of a series; the first run fills it.
    shared: SharedPlans | None = field(default=None, compare=False)

    @property
    def is_part(self) -> bool:
        """Whether only a part of the corpus is used: a sample, or truncated documents."""
        return self.options.truncate or self.options.limit is not None

    def plan(
        self, query: Query, corpus: int, on_inputs: Callable[[int], None] = lambda inputs: None
    ) -> Plan:
        """Return the batches of a run, and the number of sentences in them.

        For a part of the corpus, all inputs are read once before the first batch, to count or
        sample them; `on_inputs` is called with the number read so far.
        """
        if self.shared is None:
            return self._make_plan(query, corpus, on_inputs)
        key = PlanKey(corpus, self.batching, self.earlier_batch_tokens)
        if key in self.shared:
            sentences, batches = self.shared[key]
            return Plan(sentences, iter(batches))
        plan = self._make_plan(query, corpus, on_inputs)
        return Plan(plan.sentences, _shared_batches(plan, self.shared, key))

    def _make_plan(self, query: Query, corpus: int, on_inputs: Callable[[int], None]) -> Plan:
        if not self.is_part:
            (extent,) = query("ingest/corpus_extent", {"corpus": corpus})
            return Plan(extent[0], self._batches(self._drafts(query, corpus)))
        # Reads the corpus twice, so that no more than a window of drafts is in memory.
        first = _report_every_thousand(self._drafts(query, corpus), on_inputs)
        drafts = self._drafts(query, corpus)
        if self.options.limit is None:
            sentence_count = sum(
                len(draft.sentences) for draft in first if isinstance(draft, Draft)
            )
            return Plan(sentence_count, self._batches(drafts))
        sample = sample_inputs(first, self.options.limit, self.options.seed)
        return Plan(sum(sample.values()), self._batches(select_sampled(drafts, sample)))

    def _drafts(self, query: Query, corpus: int) -> Iterator[Draft | Skip]:
        tokenizer, options = self.input_tokenizer, self.options
        sentences = tokenise_sentences(query, corpus, tokenizer, options.multiword, options.edges)
        frame = tokenizer.pair if options.context == "pair" else tokenizer.single
        room = TokenBudget(self.max_tokens, frame.count)
        if options.context == "pair":
            return pair_drafts(sentences, room, seed=options.seed, parted=bool(frame.around[1]))
        if options.context == "document":
            return document_drafts(sentences, room, first_only=options.truncate)
        return sentence_drafts(sentences, room)

    def _batches(self, items: Iterator[Draft | Skip]) -> Iterator[Batch]:
        """Batch inputs that are sorted by length within a window, for little padding.

        A batch ends where one more input would take more than `batch_tokens`, including padding, or
        more attention weights than that many tokens in inputs of 128; or where the model cannot run
        it together with the others (`batching`). The skips of a window are in its first batch. An
        input of special tokens alone is skipped if the run masks tokens.
        """
        number, is_sentence = 0, self.options.context == "sentence"
        tokenizer, unit = self.input_tokenizer, self.options.unit
        for drafts, skips in _group_by_window(items):
            drafts.sort(key=lambda draft: (draft.tokens, draft.sentences[0].id))
            skipped = 0 if self.is_part else len(skips)
            batch = Batch(number + 1, skips=skips, sentence_count=skipped)
            sentence_count = sum(len(draft.sentences) for draft in drafts)
            of_effort = (sentence_count + skipped) / max(1, sum(map(_effort, drafts)))
            for draft in drafts:
                if batch.inputs and not self._has_room(batch, draft):
                    number += 1
                    yield batch
                    batch = Batch(number + 1)
                batch.effort += _effort(draft) * of_effort
                batch.sentence_count += len(draft.sentences)
                model_input = draft.finish(tokenizer, unit, is_sentence=is_sentence)
                if not self.options.masked or model_input.encoded.maskable(tokenizer.special):
                    batch.inputs.append(model_input)
                else:
                    batch.skips += [sentence.skip(*_UNMASKABLE) for sentence in draft.sentences]
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
        budget = next(earlier, self.options.batch_tokens)
        padded = draft.tokens * (len(batch.inputs) + 1)
        return padded * max(draft.tokens, USUAL_LENGTH) <= budget * USUAL_LENGTH


def _shared_batches(plan: Plan, shared: SharedPlans, key: PlanKey) -> Iterator[Batch]:
    """Yield the batches of a plan; at the end, add them to `shared` if they are not too many."""
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
    """Estimate how long an input takes: a part is linear in its tokens, a part quadratic."""
    return draft.tokens * (draft.tokens + USUAL_LENGTH // 2)


def _group_by_window(items: Iterator[Draft | Skip]) -> Iterator[tuple[list[Draft], list[Skip]]]:
    """Group drafts and skips into windows of at least WINDOW sentences."""
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
    """Yield drafts and skips, and call `on_inputs` with their number after every thousand."""
    for number, item in enumerate(items, start=1):
        if number % 1000 == 0:
            on_inputs(number)
        yield item


def sample_inputs(drafts: Iterable[Draft | Skip], limit: int, seed: int) -> dict[int, int]:
    """Draw the `limit` inputs with the smallest lots.

    The lot of an input depends only on the seed and the position of its first sentence, so that a
    smaller sample is a part of a larger one. Returns the number of sentences of each, by 0-based
    index.
    """

    def lot(draft: Draft) -> int:
        first = draft.sentences[0]
        text = f"sample {seed} {first.document_index} {first.index}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

    inputs = (item for item in drafts if isinstance(item, Draft))
    lots = ((lot(draft), index, len(draft.sentences)) for index, draft in enumerate(inputs))
    return {index: sentences for _, index, sentences in heapq.nsmallest(limit, lots)}


def select_sampled(
    drafts: Iterable[Draft | Skip], places: Collection[int]
) -> Iterator[Draft | Skip]:
    """Return the inputs with these indices, and every skip, in the order of the text."""
    index = count()
    return (item for item in drafts if isinstance(item, Skip) or next(index) in places)


# Contexts: each of the three functions turns the sentences of a corpus, in order, into drafts of
# inputs, and into `Skip`s: every sentence ends up in exactly one of them. At most one input is in
# memory.


@dataclass(frozen=True)
class TokenBudget:
    """The maximum length of an input."""

    max_tokens: int
    special: int  # how many of them are special tokens

    @property
    def tokens(self) -> int:
        """The maximum number of tokens of text."""
        return self.max_tokens - self.special

    def why_skipped(self, sentence: TokenisedSentence) -> Skip | None:
        """Return why the sentence cannot be in any input, or None if it can."""
        tokens = len(sentence.opening) + self.special
        if sentence.fault is None and tokens > self.max_tokens:
            return sentence.skip("too-long", f"{tokens} tokens, more than {self.max_tokens}")
        return sentence.fault


def sentence_drafts(
    sentences: Iterable[TokenisedSentence], room: TokenBudget
) -> Iterator[Draft | Skip]:
    """Make an input of each sentence (sections 4.2 and 5 of the paper)."""
    for sentence in sentences:
        yield room.why_skipped(sentence) or Draft(
            (sentence,), (_join_sentences([sentence]),), room.special
        )


def document_drafts(
    sentences: Iterable[TokenisedSentence], room: TokenBudget, *, first_only: bool = False
) -> Iterator[Draft | Skip]:
    """Make inputs of whole sentences of a document, as many as fit (section 4.3 of the paper).

    An input is contiguous text: a sentence that cannot be in any input (it is too long, or one of
    its words has no piece) ends the current one. With `first_only`, only the first input of each
    document is made, as in the paper, which cuts documents after 128 tokens.
    """
    document = None
    has_input = False  # whether the document has its first input
    packed: list[TokenisedSentence] = []
    length = 0
    for sentence in sentences:
        new = sentence.document != document
        skip = room.why_skipped(sentence)
        full = length + len(sentence.following) > room.tokens
        if packed and (new or skip or full):
            yield Draft(tuple(packed), (_join_sentences(packed),), room.special)
            packed, length, has_input = [], 0, True
        if new:
            document, has_input = sentence.document, False
        if skip:
            yield skip
        elif has_input and first_only:
            yield sentence.skip("truncated", "the document is cut after its first input")
        else:
            length += len(sentence.following if packed else sentence.opening)
            packed.append(sentence)
    if packed:
        yield Draft(tuple(packed), (_join_sentences(packed),), room.special)


def pair_drafts(
    sentences: Iterable[TokenisedSentence], room: TokenBudget, *, seed: int, parted: bool
) -> Iterator[Draft | Skip]:
    """Make inputs of two consecutive segments, as in BERT's pre-training (section 3).

    At least two sentences are gathered until their tokens fill the input. They are split into A and
    B at a random sentence boundary, drawn from `seed` and the position of the first sentence. While
    they are too long, the longer segment (B if equal) loses its first or last token, at random.
    Nothing is masked. `parted` says whether a special token separates A and B.

    A single sentence left over at the end of a document, or before a sentence without pieces (which
    ends an input as in `document_drafts`), is skipped. The published code skips it too, but with it
    the rest of the document.
    """
    document = None
    gathered: list[TokenisedSentence] = []
    length = 0
    for sentence in sentences:
        if sentence.document != document or sentence.fault:
            yield from _make_pair(gathered, room, seed, parted)
            document, gathered, length = sentence.document, [], 0
        if sentence.fault:
            yield sentence.fault
            continue
        length += len(sentence.following if gathered else sentence.opening)
        gathered.append(sentence)
        if length >= room.tokens and len(gathered) > 1:
            yield from _make_pair(gathered, room, seed, parted)
            gathered, length = [], 0
    yield from _make_pair(gathered, room, seed, parted)


def _make_pair(
    gathered: list[TokenisedSentence], room: TokenBudget, seed: int, parted: bool
) -> Iterator[Draft | Skip]:
    if len(gathered) < 2:
        for sentence in gathered:
            yield sentence.skip("unpaired", "no sentence is left to pair it with")
        return
    first = gathered[0]
    # Seeded for each pair, so that a resumed run or a shard draws the same.
    rng = random.Random(f"pair {seed} {first.document_index} {first.index}")
    # Not rng.randrange, whose algorithm may change between versions of Python.
    split = 1 + int(rng.random() * (len(gathered) - 1))
    a = _join_sentences(gathered[:split])
    b = _join_sentences(gathered[split:], following=not parted)
    range_a, range_b = [0, len(a)], [0, len(b)]
    for _ in range(len(a) + len(b) - room.tokens):
        longer = range_a if range_a[1] - range_a[0] > range_b[1] - range_b[0] else range_b
        if rng.random() < 0.5:
            longer[0] += 1
        else:
            longer[1] -= 1
    a, b = a[slice(*range_a)], b[slice(*range_b)]
    left = {owner.id for owner, _ in (*a, *b)}
    detail = f"no part of it fits into an input of {room.max_tokens} tokens"
    used = tuple(sentence for sentence in gathered if sentence.id in left)
    cut = tuple(
        sentence.skip("cut-off", detail) for sentence in gathered if sentence.id not in left
    )
    yield Draft(used, (a, b), room.special, cut)


def _join_sentences(
    sentences: Sequence[TokenisedSentence], *, following: bool = False
) -> tuple[OwnedPiece, ...]:
    """Join the pieces of sentences; `following` says whether text precedes the first one too."""
    return tuple(
        (sentence, piece)
        for at, sentence in enumerate(sentences)
        for piece in (sentence.following if at or following else sentence.opening)
    )
