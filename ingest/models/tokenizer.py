"""Converts words to the model's tokens, with the alignment that the tokenizer reports.

Words are tokenized one by one, as in the published code, so that no piece spans two. But most
tokenizers, unlike WordPiece, distinguish a word that begins the text, one after white space, and
one that directly follows another word: byte-level ones write `Ġ` and SentencePiece `▁` for white
space, some of them also before the first word, or before every part. So what to write before a word
is determined by experiment: short texts are encoded as one string, and of several ways of encoding
a single word the one is chosen that gives the pieces that the word has there.

The alternative is to encode whole sentences: `--edges share` does that
(`InputTokenizer.pieces_in_text`), and words that share a piece share a position. Cutting the pieces
of whole sentences at word boundaries is not a third way: if a piece spans a boundary, the words
have to be encoded one by one anyway, and if none does, both methods give the same pieces (except
for WordPiece's `##48`).

Whether tokens spell the words that they are assigned to is checked in the end. Tokenizers mark
tokens (##, Ġ, ▁, @@, </w>), write bytes as other characters (Ã© or <0xC3><0xA9> for é), and remove
case, accents and widths. So tokens and words are compared in a normal form that removes all of
these: NFKD, case-folded, without marks, accents and white space.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, groupby
from typing import Any, NamedTuple

from tokenizers import Encoding, Tokenizer

from attnbank.ingest.options import FirstWord, Unit

# The value of `run.reading`. 1: white space was only encoded for byte-level tokenizers. 2: text
# like a special token was encoded as that token. 3: as described above.
READING_VERSION = 3

# Characters of the experiment: frequent ones of several scripts, which most vocabularies have.
_LETTERS = "abdeikmnorstABS17" + "авн" + "αεν" + "的一日" + "のア" + "الم" + "กา" + "שה"
_MARKS = ".,;:!?()-/'\""


@dataclass(frozen=True, slots=True)
class Position:
    """A row and column of the attention maps: a word, a token or a special token."""

    kind: str  # word, token, cls, sep, first or special
    word: int | None  # 0-based index into the words of the input
    text: str
    start: int  # half-open range of tokens
    end: int
    segment: int = 0  # 0 for segment A and all before B, 1 from the first token of B on

    @property
    def is_candidate(self) -> bool:
        """Whether it can be a maximum: whether it is a word (or token), and not special."""
        return self.kind in ("word", "token")


def add_token(
    positions: list[Position], unit: Unit, word: int, token: str, text: str, segment: int = 0
) -> None:
    """Add the next token of an input: as a position, or as a piece of that of its word, `text`."""
    at = positions[-1].end if positions else 0
    if unit == "token":
        positions.append(Position("token", word, token, at, at + 1, segment))
    elif positions and positions[-1].word == word:
        positions[-1] = replace(positions[-1], end=at + 1)
    else:
        positions.append(Position("word", word, text, at, at + 1, segment))


class Piece(NamedTuple):
    """A token that is a word or a part of one."""

    id: int
    text: str  # as the vocabulary writes it
    word: int  # 0-based index of its word


class InText(NamedTuple):
    """A text that is tokenized as a whole."""

    pieces: list[Piece]  # each with the first word that it is a part of
    joins: set[int]  # the words that share a piece with the next one


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
    def count(self) -> int:
        """The number of special tokens."""
        return sum(len(specials) for specials in self.around)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One input of the model: token ids, segment ids and texts, [T] each, and its positions."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    pieces: tuple[str, ...]
    positions: tuple[Position, ...]

    def count_words_with(self, id: int | None) -> int:
        """Count the words that have a token with this id; 0 for None."""
        if id not in self.ids:
            return 0
        places = (
            position for position in self.positions if id in self.ids[position.start : position.end]
        )
        return len({position.word for position in places} - {None})

    def maskable(self, special: frozenset[int]) -> list[int]:
        """Return the indices of the tokens of its text that are not spelled like special ones."""
        return [
            token
            for position in self.positions
            if position.is_candidate
            for token in range(position.start, position.end)
            if self.ids[token] not in special
        ]


@dataclass(frozen=True)
class Unalignable:
    """A word that yields no piece: its 0-based index and its form."""

    index: int
    form: str

    def __str__(self) -> str:
        return f"word {self.index + 1} ({self.form!r}) yields no piece"


class Unplaced(Unalignable):
    """A word that yields pieces by itself, but has none by the offsets of its text."""

    def __str__(self) -> str:
        return f"the tokenizer's offsets give no piece to word {self.index + 1} ({self.form!r})"


@dataclass(frozen=True)
class WordEncoder:
    """A way of encoding a single word."""

    tokenizer: Tokenizer
    before: str  # what is written before the word

    def encode(self, word: str) -> Encoding:
        """Encode a word, without special tokens."""
        return self.tokenizer.encode(
            [self.before + word], is_pretokenized=True, add_special_tokens=False
        )


@dataclass(frozen=True)
class SplitRules:
    """The encoders of a word, by what precedes it in the text."""

    start: WordEncoder  # nothing
    spaced: WordEncoder  # white space
    joined: WordEncoder  # another word

    def way(self, at: int, after: Sequence[bool]) -> WordEncoder:
        """Return the encoder of the word at index `at`; `after`: does white space follow each."""
        return self.start if at == 0 else self.spaced if after[at - 1] else self.joined


@dataclass(frozen=True)
class InputTokenizer:
    """A tokenizer, the roles of its special tokens, and its rules of splitting words."""

    tokenizer: Tokenizer
    split_rules: SplitRules
    opening: frozenset[int]  # ids of [CLS], <s>, beginning of text
    closing: frozenset[int]  # ids of [SEP], </s>, end of text
    padding: int
    unknown: int | None  # id of the unknown token, as [UNK]
    own_bos: int | None = None  # id of the tokenizer's BOS token, whether or not it adds it
    bos: Special | None = None  # added before the text by --bos or --bos-token
    first_word: FirstWord | None = None  # None if a token precedes it, or attention is not causal
    mask: str | None = None  # the text of the mask token, as [MASK]
    special: frozenset[int] = frozenset()  # ids of all special tokens but the unknown one
    embeddings: int | None = None  # of the model; special tokens with larger ids have none

    @classmethod
    def from_transformers(cls, tokenizer: Any) -> InputTokenizer:
        """Convert a tokenizer of transformers."""

        def ids(*names: str) -> frozenset[int]:
            candidates = (getattr(tokenizer, name, None) for name in names)
            return frozenset(id for id in candidates if id is not None)

        bos = tokenizer.bos_token_id
        copy = without_padding(tokenizer.backend_tokenizer)
        return cls(
            tokenizer=copy,
            split_rules=find_split_rules(copy),
            opening=ids("cls_token_id", "bos_token_id"),
            closing=ids("sep_token_id", "eos_token_id"),
            padding=tokenizer.pad_token_id or 0,
            unknown=tokenizer.unk_token_id,
            own_bos=tokenizer.cls_token_id if bos is None else bos,
            mask=tokenizer.mask_token,
            special=frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id},
        )

    def recognise_special_tokens(self) -> None:
        """From now on, encode `[MASK]` and the like in a text as special tokens, not as text.

        They remain text where the model lacks an embedding for one of them.
        """
        if self.embeddings and self.tokenizer.get_vocab_size() > self.embeddings:
            return
        for way in (self.split_rules.start, self.split_rules.spaced, self.split_rules.joined):
            way.tokenizer.encode_special_tokens = False

    @property
    def mask_token(self) -> int | None:
        """The id of the mask token."""
        return None if self.mask is None else self.tokenizer.token_to_id(self.mask)

    @property
    def start_token(self) -> str | None:
        """The token before the text of every input; None if there is none."""
        before = self.single.around[0]
        return before[0].text if before else None

    def with_start_token(self, id: int) -> InputTokenizer:
        """Return a copy of the tokenizer that puts this token before the text."""
        bos = Special(id, self.tokenizer.id_to_token(id) or str(id), self.single.types[0])
        return replace(self, bos=bos, opening=self.opening | {id})

    def pieces(
        self, inputs: Sequence[tuple[Sequence[str], Sequence[bool]]]
    ) -> list[tuple[Piece, ...] | Unalignable]:
        """Split texts (words, and whether white space follows each) into pieces.

        Words are tokenized one by one, with the white space before them, so that no piece spans
        two. The result for a text with a word that yields no piece is the Unalignable of the first.
        """
        way = self.split_rules.way
        return self._split_texts(
            [[(way(at, after), word) for at, word in enumerate(words)] for words, after in inputs]
        )

    def pieces_after_text(
        self, words: Sequence[str], spaced: Sequence[bool]
    ) -> list[tuple[Piece, ...] | Unalignable]:
        """The pieces of single words that have text before them, and a space where `spaced`."""
        ways = [self.split_rules.spaced if space else self.split_rules.joined for space in spaced]
        return self._split_texts([[way_and_word] for way_and_word in zip(ways, words, strict=True)])

    def pieces_in_text(
        self, texts: Sequence[tuple[Sequence[str], Sequence[bool]]], ways: Sequence[WordEncoder]
    ) -> list[InText]:
        """Tokenize texts as a whole; pieces are assigned to words by the tokenizer's offsets."""
        results = [InText([], set()) for _ in texts]
        for tokenizer in {id(way.tokenizer): way.tokenizer for way in ways}.values():
            own = [at for at, way in enumerate(ways) if way.tokenizer is tokenizer]
            written = [_text_with_owners(*texts[at]) for at in own]
            encodings = tokenizer.encode_batch(
                [[ways[at].before + text] for at, (text, _) in zip(own, written, strict=True)],
                is_pretokenized=True,
                add_special_tokens=False,
            )
            for at, (_, words), encoding in zip(own, written, encodings, strict=True):
                pieces, joins = results[at]
                before, seen = len(ways[at].before), -1
                for number, token, (start, end) in zip(
                    encoding.ids, encoding.tokens, encoding.offsets, strict=True
                ):
                    start, end = max(start - before, 0), end - before
                    inside = [word for word in words[start:end] if word >= 0]
                    if not inside:  # a piece of white space belongs to the next word
                        following = (words[position] for position in range(max(end, 0), len(words)))
                        inside = [next((word for word in following if word >= 0), seen)]
                    first, last = max(seen, inside[0]), max(seen, inside[-1])
                    joins.update(range(inside[0], last))
                    seen = last
                    pieces.append(self._piece(number, token, first))
        return results

    @cached_property
    def single(self) -> SpecialTokens:
        """The tokenizer's own special tokens around one segment."""
        return self._special_tokens(1)

    @cached_property
    def pair(self) -> SpecialTokens:
        """The tokenizer's own special tokens around and between two segments."""
        return self._special_tokens(2)

    def assemble(
        self, segments: Sequence[Sequence[Piece]], words: Sequence[str], unit: Unit
    ) -> Encoded:
        """Add the special tokens to one or two segments, and make the positions.

        `Piece.word` is an index into `words`, and must not decrease from piece to piece.
        """
        frame = self.single if len(segments) == 1 else self.pair
        tokens: list[tuple[int, int, str]] = []  # id, segment id and text
        positions: list[Position] = []
        for at, around in enumerate(frame.around):
            segment = max(at - 1, 0)  # special tokens between A and B belong to A
            for special in around:
                index = len(tokens)
                opens, closes = special.id in self.opening, special.id in self.closing
                if opens and closes:  # one token for both, as GPT-2's <|endoftext|>
                    opens = index == 0
                kind = "cls" if opens else "sep" if closes else "special"
                positions.append(Position(kind, None, special.text, index, index + 1, segment))
                tokens.append((special.id, special.type, special.text))
            if at == len(segments):
                break
            for id, text, word in segments[at]:
                add_token(positions, unit, word, text, words[word], at)
                tokens.append((id, frame.types[at], text))
        if self.first_word == "special" and positions:
            positions[0] = replace(positions[0], kind="first")
        ids, types, texts = zip(*tokens, strict=True) if tokens else ((), (), ())
        return Encoded(ids, types, texts, tuple(positions))

    def _split_texts(
        self, texts: Sequence[Sequence[tuple[WordEncoder, str]]]
    ) -> list[tuple[Piece, ...] | Unalignable]:
        """Split texts of (encoder, word) pairs, in one batch for each tokenizer, for speed."""
        pieces_of_word: list[list[list[Piece]]] = [[[] for _ in text] for text in texts]
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
            for words, own, encoding in zip(pieces_of_word, owned, encodings, strict=True):
                for number, token, index in zip(
                    encoding.ids, encoding.tokens, encoding.word_ids, strict=True
                ):
                    assert index is not None  # no special token is added
                    words[own[index]].append(self._piece(number, token, own[index]))
        results: list[tuple[Piece, ...] | Unalignable] = []
        for text, of_words in zip(texts, pieces_of_word, strict=True):
            for at, (way, word) in enumerate(text):
                if way is self.split_rules.joined and len(word.split()) > 1:
                    of_words[at] = self._with_space_inside(word, at) or of_words[at]
            without = next((at for at, pieces in enumerate(of_words) if not pieces), None)
            results.append(
                tuple(chain.from_iterable(of_words))
                if without is None
                else Unalignable(without, text[without][1])
            )
        return results

    def _with_space_inside(self, word: str, index: int) -> list[Piece] | None:
        """Return the pieces of a word that contains white space (20 000), but has none before it.

        Some tokenizers encode white space inside a word only if they also encode some before it. So
        the part from the first white space on is taken from the word with white space before it.
        None if a piece spans both parts.
        """
        spaced, joined = self.split_rules.spaced, self.split_rules.joined
        end = next(at for at, sign in enumerate(word) if sign.isspace())
        edge = len(spaced.before) + end
        whole_word, first = spaced.encode(word), joined.encode(word[:end])
        after_space = [at for at, (start, _) in enumerate(whole_word.offsets) if start >= edge]
        if any(
            stop > edge for at, (_, stop) in enumerate(whole_word.offsets) if at not in after_space
        ):
            return None
        ids = [*first.ids, *(whole_word.ids[at] for at in after_space)]
        texts = [*first.tokens, *(whole_word.tokens[at] for at in after_space)]
        return [self._piece(id, text, index) for id, text in zip(ids, texts, strict=True)]

    def _piece(self, id: int, text: str, word: int) -> Piece:
        # Unigram reports unknown text as it is written, not as the unknown token.
        return Piece(id, str(self.tokenizer.id_to_token(id)) if id == self.unknown else text, word)

    def _special_tokens(self, segments: int) -> SpecialTokens:
        """Find the special tokens by encoding an input whose segments are one known word each."""
        for word in ("a", *self.tokenizer.get_vocab()):
            second = [word] if segments == 2 else None
            encoding = self.tokenizer.encode([word], second, is_pretokenized=True)
            if set(range(segments)) <= set(encoding.sequence_ids):
                break
        around: list[list[Special]] = [[] for _ in range(segments + 1)]
        types = [0] * segments
        seen = 0
        for id, text, kind, owner in zip(
            encoding.ids, encoding.tokens, encoding.type_ids, encoding.sequence_ids, strict=True
        ):
            if owner is None:
                around[seen].append(Special(id, text, kind))
            else:
                types[owner] = kind
                seen = owner + 1
        if self.bos is not None:
            around[0].insert(0, self.bos)
        return SpecialTokens(tuple(tuple(specials) for specials in around), tuple(types))


def _text_with_owners(words: Sequence[str], after: Sequence[bool]) -> tuple[str, list[int]]:
    """Join words to a text, with the word of each character; -1 for white space between words."""
    parts: list[str] = []
    owners: list[int] = []
    for at, (word, space) in enumerate(zip(words, [*after[:-1], False], strict=False)):
        parts.append(word + " " * space)
        owners += [at] * len(word) + [-1] * space
    return "".join(parts), owners


def without_padding(tokenizer: Tokenizer) -> Tokenizer:
    """Return a copy that neither pads nor truncates, even if the tokenizer's file says so.

    It encodes text such as `[SEP]` or `</s>` in a corpus as text, not as a special token.
    """
    return _tokenizer_of_state(_state(tokenizer))


def _tokenizer_of_state(state: dict[str, Any]) -> Tokenizer:
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.encode_special_tokens = True
    return tokenizer


def find_split_rules(tokenizer: Tokenizer) -> SplitRules:
    """Choose the encoder for each context, of five, that is right most often in short texts."""
    state = _state(tokenizer)
    parts = {name: _without_space(state.get(name)) for name in ("normalizer", "pre_tokenizer")}
    bare = _tokenizer_of_state(state | parts)  # adds no white space of its own
    ways = [
        WordEncoder(tokenizer, ""),
        WordEncoder(bare, ""),
        WordEncoder(bare, " "),
        WordEncoder(tokenizer, " "),
        WordEncoder(bare, "▁"),
    ]
    right: dict[str, list[int]] = {
        name: [0] * len(ways) for name in SplitRules.__dataclass_fields__
    }
    for context, word, ids in _observe_pieces(tokenizer):
        for at, way in enumerate(ways):
            right[context][at] += way.encode(word).ids == ids
    best = {context: ways[counts.index(max(counts))] for context, counts in right.items()}
    return SplitRules(**best)


def _observe_pieces(tokenizer: Tokenizer) -> list[tuple[str, str, list[int]]]:
    """Encode short texts; return the context (a field of SplitRules), form and pieces of words."""
    observations = []
    for at, letter in enumerate(_LETTERS):
        mark, previous = _MARKS[at % len(_MARKS)], _LETTERS[at - 1]
        for text in (f"{letter} {previous}{mark} {letter}", f"{mark}{letter} {mark}"):
            encoding = tokenizer.encode(text, add_special_tokens=False)
            owners = [_owner(text, *offsets) for offsets in encoding.offsets]
            for index, word in enumerate(text):
                if word == " " or any(index in owner and len(owner) > 1 for owner in owners):
                    continue
                name = "start" if not index else "spaced" if text[index - 1] == " " else "joined"
                own = [id for id, owner in zip(encoding.ids, owners, strict=True) if index in owner]
                observations.append((name, word, own))
    return observations


def _owner(text: str, start: int, end: int) -> list[int]:
    """Return the characters that a piece belongs to; for white space, the next character."""
    inside = [at for at in range(start, end) if text[at] != " "]
    return inside or [at for at in range(end, len(text)) if text[at] != " "][:1]


def _without_space(part: dict[str, Any] | None) -> dict[str, Any] | None:
    """Change a part of a tokenizer's state, which may be a sequence, to add no white space."""
    if part is None or part["type"] == "Prepend":
        return None
    if part["type"] == "ByteLevel" and "add_prefix_space" in part:
        return part | {"add_prefix_space": False}
    if part["type"] == "Metaspace":
        own = {name: value for name, value in part.items() if name != "add_prefix_space"}
        return own | {"prepend_scheme": "never"}
    if part["type"] == "Sequence":
        name = "normalizers" if "normalizers" in part else "pretokenizers"
        items = [_without_space(item) for item in part[name]]
        return part | {name: [item for item in items if item is not None]}
    return part


def _state(tokenizer: Tokenizer) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(tokenizer.to_str())
    return state | {"padding": None, "truncation": None}


_UNKNOWN = re.compile(r"[\[<]\|?unk(nown)?\|?[\]>]|⁇", re.IGNORECASE)
_SPECIAL = re.compile(r"\[(CLS|SEP|BOS|EOS|PAD|MASK)\]|</?s>|<(bos|eos|pad|cls|sep|mask)>|<\|.*\|>")
_ANY = "\ufffd"  # in a text of tokens: matches any text
_BYTE = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
_LEFT_OUT = frozenset("#▁@")  # as marks of tokens, but also in words
# The characters with which byte-level tokenizers (GPT-2's and later ones) write bytes: printable
# Latin-1 stands for itself, the other bytes for the characters from U+0100 on.
_SEEN = (*range(33, 127), *range(161, 173), *range(174, 256))
_UNSEEN = (byte for byte in range(256) if byte not in _SEEN)
BYTES = {chr(byte): byte for byte in _SEEN} | {chr(256 + n): b for n, b in enumerate(_UNSEEN)}


def is_unknown(token: str) -> bool:
    """Whether it is the token for what a vocabulary lacks, which matches any text."""
    return _UNKNOWN.fullmatch(token.strip(" ▁")) is not None


def normalise(text: str) -> str:
    """Remove case, width, accents, token marks, control characters and white space from a text."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    text = text.casefold()  # may yield characters that NFKD decomposes further
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    return "".join(filter(_is_compared, text))


@lru_cache(1 << 16)
def _is_compared(character: str) -> bool:
    category = unicodedata.category(character)
    is_left_out = category[0] in "CZ" or category == "Mn" or character in _LEFT_OUT
    return character == _ANY or not is_left_out


@lru_cache(1 << 16)
def spells(tokens: tuple[str, ...], text: str) -> bool:
    """Whether tokens spell a text; unknown tokens match any part of it."""
    wanted = normalise(text.replace(_ANY, ""))
    for spelled in _readings(tokens):
        if spelled == wanted:
            return True
        known = spelled.split(_ANY)
        if len(known) > 1 and re.fullmatch(".*".join(map(re.escape, known)), wanted, re.DOTALL):
            return True
    return False


def _readings(tokens: Sequence[str]) -> list[str]:
    """Return the text of tokens, and also as decoded bytes if they can be byte-level tokens."""
    written = [_ANY if is_unknown(token) else token.removesuffix("</w>") for token in tokens]
    joined = "".join(written)
    readings = [normalise(_BYTE.sub(_decode_bytes, joined) if "<0x" in joined else joined)]
    if not joined.isascii():
        parts = (BYTES.get(character) for character in joined if character != _ANY)
        if None not in parts:
            decoded = (
                bytes(BYTES[character] for character in part).decode(errors="replace")
                for part in joined.split(_ANY)
            )
            readings.append(normalise(_ANY.join(decoded)))
    return readings


def _decode_bytes(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("<0x", "").replace(">", "")).decode(errors="replace")


def misspelled(words: Sequence[str], tokens: Sequence[tuple[str, ...]]) -> list[int]:
    """Return the 0-based indices of the words that their tokens do not spell."""
    return [at for at, word in enumerate(words) if not spells(tokens[at], word)]


def misplaced(
    words: Sequence[str],
    tokens: Sequence[tuple[str, ...]],
    wrong: Sequence[int],
    beside: Sequence[tuple[str | None, str | None]],
) -> int | None:
    """Return the first misspelled word that shows that tokens are assigned to the wrong words.

    `wrong` is the result of `misspelled`, not empty; `beside` are the special tokens directly
    before and after each word, or None. Tokenizers change single words for reasons of their own. It
    is an error of assignment if the tokens of a word spell the word before or after it; if a
    special token spells it; if one of its tokens is special; if the tokens of several words
    together spell them, but not word by word; or if for more than half of all words with a letter
    or digit the tokens have other letters and digits.
    """
    for at in wrong:
        near = [words[neighbour] for neighbour in (at - 1, at + 1) if 0 <= neighbour < len(words)]
        special = [(token,) for token in beside[at] if token is not None and normalise(words[at])]
        if (
            any(normalise(word) and spells(tokens[at], word) for word in near)
            or any(spells(token, words[at]) for token in special)
            or any(_SPECIAL.fullmatch(token) for token in tokens[at])
        ):
            return at
    for _, run in groupby(enumerate(wrong), lambda numbered: numbered[1] - numbered[0]):
        together = [at for _, at in run]
        every = tuple(token for at in together for token in tokens[at])
        if len(together) > 1 and spells(every, "".join(words[at] for at in together)):
            return together[0]
    lettered = [_letters(word) for word in words]
    differing = [
        at
        for at in wrong
        if lettered[at] and lettered[at] not in map(_letters, _readings(tokens[at]))
    ]
    return differing[0] if 2 * len(differing) > sum(map(bool, lettered)) else None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalise(text)))
