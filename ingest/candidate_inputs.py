"""Tokenizes the sentences of a bank, and holds the inputs that are made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, NamedTuple

from duckdb import DuckDBPyConnection

from attnbank.ingest.models.tokenizer import (
    Encoded,
    InputTokenizer,
    InText,
    Piece,
    Unalignable,
    Unplaced,
    misspelled,
)
from attnbank.ingest.options import Edges, Multiword, Unit
from attnbank.sql import registry
from attnbank.sql.ids import ordinal_of

WINDOW = 1024  # sentences that are read and tokenized at a time

# Returns all rows of a statement of the registry, from its name and parameters.
Query = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]

# For a bank that is read and written by one thread.
NO_LOCK: AbstractContextManager[object] = nullcontext()


def cursor_query(
    connection: DuckDBPyConnection, lock: AbstractContextManager[object] = NO_LOCK
) -> Query:
    """Return a function that runs a statement, holding a lock until all its rows are fetched.

    A checkpoint of DuckDB fails while the rows of a statement that began before the last committed
    update are still being fetched. So all rows are fetched at once and, if another thread writes,
    under a lock.
    """

    def fetch_rows(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        with lock:
            return connection.execute(registry.internal_statement(name), parameters).fetchall()

    return fetch_rows


class Span(NamedTuple):
    """The words of one position.

    There are several for a multiword token that is read as written, and for words that share a
    piece.
    """

    first: int  # word.id of its first word
    last: int  # word.id of its last word
    text: str
    space_after: bool
    joined: int = 0  # how many of them are tokenized differently within the text than alone


@dataclass(frozen=True)
class Skip:
    """A sentence that is skipped, and why."""

    sentence: int
    name: str | None
    place: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class TokenisedSentence:
    """A sentence of the bank with its pieces; their `word` is an index into `spans`."""

    id: int
    document: int
    document_index: int  # 1-based in the corpus
    index: int  # 1-based in the document
    name: str | None
    place: str
    spans: tuple[Span, ...]  # those of `opening`, then those of `following` if they differ
    opening: tuple[Piece, ...] = ()  # its pieces at the start of an input
    following: tuple[Piece, ...] = ()  # its pieces after the previous sentence of the document
    fault: Skip | None = None  # why no input can contain it

    def skip(self, reason: str, detail: str) -> Skip:
        """Return a Skip of this sentence."""
        return Skip(self.id, self.name, self.place, reason, detail)


class SentenceRow(NamedTuple):
    """A sentence as the bank has it: the first fields of `TokenisedSentence`, and its words."""

    id: int
    document: int
    document_index: int
    sentence_index: int
    name: str | None
    place: str
    words: tuple[Sequence[Any] | None, ...]  # columns, as `spans_of` takes them


OwnedPiece = tuple[TokenisedSentence, Piece]


@dataclass(frozen=True)
class Draft:
    """An input before it gets its special tokens and its ordinal."""

    sentences: tuple[TokenisedSentence, ...]  # all that it has a piece of
    segments: tuple[tuple[OwnedPiece, ...], ...]  # one, or the two of a pair
    special: int  # how many special tokens it will have
    cut: tuple[Skip, ...] = ()  # sentences of which truncation left nothing

    @property
    def tokens(self) -> int:
        """Its length in tokens, special tokens included."""
        return self.special + sum(len(segment) for segment in self.segments)

    def finish(self, input_tokenizer: InputTokenizer, unit: Unit, *, is_sentence: bool) -> Input:
        """Add the special tokens and the ordinal, and renumber the spans from 0."""
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
        encoded = input_tokenizer.assemble(segments, [span.text for span in spans], unit)
        # Inputs share no word, so that the first one tells them apart.
        ordinal = ordinal_of(self.sentences[0].id if is_sentence else spans[0].first)
        return Input(ordinal, self.sentences[0].document, self.sentences, tuple(spans), encoded)


@dataclass(frozen=True)
class Input:
    """One input of the model: its sentences, spans and tokens."""

    ordinal: int  # of its sequence in the run: see sql/ids.py
    document: int
    sentences: tuple[TokenisedSentence, ...]
    spans: tuple[Span, ...]  # all that it has a piece of; positions refer to them by index
    encoded: Encoded

    @property
    def joined_words(self) -> int:
        """How many words are tokenized differently within the text than by themselves."""
        return sum(span.joined for span in self.spans)

    @property
    def words(self) -> tuple[int, ...]:
        """The word.id of each word that it has a piece of."""
        return tuple(id for span in self.spans for id in range(span.first, span.last + 1))


def tokenise_sentences(
    query: Query,
    corpus: int,
    input_tokenizer: InputTokenizer,
    multiword: Multiword = "written",
    edges: Edges = "cut",
) -> Iterator[TokenisedSentence]:
    """Yield every sentence of a corpus in order, tokenized WINDOW sentences at a time.

    `multiword` and `edges` are those of `IngestOptions`.
    """
    document, space = 0, False  # of the previous sentence: its document, and its last space_after
    for rows in sentence_windows(query, corpus):
        spans = [spans_of(row.words, multiword) for row in rows]
        texts = [_join_spans(own) for own in spans]
        alone = input_tokenizer.pieces(texts)
        in_text = input_tokenizer.pieces_in_text(
            texts, [input_tokenizer.split_rules.start] * len(texts)
        )
        spans = [_with_joined(*sentence) for sentence in zip(spans, alone, in_text, strict=True)]
        follows: dict[int, bool] = {}  # rows that follow text, and whether a space is between
        for at, (row, own) in enumerate(zip(rows, spans, strict=True)):
            if own and row.document == document:
                follows[at] = space
            document, space = row.document, own[-1].space_after if own else space
        if edges == "share":
            sentences = _read_by_text(input_tokenizer, spans, alone, in_text, follows)
        else:
            sentences = _read_word_by_word(input_tokenizer, spans, alone, follows)
        for row, sentence in zip(rows, sentences, strict=True):
            yield _tokenise_row(row, *sentence)


def sentence_windows(query: Query, corpus: int) -> Iterator[list[SentenceRow]]:
    """Yield the sentences of a corpus in order, WINDOW of them at a time."""
    ((_, _, least, most),) = query("ingest/corpus_extent", {"corpus": corpus})
    for start in range(least, most + 1, WINDOW):
        window = {"first": start, "last": start + WINDOW - 1, "corpus": corpus}
        rows = query("ingest/sentence_window", window)
        yield [SentenceRow._make((*row[:6], row[6:])) for row in rows]


_Pieces = tuple[Piece, ...] | Unalignable
# The spans of a sentence, its opening and its following pieces: see TokenisedSentence.
_SentencePieces = tuple[tuple[Span, ...], _Pieces, _Pieces]


def spans_of(columns: Sequence[Sequence[Any] | None], multiword: Multiword) -> tuple[Span, ...]:
    """Return the spans of a sentence that the tokenizer is given, in order.

    A multiword token that its words spell ("don't": "do", "n't") is read word by word. If its words
    do not spell it (French "du": "de", "le") they are not in the text: with `written` the token is
    read and its words share a position; with `parts` its words are read instead, separated by
    spaces. `columns` are the words' ids, forms, whether white space follows, the multiword token
    that each is a part of, and the index of that token's first word.
    """
    spans: list[Span] = []
    rows = zip(*(column or () for column in columns), strict=True)
    for _, group in groupby(rows, key=lambda row: row[4] or -row[0]):
        words = list(group)
        first, last = words[0], words[-1]
        surface: str | None = first[3] if len(words) > 1 else None
        is_spelled = surface is None or "".join(form for _, form, *_ in words) == surface
        if surface is None or is_spelled or multiword == "parts":
            for id, form, space, *_ in words:
                spans.append(Span(id, id, form, space or (not is_spelled and id != last[0])))
        else:
            spans.append(Span(first[0], last[0], surface, last[2]))
    return tuple(spans)


def _join_spans(spans: tuple[Span, ...]) -> tuple[list[str], list[bool]]:
    return [span.text for span in spans], [span.space_after for span in spans]


def _with_joined(spans: tuple[Span, ...], alone: _Pieces, in_text: InText) -> tuple[Span, ...]:
    """Mark the words that are tokenized differently within the text of their sentence."""
    if isinstance(alone, Unalignable):
        return spans
    in_text = _with_owners(in_text, alone)
    own = _ids_by_word(alone)
    if _spells_words(*_merge_spans(spans, in_text, 0, alone)):
        within_text, joins = _ids_by_word(in_text.pieces), in_text.joins
        same = {
            at
            for at in own
            if own[at] == within_text[at] and at not in joins and at - 1 not in joins
        }
    else:
        same = _words_in_order(alone, in_text.pieces)
    return tuple(span._replace(joined=int(at not in same)) for at, span in enumerate(spans))


def _with_owners(in_text: InText, alone: _Pieces) -> InText:
    """Correct the words that the pieces of a text belong to, if they are known from `alone`.

    They come from the tokenizer's offsets, some of which are wrong (huggingface/tokenizers issue
    1688). If the pieces are the same as those of the single words, the words of those are used.
    """
    if isinstance(alone, Unalignable) or _ids(alone) != _ids(in_text.pieces):
        return in_text
    return InText([*alone], set())


def _spells_words(spans: tuple[Span, ...], pieces: _Pieces) -> bool:
    """Whether the pieces spell the words that they are assigned to."""
    if isinstance(pieces, Unalignable):
        return False
    texts: dict[int, list[str]] = defaultdict(list)
    for _, text, word in pieces:
        texts[word].append(text)
    return not misspelled(
        [span.text for span in spans], [tuple(tokens) for tokens in texts.values()]
    )


def _words_in_order(alone: Iterable[Piece], in_text: Iterable[Piece]) -> set[int]:
    """Return the words all of whose pieces are also in those of the text, aligned by difflib."""
    own = [*alone]
    blocks = SequenceMatcher(None, _ids(own), _ids(in_text), autojunk=False).get_matching_blocks()
    common = {at for block in blocks for at in range(block.a, block.a + block.size)}
    return {piece.word for piece in own} - {
        piece.word for at, piece in enumerate(own) if at not in common
    }


def _ids(pieces: Iterable[Piece]) -> list[int]:
    return [piece.id for piece in pieces]


def _ids_by_word(pieces: Iterable[Piece]) -> dict[int, list[int]]:
    ids_of_word: dict[int, list[int]] = defaultdict(list)
    for id, _, word in pieces:
        ids_of_word[word].append(id)
    return ids_of_word


def _read_word_by_word(
    input_tokenizer: InputTokenizer,
    spans: Sequence[tuple[Span, ...]],
    alone: Sequence[_Pieces],
    follows: Mapping[int, bool],
) -> Iterator[_SentencePieces]:
    words = [spans[at][0].text for at in follows]
    after = input_tokenizer.pieces_after_text(words, list(follows.values()))
    first = dict(zip(follows, after, strict=True))
    for at, (own, opening) in enumerate(zip(spans, alone, strict=True)):
        following = first.get(at, opening)
        if at in first and not isinstance(following, Unalignable):
            own_pieces = () if isinstance(opening, Unalignable) else opening
            following += tuple(piece for piece in own_pieces if piece.word)
        yield own, opening, following


def _read_by_text(
    input_tokenizer: InputTokenizer,
    spans: Sequence[tuple[Span, ...]],
    alone: Sequence[_Pieces],
    in_text: Sequence[InText],
    follows: Mapping[int, bool],
) -> Iterator[_SentencePieces]:
    """Yield the pieces of each sentence's text; words that share a piece are one span."""
    reading = input_tokenizer.split_rules
    after = input_tokenizer.pieces_in_text(
        [_join_spans(spans[at]) for at in follows],
        [reading.spaced if space else reading.joined for space in follows.values()],
    )
    following = dict(zip(follows, after, strict=True))
    cut = _read_word_by_word(input_tokenizer, spans, alone, follows)
    for at, (own, first, one_by_one) in enumerate(zip(spans, in_text, cut, strict=True)):
        opening_spans, opening = _merge_spans(own, first, 0, one_by_one[1])
        if at in following:
            further, pieces = _merge_spans(own, following[at], len(opening_spans), one_by_one[2])
            yield opening_spans + further, opening, pieces
        else:
            yield opening_spans, opening, opening


def _merge_spans(
    spans: tuple[Span, ...], in_text: InText, begin: int, alone: _Pieces
) -> tuple[tuple[Span, ...], _Pieces]:
    """Merge words that share a piece into one span; return the spans and the renumbered pieces.

    Spans are numbered from `begin`. `alone` are the pieces of the single words.
    """
    in_text = _with_owners(in_text, alone)
    merged: list[Span] = []
    owner: list[int] = []
    for at, span in enumerate(spans):
        if at - 1 in in_text.joins:
            before = merged.pop()
            text = before.text + " " * before.space_after + span.text
            span = span._replace(first=before.first, text=text, joined=before.joined + span.joined)
        merged.append(span)
        owner.append(begin + len(merged) - 1)
    pieces = tuple(Piece(id, text, owner[word]) for id, text, word in in_text.pieces)
    if without_piece := set(owner) - {piece.word for piece in pieces}:
        first = min(without_piece) - begin
        of = Unalignable if isinstance(alone, Unalignable) else Unplaced
        return tuple(merged), of(first, merged[first].text)
    return tuple(merged), pieces


def _tokenise_row(
    row: SentenceRow, spans: tuple[Span, ...], opening: _Pieces, following: _Pieces
) -> TokenisedSentence:
    sentence = TokenisedSentence(*row[:6], spans)
    if not spans:
        return replace(sentence, fault=sentence.skip("empty", "the sentence has no words"))
    for pieces in (opening, following):
        if isinstance(pieces, Unalignable):
            reason = "not-placed" if isinstance(pieces, Unplaced) else "no-pieces"
            return replace(sentence, fault=sentence.skip(reason, str(pieces)))
    assert not isinstance(opening, Unalignable) and not isinstance(following, Unalignable)
    return replace(sentence, opening=opening, following=following)
