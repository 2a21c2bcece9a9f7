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

from attnbank.ingest.corpora.blocks import BOM, decode
from attnbank.ingest.corpora.bounds import MOST_WORDS
from attnbank.ingest.corpora.document import DocumentStart, Problem, Sentence, Word
from attnbank.ingest.corpora.faults import SentenceError, problem
from attnbank.ingest.corpora.format import Format, Reading
from attnbank.ingest.corpora.source import Source


def read_lines(
    lines: Iterable[bytes], file: str = "", document: str = "document"
) -> Iterator[Sentence | Problem]:
    """Read a file with a sentence on each line and an empty line between documents.

    Args:
        lines: raw lines, in UTF-8.
        file: the file's name, for messages.
        document: documents are called by this name and their number: document-1, document-2, ...

    Yields:
        A `Sentence` for each sound line and a `Problem` for each faulty one, in order.

    """
    number = 0
    between = True  # whether the next sentence begins a document
    start: DocumentStart | None = None
    for line, raw in enumerate(lines, start=1):
        try:
            while raw.startswith(BOM):
                raw = raw.removeprefix(BOM)
            text = decode(raw, line).strip()
        except SentenceError as fault:
            yield problem(fault.id, fault.fact, file, fault.line)
            continue
        if not text:
            between = True
            continue
        if between:
            number += 1
            start, between = DocumentStart(f"{document}-{number}"), False
        if len(text) > MOST_WORDS:  # counted first: so many words take a hundred times their bytes
            count = sum(1 for _ in _pattern().finditer(text))
            if count > MOST_WORDS:
                yield problem("too-many-words", f"the line holds {count:,} words", file, line)
                continue
        words = split_words(text)
        yield Sentence(words, text=text, document=start, file=file, line=line)
        start = None


def split_words(text: str) -> tuple[Word, ...]:
    """The words of a text, and whether white space follows each."""
    found = [(each[0], each.end()) for each in _pattern().finditer(text)]
    return tuple(
        Word(form, space_after=end == len(text) or text[end].isspace()) for form, end in found
    )


@cache
def _pattern() -> re.Pattern[str]:
    """A run of letters and digits, or any other character; each with what cannot stand alone."""
    # Planes 0 and 1, and the variation selectors: elsewhere there are no marks.
    codes = (*range(0x300, 0x20000), *range(0xE0000, 0xE0200), 0xAD)
    joined = "".join(re.escape(chr(code)) for code in codes if _joins(chr(code)))
    return re.compile(rf"[^\W_](?:[^\W_]|[{joined}])*|[^\s{joined}][{joined}]*")


def _joins(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "M" or category == "Cf"


def _read(source: Source, how: Reading) -> Iterator[Sentence | Problem]:
    return read_lines(source.lines(), source.name, source.stem)


FORMAT = Format("lines", "a sentence on each line", (), 10, None, _read)
