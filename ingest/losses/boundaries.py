"""Where a word ends for a causal model: what can stand after it and does not go on with it.

A vocabulary that writes the space before a word into its first piece marks where words begin, not
where they end: the product of the pieces of "jacket" is also that of "jackets". So what ends a word
is read from the prediction after its last piece. Where white space follows it, or nothing, it ends
with any piece that begins with white space, or with the end of the text (Pimentel and Meister 2024,
Oh and Schuler 2024). Where a word of letters is followed by a mark (jacket,) it ends with any piece
but those that begin with a letter or digit, and where a mark is followed by a word, with any but
those that begin with a mark: nobody wrote that it had to be a space. Between letters (do|n't), and
between marks, nothing tells a word from a longer one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from attnbank.ingest.inputs.spelling import BYTES
from attnbank.ingest.models.tokenizer import InputTokenizer

KINDS = 3
"""How many boundaries there are: a place has one of them, by its number from 0, or none (-1)."""
NONE, SPACE, AFTER_WORD, AFTER_MARK = -1, 0, 1, 2
_LONGEST = 4  # bytes of a character, each perhaps a piece
_FALLBACK = re.compile(r"<0x([0-9A-F]{2})>")
_PART = "\ufffd"  # of a character


class Boundaries:
    """The pieces that end a word, of a vocabulary that marks spaces."""

    def __init__(self, tokenizer: InputTokenizer) -> None:
        own = tokenizer.tokenizer
        added = own.get_added_tokens_decoder()
        special = {id for id, token in added.items() if token.special} | tokenizer.closing
        written = {id: piece for piece, id in own.get_vocab().items() if id not in special}
        is_bytes = all(
            char in BYTES for id, piece in written.items() if id not in added for char in piece
        )
        self._bytes = {
            id: piece.encode() if id in added else _bytes(piece, is_byte_level=is_bytes)
            for id, piece in written.items()
        }
        kinds = {id: _kind(_text(each)[:1]) for id, each in self._bytes.items()}
        self.ids: tuple[frozenset[int], ...] = (
            frozenset(id for id, kind in kinds.items() if kind == " ") | tokenizer.closing,
            frozenset(id for id, kind in kinds.items() if kind in (" ", ".")) | special,
            frozenset(id for id, kind in kinds.items() if kind in (" ", "a")) | special,
        )
        """The pieces of each kind of boundary."""

    def at(self, ids: Sequence[int], place: int, after: int | None = None) -> int:
        """The kind of boundary before the token at a place.

        `after` is the token that follows `ids`; None for the end of the text.
        """
        following = ids[place] if place < len(ids) else after
        if following is None or following in self.ids[SPACE]:
            return SPACE
        before = ids[max(0, place - _LONGEST) : place]
        last = _kind(_text(b"".join(self._bytes.get(each, b" ") for each in before))[-1:])
        kind = {"a": AFTER_WORD, ".": AFTER_MARK}.get(last, NONE)
        return kind if kind != NONE and following in self.ids[kind] else NONE


def boundaries_of(tokenizer: InputTokenizer) -> Boundaries | None:
    """None where a word after a space begins with no white space: the vocabulary marks none."""
    (pieces,) = tokenizer.following(["a"], [True])
    found = Boundaries(tokenizer)
    marks_spaces = isinstance(pieces, tuple) and pieces[0].id in found.ids[SPACE]
    return found if marks_spaces else None


def _bytes(piece: str, *, is_byte_level: bool) -> bytes:
    """The text of a piece, as far as it is written in it."""
    if is_byte_level:
        return bytes(BYTES[char] for char in piece)
    fallback = _FALLBACK.fullmatch(piece)
    return bytes.fromhex(fallback[1]) if fallback else piece.replace("▁", " ").encode()


def _text(own: bytes) -> str:
    return own.decode(errors="replace")


def _kind(char: str) -> str:
    """A space, "a" for a letter, accent or digit, "." for any other; "" for a part of a character.

    A piece that begins with a part of a character is not known to end any word.
    """
    if not char or char == _PART:
        return ""
    if char.isspace():
        return " "
    return "a" if unicodedata.category(char)[0] in "LMN" else "."
