"""What one input of the model is: a sentence, whole sentences of a document, or two segments.

A context turns the sentences of a corpus, in order, into drafts of inputs and into `Skip`s of
sentences that are left out: every sentence ends in exactly one of them. It keeps no more than one
input at a time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attnbank.ingest.inputs.candidate_inputs import Draft, OwnedPiece, Skip, TokenisedSentence


@dataclass(frozen=True)
class Room:
    """How long an input can be."""

    max_tokens: int
    special: int  # how many of them are special tokens

    @property
    def tokens(self) -> int:
        """How many tokens of text it has room for."""
        return self.max_tokens - self.special

    def why_skipped(self, sentence: TokenisedSentence) -> Skip | None:
        """Why the sentence cannot be in any input, if it cannot."""
        tokens = len(sentence.opening) + self.special
        if sentence.fault is None and tokens > self.max_tokens:
            return sentence.skip("too-long", f"{tokens} tokens, more than {self.max_tokens}")
        return sentence.fault


def sentence_drafts(sentences: Iterable[TokenisedSentence], room: Room) -> Iterator[Draft | Skip]:
    """Each sentence is an input (sections 4.2 and 5 of the paper)."""
    for sentence in sentences:
        yield room.why_skipped(sentence) or Draft(
            (sentence,), (_join_sentences([sentence]),), room.special
        )


def document_drafts(
    sentences: Iterable[TokenisedSentence], room: Room, *, first_only: bool = False
) -> Iterator[Draft | Skip]:
    """Whole sentences of a document, as many as fit, in order (section 4.3 of the paper).

    An input is an unbroken stretch of the text: a sentence that cannot be in any (it is too long
    by itself, or one of its words has no piece) ends the input before it. With `first_only` each
    document gives its first input alone, as in the paper, which cuts documents after 128 tokens.
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
    sentences: Iterable[TokenisedSentence], room: Room, *, seed: int, parted: bool
) -> Iterator[Draft | Skip]:
    """Two segments of a document, one after the other, as in BERT's pre-training (section 3).

    Sentences, two at least, are gathered until their tokens fill the input; a place between two of
    them, drawn by `seed` and where the first one stands, parts A from B; while the two are too
    long, the longer one (B of equals) loses its first or its last token, by a seeded coin. Nothing
    is masked. `parted` says whether a special token stands between A and B.

    A sentence with none to pair it with before the document ends (or before one without pieces,
    which ends the input as in a document) is left out. The published code makes no such input
    either, but drops the rest of the document with it.
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
    gathered: list[TokenisedSentence], room: Room, seed: int, parted: bool
) -> Iterator[Draft | Skip]:
    if len(gathered) < 2:
        for sentence in gathered:
            yield sentence.skip("unpaired", "no sentence is left to pair it with")
        return
    first = gathered[0]
    rng = random.Random(f"pair {seed} {first.document_index} {first.index}")
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
    detail = f"nothing of it is left in an input of {room.max_tokens} tokens"
    used = tuple(sentence for sentence in gathered if sentence.id in left)
    cut = tuple(
        sentence.skip("cut-off", detail) for sentence in gathered if sentence.id not in left
    )
    yield Draft(used, (a, b), room.special, cut)


def _join_sentences(
    sentences: Sequence[TokenisedSentence], *, following: bool = False
) -> tuple[OwnedPiece, ...]:
    """The pieces of whole sentences; `following` says that text stands before the first, too."""
    return tuple(
        (sentence, piece)
        for at, sentence in enumerate(sentences)
        for piece in (sentence.following if at or following else sentence.opening)
    )
