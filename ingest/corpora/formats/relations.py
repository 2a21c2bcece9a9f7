"""Parses the format of the paper's published code: a word and `head-relation` on each line.

A blank line ends a sentence. The format has no parts of speech, spacing or documents: a file is one
document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attnbank.ingest.corpora.document import (
    DocumentStart,
    FaultError,
    Problem,
    Sentence,
    Word,
    check_tree,
)
from attnbank.ingest.corpora.format import Format, Start, blocks, decode, split_lines
from attnbank.ingest.corpora.limits import MOST_DIGITS

_LINE = re.compile(r"\S+\s+[0-9]+-\S+\s*")
_LABEL = re.compile(r"([0-9]+)-(\S+)")


def read_relations(
    lines: Iterable[bytes], document: str = "document"
) -> Iterator[Sentence | Problem]:
    """Parse lines in UTF-8 such as `members 10-nsubj`; head 0 is the root.

    Yields a `Sentence` for each valid sentence and a `Problem` for each faulty one, in order.
    """
    start: DocumentStart | None = DocumentStart(document, is_marked=False)
    for line, block in blocks(lines):
        try:
            words = _parse_rows(split_lines(decode(block, line)), line)
        except FaultError as fault:
            yield fault.problem
            continue
        yield Sentence(words, document=start, line=line)
        start = None


def _parse_rows(rows: list[str], line: int) -> tuple[Word, ...]:
    words = []
    heads = []
    for at, row in enumerate(rows, start=line):
        cells = row.split()
        if len(cells) != 2:
            raise FaultError("bad-relation", f"expected 2 columns, found {len(cells)}", at)
        label = _LABEL.fullmatch(cells[1])
        if not label:
            raise FaultError("bad-relation", f"{cells[1]!r} is not HEAD-RELATION", at)
        if len(label[1]) > MOST_DIGITS:
            raise FaultError("head-out-of-range", f"a head of {len(label[1]):,} digits", at)
        heads.append(int(label[1]))
        words.append(Word(cells[0], head_index=heads[-1], deprel=label[2]))
    check_tree(heads, lambda word: line + word - 1)
    return tuple(words)


def _is_relations(start: Start) -> bool:
    matching = sum(bool(_LINE.fullmatch(line)) for line in start.lines)  # a word may begin with #
    return start.is_text and 2 * matching > len(start.lines)


FORMAT = Format(
    "relations", "the format of the paper's code", (".relations", ".deps"), 3, _is_relations,
    lambda source, how: read_relations(source.lines(), source.stem),
)  # fmt: skip
