"""The end of a word for a causal model: before white space, before a letter, or before a mark.

A vocabulary that writes the space before a word into its first piece marks where words begin, not
where they end: the probability of the pieces of "jacket" includes that of "jackets". So the kind of
character that follows a word is read from the prediction after its last piece. For white space this
is the rule of Pimentel and Meister (2024) and of Oh and Schuler (2024), whose words end nowhere
else. The words of a treebank also end before a mark (jacket,) and within a written word (do|n't).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from attnbank.ingest.inputs.spelling import BYTES
from attnbank.ingest.models.tokenizer import InputTokenizer

KINDS = 3
NONE, SPACE, LETTER, MARK = -1, 0, 1, 2  # the kinds of boundary, and no boundary
_PART = "\ufffd"  # part of a character, which is usually a letter
_FALLBACK = re.compile(r"<0x([0-9A-F]{2})>")


class Boundaries:
    """The tokens of a vocabulary by what they begin with: white space, a letter, or a mark.

    `ids` are the tokens of each kind; the end of a text counts as white space.
    """

    def __init__(self, tokenizer: InputTokenizer) -> None:
        backend = tokenizer.tokenizer
        added = backend.get_added_tokens_decoder()
        self._special = {id for id, token in added.items() if token.special} | tokenizer.closing
        pieces = {id: piece for piece, id in backend.get_vocab().items() if id not in self._special}
        is_bytes = all(
            char in BYTES for id, piece in pieces.items() if id not in added for char in piece
        )
        self._kinds = {
            id: _boundary_kind(
                piece.encode() if id in added else _piece_bytes(piece, is_byte_level=is_bytes)
            )
            for id, piece in pieces.items()
        } | dict.fromkeys(tokenizer.closing, SPACE)
        self.ids = tuple(
            frozenset(id for id, own_kind in self._kinds.items() if own_kind == kind)
            for kind in range(KINDS)
        )

    def kind_at(self, ids: Sequence[int], index: int, after: int | None = None) -> int:
        """Return the kind of boundary before the token at an index; NONE at the start of the text.

        `after` is the token that follows `ids`; None for the end of the text.
        """
        following = ids[index] if index < len(ids) else after
        kind = SPACE if following is None else self._kinds.get(following, NONE)
        # After a special token, such as the one that begins a text, only white space is a boundary.
        return NONE if kind != SPACE and ids[index - 1] in self._special else kind


def boundaries_of(tokenizer: InputTokenizer) -> Boundaries | None:
    """Return the boundaries of a vocabulary; None if its tokens do not include white space."""
    (pieces,) = tokenizer.pieces_after_text(["a"], [True])
    boundaries = Boundaries(tokenizer)
    marks_spaces = isinstance(pieces, tuple) and pieces[0].id in boundaries.ids[SPACE]
    return boundaries if marks_spaces else None


def _piece_bytes(piece: str, *, is_byte_level: bool) -> bytes:
    """Return the bytes that a piece stands for, its white space included."""
    if is_byte_level:
        return bytes(BYTES[char] for char in piece)
    fallback = _FALLBACK.fullmatch(piece)
    return bytes.fromhex(fallback[1]) if fallback else piece.replace("▁", " ").encode()


def _boundary_kind(text: bytes) -> int:
    first = text.decode(errors="replace")[:1]
    if first.isspace():
        return SPACE
    return LETTER if first in ("", _PART) or unicodedata.category(first)[0] in "LMN" else MARK
