"""Parses the columns of the CoNLL-2012 shared task: OntoNotes and, with tabs, LitBank.

Words, parts of speech, constituents and coreference are read. The format has no dependencies.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from attnbank.ingest.corpora.document import (
    Constituent,
    Departure,
    DocumentStart,
    FaultError,
    Problem,
    Sentence,
    Word,
)
from attnbank.ingest.corpora.format import BOM, Format, blocks, decode, split_lines
from attnbank.ingest.corpora.limits import MOST_CONSTITUENTS, MOST_WORDS
from attnbank.ingest.corpora.mentions import EntitySpan, check_covered, mentions_of

# Possessive quantifiers: backtracking over a line of spaces would take very long.
_BEGIN = re.compile(r"#begin document \((.+?)\)\s*+;?+\s*+(?:part\s++([0-9]{1,9}+)\s*+)?")
_MARKS = ("#begin document", "#end document")
_LONGEST_MARK = 1000  # characters of a line that begins a document
_BRACKET = re.compile(r"(\()?([^()|\s]+)(\))?")
_NONE = ("", "-", "_", "*")
# The column of the word in files for the reference coreference scorers, by their number of columns:
# word and coreference; or document, part, number, word and coreference.
_FORM_COLUMN = {2: 0, 5: 3}
_WITHHELD = ("[WORD]", "_")  # OntoNotes without its text, and as in CoNLL-U
_PARSE = 5  # the column of the bracketed parse
_LEAF = "*"  # the word itself, in that column
_OPENING = re.compile(r"(?:\([^()*\s]++)*+")


def read_conll2012(lines: Iterable[bytes], *, strict: bool = False) -> Iterator[Sentence | Problem]:
    """Parse documents between `#begin document (NAME); part 000` and `#end document`.

    Lines are in UTF-8, with columns separated by tabs or, if there are none, spaces. Yields a
    `Sentence` for each valid sentence and a `Problem` for each faulty one, in order. The first part
    of a document has its name, later ones are called NAME_1, NAME_2, ... A parse that is not a tree
    is a departure (the sentence has no constituents), and so is a repeated mention, which is read
    once. If `strict`, they are problems.
    """
    reader = _ColumnReader(strict)
    for line, block in blocks(lines):
        yield from reader.read_block(line, block)
    if reader.document is not None and reader.begun:
        fact = f"the file ends within document {reader.document}"
        yield Problem("missing-end", fact, reader.line)


class _ColumnReader:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.document: str | None = None  # the current document
        self.line = 0  # the last line read
        self.pending = False  # whether the next sentence begins the document
        self.begun = False  # whether a #begin began it, so that an #end must follow
        self.documents: set[str] = set()

    def read_block(self, line: int, block: bytes) -> Iterator[Sentence | Problem]:
        """Read the sentences of a block; #begin and #end need no blank lines around them."""
        words: list[str] = []
        # Files may have been concatenated without a blank line before #begin.
        block = block.replace(b"\n" + BOM + b"#", b"\n#")
        try:
            lines = split_lines(decode(block, line))
        except FaultError as fault:
            yield fault.problem
            text = block.decode("utf-8", "replace")
            lines = [row if row.startswith(_MARKS) else "" for row in split_lines(text)]
        for at, row in enumerate(lines, start=line):
            self.line = at
            if not row.startswith(_MARKS):
                # Within a document, a word or the name in the first column may begin with #.
                if row and (self.document is not None or not row.startswith("#")):
                    words.append(row)
                continue
            if words:
                yield self.parse_sentence(words, at - len(words))
                words = []
            try:
                self.read_mark(row.rstrip(), at)
            except FaultError as fault:
                yield fault.problem
        if words:
            yield self.parse_sentence(words, self.line + 1 - len(words))

    def read_mark(self, row: str, line: int) -> None:
        """Begin or end a document. Raises FaultError."""
        if row.startswith(_MARKS[0]):
            before = self.document if self.begun else None
            match = _BEGIN.fullmatch(row) if len(row) <= _LONGEST_MARK else None
            name = match[1] if match else f"document at line {line}"
            if match and int(match[2] or 0):
                name += f"_{int(match[2])}"
            repeated = name in self.documents
            self.document, self.pending, self.begun = name, True, True
            self.documents.add(name)
            if not match:
                raise FaultError("bad-begin", f"{row[:100]!r} does not name a document", line)
            if before is not None:
                fact = f"{name} begins before {before} has ended"
                raise FaultError("missing-end", fact, line)
            if repeated:
                fact = f"a document above is also called {name}"
                raise FaultError("duplicate-document", fact, line)
        else:
            before, self.document, self.pending = self.document, None, False
            if before is None:
                raise FaultError("missing-begin", "#end document without #begin document", line)

    def parse_sentence(self, rows: list[str], line: int) -> Sentence | Problem:
        try:
            if self.document is None:
                # Report one problem for all sentences up to the next #begin or #end.
                self.document, self.pending, self.begun = f"document at line {line}", True, False
                raise FaultError("missing-begin", "words outside any document", line)
            if len(rows) > MOST_WORDS:
                raise FaultError("too-many-words", f"the sentence has {len(rows):,} words", line)
            words, cells, parse = _parse_words(rows, line)
            spans = _parse_spans(cells, line)
            constituents, departures = self.parse_tree(parse, line)
            mentions, repeated = mentions_of(words, spans, line, constituents, strict=self.strict)
        except FaultError as fault:
            return fault.problem
        start = DocumentStart(self.document) if self.pending else None
        self.pending = False
        return Sentence(
            words, mentions=mentions, document=start, line=line,
            departures=(*departures, *repeated), constituents=constituents,
        )  # fmt: skip

    def parse_tree(
        self, cells: list[str], line: int
    ) -> tuple[tuple[Constituent, ...], tuple[Departure, ...]]:
        """Parse the constituents of a sentence; if it has faults, none and a departure."""
        try:
            return _parse_constituents(cells, line), ()
        except FaultError as fault:
            if self.strict:
                raise
            problem = fault.problem
            return (), (Departure(problem.id, problem.fact, problem.line),)


def _parse_words(rows: list[str], line: int) -> tuple[tuple[Word, ...], list[str], list[str]]:
    """Parse the words of a sentence; also the coreference and the parse column of each."""
    words = []
    coreference = []
    parse = []
    for at, row in enumerate(rows, start=line):
        cells = row.split("\t") if "\t" in row else row.split()
        if len(cells) in _FORM_COLUMN:  # a file for coreference scorers
            form, pos, coreferring = cells[_FORM_COLUMN[len(cells)]].strip(), "", cells[-1].strip()
        elif len(cells) >= 6:
            form, pos, coreferring = (cells[column].strip() for column in (3, 4, -1))
        else:
            fact = f"expected 2, 5, 6 or more columns, found {len(cells)}"
            raise FaultError("column-count", fact, at)
        if not form:
            raise FaultError("empty-form", "the word has no form", at)
        words.append(Word(form, xpos=None if pos in _NONE else pos))
        coreference.append(coreferring)
        parse.append(cells[_PARSE].strip() if len(cells) > _PARSE + 1 else "")
    if all(word.form in _WITHHELD for word in words):
        raise FaultError("withheld-text", f"every word is {words[0].form}", line)
    return tuple(words), coreference, parse


def _parse_constituents(cells: Sequence[str], line: int) -> tuple[Constituent, ...]:
    """Parse the phrases that are opened, `(NP*`, and closed, `*)`, in the parse column."""
    if all(cell in _NONE for cell in cells):
        return ()
    phrases: list[tuple[str, int, int | None]] = []  # label, first word, parent
    last_word: dict[int, int] = {}  # by number of the phrase
    open_: list[int] = []  # numbers
    for index, cell in enumerate(cells, start=1):
        at = line + index - 1
        opening = _OPENING.match(cell)
        start = opening.end() if opening else 0
        closing = cell[start + 1 :]
        if cell[start : start + 1] != _LEAF or closing.strip(")"):
            raise FaultError("bad-parse", f"cannot read {cell[:100]!r}", at)
        if len(phrases) + cell.count("(") > MOST_CONSTITUENTS:
            raise FaultError("bad-parse", f"over {MOST_CONSTITUENTS:,} constituents", at)
        for label in cell[1:start].split("(") if start else ():
            phrases.append((label, index, open_[-1] if open_ else None))
            open_.append(len(phrases))
        if not open_:
            raise FaultError("bad-parse", "a word is outside every constituent", at)
        if len(closing) > len(open_):
            raise FaultError("bad-parse", ") closes a constituent that is not open", at)
        for _ in closing:
            last_word[open_.pop()] = index
    if open_:
        label, first, _ = phrases[open_[-1] - 1]
        raise FaultError("bad-parse", f"{label} is not closed", line + first - 1)
    return tuple(
        Constituent(label, first, last_word[number], parent)
        for number, (label, first, parent) in enumerate(phrases, start=1)
    )


def _parse_spans(cells: Sequence[str], line: int) -> list[EntitySpan]:
    open_: dict[str, list[int]] = defaultdict(list)
    spans: list[tuple[int, int, str]] = []  # first word, last word, entity
    for index, cell in enumerate(cells, start=1):
        for item in () if cell in _NONE else cell.split("|"):
            bracket = _BRACKET.fullmatch(item)
            if not bracket or not (bracket[1] or bracket[3]):
                raise FaultError("bad-coreference", f"cannot read {cell!r}", line + index - 1)
            entity = bracket[2]
            if bracket[1]:
                open_[entity].append(index)
            if bracket[3]:
                if not open_[entity]:
                    fact = f"{entity}) closes a mention that is not open"
                    raise FaultError("unbalanced-entity", fact, line + index - 1)
                # Of nested mentions of one entity the inner one ends first.
                spans.append((open_[entity].pop(), index, entity))
    for entity, starts in open_.items():
        if starts:
            fact = f"the mention of entity {entity} is not closed"
            raise FaultError("unclosed-entity", fact, line + starts[-1] - 1)
    check_covered([last - first + 1 for first, last, _ in spans], line)
    spans.sort(key=lambda span: (span[0], -span[1]))  # of the same start, the longest first
    return [EntitySpan(entity, tuple(range(first, last + 1))) for first, last, entity in spans]


FORMAT = Format(
    "conll2012", "CoNLL-2012", (".conll", "_conll"), 1,
    lambda start: start.is_text and any(line.startswith("#begin document") for line in start.lines),
    lambda source, how: read_conll2012(source.lines(), strict=how.strict),
)  # fmt: skip
