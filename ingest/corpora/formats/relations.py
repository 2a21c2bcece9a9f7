"""Reads the format of the paper's published code: a word and `head-relation` on each line.

A blank line ends a sentence. The format knows no parts of speech, no spacing and no documents:
a file is one document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attnbank.ingest.corpora.blocks import blocks, decode, rows
from attnbank.ingest.corpora.bounds import MOST_DIGITS
from attnbank.ingest.corpora.document import DocumentStart, Problem, Sentence, Word
from attnbank.ingest.corpora.faults import SentenceError, problem
from attnbank.ingest.corpora.format import Format, Reading, Start
from attnbank.ingest.corpora.source import Source
from attnbank.ingest.corpora.tree import tree_fault

_LINE = re.compile(r"\S+\s+[0-9]+-\S+\s*")

_LABEL = re.compile(r"([0-9]+)-(\S+)")


def read_relations(
    lines: Iterable[bytes], file: str = "", document: str = "document"
) -> Iterator[Sentence | Problem]:
    """Read a file with lines such as `members 10-nsubj`; head 0 is the root.

    Args:
        lines: raw lines, in UTF-8.
        file: the file's name, for messages.
        document: the name of the document.

    Yields:
        A `Sentence` for each sound sentence and a `Problem` for each faulty one, in order.

    """
    start: DocumentStart | None = DocumentStart(document)
    for line, block in blocks(lines):
        try:
            words = _words(rows(decode(block, line)), line)
        except SentenceError as fault:
            yield problem(fault.id, fault.fact, file, fault.line)
            continue
        yield Sentence(words, document=start, file=file, line=line)
        start = None


def _words(rows: list[str], line: int) -> tuple[Word, ...]:
    words = []
    heads = []
    for at, row in enumerate(rows, start=line):
        cells = row.split()
        if len(cells) != 2:
            raise SentenceError("bad-relation", f"{len(cells)} columns where 2 are due", at)
        label = _LABEL.fullmatch(cells[1])
        if not label:
            raise SentenceError("bad-relation", f"{cells[1]!r} is not head-relation", at)
        if len(label[1]) > MOST_DIGITS:
            raise SentenceError("head-out-of-range", f"a head of {len(label[1]):,} digits", at)
        heads.append(int(label[1]))
        words.append(Word(cells[0], head_index=heads[-1], deprel=label[2]))
    if fault := tree_fault(heads):
        id, word, fact = fault
        raise SentenceError(id, fact, line + word - 1)
    return tuple(words)


def _recognises(start: Start) -> bool:
    found = sum(bool(_LINE.fullmatch(line)) for line in start.words)
    return start.is_text and 2 * found > len(start.words)


def _read(source: Source, how: Reading) -> Iterator[Sentence | Problem]:
    return read_relations(source.lines(), source.name, source.stem)


FORMAT = Format(
    "relations",
    "the format of the paper's code",
    (".relations", ".deps"),
    3,
    _recognises,
    _read,
)
