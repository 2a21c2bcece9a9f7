"""Reads CoNLL-U: documents, paragraphs, sentences, trees and coreference.

A faulty sentence gives a `Problem`, and reading goes on after the next blank line; a document or
paragraph that a faulty sentence begins still begins, with the next sound sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from attnbank.ingest.corpora.blocks import blocks, decode, rows
from attnbank.ingest.corpora.document import Departure, DocumentStart, Mention, Problem, Sentence
from attnbank.ingest.corpora.entities import COREFUD, Notation, entity_spans
from attnbank.ingest.corpora.faults import SentenceError, problem
from attnbank.ingest.corpora.format import Format, Reading, Start
from attnbank.ingest.corpora.formats.conllu_rows import Rows, read_rows
from attnbank.ingest.corpora.mentions import mention_of
from attnbank.ingest.corpora.source import Source

_KNOWN_COMMENT = re.compile(r"#\s*(newdoc|newpar|sent_id|text|global\.(Entity|columns))\b")
_ID = re.compile(r"[0-9]+([-.][0-9]+)?\t")

_META = "meta::"  # begins what is said of the document
_GLOBAL = "global."  # begins what is said of the file
_LONGEST_NORMALISED = 20_000  # characters


def read_conllu(
    lines: Iterable[bytes], file: str = "", document: str = "document", *, strict: bool = False
) -> Iterator[Sentence | Problem]:
    """Read the lines of a CoNLL-U file.

    Args:
        lines: raw lines, in UTF-8, with their line ends (LF or CRLF).
        file: the file's name, for messages.
        document: the name of the document if the file has no `# newdoc`; documents that
            `# newdoc` leaves unnamed are called after it, with their number.
        strict: make a problem of what is otherwise read as a departure.

    Yields:
        A `Sentence` for each sound sentence and a `Problem` for each faulty one, in order. Where
        `# text` is missing, or is not what the words spell (a departure), the text is rebuilt.

    """
    reader = _Reader(file, document, strict)
    for line, block in blocks(lines):
        item = reader.read(line, block)
        if item is not None:
            yield item


@dataclass(slots=True)
class _Comments:
    """The comments above a sentence, and the line that each kind of them stands on."""

    sent_id: str | None = None
    text: str | None = None
    newdoc: bool = False
    document: str | None = None
    newpar: bool = False
    entity: str | None = None  # global.Entity
    metadata: dict[str, str] = field(default_factory=dict)  # of the document that begins here
    own: dict[str, str] = field(default_factory=dict)  # what is said of the sentence itself
    lines: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[str], line: int) -> _Comments:
        comments = cls()
        for at, row in enumerate(rows, start=line):
            key, equals, value = row[1:].partition("=")
            key, value = key.strip(), value.strip()
            if key == "sent_id":
                if comments.sent_id is not None:
                    fact = f"sentence {comments.sent_id} has no words before the next sent_id"
                    raise SentenceError("no-words", fact, at)
                comments.sent_id = value or None
            elif key == "text":
                comments.text = value
            elif key in ("newdoc", "newdoc id"):
                comments.newdoc = True
                comments.document = value or None
                key = "newdoc"
            elif key in ("newpar", "newpar id"):
                comments.newpar = True
            elif key == "global.Entity":
                comments.entity = value
            elif key.startswith(_META):
                comments.metadata[key[len(_META) :]] = value
            elif key and equals and not key.startswith(_GLOBAL):
                comments.own[key] = value  # the last of those that name a key twice
            comments.lines[key] = at
        return comments


class _Reader:
    """What must be remembered from sentence to sentence."""

    def __init__(self, file: str, document: str, strict: bool) -> None:
        self.file = file
        self.strict = strict
        self.stem = document
        self.pending: str | None = document  # the document that the next sentence begins
        self.metadata: dict[str, str] = {}  # of the pending document
        self.documents: set[str] = set()
        self.sentences: set[str] = set()  # of the document: ids need be unique in it only
        self.unnamed = 0
        self.paragraph = 0
        self.notation = COREFUD

    def read(self, line: int, block: bytes) -> Sentence | Problem | None:
        name: str | None = None
        seen = 0  # rows whose comments have been taken in
        try:
            lines = rows(decode(block, line))
            first = next((i for i, row in enumerate(lines) if not row.startswith("#")), len(lines))
            comments = _Comments.of(lines[:first], line)
            name = comments.sent_id
            seen = first
            self.take_in(comments)
            if first == len(lines):
                if comments.sent_id is None and comments.text is None:
                    return None  # loose comments, such as a licence
                raise SentenceError("no-words", "comments with no words below them", line)
            _check_shape(lines, first, line)
            read = read_rows(lines[first:], line + first, not block.endswith(b"\n"))
            return self.sentence(read, comments, line)
        except SentenceError as fault:
            self.salvage(block, seen, line)
            return problem(fault.id, fault.fact, self.file, fault.line or line, name)

    def take_in(self, comments: _Comments) -> None:
        """Begin the document and the paragraph that comments announce."""
        fault: SentenceError | None = None
        if comments.newdoc:
            self.unnamed += comments.document is None
            self.pending = comments.document or f"{self.stem}-{self.unnamed}"
            self.metadata = {}
            self.paragraph = 0
            self.sentences = set()
            if self.pending in self.documents:
                fact = f"a document above is called {self.pending}, too"
                fault = SentenceError("duplicate-document", fact, comments.lines["newdoc"])
            self.documents.add(self.pending)
        if self.pending is not None:
            self.metadata.update(comments.metadata)
        if comments.newpar:
            self.paragraph += 1
        if comments.entity is not None:
            try:
                self.notation = Notation.declared(comments.entity)
            except SentenceError as bad:
                fault = SentenceError(bad.id, bad.fact, comments.lines["global.Entity"])
        if fault:
            raise fault

    def salvage(self, block: bytes, seen: int, line: int) -> None:
        """Take in the documents and paragraphs that begin within a faulty block."""
        for row in rows(block.decode("utf-8", "replace"))[seen:]:
            if row.startswith("#"):
                with suppress(SentenceError):  # one problem a sentence is enough
                    self.take_in(_Comments.of([row], line))

    def sentence(self, read: Rows, comments: _Comments, line: int) -> Sentence:
        text, own = comments.text, comments.own
        departures: tuple[Departure, ...] = ()
        if text is not None and (fact := _text_fact(text, read.spelled)):
            at = comments.lines["text"]
            if self.strict:
                raise SentenceError("text-mismatch", fact, at)
            own["text"] = text  # kept, since the words spell another
            text, departures = None, (Departure("text-mismatch", fact, self.file, at),)
        words = tuple(read.words)
        mentions: tuple[Mention, ...] = ()
        if read.entities:
            spans = entity_spans(read.entities, read.nodes, self.notation)
            mentions = tuple(mention_of(words, span) for span in spans)
        if comments.sent_id is not None:
            if comments.sent_id in self.sentences:
                fact = "a sentence of this document above has the same sent_id"
                raise SentenceError("duplicate-sent-id", fact, comments.lines["sent_id"])
            self.sentences.add(comments.sent_id)
        start = None
        if self.pending is not None:
            start = DocumentStart(self.pending, self.metadata)
            self.documents.add(self.pending)
            self.pending, self.metadata = None, {}
        if read.new_paragraph == 0 and not comments.newpar:
            self.paragraph += 1
        paragraph = self.paragraph or None
        self.paragraph += bool(read.new_paragraph)  # begins after this sentence's first words
        return Sentence(
            words=words,
            name=comments.sent_id,
            text=read.text if text is None else text,
            paragraph=paragraph,
            mentions=mentions,
            document=start,
            empty_nodes=read.empty_nodes,
            file=self.file,
            line=line,
            departures=departures,
            metadata=own,
        )


def _check_shape(lines: list[str], first: int, line: int) -> None:
    """Refuse comments between the words of a sentence (a form may begin with #)."""
    for at in range(first, len(lines)):
        if lines[at].startswith("#"):
            key = lines[at][1:].partition("=")[0].strip()
            if key.startswith("newdoc"):
                id, fact = "newdoc-in-sentence", "a document begins within the sentence"
            elif key in ("sent_id", "text") or key.startswith("newpar"):
                id, fact = "missing-blank-line", f"# {key} between the words of the sentence"
            else:
                id, fact = "misplaced-comment", "a comment between the words of the sentence"
            raise SentenceError(id, fact, line + at)


def _text_fact(text: str, spelled: list[str]) -> str | None:
    """Where a text is not what the words spell; None where it is."""
    # Spaces are no part of the check: corpora differ in how SpaceAfter and text treat them.
    if text.replace(" ", "") == "".join(spelled).replace(" ", ""):
        return None
    if len(text) > _LONGEST_NORMALISED:  # marks without a letter are sorted one by one
        return f"# text of {len(text):,} characters is not what the words spell"
    wanted, got = (
        unicodedata.normalize("NFC", "".join(t.split())) for t in (text, "".join(spelled))
    )
    if wanted == got:
        return None
    at = next(
        (i for i, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b),
        min(len(wanted), len(got)),
    )
    return f"# text reads ...{wanted[at : at + 12]!r} where the words spell {got[at : at + 12]!r}"


def _recognises(start: Start) -> bool:
    if any(_KNOWN_COMMENT.match(line) for line in start.lines):
        return start.is_text
    first = start.words[0] if start.words else ""
    return start.is_text and _ID.match(first) is not None and first.count("\t") >= 7


def _read(source: Source, how: Reading) -> Iterator[Sentence | Problem]:
    return read_conllu(source.lines(), source.name, source.stem, strict=how.strict)


FORMAT = Format("conllu", "CoNLL-U", (".conllu",), 2, _recognises, _read)
