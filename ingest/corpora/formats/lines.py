"""Parses text without annotation: one sentence per line, an empty line between documents.

Words are only units of attention here: runs of letters, digits and their combining marks, and every
other character by itself; an invisible character (category Cf, such as a soft hyphen) belongs to
the word that it is in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from attnbank.ingest.corpora.document import DocumentStart, FaultError, Problem, Sentence, Word
from attnbank.ingest.corpora.format import BOM, CorpusFile, Format, decode
from attnbank.ingest.corpora.limits import MOST_WORDS

_FIRST = 2**16  # bytes that are searched for an empty line
_WHITE = BOM + b" \t\r\n\f\v"


def read_lines(
    lines: Iterable[bytes], document: str = "document", *, is_marked: bool = True
) -> Iterator[Sentence | Problem]:
    """Parse lines in UTF-8: a sentence on each, documents separated by empty lines.

    Documents are called document-1, document-2, ... after `document`. `is_marked` says whether the
    first counts as marked by the source (`DocumentStart.is_marked`); the others always do. Yields a
    `Sentence` for each valid line and a `Problem` for each faulty one, in order.
    """
    number = 0
    between = True  # whether the next sentence begins a document
    start: DocumentStart | None = None
    for line, raw in enumerate(lines, start=1):
        while raw.startswith(BOM):
            raw = raw.removeprefix(BOM)
        try:
            text = decode(raw, line).strip()
            if not text:
                between = True
                continue
            if between:
                number += 1
                name = f"{document}-{number}"
                start = DocumentStart(name, is_marked=is_marked or number > 1)
                between = False
            words = split_words(text, line)
        except FaultError as fault:
            yield fault.problem
            continue
        yield Sentence(words, text=text, document=start, line=line)
        start = None


def _separates_documents(source: CorpusFile) -> bool:
    """Whether there is an empty line between the first lines of a file."""
    with source.open() as file:
        rows = [row.strip(_WHITE) for row in file.read(_FIRST).split(b"\n")]
    return b"\n\n" in b"\n".join(rows).strip()


def split_words(text: str, line: int = 0) -> tuple[Word, ...]:
    """Split a text into words. Raises FaultError for too many."""
    if len(text) > MOST_WORDS:  # counted first, since Words take a hundred times the memory
        count = sum(1 for _ in _pattern().finditer(text))
        if count > MOST_WORDS:
            raise FaultError("too-many-words", f"the line has {count:,} words", line)
    forms = [(match[0], match.end()) for match in _pattern().finditer(text)]
    return tuple(
        Word(form, space_after=end == len(text) or text[end].isspace()) for form, end in forms
    )


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of a word: letters and digits, or another character, with its marks."""
    # Unicode has combining marks only in planes 0 and 1, and as variation selectors.
    signs = map(chr, (*range(0x300, 0x20000), *range(0xE0000, 0xE0200), 0xAD))
    categories = ((sign, unicodedata.category(sign)) for sign in signs)
    joined = "".join(re.escape(sign) for sign, kind in categories if kind[0] == "M" or kind == "Cf")
    return re.compile(rf"[^\W_](?:[^\W_]|[{joined}])*|[^\s{joined}][{joined}]*")


FORMAT = Format(
    "lines", "a sentence on each line", (), 10, None,
    lambda source, how: read_lines(
        source.lines(), source.stem, is_marked=_separates_documents(source)
    ),
)  # fmt: skip
