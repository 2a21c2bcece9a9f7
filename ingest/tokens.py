"""From words to the model's tokens, by the tokenizer's own alignment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tokenizers import Tokenizer

Unit = Literal["word", "token"]


@dataclass(frozen=True, slots=True)
class Position:
    """A row and column of the attention maps: a word, a token or a special token."""

    kind: str  # word, token, cls, sep or special
    word: int | None  # 0-based index into the words of the input
    text: str
    start: int  # half-open range of tokens
    end: int


@dataclass(frozen=True, slots=True)
class Encoded:
    """One input of the model: token ids and segments, and the positions that they make."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    pieces: tuple[str, ...]
    positions: tuple[Position, ...]


class Unalignable(Exception):
    """A word that yields no piece: its index and form."""

    def __init__(self, index: int, form: str) -> None:
        super().__init__(f"word {index + 1} ({form!r}) yields no piece")
        self.index = index
        self.form = form


@dataclass(frozen=True)
class TokenizerLayout:
    """A tokenizer, and what its special tokens are for."""

    tokenizer: Tokenizer
    spaced: bool  # whether a word carries the white space before it
    opening: frozenset[int]  # ids of [CLS], <s>, beginning of text
    closing: frozenset[int]  # ids of [SEP], </s>, end of text
    padding: int

    @classmethod
    def of(cls, tokenizer: Any, backend: tuple[Tokenizer, bool]) -> TokenizerLayout:
        """Read the roles of a transformers tokenizer's special tokens."""

        def ids(*names: str) -> frozenset[int]:
            found = (getattr(tokenizer, name, None) for name in names)
            return frozenset(each for each in found if each is not None)

        padding = tokenizer.pad_token_id
        return cls(
            tokenizer=backend[0],
            spaced=backend[1],
            opening=ids("cls_token_id", "bos_token_id"),
            closing=ids("sep_token_id", "eos_token_id"),
            padding=0 if padding is None else padding,
        )

    def encode(
        self, inputs: Sequence[tuple[Sequence[str], Sequence[bool]]], unit: Unit
    ) -> list[Encoded | Unalignable]:
        """Encode inputs, each given as its words and whether white space follows each.

        The words are given to the tokenizer one by one, as in the published code: a piece never
        spans two. Special tokens are the tokenizer's own.
        """
        texts = [self._with_spaces(words, after) for words, after in inputs]
        found = self.tokenizer.encode_batch(texts, is_pretokenized=True, add_special_tokens=True)
        return [
            self._encoded(words, encoding, unit)
            for (words, _), encoding in zip(inputs, found, strict=True)
        ]

    def _with_spaces(self, words: Sequence[str], after: Sequence[bool]) -> list[str]:
        if not self.spaced:
            return list(words)
        return [f" {word}" if at and after[at - 1] else word for at, word in enumerate(words)]

    def _encoded(self, words: Sequence[str], encoding: Any, unit: Unit) -> Encoded | Unalignable:
        ids, pieces, owners = encoding.ids, encoding.tokens, encoding.word_ids
        positions: list[Position] = []
        seen = -1
        for at, owner in enumerate(owners):
            if owner is None:
                kind = self._special(ids[at], at)
                positions.append(Position(kind, None, pieces[at], at, at + 1))
            elif unit == "token":
                if owner > seen + 1:
                    return Unalignable(seen + 1, words[seen + 1])
                positions.append(Position("token", owner, pieces[at], at, at + 1))
                seen = owner
            elif owner == seen:
                last = positions[-1]
                positions[-1] = Position("word", owner, last.text, last.start, at + 1)
            elif owner == seen + 1:
                positions.append(Position("word", owner, words[owner], at, at + 1))
                seen = owner
            else:
                return Unalignable(seen + 1, words[seen + 1])
        if seen + 1 < len(words):
            return Unalignable(seen + 1, words[seen + 1])
        return Encoded(tuple(ids), tuple(encoding.type_ids), tuple(pieces), tuple(positions))

    def _special(self, token: int, at: int) -> str:
        opens, closes = token in self.opening, token in self.closing
        if opens and closes:  # one token for both, as GPT-2's <|endoftext|>
            return "cls" if at == 0 else "sep"
        return "cls" if opens else "sep" if closes else "special"


def spacing_aware(tokenizer: Tokenizer) -> tuple[Tokenizer, bool]:
    """A copy of a tokenizer for single words, and whether these carry the space before them.

    Byte-level tokenizers (RoBERTa, GPT-2, Llama 3) tell "word" from " word". They are given the
    white space of the text rather than a space before every word. Padding and truncation, which
    some tokenizer files switch on, are off: a cut sentence would have wrong figures.
    """
    state = json.loads(tokenizer.to_str())
    state["padding"] = state["truncation"] = None
    spaced = False
    for part in _parts(state.get("pre_tokenizer")):
        if part.get("type") == "ByteLevel":
            part["add_prefix_space"] = False
            spaced = True
    return Tokenizer.from_str(json.dumps(state)), spaced


def _parts(pre_tokenizer: dict[str, Any] | None) -> list[dict[str, Any]]:
    if pre_tokenizer is None:
        return []
    if pre_tokenizer.get("type") == "Sequence":
        return list(pre_tokenizer["pretokenizers"])
    return [pre_tokenizer]
