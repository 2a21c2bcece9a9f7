"""Recognises text files that no format reads, such as XML, JSON and tables.

Read as plain text they would become sentences of markup. `format.recognise` is tried first; this
module is about the files that it takes for plain text.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence

from attnbank.ingest.corpora.format import Start

_MOST_SHARE = 0.9  # of the lines that must match
_LEAST_ROWS = 3  # fewer lines may look like a table by chance
_XML = re.compile(r"\ufeff?<[?!/A-Za-z]")
_PHRASE = re.compile(r"\s*\(\s*(\(|[A-Z][^\s()]*\s*(\(|$)|[^\s()]+ [^\s()]+\))")
_BRAT = re.compile(r"T\d+\t\S+ \d+ \d+|[REAMN]\d+\t\S+ |\*\t\S+ T\d+|#\d*\t\S+ [TREAMN]\d+\t")
_LABELLED = re.compile(r"\S.*[ \t](O|[BIESLU]-\S+)\s*$")


def unsupported_format(start: Start) -> str | None:
    """Return what a file is, by its first lines, if it is not text; None for text."""
    lines = start.lines
    if not lines:
        return None
    if _XML.match(lines[0]):
        return "XML or a vertical file: its first line begins with <"
    if lines[0].lstrip()[0] == "{" or lines[0].strip() == "[" or lines[0].startswith('[{"'):
        return f"JSON: its first line begins with {lines[0].lstrip()[0]}"
    # Of a longer file the last line is cut off somewhere.
    complete = lines if len(start.data) < 1 << 16 else lines[:-1] or lines
    for pattern, what in (
        (_BRAT, "annotation of brat: its lines begin with T1, R1 and the like"),
        (_LABELLED, "a table of words: its lines end with O or B-... as those of CoNLL-2003"),
    ):
        if _are_most(sum(bool(pattern.match(line)) for line in complete), complete):
            return what
    if lines[0].lstrip()[0] == "(" and _are_most(sum(map(_is_bracketed, complete)), complete):
        return "bracketed trees: its lines begin with ( and a phrase"
    return _looks_like_table(complete)


def _are_most(count: int, lines: Sequence[str]) -> bool:
    return count >= _MOST_SHARE * len(lines)


def _is_bracketed(line: str) -> bool:
    return _PHRASE.match(line) is not None or not line.strip("() \t")


def _looks_like_table(lines: Sequence[str]) -> str | None:
    """Return what table the lines are rows of, if most have the same number of delimiters."""
    if len(lines) < _LEAST_ROWS:
        return None
    for delimiter, name in (("\t", "tabs"), (",", "commas"), (";", "semicolons")):
        # Without quoting for tabs: a text may have unpaired quotation marks.
        rows = csv.reader(lines, delimiter=delimiter, quotechar=None if name == "tabs" else '"')
        sizes: Counter[int] = Counter()
        spaced = 0
        for cells in rows:
            sizes[len(cells)] += 1
            spaced += any(cell.startswith(" ") for cell in cells[1:])
        ((columns, count),) = sizes.most_common(1)
        is_text = delimiter != "\t" and 10 * spaced >= sizes.total()  # a comma, then a space
        if columns > 1 and count >= _MOST_SHARE * sizes.total() and not is_text:
            most = f"{count:,} of its first {sizes.total():,} lines"
            return f"a table: {most} have {columns} columns between {name}"
    return None
