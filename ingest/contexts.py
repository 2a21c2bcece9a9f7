"""What one input of the model is: a sentence, whole sentences of a document, or a pair of segments.

A context turns the sentences of a corpus, in order, into drafts of inputs and into sentences that
are left out. It reads each sentence once and keeps no more than one input, so that a corpus of any
length passes through. Every sentence ends in exactly one draft or one `Skip`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from attnbank.ingest.inputs import Draft, OwnedPiece, Skip, TokenisedSentence
from attnbank.ingest.tokens import Piece


class Context(Protocol):
    """Makes inputs of sentences."""

    def drafts(self, sentences: Iterable[TokenisedSentence]) -> Iterator[Draft | Skip]:
        """The inputs in the order of the text, and the sentences that are in none."""
        ...


@dataclass(frozen=True)
class Room:
    """How long an input can be."""

    max_tokens: int
    special: int  # how many of them are special tokens

    @property
    def tokens(self) -> int:
        """How many tokens of text it has room for."""
        return self.max_tokens - self.special


@dataclass(frozen=True)
class SentenceContext:
    """Each sentence is an input (sections 4.2 and 5 of the paper)."""

    room: Room

    def drafts(self, sentences: Iterable[TokenisedSentence]) -> Iterator[Draft | Skip]:
        """A draft for each sentence that has room."""
        for sentence in sentences:
            if sentence.fault is not None:
                yield sentence.fault
            elif len(sentence.opening) > self.room.tokens:
                yield _too_long(sentence, self.room)
            else:
                yield Draft((sentence,), (_owned(sentence, sentence.opening),))


@dataclass(frozen=True)
class DocumentContext:
    """Whole sentences of a document, as many as fit (section 4.3 of the paper).

    An input is a stretch of the text: a sentence that cannot be in it (too long by itself, or
    with a word that has no piece) ends it. With `first_only`, a document gives one input, as in
    the paper, which cuts documents after 128 tokens.
    """

    room: Room
    first_only: bool = False

    def drafts(self, sentences: Iterable[TokenisedSentence]) -> Iterator[Draft | Skip]:
        """Drafts of as many sentences as have room, packed in order."""
        document = None
        packed: list[TokenisedSentence] = []
        length = 0
        done = False  # whether the document has given its input already
        for sentence in sentences:
            if sentence.document != document:
                if packed:
                    yield _joined(packed)
                document, packed, length, done = sentence.document, [], 0, False
            if self.first_only and done:
                detail = "the document is cut after its first input"
                yield sentence.fault or sentence.skip("truncated", detail)
                continue
            fits = sentence.fault is None and len(sentence.opening) <= self.room.tokens
            if packed and (not fits or length + len(sentence.following) > self.room.tokens):
                yield _joined(packed)
                packed, length, done = [], 0, True
                if self.first_only and fits:
                    yield sentence.skip("truncated", "the document is cut after its first input")
                    continue
            if sentence.fault is not None:
                yield sentence.fault
            elif not fits:
                yield _too_long(sentence, self.room)
            else:
                length += len(sentence.following if packed else sentence.opening)
                packed.append(sentence)
        if packed:
            yield _joined(packed)


@dataclass(frozen=True)
class PairContext:
    """Two segments of a document that follow each other, as in BERT's pre-training (section 3).

    Sentences are gathered until their tokens fill the input; a seeded place between two of them
    parts A from B; while the two are too long, the longer one (B of equals) loses its first or its
    last token, by a seeded coin. B always follows A in the text, and nothing is masked.

    An input has two sentences at least: where the first one fills it by itself, the next is B all
    the same. The last sentence of a document goes without an input where no other is left to pair
    it with. (The published code drops the rest of the document at such a sentence.)

    The seed of each input is made of `seed` and its first sentence's place, so that an input is the
    same whatever is read before it.
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
            if sentence.document != document or sentence.fault is not None:
                yield from self._pair(gathered)
                document, gathered, length = sentence.document, [], 0
            if sentence.fault is not None:
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
            detail = "no other sentence is left in the document (or before one without pieces)"
            yield from (each.skip("unpaired", detail) for each in gathered)
            return
        first = gathered[0]
        chance = random.Random(f"pair {self.seed} {first.document_index} {first.index}")
        split = 1 + int(chance.random() * (len(gathered) - 1))
        a = _joined(gathered[:split]).segments[0]
        b = _joined(gathered[split:], following=not self.parted).segments[0]
        a, b = _truncated(a, b, self.room.tokens, chance)
        detail = f"nothing of it is left in an input of {self.room.max_tokens} tokens"
        left = {owner.id for owner, _ in (*a, *b)}
        yield Draft(
            tuple(each for each in gathered if each.id in left),
            (a, b),
            tuple(each.skip("cut-off", detail) for each in gathered if each.id not in left),
        )


def _truncated(
    a: tuple[OwnedPiece, ...], b: tuple[OwnedPiece, ...], room: int, chance: random.Random
) -> tuple[tuple[OwnedPiece, ...], tuple[OwnedPiece, ...]]:
    """Cut A and B to `room` tokens together, a token of the longer at a time."""
    ends = [[0, len(a)], [0, len(b)]]
    while sum(end - start for start, end in ends) > room:
        longer = ends[0] if ends[0][1] - ends[0][0] > ends[1][1] - ends[1][0] else ends[1]
        if chance.random() < 0.5:
            longer[0] += 1
        else:
            longer[1] -= 1
    return a[slice(*ends[0])], b[slice(*ends[1])]


def _joined(sentences: list[TokenisedSentence], following: bool = False) -> Draft:
    """An input of whole sentences; `following`: something of the text stands before them."""
    pieces: list[OwnedPiece] = []
    for at, each in enumerate(sentences):
        pieces.extend(_owned(each, each.following if at or following else each.opening))
    return Draft(tuple(sentences), (tuple(pieces),))


def _owned(sentence: TokenisedSentence, pieces: tuple[Piece, ...]) -> tuple[OwnedPiece, ...]:
    return tuple((sentence, piece) for piece in pieces)


def _too_long(sentence: TokenisedSentence, room: Room) -> Skip:
    tokens = len(sentence.opening) + room.special
    return sentence.skip("too-long", f"{tokens} tokens, more than {room.max_tokens}")
