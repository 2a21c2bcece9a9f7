"""Encodes single words as a tokenizer encodes them within a text.

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
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Encoding, Tokenizer

# The value of `run.reading`. 1: white space was only encoded for byte-level tokenizers. 2: text
# like a special token was encoded as that token. 3: as described above.
READING_VERSION = 3

# Characters of the experiment: frequent ones of several scripts, which most vocabularies have.
_LETTERS = "abdeikmnorstABS17" + "авн" + "αεν" + "的一日" + "のア" + "الم" + "กา" + "שה"
_MARKS = ".,;:!?()-/'\""


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
