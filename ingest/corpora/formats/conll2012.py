"""Reads the columns of the CoNLL-2012 shared task: OntoNotes and, with tabs, LitBank.

Words, parts of speech and coreference are read. There are no dependency trees in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from attnbank.ingest.corpora.blocks import BOM, blocks, decode, rows
from attnbank.ingest.corpora.bounds import MOST_WORDS, check_covered
from attnbank.ingest.corpora.document import DocumentStart, Problem, Sentence, Word
from attnbank.ingest.corpora.faults import SentenceError, problem
from attnbank.ingest.corpora.format import Format, Reading, Start
from attnbank.ingest.corpora.mentions import EntitySpan, mention_of
from attnbank.ingest.corpora.source import Source

# Possessive: what is matched is not given back, or a line of spaces would take for ever.
_BEGIN = re.compile(r"#begin document \((.+?)\)\s*+;?+\s*+(?:part\s++([0-9]{1,9}+)\s*+)?")
_LONGEST_MARK = 1000  # characters of a line that begins a document
_END = "#end document"
_BRACKET = re.compile(r"(\()?([^()|\s]+)(\))?")
_NONE = ("", "-", "_", "*")
_WORD_COLUMN = 3
_POS_COLUMN = 4


def read_conll2012(lines: Iterable[bytes], file: str = "") -> Iterator[Sentence | Problem]:
    """Read a file of documents between `#begin document (NAME); part 000` and `#end document`.

    Args:
        lines: raw lines, in UTF-8; columns stand between tabs or, if there is none, spaces.
        file: the file's name, for messages.

    Yields:
        A `Sentence` for each sound sentence and a `Problem` for each faulty one, in order. The
        first part of a document has its name, part 1 and later ones NAME_1, NAME_2, ...

    """
    reader = _Reader(file)
    for line, block in blocks(lines):
        yield from reader.read(line, block)
    if reader.document is not None and reader.begun:
        fact = f"the file ends within document {reader.document}"
        yield problem("missing-end", fact, file, reader.line)


class _Reader:
    """What must be remembered from block to block."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.document: str | None = None  # the document that is being read
        self.line = 0  # where it begins, then the last line read
        self.pending = False  # its start is not handed over yet
        self.begun = False  # by a #begin, so that an #end is due
        self.documents: set[str] = set()

    def read(self, line: int, block: bytes) -> Iterator[Sentence | Problem]:
        """Read a block: sentences, as #begin and #end need no blank lines around them."""
        words: list[str] = []
        first = line
        # No blank line need stand before #begin: files may have been joined there.
        block = block.replace(b"\n" + BOM + b"#", b"\n#")
        try:
            lines = rows(decode(block, line))
        except SentenceError as fault:
            yield self.problem(fault)
            lines = [
                row if row.startswith("#") else "#"
                for row in rows(block.decode("utf-8", "replace"))
            ]
        for at, row in enumerate(lines, start=line):
            self.line = at
            if not row.startswith("#") or "\t" in row:
                first = first if words else at
                words.append(row)
                continue
            if words:
                yield self.sentence(words, first)
                words = []
            try:
                self.mark(row.rstrip(), at)
            except SentenceError as fault:
                yield self.problem(fault)
        if words:
            yield self.sentence(words, first)

    def problem(self, fault: SentenceError) -> Problem:
        return problem(fault.id, fault.fact, self.file, fault.line)

    def mark(self, row: str, line: int) -> None:
        """Begin or end a document. Other lines with # are comments."""
        if row.startswith("#begin document"):
            before = self.document if self.begun else None
            match = _BEGIN.fullmatch(row) if len(row) <= _LONGEST_MARK else None
            name = match[1] if match else f"document at line {line}"
            if match and int(match[2] or 0):
                name += f"_{int(match[2])}"
            repeated = name in self.documents
            self.document, self.pending, self.begun = name, True, True
            self.documents.add(name)
            if not match:
                raise SentenceError("bad-begin", f"{row[:100]!r} names no document", line)
            if before is not None:
                fact = f"{name} begins, but {before} has not ended"
                raise SentenceError("missing-end", fact, line)
            if repeated:
                fact = f"a document above is called {name}, too"
                raise SentenceError("duplicate-document", fact, line)
        elif row.startswith(_END):
            before, self.document, self.pending = self.document, None, False
            if before is None:
                raise SentenceError("missing-begin", "a document ends that did not begin", line)

    def sentence(self, rows: list[str], line: int) -> Sentence | Problem:
        try:
            if self.document is None:
                # One problem for all that follows, up to the next mark.
                self.document, self.pending = f"document at line {line}", True
                self.begun = False
                raise SentenceError("missing-begin", "words outside of any document", line)
            if len(rows) > MOST_WORDS:
                raise SentenceError("too-many-words", f"the sentence has {len(rows):,} words", line)
            words, cells = _words(rows, line)
            spans = _spans(cells, line)
        except SentenceError as fault:
            return self.problem(fault)
        start = DocumentStart(self.document) if self.pending else None
        self.pending = False
        mentions = tuple(mention_of(words, span) for span in spans)
        return Sentence(words, mentions=mentions, document=start, file=self.file, line=line)


def _words(rows: list[str], line: int) -> tuple[tuple[Word, ...], list[str]]:
    """Read the words and, as it stands, the coreference of each."""
    words = []
    coreference = []
    for at, row in enumerate(rows, start=line):
        cells = row.split("\t") if "\t" in row else row.split()
        if len(cells) <= _POS_COLUMN + 1:
            raise SentenceError("column-count", f"{len(cells)} columns where 6 or more are due", at)
        form, pos = cells[_WORD_COLUMN].strip(), cells[_POS_COLUMN].strip()
        if not form:
            raise SentenceError("empty-form", "the word has no form", at)
        words.append(Word(form, xpos=None if pos in _NONE else pos))
        coreference.append(cells[-1].strip())
    return tuple(words), coreference


def _spans(cells: Sequence[str], line: int) -> list[EntitySpan]:
    open_: dict[str, list[int]] = {}
    spans: list[tuple[int, int, str]] = []
    for index, cell in enumerate(cells, start=1):
        if cell in _NONE:
            continue
        for item in cell.split("|"):
            bracket = _BRACKET.fullmatch(item)
            if not bracket or not (bracket[1] or bracket[3]):
                raise SentenceError("bad-coreference", f"{cell!r} cannot be read", line + index - 1)
            entity = bracket[2]
            if bracket[1]:
                open_.setdefault(entity, []).append(index)
            if bracket[3]:
                if not open_.get(entity):
                    fact = f"{entity}) closes a mention that is not open"
                    raise SentenceError("unbalanced-entity", fact, line + index - 1)
                # Of nested mentions of one entity the inner one ends first.
                spans.append((open_[entity].pop(), -index, entity))
    for entity, starts in open_.items():
        if starts:
            fact = f"the mention of entity {entity} is not closed"
            raise SentenceError("unclosed-entity", fact, line + starts[-1] - 1)
    check_covered([1 - last - first for first, last, _ in spans], line)
    spans.sort(key=lambda span: span[:2])
    return [EntitySpan(entity, tuple(range(first, 1 - last))) for first, last, entity in spans]


def _recognises(start: Start) -> bool:
    return start.is_text and any(line.startswith("#begin document") for line in start.lines)


def _read(source: Source, how: Reading) -> Iterator[Sentence | Problem]:
    return read_conll2012(source.lines(), source.name)


FORMAT = Format("conll2012", "CoNLL-2012", (".conll", "_conll"), 1, _recognises, _read)
