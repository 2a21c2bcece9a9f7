"""What one input of the model is: a sentence, whole sentences of a document, or two segments.

A context turns the sentences of a corpus, in order, into drafts of inputs and into sentences that
are left out. It takes each sentence once and keeps no more than one input, so that a corpus of any
length passes through. Every sentence ends in exactly one draft or one `Skip`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from attnbank.ingest.inputs.drafts import Draft, OwnedPiece, Skip, TokenisedSentence
from attnbank.ingest.models.tokenizer import InputTokenizer, Piece


class Context(Protocol):
    """Makes inputs of sentences."""

    def drafts(self, sentences: Iterable[TokenisedSentence]) -> Iterator[Draft | Skip]:
        """The inputs in the order of the text, and the sentences that are in none."""
        ...


def context_of(
    name: str,
    input_tokenizer: InputTokenizer,
    max_tokens: int,
    *,
    truncate: bool = False,
    seed: int = 0,
) -> Context:
    """The context of this name (sentence, document or pair) for a tokenizer."""
    if name == "pair":
        room = Room(max_tokens, input_tokenizer.pair.size)
        return PairContext(room, seed, parted=bool(input_tokenizer.pair.around[1]))
    room = Room(max_tokens, input_tokenizer.single.size)
    if name == "document":
        return DocumentContext(room, truncate)
    return SentenceContext(room)


@dataclass(frozen=True)
class Room:
    """How long an input can be."""

    max_tokens: int
    special: int  # how many of them are special tokens

    @property
    def tokens(self) -> int:
        """How many tokens of text it has room for."""
        return self.max_tokens - self.special

    def too_long(self, sentence: TokenisedSentence) -> Skip | None:
        """Why the sentence cannot be in any input, if it cannot."""
        tokens = len(sentence.opening) + self.special
        if tokens <= self.max_tokens:
            return None
        return sentence.skip("too-long", f"{tokens} tokens, more than {self.max_tokens}")


@dataclass(frozen=True)
class SentenceContext:
    """Each sentence is an input (sections 4.2 and 5 of the paper)."""

    room: Room

    def drafts(self, sentences: Iterable[TokenisedSentence]) -> Iterator[Draft | Skip]:
        """A draft for each sentence that has room."""
        for sentence in sentences:
            unfit = sentence.fault or self.room.too_long(sentence)
            yield unfit or Draft((sentence,), (_joined([sentence]),), self.room.special)


@dataclass(frozen=True)
class DocumentContext:
    """Whole sentences of a document, as many as fit, in order (section 4.3 of the paper).

    An input is an unbroken stretch of the text: a sentence that cannot be in any (it is too long
    by itself, or one of its words has no piece) ends the input before it. With `first_only` each
    document gives its first input alone, as in the paper, which cuts documents after 128 tokens.
    """

    room: Room
    first_only: bool = False

    def drafts(self, sentences: Iterable[TokenisedSentence]) -> Iterator[Draft | Skip]:
        """Drafts of as many sentences as have room."""
        document = None
        given = False  # whether the document has its first input
        packed: list[TokenisedSentence] = []
        length = 0
        for sentence in sentences:
            new = sentence.document != document
            unfit = sentence.fault or self.room.too_long(sentence)
            full = length + len(sentence.following) > self.room.tokens
            if packed and (new or unfit or full):
                yield self._draft(packed)
                packed, length, given = [], 0, True
            if new:
                document, given = sentence.document, False
            if unfit:
                yield unfit
            elif given and self.first_only:
                yield sentence.skip("truncated", "the document is cut after its first input")
            else:
                length += len(sentence.following if packed else sentence.opening)
                packed.append(sentence)
        if packed:
            yield self._draft(packed)

    def _draft(self, packed: list[TokenisedSentence]) -> Draft:
        return Draft(tuple(packed), (_joined(packed),), self.room.special)


@dataclass(frozen=True)
class PairContext:
    """Two segments of a document, one after the other, as in BERT's pre-training (section 3).

    Sentences are gathered until their tokens fill the input; a seeded place between two of them
    parts A from B; while the two are too long, the longer one (B of equals) loses its first or its
    last token, by a seeded coin. B always follows A in the text, and nothing is masked.

    An input has two sentences at least: where the first one fills it by itself, the next is B all
    the same. A sentence with none to pair it with before the document ends (or before one without
    pieces, which ends the input as in a document) is left out. The published code makes no such
    input either, but drops the rest of the document with it.

    What is drawn for an input depends on `seed` and on where its first sentence stands, not on
    what is read before it.
    """

    room: Room
    seed: int
    parted: bool  # whether a special token stands between A and B

    def drafts(self, sentences: Iterable[TokenisedSentence]) -> Iterator[Draft | Skip]:
        """Drafts of two segments."""
        document = None
        gathered: list[TokenisedSentence] = []
        length = 0
        for sentence in sentences:
            if sentence.document != document or sentence.fault:
                yield from self._pair(gathered)
                document, gathered, length = sentence.document, [], 0
            if sentence.fault:
                yield sentence.fault
                continue
            length += len(sentence.following if gathered else sentence.opening)
            gathered.append(sentence)
            if length >= self.room.tokens and len(gathered) > 1:
                yield from self._pair(gathered)
                gathered, length = [], 0
        yield from self._pair(gathered)

    def _pair(self, gathered: list[TokenisedSentence]) -> Iterator[Draft | Skip]:
        if len(gathered) < 2:
            for each in gathered:
                yield each.skip("unpaired", "no sentence is left to pair it with")
            return
        first = gathered[0]
        rng = random.Random(f"pair {self.seed} {first.document_index} {first.index}")
        split = 1 + int(rng.random() * (len(gathered) - 1))
        a, b = _truncated(
            _joined(gathered[:split]),
            _joined(gathered[split:], following=not self.parted),
            self.room.tokens,
            rng,
        )
        left = {owner.id for owner, _ in (*a, *b)}
        detail = f"nothing of it is left in an input of {self.room.max_tokens} tokens"
        yield Draft(
            tuple(each for each in gathered if each.id in left),
            (a, b),
            self.room.special,
            tuple(each.skip("cut-off", detail) for each in gathered if each.id not in left),
        )


def _truncated(
    a: Sequence[OwnedPiece], b: Sequence[OwnedPiece], room: int, rng: random.Random
) -> tuple[tuple[OwnedPiece, ...], tuple[OwnedPiece, ...]]:
    """Cut A and B to `room` tokens together, one token of the longer segment at a time."""
    range_a, range_b = [0, len(a)], [0, len(b)]
    for _ in range(len(a) + len(b) - room):
        longer = range_a if range_a[1] - range_a[0] > range_b[1] - range_b[0] else range_b
        if rng.random() < 0.5:
            longer[0] += 1
        else:
            longer[1] -= 1
    return tuple(a[slice(*range_a)]), tuple(b[slice(*range_b)])


def _joined(
    sentences: Sequence[TokenisedSentence], *, following: bool = False
) -> tuple[OwnedPiece, ...]:
    """The pieces of whole sentences; `following` says that text stands before the first, too."""
    pieces: list[OwnedPiece] = []
    for at, each in enumerate(sentences):
        own: tuple[Piece, ...] = each.following if at or following else each.opening
        pieces.extend((each, piece) for piece in own)
    return tuple(pieces)
