"""Sentences as they are read from the bank, and the inputs that are made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attnbank.ingest.inputs.reading import Ask
from attnbank.ingest.inputs.spans import Multiword, Span, Words
from attnbank.ingest.models.tokenizer import Encoded, InputTokenizer, Piece, Unalignable, Unit

WINDOW = 1024
"""Sentences that are read and tokenised at a time."""


@dataclass(frozen=True)
class Skip:
    """A sentence that is left out, and why."""

    sentence: int
    name: str | None
    place: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class TokenisedSentence:
    """A sentence of the bank with its pieces, whose `word` is an index into `spans`."""

    id: int
    document: int
    document_index: int  # 1-based in the corpus
    index: int  # 1-based in the document
    name: str | None
    place: str
    spans: tuple[Span, ...]  # what the tokenizer is given, in order
    opening: tuple[Piece, ...]  # its pieces where nothing stands before it
    following: tuple[Piece, ...]  # its pieces after the sentence before it in the document
    fault: Skip | None  # why no input can hold it

    def skip(self, reason: str, detail: str) -> Skip:
        """Leave the sentence out."""
        return Skip(self.id, self.name, self.place, reason, detail)


OwnedPiece = tuple[TokenisedSentence, Piece]


@dataclass(frozen=True)
class Draft:
    """An input before it has its special tokens and its place in the plan."""

    sentences: tuple[TokenisedSentence, ...]  # those that it holds something of
    segments: tuple[tuple[OwnedPiece, ...], ...]  # one, or the two of a pair
    special: int  # how many special tokens it will have
    cut: tuple[Skip, ...] = ()  # sentences that its truncation leaves nothing of

    @property
    def tokens(self) -> int:
        """Its length in tokens, special tokens included."""
        return self.special + sum(len(each) for each in self.segments)

    @property
    def covered(self) -> int:
        """How many sentences it accounts for."""
        return len(self.sentences) + len(self.cut)

    def finish(self, input_tokenizer: InputTokenizer, unit: Unit, sequence: int) -> Input:
        """Give it its special tokens and its place; number its spans anew."""
        spans: list[Span] = []
        segments: list[list[Piece]] = []
        for owned in self.segments:
            pieces = []
            for sentence, (id, text, index) in owned:
                span = sentence.spans[index]
                if not spans or spans[-1].first != span.first:
                    spans.append(span)
                pieces.append(Piece(id, text, len(spans) - 1))
            segments.append(pieces)
        encoded = input_tokenizer.assemble(segments, [each.text for each in spans], unit)
        return Input(sequence, self.sentences[0].document, self.sentences, tuple(spans), encoded)


@dataclass(frozen=True)
class Input:
    """One input of the model: its sentences, what was tokenised, and its tokens."""

    sequence: int  # 0-based place in the plan
    document: int
    sentences: tuple[TokenisedSentence, ...]
    spans: tuple[Span, ...]  # those that it holds something of; `encoded` numbers them from 0
    encoded: Encoded

    @property
    def words(self) -> tuple[int, ...]:
        """word.id of each word that it holds something of."""
        return tuple(id for span in self.spans for id in range(span.first, span.last + 1))


def tokenised(
    ask: Ask,
    corpus: int,
    input_tokenizer: InputTokenizer,
    multiword: Multiword = "written",
) -> Iterator[TokenisedSentence]:
    """Every sentence of a corpus in order, read through `ask` and tokenised a window at a time.

    `multiword` says how a multiword token that its words do not spell is read.
    """
    (extent,) = ask("ingest/corpus_extent", {"corpus": corpus})
    document, space = 0, False  # of the sentence before: its document, and whether space follows
    for start in range(extent[2], extent[3] + 1, WINDOW):
        window = {"first": start, "last": start + WINDOW - 1, "corpus": corpus}
        rows = ask("ingest/window", window)
        spans = [Words(*(each or () for each in row[6:])).spans(multiword) for row in rows]
        opening = input_tokenizer.pieces(
            [([each.text for each in own], [each.space_after for each in own]) for own in spans]
        )
        follows: dict[int, bool] = {}  # rows that text stands before, and whether space parts them
        for at, (row, own) in enumerate(zip(rows, spans, strict=True)):
            if own and row[1] == document:
                follows[at] = space
            document, space = row[1], own[-1].space_after if own else space
        words = [spans[at][0].text for at in follows]
        first = dict(
            zip(follows, input_tokenizer.following(words, list(follows.values())), strict=True)
        )
        for at, (row, own, each) in enumerate(zip(rows, spans, opening, strict=True)):
            yield _sentence(row, own, each, first.get(at))


def _sentence(
    row: tuple[Any, ...],
    spans: tuple[Span, ...],
    opening: tuple[Piece, ...] | Unalignable,
    first: tuple[Piece, ...] | Unalignable | None,
) -> TokenisedSentence:
    """A sentence; `first` are the pieces of its first span where text stands before it."""
    id, document, document_index, index, name, place, *_ = row
    fault = None
    following: tuple[Piece, ...] = ()
    found = next((each for each in (opening, first) if isinstance(each, Unalignable)), None)
    if not spans:
        fault = Skip(id, name, place, "empty", "the sentence has no words")
    elif found is not None:
        fault = Skip(id, name, place, "no-pieces", str(found))
    if isinstance(opening, Unalignable) or fault is not None:
        opening = ()
    elif isinstance(first, tuple):
        following = first + tuple(each for each in opening if each.word)
    else:
        following = opening
    return TokenisedSentence(
        id, document, document_index, index, name, place, spans, opening, following, fault
    )
