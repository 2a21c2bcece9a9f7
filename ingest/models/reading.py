"""How a tokenizer reads a word at its place in a text.

Words are given to the tokenizer one by one, as in the published code, so that no piece spans two.
But most tokenizers distinguish a word that begins the text, one after white space, and one that
directly follows another word. WordPiece does not; byte-level tokenizers write `Ġ` and SentencePiece
ones `▁` for white space, some of them also before the first word, or before every part.

What to write before a word is found by observation, not from the tokenizer's type: short texts are
encoded as one string, and then that way of writing a single word is chosen which gives the pieces
that the word has there. The alternative would be to encode whole sentences and cut them at the
edges of words. But if a piece spans an edge, the words have to be read one by one anyway (with
WordPiece's `##48` even if none does); and if none does, merges and best segmentations are those of
each side by itself, so both methods give the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

VERSION = 2
"""The value of `run.reading`. 2: as above. 1: only byte-level tokenizers were given white space;
all others read every word as if it began the text."""

_LETTERS = "abdeikmnorstABS17" + "авн" + "αεν" + "的一日" + "のア" + "الم" + "กา" + "שה"
_MARKS = ".,;:!?()-/'\""


@dataclass(frozen=True)
class Way:
    """A way of giving a single word to a tokenizer."""

    tokenizer: Tokenizer
    before: str  # what is written before the word

    def ids(self, word: str) -> list[int]:
        """The ids of the pieces of one word."""
        found = self.tokenizer.encode(
            [self.before + word], is_pretokenized=True, add_special_tokens=False
        )
        return list(found.ids)


@dataclass(frozen=True)
class Reading:
    """The ways of giving a word to a tokenizer, by what is before the word in the text."""

    start: Way  # nothing
    spaced: Way  # white space
    joined: Way  # another word

    def way(self, at: int, after: Sequence[bool]) -> Way:
        """The way for the word at 0-based index `at`; `after` says if white space follows each."""
        return self.start if at == 0 else self.following(spaced=after[at - 1])

    def following(self, *, spaced: bool) -> Way:
        """The way for a word with text before it; `spaced` says if white space is between."""
        return self.spaced if spaced else self.joined


def whole(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that neither pads nor truncates, even if the tokenizer's file says so."""
    return _copy(_state(tokenizer))


def reading_of(tokenizer: Tokenizer) -> Reading:
    """Find out how a tokenizer, which neither pads nor truncates, reads words at their places.

    Of five ways, the one that is right most often in the observed texts is taken for each place.
    """
    bare = _bare(tokenizer)
    ways = [Way(tokenizer, ""), Way(bare, ""), Way(bare, " "), Way(tokenizer, " "), Way(bare, "▁")]
    right: dict[str, list[int]] = {name: [0] * len(ways) for name in Reading.__dataclass_fields__}
    for place, word, ids in _observed(tokenizer):
        for at, way in enumerate(ways):
            right[place][at] += way.ids(word) == ids
    best = {place: ways[counts.index(max(counts))] for place, counts in right.items()}
    return Reading(**best)


def _observed(tokenizer: Tokenizer) -> list[tuple[str, str, list[int]]]:
    """Words of one character in texts that are encoded whole: their place, form and pieces.

    The place is a field of Reading: start, spaced or joined.
    """
    found = []
    for at, letter in enumerate(_LETTERS):
        mark, other = _MARKS[at % len(_MARKS)], _LETTERS[at - 1]
        for text in (f"{letter} {other}{mark} {letter}", f"{mark}{letter} {mark}"):
            encoding = tokenizer.encode(text, add_special_tokens=False)
            owners = [_owner(text, *each) for each in encoding.offsets]
            for place, word in enumerate(text):
                if word == " " or any(place in each and len(each) > 1 for each in owners):
                    continue
                name = "start" if not place else "spaced" if text[place - 1] == " " else "joined"
                own = [id for id, each in zip(encoding.ids, owners, strict=True) if place in each]
                found.append((name, word, own))
    return found


def _owner(text: str, start: int, end: int) -> list[int]:
    """The characters that a piece belongs to; for a piece of white space, the next character."""
    inside = [at for at in range(start, end) if text[at] != " "]
    return inside or [at for at in range(end, len(text)) if text[at] != " "][:1]


def _bare(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that adds no white space of its own to its input."""
    state = _state(tokenizer)
    state["normalizer"] = _without_prepend(state.get("normalizer"))
    for part in _parts(state.get("pre_tokenizer"), "pretokenizers"):
        if part["type"] == "ByteLevel":
            part["add_prefix_space"] = False
        elif part["type"] == "Metaspace":
            part.pop("add_prefix_space", None)
            part["prepend_scheme"] = "never"
    return _copy(state)


def _without_prepend(normalizer: dict[str, Any] | None) -> dict[str, Any] | None:
    if normalizer is None or normalizer["type"] == "Prepend":
        return None
    if normalizer["type"] == "Sequence":
        kept = [_without_prepend(each) for each in normalizer["normalizers"]]
        return normalizer | {"normalizers": [each for each in kept if each is not None]}
    return normalizer


def _parts(component: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """The parts of a component, with sequences within sequences flattened."""
    if component is None:
        return []
    if component["type"] == "Sequence":
        return [part for each in component[name] for part in _parts(each, name)]
    return [component]


def _state(tokenizer: Tokenizer) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(tokenizer.to_str())
    return state | {"padding": None, "truncation": None}


def _copy(state: dict[str, Any]) -> Tokenizer:
    return Tokenizer.from_str(json.dumps(state))
