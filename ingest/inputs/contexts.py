"""Makes inputs of sentences: one sentence, whole sentences of a document, or two segments.

Each function turns the sentences of a corpus, in order, into drafts of inputs, and into `Skip`s:
every sentence ends up in exactly one of them. At most one input is in memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attnbank.ingest.inputs.candidate_inputs import Draft, OwnedPiece, Skip, TokenisedSentence


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
