"""How much a DocBin would become in memory, found out before spaCy reads it.

The file is msgpack in zlib. A thousand bytes of zlib become a million, and a byte of msgpack a list
of 64: both are gone through here without keeping anything.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from attnbank.ingest.corpora.bounds import MOST_DOCBIN, MOST_ITEMS, MOST_TOKENS

if TYPE_CHECKING:
    from spacy.tokens import DocBin

_MOST_NOTES = 16 * 2**20  # bytes of the user data or the spans of a Doc
_CHUNK = 1 << 20
# After the first byte of an item: bytes to skip, by that byte (msgpack's specification).
_PLAIN = {
    0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1,
    0xD1: 2, 0xD2: 4, 0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17,
}  # fmt: skip
# Bytes that say how many follow, and further ones of the type of an extension.
_SIZED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1),
          0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}  # fmt: skip
# Bytes that say how many items follow, and how many items each of them is.
_NESTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def check_docbin(data: bytes) -> None:
    """Raise ValueError for what is no DocBin, or exceeds MOST_DOCBIN or MOST_ITEMS."""
    inflate = zlib.decompressobj()
    parts = []
    size = 0
    rest = data
    while rest and not inflate.eof:
        parts.append(inflate.decompress(rest, _CHUNK))
        rest = inflate.unconsumed_tail
        size += len(parts[-1])
        if size > MOST_DOCBIN:
            raise ValueError(f"it inflates to more than {MOST_DOCBIN:,} bytes")
    count_items(b"".join(parts))


def check_docs(found: DocBin) -> None:
    """Raise ValueError where a Doc has too many tokens, or too much beside them."""
    longest = max((len(each) for each in found.tokens), default=0)
    if longest > MOST_TOKENS:
        raise ValueError(f"a Doc has {longest:,} tokens, and {MOST_TOKENS:,} are the most")
    for notes in (found.user_data, found.span_groups):
        for each in notes:
            if isinstance(each, bytes):
                if len(each) > _MOST_NOTES:
                    raise ValueError(f"a Doc has {len(each):,} bytes of user data or spans")
                if each:
                    count_items(each)


def count_items(data: bytes) -> int:
    """The items of a value in msgpack, those within others counted.

    Raises ValueError where they are more than MOST_ITEMS, or the data end within one.
    """
    at = count = 0
    due = 1
    try:
        while due:
            due -= 1
            count += 1
            first = data[at]
            at += 1
            if first <= 0x7F or first >= 0xE0:  # a small number
                continue
            if first <= 0x8F:
                due += 2 * (first & 15)
            elif first <= 0x9F:
                due += first & 15
            elif first <= 0xBF:
                at += first & 31
            elif first in _PLAIN:
                at += _PLAIN[first]
            elif first in _SIZED:
                width, more = _SIZED[first]
                at += width + more + int.from_bytes(data[at : at + width])
            elif first in _NESTED:
                width, each = _NESTED[first]
                due += each * int.from_bytes(data[at : at + width])
                at += width
            else:
                raise ValueError(f"byte 0x{first:02x} begins nothing in msgpack")
            if count + due > MOST_ITEMS:
                raise ValueError(f"it holds more than {MOST_ITEMS:,} items")
    except IndexError:
        raise ValueError("it ends too early") from None
    if at > len(data):
        raise ValueError("it ends too early")
    return count
