"""Checks whether tokens spell the words that they are assigned to.

Tokenizers mark tokens (##, Ġ, ▁, @@, </w>), write bytes as other characters (Ã© or <0xC3><0xA9> for
é), and remove case, accents and widths. So tokens and words are compared in a normal form that
removes all of these: NFKD, case-folded, without marks, accents and white space.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

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
