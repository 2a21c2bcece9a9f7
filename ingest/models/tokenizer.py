"""From words to the model's tokens, aligned as the tokenizer itself reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from tokenizers import Tokenizer

from attnbank.ingest.models.reading import Reading, Way, reading_of, whole

Unit = Literal["word", "token"]


@dataclass(frozen=True, slots=True)
class Position:
    """A row and column of the attention maps: a word, a token or a special token."""

    kind: str  # word, token, cls, sep or special
    word: int | None  # 0-based index into the words of the input
    text: str
    start: int  # half-open range of tokens
    end: int
    segment: int = 0  # 0 for segment A and all before B, 1 from the first token of B on


class Piece(NamedTuple):
    """A token that is a word or a part of one."""

    id: int
    text: str  # as the vocabulary writes it
    word: int  # 0-based index of its word


@dataclass(frozen=True, slots=True)
class Special:
    """A special token that a tokenizer adds to an input."""

    id: int
    text: str
    type: int  # token_type_id


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The special tokens that a tokenizer puts around one segment, or around and between two."""

    around: tuple[tuple[Special, ...], ...]  # before, (between,) after: one more than segments
    types: tuple[int, ...]  # token_type_id of each segment's tokens

    @property
    def size(self) -> int:
        """How many special tokens there are."""
        return sum(len(each) for each in self.around)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One input of the model: token ids, segment ids and texts, [T] each, and its positions."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    pieces: tuple[str, ...]
    positions: tuple[Position, ...]

    def words_with(self, id: int | None) -> int:
        """How many words have a token with this id; 0 for None."""
        if id not in self.ids:
            return 0
        places = (each for each in self.positions if id in self.ids[each.start : each.end])
        return len({each.word for each in places} - {None})


class Unalignable(Exception):
    """A word that yields no piece: its 0-based index and its form."""

    def __init__(self, index: int, form: str) -> None:
        super().__init__(f"word {index + 1} ({form!r}) yields no piece")
        self.index = index
        self.form = form


@dataclass(frozen=True)
class InputTokenizer:
    """A tokenizer, the roles of its special tokens, and how it reads words."""

    tokenizer: Tokenizer
    reading: Reading
    opening: frozenset[int]  # ids of [CLS], <s>, beginning of text
    closing: frozenset[int]  # ids of [SEP], </s>, end of text
    padding: int
    unknown: int | None  # id of the piece for what the vocabulary lacks, as [UNK]

    @classmethod
    def of(cls, tokenizer: Any) -> InputTokenizer:
        """Make one from a transformers tokenizer."""

        def ids(*names: str) -> frozenset[int]:
            found = (getattr(tokenizer, name, None) for name in names)
            return frozenset(each for each in found if each is not None)

        padding = tokenizer.pad_token_id
        copy = whole(tokenizer.backend_tokenizer)
        return cls(
            tokenizer=copy,
            reading=reading_of(copy),
            opening=ids("cls_token_id", "bos_token_id"),
            closing=ids("sep_token_id", "eos_token_id"),
            padding=0 if padding is None else padding,
            unknown=tokenizer.unk_token_id,
        )

    def pieces(
        self, inputs: Sequence[tuple[Sequence[str], Sequence[bool]]]
    ) -> list[tuple[Piece, ...] | Unalignable]:
        """Split texts into pieces; a text is its words, and whether white space follows each.

        The words are given to the tokenizer one by one, as in the published code, so that a piece
        never spans two. Each word carries the white space before it; nothing is before the first
        one. There are no special tokens. A text with a word that yields no piece becomes the
        Unalignable of the first such word.
        """
        return self._split(
            [
                [(self.reading.way(at, after), word) for at, word in enumerate(words)]
                for words, after in inputs
            ]
        )

    def following(
        self, words: Sequence[str], spaced: Sequence[bool]
    ) -> list[tuple[Piece, ...] | Unalignable]:
        """The pieces of single words that have text before them; `Piece.word` is 0 in each.

        `spaced` says for each word whether white space separates it from that text.
        """
        return self._split(
            [
                [(self.reading.following(spaced=space), word)]
                for word, space in zip(words, spaced, strict=True)
            ]
        )

    @cached_property
    def single(self) -> SpecialTokens:
        """The tokenizer's own special tokens around one segment."""
        return self._frame(1)

    @cached_property
    def pair(self) -> SpecialTokens:
        """The tokenizer's own special tokens around and between two segments."""
        return self._frame(2)

    def assemble(
        self, segments: Sequence[Sequence[Piece]], words: Sequence[str], unit: Unit
    ) -> Encoded:
        """Put the special tokens around one or two segments, and make the positions.

        `Piece.word` must be an index into `words`, and must not decrease from piece to piece.
        """
        frame = self.single if len(segments) == 1 else self.pair
        ids: list[int] = []
        types: list[int] = []
        texts: list[str] = []
        positions: list[Position] = []
        for at, around in enumerate(frame.around):
            segment = max(at - 1, 0)  # special tokens between A and B belong to A
            for special in around:
                place = len(ids)
                kind = self._special(special.id, place)
                positions.append(Position(kind, None, special.text, place, place + 1, segment))
                ids.append(special.id)
                types.append(special.type)
                texts.append(special.text)
            if at == len(segments):
                break
            seen = -1
            for id, text, word in segments[at]:
                place = len(ids)
                if unit == "token":
                    positions.append(Position("token", word, text, place, place + 1, at))
                elif word == seen:
                    last = positions[-1]
                    positions[-1] = replace(last, end=place + 1)
                else:
                    positions.append(Position("word", word, words[word], place, place + 1, at))
                seen = word
                ids.append(id)
                types.append(frame.types[at])
                texts.append(text)
        return Encoded(tuple(ids), tuple(types), tuple(texts), tuple(positions))

    def _split(
        self, texts: Sequence[Sequence[tuple[Way, str]]]
    ) -> list[tuple[Piece, ...] | Unalignable]:
        """The pieces of texts; a text is a list of words with the way in which each is read.

        All words that are read by the same tokenizer are encoded in one batch, which is faster.
        """
        found: list[list[list[Piece]]] = [[[] for _ in text] for text in texts]
        unknown = None if self.unknown is None else self.tokenizer.id_to_token(self.unknown)
        tokenizers = {id(way.tokenizer): way.tokenizer for text in texts for way, _ in text}
        for tokenizer in tokenizers.values():
            owned = [
                [at for at, (way, _) in enumerate(text) if way.tokenizer is tokenizer]
                for text in texts
            ]
            encodings = tokenizer.encode_batch(
                [
                    [text[at][0].before + text[at][1] for at in own]
                    for text, own in zip(texts, owned, strict=True)
                ],
                is_pretokenized=True,
                add_special_tokens=False,
            )
            for words, own, each in zip(found, owned, encodings, strict=True):
                for number, token, index in zip(each.ids, each.tokens, each.word_ids, strict=True):
                    assert index is not None  # no special token is added
                    if number == self.unknown and unknown is not None:
                        token = unknown  # Unigram reports the unknown text itself instead
                    words[own[index]].append(Piece(number, token, own[index]))
        for text, pieces in zip(texts, found, strict=True):
            for at, (way, word) in enumerate(text):
                if way is self.reading.joined and len(word.split()) > 1:
                    pieces[at] = self._with_space_inside(word, at) or pieces[at]
        return [
            _whole([word for _, word in text], pieces)
            for text, pieces in zip(texts, found, strict=True)
        ]

    def _with_space_inside(self, word: str, index: int) -> list[Piece] | None:
        """The pieces of a word with white space inside (20 000) that none stands before.

        Some tokenizers write white space only if they write it before the word, too. So the pieces
        from the first white space on are those that the word has after white space, and only those
        before it are pieces of a word that follows another. None if a piece is of both.
        """
        spaced = self.reading.spaced
        end = next(at for at, sign in enumerate(word) if sign.isspace())
        edge = len(spaced.before) + end
        whole = spaced.tokenizer.encode(
            [spaced.before + word], is_pretokenized=True, add_special_tokens=False
        )
        rest = [at for at, (start, _) in enumerate(whole.offsets) if start >= edge]
        if any(stop > edge for at, (_, stop) in enumerate(whole.offsets) if at not in rest):
            return None
        joined = self.reading.joined
        first = joined.tokenizer.encode(
            [joined.before + word[:end]], is_pretokenized=True, add_special_tokens=False
        )
        pieces = list(zip(first.ids, first.tokens, strict=True))
        pieces += [(whole.ids[at], whole.tokens[at]) for at in rest]
        unknown = None if self.unknown is None else self.tokenizer.id_to_token(self.unknown)
        return [
            Piece(id, text if id != self.unknown or unknown is None else unknown, index)
            for id, text in pieces
        ]

    def _frame(self, segments: int) -> SpecialTokens:
        """The special tokens, read from an encoded input whose segments are one known word each."""
        for word in ("a", *self.tokenizer.get_vocab()):
            second = [word] if segments == 2 else None
            found = self.tokenizer.encode([word], second, is_pretokenized=True)
            if set(range(segments)) <= set(found.sequence_ids):
                break
        around: list[list[Special]] = [[] for _ in range(segments + 1)]
        types = [0] * segments
        seen = 0
        for id, text, kind, owner in zip(
            found.ids, found.tokens, found.type_ids, found.sequence_ids, strict=True
        ):
            if owner is None:
                around[seen].append(Special(id, text, kind))
            else:
                types[owner] = kind
                seen = owner + 1
        return SpecialTokens(tuple(tuple(each) for each in around), tuple(types))

    def _special(self, token: int, at: int) -> str:
        opens, closes = token in self.opening, token in self.closing
        if opens and closes:  # one token for both, as GPT-2's <|endoftext|>
            return "cls" if at == 0 else "sep"
        return "cls" if opens else "sep" if closes else "special"


def _whole(
    words: Sequence[str], pieces: Sequence[Sequence[Piece]]
) -> tuple[Piece, ...] | Unalignable:
    """The pieces of all words together, or the first word that has none."""
    for at, (word, own) in enumerate(zip(words, pieces, strict=True)):
        if not own:
            return Unalignable(at, word)
    return tuple(piece for own in pieces for piece in own)
