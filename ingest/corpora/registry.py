"""Recognises the format of a corpus file by what stands in it, not by its name."""

from __future__ import annotations

import re
import zlib

from attnbank.ingest.corpora.faults import CONLL2012, CONLLU, DOCBIN, LINES, RELATIONS, TEXT

FORMATS = (CONLLU, RELATIONS, CONLL2012, DOCBIN, TEXT, LINES)

_CONLLU_COMMENT = re.compile(r"#\s*(newdoc|newpar|sent_id|text|global\.(Entity|columns))\b")
_CONLLU_ID = re.compile(r"[0-9]+([-.][0-9]+)?\t")
_RELATION = re.compile(r"\S+\s+[0-9]+-\S+\s*")
_BEGIN = "#begin document"


def recognise(start: bytes) -> str | None:
    """Recognise a format by the first bytes of a file (some 64 KiB, decompressed).

    Returns one of FORMATS (text for lines, too: the difference does not show), or None for bytes
    that are not text of any kind.
    """
    if _is_docbin(start):
        return DOCBIN
    if not _mostly_text(start):
        return None
    text = start.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = [line for line in text.splitlines() if line.strip()]
    if any(line.startswith(_BEGIN) for line in lines):
        return CONLL2012
    if any(_CONLLU_COMMENT.match(line) for line in lines):
        return CONLLU
    words = [line for line in lines if not line.startswith("#")]
    if words and _CONLLU_ID.match(words[0]) and words[0].count("\t") >= 7:
        return CONLLU
    if words and 2 * sum(bool(_RELATION.fullmatch(line)) for line in words) > len(words):
        return RELATIONS
    return TEXT


def _is_docbin(start: bytes) -> bool:
    """Tell a DocBin: zlib around a msgpack map that names the attributes of its tokens."""
    try:
        head = zlib.decompressobj().decompress(start, 4096)
    except zlib.error:
        return False
    return b"\xa5attrs" in head


def _mostly_text(start: bytes) -> bool:
    control = sum(byte < 9 or 13 < byte < 32 or byte == 127 for byte in start)
    return control * 100 <= max(len(start), 1000)  # a few are a fault of their own
