"""Reads text without annotation: one sentence per line, an empty line between documents.

Nothing is annotated. The words, which only have to say what belongs together, are runs of
letters, digits and the marks on them, and every other character by itself; a character that no
one sees (category Cf, such as a soft hyphen) stays with the word that it stands in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

from attnbank.ingest.corpora.bounds import MOST_WORDS
from attnbank.ingest.corpora.document import DocumentStart, FaultError, Problem, Sentence, Word
from attnbank.ingest.corpora.format import Format
from attnbank.ingest.corpora.source import BOM, CorpusFile, decode

_FIRST = 2**16  # bytes that are looked through for an empty line
_WHITE = BOM + b" \t\r\n\f\v"
_PROSE = 0.25  # the share of lines from which on a text is prose
_SENTENCE_END_INSIDE = (
    re.compile(  # the end of a sentence, no short abbreviation, and how the next one begins
        r"(?:[^\W\d_]{3}|[^\w\s.,])[.!?\u2026][^\w\s]{0,3}\s{1,3}[^\w\s]?([^\W\d_])"
        r"|[\u3002\uff01\uff1f][^\w\s]{0,3}(\w)|[\u061f\u06d4\u0964]\s(\w)"
    )
)
_ENDS = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f\u061f\u06d4\u0964][^\w\s]{0,3}$")


def read_lines(
    lines: Iterable[bytes], document: str = "document", *, is_marked: bool = True
) -> Iterator[Sentence | Problem]:
    """Read a sentence from each line, in UTF-8, and a document between two empty lines.

    Documents are called after `document`: document-1, document-2, ... The first is marked as one if
    `is_marked`, the others always. Yields a `Sentence` for each sound line and a `Problem` for each
    faulty one, in order.
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
    """Whether an empty line stands between two of the first lines of a file."""
    with source.open() as file:
        rows = [row.strip(_WHITE) for row in file.read(_FIRST).split(b"\n")]
    return b"\n\n" in b"\n".join(rows).strip()


def prose_fact(start: bytes) -> str | None:
    """Why a text, by its first bytes, is prose rather than a sentence a line; None if it is not.

    Of six treebanks and an encyclopedia with a sentence on each line at most 1.3 % of the lines
    hold a second one, and 3.3 % go on in the next line; of the treebanks in paragraphs at least
    90 % hold several, and in lines of 72 characters 32 %.
    """
    rows = [row.strip() for row in start.decode("utf-8", "replace").split("\n")]
    lines = [row for row in rows if row]
    starts = (
        [match[match.lastindex or 0] for match in _SENTENCE_END_INSIDE.finditer(row)]
        for row in lines
    )
    several = sum(any(not letter.islower() for letter in begun) for begun in starts)
    if several > _PROSE * len(lines):
        return f"{several:,} of its first {len(lines):,} lines have several sentences"
    pairs = [(row, after) for row, after in pairwise(rows) if row and after]
    wrapped = sum(after[0].islower() and not _ENDS.search(row) for row, after in pairs)
    if wrapped > _PROSE * len(pairs):
        return f"{wrapped:,} of its first {len(lines):,} lines continue on the next"
    return None


def split_words(text: str, line: int = 0) -> tuple[Word, ...]:
    """The words of a text, and whether white space follows each. Raises FaultError for too many."""
    if len(text) > MOST_WORDS:  # counted first: so many words take a hundred times their bytes
        count = sum(1 for _ in _pattern().finditer(text))
        if count > MOST_WORDS:
            raise FaultError("too-many-words", f"the line has {count:,} words", line)
    forms = [(match[0], match.end()) for match in _pattern().finditer(text)]
    return tuple(
        Word(form, space_after=end == len(text) or text[end].isspace()) for form, end in forms
    )


@cache
def _pattern() -> re.Pattern[str]:
    """A run of letters and digits, or any other character; each with what cannot stand alone."""
    # Planes 0 and 1, and the variation selectors: elsewhere there are no marks.
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
