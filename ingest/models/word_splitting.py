"""How a tokenizer reads a word at its place in a text.

Words are given to the tokenizer one by one, as in the published code, so that no piece spans two.
But most tokenizers, unlike WordPiece, distinguish a word that begins the text, one after white
space, and one that directly follows another word: byte-level ones write `Ġ` and SentencePiece `▁`
for white space, some of them also before the first word, or before every part. So what to write
before a word is found by observation: short texts are encoded as one string, and that way of
writing a single word is chosen which gives the pieces that the word has there.

The alternative is to encode whole sentences: `--edges share` does that (`InputTokenizer.in_text`),
and words that a piece joins share a position. Cutting the pieces of whole sentences at the edges of
words is not a third way: if a piece spans an edge, the words have to be read one by one anyway, and
if none does, both methods give the same (except for WordPiece's `##48`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Encoding, Tokenizer

VERSION = 3
"""The value of `run.reading`. 1: only byte-level tokenizers were given white space. 2: what is
written like a special token was read as that token. 3: as above."""

_LETTERS = "abdeikmnorstABS17" + "авн" + "αεν" + "的一日" + "のア" + "الم" + "กา" + "שה"
_MARKS = ".,;:!?()-/'\""


@dataclass(frozen=True)
class WordEncoder:
    """A way of giving a single word to a tokenizer."""

    tokenizer: Tokenizer
    before: str  # what is written before the word

    def encode(self, word: str) -> Encoding:
        """One word, without special tokens."""
        return self.tokenizer.encode(
            [self.before + word], is_pretokenized=True, add_special_tokens=False
        )


@dataclass(frozen=True)
class SplitRules:
    """The ways of giving a word to a tokenizer, by what is before the word in the text."""

    start: WordEncoder  # nothing
    spaced: WordEncoder  # white space
    joined: WordEncoder  # another word

    def way(self, at: int, after: Sequence[bool]) -> WordEncoder:
        """The way for the word at 0-based index `at`; `after` says if white space follows each."""
        return self.start if at == 0 else self.spaced if after[at - 1] else self.joined


def without_padding(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that neither pads nor truncates, even if the tokenizer's file says so.

    What is written like one of its special tokens (`[SEP]`, `</s>`) is text to it: nobody who wrote
    that ended a segment.
    """
    return _tokenizer_of_state(_state(tokenizer))


def _tokenizer_of_state(state: dict[str, Any]) -> Tokenizer:
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.encode_special_tokens = True
    return tokenizer


def find_split_rules(tokenizer: Tokenizer) -> SplitRules:
    """Of five ways, for each place the one that is right most often in the observed texts."""
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
    """Words of one character in texts that are encoded whole: field of Reading, form and pieces."""
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
    """The characters that a piece belongs to; for a piece of white space, the next character."""
    inside = [at for at in range(start, end) if text[at] != " "]
    return inside or [at for at in range(end, len(text)) if text[at] != " "][:1]


def _without_space(part: dict[str, Any] | None) -> dict[str, Any] | None:
    """A part of a tokenizer, which may be a sequence, as it is if it adds no white space."""
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
