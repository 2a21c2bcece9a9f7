"""Parses CoNLL-U and CoNLL-U Plus: documents, paragraphs, sentences, trees and coreference.

A faulty sentence becomes a `Problem`, and parsing resumes after the next blank line. A document or
paragraph that a faulty sentence should have begun begins with the next valid sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count, zip_longest

from attnbank.ingest.corpora.document import (
    NO_HEAD,
    ZERO_MENTION,
    Departure,
    DocumentStart,
    FaultError,
    Problem,
    Sentence,
    Word,
    check_tree,
)
from attnbank.ingest.corpora.format import Format, Start, blocks, decode, split_lines
from attnbank.ingest.corpora.limits import MOST_DIGITS
from attnbank.ingest.corpora.mentions import (
    COREFUD,
    Notation,
    cluster_spans,
    entity_spans,
    infer_notation,
    mentions_of,
)
from attnbank.sql.names import without_subtype

_KNOWN_COMMENT = re.compile(r"#\s*(newdoc|newpar|sent_id|text|global\.(Entity|columns))\b")
_ID = re.compile(r"[0-9]+([-.][0-9]+)?\t")

_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _"
_UPOS = frozenset(_TAGS.split())
_SIGNS = frozenset({"PUNCT", "SYM", "X"})  # tags with which the form may really be an underscore
_VERSION_1 = {"CONJ": "CCONJ"}  # tags of UD 1 that were renamed in UD 2
_COLUMNS = 10
_NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_NODE = re.compile(r"(0|[1-9][0-9]{0,8})(\.[1-9][0-9]{0,8})?")
_WORD = re.compile(r"[1-9][0-9]{0,8}")
# Most sentences are shorter than this, and a lookup is faster than str() and int().
_IDS = [str(i) for i in range(512)]
_HEAD = {id: i for i, id in enumerate(_IDS)}
_NO_MISC: tuple[bool, str | None] = (True, None)
_DEFINED = {"sent_id", "text", "newdoc", "newpar", "global.Entity", "global.columns"}
_META = "meta::"  # prefix of comments about the document
_GLOBAL = "global."  # prefix of comments about the file
_LONGEST_NORMALISED = 20_000  # characters


def read_conllu(
    lines: Iterable[bytes], document: str = "document", *, strict: bool = False
) -> Iterator[Sentence | Problem]:
    """Parse the raw lines of a CoNLL-U file, in UTF-8 with their line ends (LF or CRLF).

    `document` is the name of the document if the file has no `# newdoc`; a `# newdoc` without a
    name gets it with a number.

    Yields a `Sentence` for each valid sentence and a `Problem` for each faulty one, in order. If
    `# text` is missing, or differs from the words (a departure), the text is rebuilt from them. The
    other departures are repeated names and mentions, mentions that belong to no entity, words
    without a head in a tree, single words whose form is withheld, and tags of UD 1; if `strict`,
    they are problems. Mentions of empty nodes are departures, but never problems.
    """
    reader = _ConlluReader(document, strict)
    items = (reader.read_block(line, block) for line, block in blocks(lines))
    yield from (item for item in items if item is not None)


class _Comments:
    """The comments above a sentence, by key, and the line of each key."""

    def __init__(self, rows: Iterable[str], line: int) -> None:
        self.values: dict[str, str] = {}  # of the keys that the format defines
        self.metadata: dict[str, str] = {}  # of the document that begins here
        self.sentence_metadata: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        for at, row in enumerate(rows, start=line):
            key, equals, value = (part.strip() for part in row[1:].partition("="))
            if key in ("newdoc id", "newpar id"):
                key = key.removesuffix(" id")
            if key == "sent_id" and self.sent_id is not None:
                fact = f"sentence {self.sent_id} has no words before the next sent_id"
                raise FaultError("no-words", fact, at)
            if key in _DEFINED:
                self.values[key] = value
            elif key.startswith(_META):
                self.metadata[key[len(_META) :]] = value
            elif key and equals and not key.startswith(_GLOBAL):
                self.sentence_metadata[key] = value  # the last of those that name a key twice
            self.lines[key] = at

    @property
    def sent_id(self) -> str | None:
        return self.values.get("sent_id") or None


class _ConlluReader:
    def __init__(self, document: str, strict: bool) -> None:
        self.strict = strict
        self.stem = document
        self.pending: str | None = document  # the document that the next sentence begins
        self.metadata: dict[str, str] = {}  # of the pending document
        self.is_marked = False  # whether a newdoc has begun it
        self.documents: set[str] = set()
        self.document = document  # the current one, as named in the file
        self.departures: list[Departure] = []  # since the last sentence
        self.mentions = 0  # without an entity, so far
        self.sentences: set[str] = set()  # ids, which need only be unique within the document
        self.unnamed = 0
        self.paragraph = 0
        self.notation: Notation | None = None  # until a comment or a bracket tells it
        self.columns: _PlusColumns | None = None  # if they are not the ten of CoNLL-U

    def read_block(self, line: int, block: bytes) -> Sentence | Problem | None:
        name: str | None = None
        seen = 0  # rows whose comments have been read
        try:
            lines = split_lines(decode(block, line))
            first = next((i for i, row in enumerate(lines) if not row.startswith("#")), len(lines))
            comments = _Comments(lines[:first], line)
            name, seen = comments.sent_id, first
            self.read_comments(comments)
            if first == len(lines):
                if name is None and "text" not in comments.values:
                    return None  # loose comments, such as a licence
                raise FaultError("no-words", "comments without words below them", line)
            words, at, is_final = lines[first:], line + first, not block.endswith(b"\n")
            _check_shape(words, at)
            if self.columns is not None:
                words = self.columns.to_conllu(words, at, is_final)
            sentence = _read_rows(words, at, is_final)
            return self.build_sentence(sentence, comments, line)
        except FaultError as fault:
            self.read_starts(block, seen, line)
            return replace(fault.problem, sentence=name)

    def read_comments(self, comments: _Comments) -> None:
        """Begin the document and paragraph, and set the columns, that comments declare."""
        fault: FaultError | None = None
        if "newdoc" in comments.lines:
            named = comments.values["newdoc"]
            self.unnamed += not named
            name = named or f"{self.stem}-{self.unnamed}"
            is_same = name == self.document and name in self.documents and not self.strict
            if name in self.documents:
                fact = f"a document above is also called {name}"
                fault = self.note_departure("repeated-document", fact, comments.lines["newdoc"])
            if not is_same:
                self.begin_document(name)
        if self.pending is not None:
            self.metadata.update(comments.metadata)
        if "newpar" in comments.lines:
            self.paragraph += 1
        columns = comments.values.get("global.columns")
        if columns is not None:
            self.columns = _PlusColumns.parse_declaration(columns, comments.lines["global.columns"])
        entity = comments.values.get("global.Entity")
        if entity is not None:
            at = comments.lines["global.Entity"]
            self.notation = Notation.parse_declaration(entity, at)
            if not self.notation.is_grouped:
                fact = f"{entity!r} has neither eid nor GRP"
                fault = self.note_departure("no-entity-group", fact, at) or fault
        if fault:
            raise fault

    def begin_document(self, name: str) -> None:
        """Begin a document; its name in the bank is made unique."""
        self.document = self.pending = name
        self.is_marked = True
        if not self.strict:
            names = (f"{name} ({number})" if number > 1 else name for number in count(1))
            self.pending = next(candidate for candidate in names if candidate not in self.documents)
        self.metadata = {}
        self.paragraph = 0
        self.sentences = set()
        self.documents.add(self.pending)

    def note_departure(self, id: str, fact: str, line: int) -> FaultError | None:
        """Note a departure for the next sentence; if `strict`, return it as an error instead.

        It is returned rather than raised so that the rest of the comments are still read.
        """
        if self.strict:
            return FaultError(id, fact, line)
        self.departures.append(Departure(id, fact, line))
        return None

    def read_starts(self, block: bytes, seen: int, line: int) -> None:
        """Read the documents and paragraphs that begin within a faulty block."""
        for row in split_lines(block.decode("utf-8", "replace"))[seen:]:
            if row.startswith("#"):
                with suppress(FaultError):  # one problem a sentence is enough
                    self.read_comments(_Comments([row], line))

    def build_sentence(self, sentence: _SentenceRows, comments: _Comments, line: int) -> Sentence:
        text, metadata = comments.values.get("text"), comments.sentence_metadata
        if sentence.blanks == len(sentence.words) and not all(
            word.upos in _SIGNS for word in sentence.words
        ):
            raise FaultError("withheld-text", "every word has the form _", sentence.line)
        fault: FaultError | None = None
        if self.notation is None and (inferred := infer_notation(sentence.entities)):
            self.notation, departure = inferred
            if departure is not None:
                fault = self.note_departure(departure.id, departure.fact, departure.line)
        notation = self.notation or COREFUD
        spans, zeros = entity_spans(sentence.entities, sentence.nodes, notation)
        if sentence.clusters and not spans:
            spans = cluster_spans(sentence.clusters, sentence.nodes)
        spelled = "".join(form for form, _ in sentence.tokens)
        if text is not None and (fact := _text_fact(text, spelled)):
            fault = self.note_departure("text-mismatch", fact, comments.lines["text"]) or fault
            metadata["text"] = text  # kept, since the text is rebuilt from the words
            text = None
        elif text is not None and (fact := _respace(sentence, text)):
            fault = self.note_departure("space-mismatch", fact, comments.lines["text"]) or fault
        words = tuple(sentence.words)
        if not notation.is_grouped:
            spans = [
                replace(span, entity=f"{span.entity} {self.mentions + at}")
                for at, span in enumerate(spans, start=1)
            ]
            self.mentions += len(spans)
        mentions, repeated = mentions_of(words, spans, line, strict=self.strict)
        self.departures += repeated
        name = comments.sent_id
        if name in self.sentences:
            fact = "an earlier sentence of this document has the same sent_id"
            fault = fault or self.note_departure(
                "duplicate-sent-id", fact, comments.lines["sent_id"]
            )
        for noted in sentence.noted:
            fault = fault or self.note_departure(*noted)
        if fault:
            raise fault
        self.departures += [
            Departure(ZERO_MENTION, f"a mention of entity {entity} is an empty node", at)
            for entity, at in zeros
        ]
        if name is not None:
            self.sentences.add(name)
        start = None
        if self.pending is not None:
            start = DocumentStart(self.pending, self.metadata, is_marked=self.is_marked)
            self.documents.add(self.pending)
            self.pending, self.metadata = None, {}
        if sentence.new_paragraph == 0 and "newpar" not in comments.lines:
            self.paragraph += 1
        paragraph = self.paragraph or None
        departures, self.departures = tuple(self.departures), []
        self.paragraph += bool(sentence.new_paragraph)  # begins after this sentence's first words
        if text is None:
            text = "".join(form + " " * space for form, space in sentence.tokens).rstrip()
        empty = sentence.empty_nodes
        return Sentence(
            words, name, text, paragraph, mentions, start, empty, line, departures, metadata
        )


def _check_shape(rows: list[str], line: int) -> None:
    """Raise FaultError for a comment between the words of a sentence."""
    for at, row in enumerate(rows, start=line):
        if row.startswith("#"):
            key = row[1:].partition("=")[0].strip()
            if key.startswith("newdoc"):
                raise FaultError("newdoc-in-sentence", "a document begins within the sentence", at)
            where = "between the words of the sentence"
            if key in ("sent_id", "text") or key.startswith("newpar"):
                raise FaultError("missing-blank-line", f"# {key} {where}", at)
            raise FaultError("misplaced-comment", f"a comment {where}", at)


def _text_fact(text: str, spelled: str) -> str | None:
    """Return the first difference between # text and the words, ignoring spaces (`_respace`)."""
    if text.replace(" ", "") == spelled.replace(" ", ""):
        return None
    if len(text) > _LONGEST_NORMALISED:  # NFC takes quadratic time for many combining marks
        return f"# text of {len(text):,} characters does not match the words"
    wanted, got = (unicodedata.normalize("NFC", "".join(t.split())) for t in (text, spelled))
    if wanted == got:
        return None
    at = next(i for i, (a, b) in enumerate(zip_longest(wanted, got)) if a != b)
    return f"# text has ...{wanted[at : at + 12]!r} where the words have {got[at : at + 12]!r}"


def _respace(sentence: _SentenceRows, text: str) -> str | None:
    """Set the spaces after words as in # text, and return where SpaceAfter differs, if anywhere.

    Nothing is changed if words and text differ in more than spaces (for example in how an accent is
    encoded). The last word keeps its space: # text does not show it.
    """
    if text == "".join(form + " " * space for form, space in sentence.tokens).rstrip():
        return None
    written = []
    at = 0
    for form, _ in sentence.tokens:
        for char in form:
            while at < len(text) and text[at].isspace():
                at += 1
            if char.isspace():
                continue
            if at == len(text) or text[at] != char:
                return None
            at += 1
        written.append(at < len(text) and text[at].isspace())
    written[-1] = sentence.tokens[-1][1]
    differing = [
        number
        for number, ((_, space), is_space) in enumerate(zip(sentence.tokens, written, strict=True))
        if space != is_space
    ]
    if not differing:
        return None
    ends = [
        index
        for index, (word, after) in enumerate(zip_longest(sentence.words, sentence.words[1:]))
        if word.token_start is None or after is None or after.token_start != word.token_start
    ]  # the index of the last word of each token
    for number in differing:
        index = ends[number]
        sentence.words[index] = replace(sentence.words[index], space_after=written[number])
        sentence.tokens[number] = (sentence.tokens[number][0], written[number])
    first = differing[0]
    has = "a space" if written[first] else "no space"
    more = f" (and {len(differing) - 1:,} more differ)" if len(differing) > 1 else ""
    after = f"after {sentence.tokens[first][0]!r}"
    return f"# text has {has} {after}, which does not match SpaceAfter{more}"


@dataclass(slots=True)
class _SentenceRows:
    words: list[Word] = field(default_factory=list)
    tokens: list[tuple[str, bool]] = field(default_factory=list)  # each range once: form, space
    nodes: list[int] = field(default_factory=list)  # word indices, 0 for an empty node
    entities: list[tuple[int, int, str]] = field(default_factory=list)  # node, line, value
    clusters: list[tuple[int, int, str]] = field(default_factory=list)  # node, line, MISC
    noted: list[tuple[str, str, int]] = field(default_factory=list)  # departures: id, fact, line
    line: int = 0  # of the first row
    blanks: int = 0  # words whose form is made of underscores
    empty_nodes: int = 0
    new_paragraph: int | None = None  # 0-based node with NewPar=Yes


@dataclass(frozen=True, slots=True)
class _PlusColumns:
    """The columns of CoNLL-U Plus: the indices of the ten of CoNLL-U, and of the others by name."""

    count: int
    places: tuple[int | None, ...]
    others: tuple[tuple[str, int], ...]

    @classmethod
    def parse_declaration(cls, text: str, line: int) -> _PlusColumns | None:
        """Parse `# global.columns`; None for those of CoNLL-U. Raises FaultError."""
        names = text.split()
        if names == [*_NAMES]:
            return None
        columns = {name: at for at, name in enumerate(names)}
        if len(columns) < len(names) or not {"ID", "FORM"} <= columns.keys():
            fact = "names a column twice" if len(columns) < len(names) else "lacks ID or FORM"
            raise FaultError("bad-global-columns", f"{text!r} {fact}", line)
        extra = tuple((name, at) for name, at in columns.items() if name not in _NAMES)
        return cls(len(names), tuple(map(columns.get, _NAMES)), extra)

    def to_conllu(self, rows: Sequence[str], line: int, final: bool) -> list[str]:
        """Convert rows to CoNLL-U, with other columns in MISC. Raises FaultError."""
        standard = []
        for at, row in enumerate(rows, start=line):
            cells = row.split("\t")
            if len(cells) == self.count + 1 and not cells[-1]:  # a tab at the end of the line
                cells.pop()
            if len(cells) != self.count:
                is_last = final and at == line + len(rows) - 1
                raise _column_fault(cells, at, is_last, self.count)
            known = ["_" if column is None else cells[column] for column in self.places]
            more = [
                f"{name}={cells[column].replace('|', '%7C')}"
                for name, column in self.others
                if cells[column] not in ("", "_", "*")  # PARSEME has * outside of its expressions
            ]
            if more:
                known[-1] = "|".join(([] if known[-1] == "_" else [known[-1]]) + more)
            standard.append("\t".join(known))
        return standard


@dataclass(slots=True)
class _MultiwordToken:
    """A multiword token: the range of its words and its form."""

    first: int = 0
    last: int = 0
    surface: str | None = None
    space_after: bool = True


def _read_rows(rows: Sequence[str], line: int, final: bool) -> _SentenceRows:
    """Parse the word lines of a sentence, the first of which is line `line` of its file.

    If `final`, the last row ends the file without a line end, so it may be cut short.

    This is the inner loop of reading: it runs for every word of a corpus, so cheap tests of the
    common case come first, and functions are called only for the rest.
    """
    sentence = _SentenceRows(line=line)
    words, nodes = sentence.words, sentence.nodes
    heads: list[int] = []
    without_head: list[tuple[int, str]] = []  # line and fact of each word without a head
    enhanced: list[tuple[int, str]] = []  # line, DEPS, where the tree does not say the same
    token = _MultiwordToken()
    index = 0
    empty = 0  # empty nodes since the last word
    for at, row in enumerate(rows, start=line):
        cells = row.split("\t")
        if len(cells) != _COLUMNS:
            if len(cells) != _COLUMNS + 1 or cells[-1]:  # not a tab at the end of the line
                raise _column_fault(cells, at, final and at == line + len(rows) - 1)
            cells.pop()
        id, form, lemma, upos, xpos, feats, head, deprel, deps, misc = cells
        if "" in cells or form.isspace():
            raise _empty_fault(cells, at)
        expected = _IDS[index + 1] if index < 511 else str(index + 1)
        if id != expected:
            if _RANGE.fullmatch(id):
                token = _parse_range(id, form, misc, index, token, at)
                sentence.tokens.append((form, token.space_after))
                continue
            if not _EMPTY.fullmatch(id):
                raise _id_fault(id, index, at)
            if id != f"{index}.{empty + 1}":
                fact = f"expected empty node {index}.{empty + 1}, found {id}"
                raise FaultError("empty-node-id", fact, at)
            empty += 1
            sentence.empty_nodes += 1
            if deps != "_":
                enhanced.append((at, deps))
            if "Entity=" in misc or "ClusterId" in misc:
                _parse_misc(misc, sentence, at)
            nodes.append(0)
            continue
        index += 1
        empty = 0
        if upos not in _UPOS:
            upos = _normalise_upos(upos, form, sentence, at)
        if deprel.split() != [deprel]:
            raise FaultError("bad-deprel", f"DEPREL is {deprel!r} for {form!r}", at)
        if feats != "_" and (wrong := _check_feats(feats)):
            raise FaultError("bad-feats", f"{wrong} for {form!r}", at)
        if (head_index := _HEAD.get(head, NO_HEAD)) == NO_HEAD and head != "_":
            head_index = _parse_head(head, at)
        if head_index == NO_HEAD:
            without_head.append((at, f"{form!r} has no head"))
        elif deprel == "_":
            head_index = NO_HEAD
            without_head.append((at, f"HEAD is {head} but DEPREL is _"))
        heads.append(head_index)
        if deps != "_" and deps != f"{head}:{deprel}":
            enhanced.append((at, deps))
        if head_index == 0 or deprel[0] in "rR":
            _check_deprel(deprel, head_index, at)
        if form[0] == "_" and not form.strip("_"):
            sentence.blanks += 1
            if lemma.strip("_") or not (upos == "_" or upos in _SIGNS):
                sentence.noted.append(("withheld-form", f"the form of word {index} is {form}", at))
        space_after, other_misc = _NO_MISC if misc == "_" else _parse_misc(misc, sentence, at)
        surface = token_start = None
        if index <= token.last:
            surface, token_start = token.surface, token.first
            space_after = token.space_after and index == token.last
        else:
            sentence.tokens.append((form, space_after))
        nodes.append(index)
        words.append(
            Word(
                form,
                None if lemma == "_" and form != "_" else lemma,
                None if upos == "_" else upos,
                None if xpos == "_" else xpos,
                None if feats == "_" else feats,
                None if head_index == NO_HEAD else head_index,
                None if deprel == "_" else deprel,
                None if deps == "_" else deps,
                space_after,
                surface,
                other_misc,
                token_start,
            )
        )
    _check_sentence(rows, line, heads, token)
    if any(head != NO_HEAD for head in heads):
        sentence.noted += [("missing-head", fact, at) for at, fact in without_head]
    else:
        unlabelled = next((word for word in without_head if word[1].startswith("HEAD")), None)
        if unlabelled is not None:
            raise FaultError("empty-deprel", unlabelled[1], unlabelled[0])
    if enhanced:
        _check_enhanced(enhanced, rows, len(heads), sentence.empty_nodes)
    return sentence


def _check_sentence(
    rows: Sequence[str], line: int, heads: list[int], token: _MultiwordToken
) -> None:
    if not heads:
        raise FaultError("no-words", "the sentence has only multiword tokens or empty nodes", line)
    if token.last > len(heads):
        at = line + max(i for i, row in enumerate(rows) if "-" in row.partition("\t")[0])
        fact = f"multiword token {token.surface!r} ends at {token.last} of {len(heads)} words"
        raise FaultError("range-past-end", fact, at)

    def line_of(word: int) -> int:
        return next(at for at, row in enumerate(rows, line) if row.startswith(f"{word}\t"))

    if any(head != NO_HEAD for head in heads):
        check_tree(heads, line_of)


def _check_enhanced(
    enhanced: Sequence[tuple[int, str]], rows: Sequence[str], words: int, empty_nodes: int
) -> None:
    ids = {row.partition("\t")[0] for row in rows} if empty_nodes else set()
    for at, deps in enhanced:
        for edge in deps.split("|"):
            head, colon, relation = edge.partition(":")
            if not (colon and relation.split() == [relation] and _NODE.fullmatch(head)):
                raise FaultError("bad-deps", f"{edge!r} in DEPS is not HEAD:RELATION", at)
            if head not in ids if "." in head else int(head) > words:
                fact = f"{edge!r} in DEPS names a head that is not in the sentence"
                raise FaultError("bad-deps", fact, at)


def _parse_misc(misc: str, sentence: _SentenceRows, line: int) -> tuple[bool, str | None]:
    """Parse MISC: whether a space follows, and the other items; note Entity and NewPar."""
    if misc == "SpaceAfter=No":
        return False, None
    space_after = True
    items = []
    for item in misc.split("|"):
        if item.startswith("Entity="):
            sentence.entities.append((len(sentence.nodes), line, item[7:]))
        elif item == "SpaceAfter=No":
            space_after = False
        elif item:
            items.append(item)
            if item == "NewPar=Yes":
                sentence.new_paragraph = len(sentence.nodes)
            elif item.startswith(("ClusterId=", "ClusterId[1]=")):
                sentence.clusters.append((len(sentence.nodes), line, misc))
    return space_after, "|".join(items) or None


def _check_feats(feats: str) -> str | None:
    """Return what is wrong with FEATS; cached, unless it is so long that the cache would grow."""
    return _feats_fact(feats) if len(feats) < 1000 else _feats_fact.__wrapped__(feats)


@lru_cache(maxsize=1 << 16)
def _feats_fact(feats: str) -> str | None:
    names = set()
    for pair in feats.split("|"):
        name, equals, value = pair.partition("=")
        if not (name and equals and value) or "=" in value or " " in pair:
            return f"{pair!r} in FEATS is not Name=Value"
        if name in names:
            return f"FEATS names {name} twice"
        names.add(name)
    return None


def _normalise_upos(upos: str, form: str, sentence: _SentenceRows, line: int) -> str:
    """Return the tag of UD 2 for one of UD 1 or in another case. Raises FaultError (bad-upos)."""
    known = _VERSION_1.get(upos, upos.upper())
    if known not in _UPOS:
        raise FaultError("bad-upos", f"UPOS is {upos!r} for {form!r}", line)
    sentence.noted.append(("other-upos", f"UPOS is {upos} for {form!r}, read as {known}", line))
    return known


def _parse_head(head: str, line: int) -> int:
    if not (head.isascii() and head.isdigit()):
        raise FaultError("head-not-integer", f"HEAD is {head!r}", line)
    if len(head) > MOST_DIGITS:
        raise FaultError("head-out-of-range", f"HEAD has {len(head):,} digits", line)
    return int(head)


def _check_deprel(deprel: str, head: int, line: int) -> None:
    if head == NO_HEAD:
        return
    if (without_subtype(deprel).lower() == "root") != (head == 0):
        raise FaultError("root-deprel", f"HEAD is {head} but DEPREL is {deprel!r}", line)


def _parse_range(
    id: str, form: str, misc: str, index: int, before: _MultiwordToken, line: int
) -> _MultiwordToken:
    start, last = (int(end) for end in id.split("-"))
    if start <= before.last:
        fact = f"multiword tokens {id} and {before.surface!r} share word {start}"
        raise FaultError("range-overlap", fact, line)
    if start != index + 1 or last <= start:
        raise FaultError("range-order", f"multiword token {id} above word {index + 1}", line)
    if "Entity=" in misc or "ClusterId" in misc:
        fact = f"a mention on the line of the multiword token {form!r}, not of its words"
        raise FaultError("bad-entity", fact, line)
    return _MultiwordToken(start, last, form, "SpaceAfter=No" not in misc.split("|"))


def _column_fault(cells: list[str], line: int, last: bool, expected: int = _COLUMNS) -> FaultError:
    if last and len(cells) < expected:
        return FaultError(
            "cut-short", f"the last line has {len(cells)} of {expected} columns", line
        )
    fact = f"expected {expected} columns, found {len(cells)}"
    if len(cells) == 1 and len(cells[0].split()) >= expected:
        fact += " (spaces instead of tabs)"
    elif len(cells) > expected == _COLUMNS:
        fact += "; in CoNLL-U Plus the first line names them, # global.columns = ID FORM ..."
    return FaultError("column-count", fact, line)


def _empty_fault(cells: list[str], line: int) -> FaultError:
    if not cells[1].strip():
        fact = f"the form of word {cells[0]} is white space" if cells[1] else ""
        return FaultError("empty-form", fact or f"word {cells[0]} has no form", line)
    name = _NAMES[cells.index("")]
    id = "empty-deprel" if name == "DEPREL" else "empty-column"
    return FaultError(id, f"{name} is empty for {cells[1]!r}", line)


def _id_fault(id: str, index: int, line: int) -> FaultError:
    if not _WORD.fullmatch(id):
        return FaultError("bad-id", f"{id!r} is not a valid id", line)
    if id == "1":
        fact = f"the ids start again at 1 after word {index}"
        return FaultError("missing-blank-line", fact, line)
    return FaultError("id-order", f"expected id {index + 1}, found {id}", line)


def _is_conllu(start: Start) -> bool:
    if any(_KNOWN_COMMENT.match(line) for line in start.lines):
        return start.is_text
    first = start.uncommented[0] if start.uncommented else ""
    return start.is_text and _ID.match(first) is not None and first.count("\t") >= 7


FORMAT = Format(
    "conllu", "CoNLL-U", (".conllu",), 2, _is_conllu,
    lambda source, how: read_conllu(source.lines(), source.stem, strict=how.strict),
)  # fmt: skip
