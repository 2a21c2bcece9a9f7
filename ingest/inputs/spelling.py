"""Whether the tokens that somebody gives spell the words that they are said to be of.

Tokenizers mark tokens (##, Ġ, ▁, @@, </w>), write bytes as other characters (Ã© is é, and so is
<0xC3><0xA9>), and leave case, accents and widths out. So tokens and words are compared by what
none of them changes: compatibility forms in lower case, without marks, accents and white space.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

_UNKNOWN = re.compile(r"[\[<]\|?unk(nown)?\|?[\]>]|⁇", re.IGNORECASE)
_SPECIAL = re.compile(r"\[(CLS|SEP|BOS|EOS|PAD|MASK)\]|</?s>|<(bos|eos|pad|cls|sep|mask)>|<\|.*\|>")
_ANY = "\ufffd"
_BYTE = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
_LEFT_OUT = frozenset("#▁@")  # the marks, and the words that are written alike
_SEEN = (*range(33, 127), *range(161, 173), *range(174, 256))
_UNSEEN = (byte for byte in range(256) if byte not in _SEEN)
BYTES = {chr(byte): byte for byte in _SEEN} | {chr(256 + n): b for n, b in enumerate(_UNSEEN)}
"""The characters that byte-level tokenizers (GPT-2's and those after it) write bytes as: what can
be seen of Latin-1 is itself, and the others are the characters from U+0100 on."""


def is_unknown(token: str) -> bool:
    """Whether a token is for what a vocabulary lacks, so that it may stand for any text."""
    return _UNKNOWN.fullmatch(token.strip(" ▁")) is not None


def normalise(text: str) -> str:
    """What tokenizers leave of a text: no case, width, accent, mark, control or white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    text = text.casefold()
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
    """Whether tokens spell a text, unknown ones whatever is left of it."""
    wanted = normalise(text.replace(_ANY, ""))
    for spelled in _readings(tokens):
        if spelled == wanted:
            return True
        known = spelled.split(_ANY)
        if len(known) > 1 and re.fullmatch(".*".join(map(re.escape, known)), wanted, re.DOTALL):
            return True
    return False


def _readings(tokens: Sequence[str]) -> list[str]:
    """The text of tokens as it is written, and as bytes if they can be those of a byte level."""
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
    """The 0-based indices of the words that their tokens do not spell."""
    return [at for at, word in enumerate(words) if not spells(tokens[at], word)]


def misplaced(
    words: Sequence[str],
    tokens: Sequence[tuple[str, ...]],
    wrong: Sequence[int],
    beside: Sequence[tuple[str | None, str | None]],
) -> int | None:
    """The first of the misspelled words that shows that tokens stand at other words than theirs.

    `wrong` are those of `misspelled`, not empty; `beside` are the special tokens right before and
    after each word, or None. Tokenizers change a word here and there, for reasons of their own; but
    a word has tokens that are not its own if these spell the word before or after it, or if a
    special token spells it, or if one of its tokens is special; if the tokens of several words
    together spell them, but not word by word; or if those of more than half of all words with a
    letter or digit are other letters and digits.
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
