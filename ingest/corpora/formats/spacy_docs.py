"""Reads what spaCy makes sentences of: DocBin files (.spacy), and plain text by a pipeline."""

from __future__ import annotations

import hashlib
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING, Any

from attnbank.ingest.corpora.document import (
    DocumentStart,
    FaultError,
    Problem,
    Sentence,
    Word,
    check_tree,
)
from attnbank.ingest.corpora.format import CONTROL, Format, Start, blocks, decode
from attnbank.ingest.corpora.limits import (
    MOST_DOCBIN,
    MOST_ITEMS,
    MOST_PARAGRAPH,
    MOST_TOKENS,
    MOST_WORDS,
)
from attnbank.ingest.corpora.mentions import EntitySpan, check_covered, mentions_of
from attnbank.sql.errors import CallError, first_line, require_extra
from attnbank.sql.outputs import file_digest

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, DocBin, Span, Token

_CLUSTER = "coref_clusters_"
_MOST_NOTES = 16 * 2**20  # bytes of the user data or the spans of a Doc
# The number of bytes that follow the first byte of an item of fixed size, as in the msgpack
# specification.
_PLAIN = {
    0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1,
    0xD1: 2, 0xD2: 4, 0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17,
}  # fmt: skip
# Items with a length: the number of its bytes, and of the bytes of an extension's type.
_SIZED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1),
          0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}  # fmt: skip
# Arrays and maps: the number of bytes of the length, and items for each element (a map has two).
_NESTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}
_NAME_KEYS = ("name", "id", "doc_id", "title")
_PARAGRAPH = (MOST_PARAGRAPH, MOST_PARAGRAPH)  # bytes and lines at most
LONGEST_DOC = 100_000  # characters of plain text in a Doc: a parser's memory grows with them
_BATCH = 1000  # texts in a batch of the pipeline: spaCy's default
_MOST_TOGETHER = 100_000  # tokens in a batch, about; a pipeline takes some 20 KB for each
_Piece = tuple[str, int, int]  # a text, its first line and its paragraph, 1-based


def read_docbin(
    data: bytes, document: str = "document", *, strict: bool = False
) -> Iterator[Sentence | Problem]:
    """Parse a DocBin file.

    A document is named by the name, id, doc_id or title in its user data, by default `document`
    with its number. Yields a `Sentence` for each valid sentence and a `Problem` for each faulty
    one, in order; a repeated mention is read once or, if `strict`, a problem. Raises
    MissingPackageError if spaCy is not installed.
    """
    require_extra("Reading .spacy files", "spacy", "spacy")
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    names: set[str] = set()
    try:
        check_docbin(data)
        docbin = DocBin().from_bytes(data)
        check_docs(docbin)
        for number, doc in enumerate(docbin.get_docs(Vocab()), start=1):
            start = _document_start(doc.user_data, f"{document}-{number}", names)
            names.add(start.name)
            if all(is_space(token) for token in doc):
                yield Problem("empty-document", f"document {start.name} has no words")
            else:
                yield from doc_sentences(doc, start, strict=strict)
    except Exception as error:  # a damaged file raises any error of zlib, msgpack, numpy or spaCy
        reason = str(error).partition(". ")[0].partition("\n")[0] or type(error).__name__
        yield Problem("bad-docbin", f"spaCy cannot read it: {reason}")


def _document_start(user_data: dict[Any, Any], default: str, names: set[str]) -> DocumentStart:
    texts = {k: v for k, v in user_data.items() if isinstance(k, str) and isinstance(v, str)}
    name = next((texts[key] for key in _NAME_KEYS if texts.get(key)), default)
    if name in names:
        name = default
    return DocumentStart(name, {key: value for key, value in texts.items() if value != name})


def is_space(token: Token) -> bool:
    """Whether a token is white space; Token.is_space needs the vocabulary of a language."""
    text: str = token.text
    return text.isspace()


def doc_sentences(
    doc: Doc,
    start: DocumentStart | None,
    line_at: Callable[[int], int] = lambda offset: 0,
    paragraph: int | None = None,
    *,
    strict: bool = False,
) -> Iterator[Sentence | Problem]:
    """Yield the sentences of a Doc; a Doc without sentence boundaries is one sentence.

    Tokens of white space are skipped; a word whose head is one gets the head of that. Span groups
    `coref_clusters_1`, ... are entities. The first valid sentence begins the document `start`, if
    any. `line_at` returns the line of a character offset (0: no lines); `paragraph` is the 1-based
    paragraph of all sentences.
    """
    mentions = sorted(
        (
            (key.removeprefix(_CLUSTER), span)
            for key in doc.spans
            if key.startswith(_CLUSTER)
            for span in doc.spans[key]
        ),
        key=lambda item: (item[1].start, -item[1].end),
    )
    where = f" of document {start.name}" if start else ""
    starts = [span.start for _, span in mentions]
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    for number, span in enumerate(spans, start=1):
        tokens = [token for token in span if not is_space(token)]
        if not tokens:
            continue
        line = line_at(tokens[0].idx)
        own = mentions[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
        try:
            if len(tokens) > MOST_WORDS:
                raise FaultError("too-many-words", f"the sentence has {len(tokens):,} words")
            words = _words_of_tokens(tokens)
            entity_spans = _spans_in_sentence(
                own, span, {t.i: k for k, t in enumerate(tokens, start=1)}
            )
            mentioned, departures = mentions_of(words, entity_spans, line, strict=strict)
        except FaultError as fault:
            yield replace(fault.problem, line=line, sentence=f"{number}{where}")
            continue
        text = " ".join(span.text.split())
        yield Sentence(
            words, None, text, paragraph, mentioned, start, line=line, departures=departures
        )
        start = None


def _words_of_tokens(tokens: Sequence[Token]) -> tuple[Word, ...]:
    heads: Sequence[int | None] = [None] * len(tokens)
    if all(token.has_dep() for token in tokens):
        heads = numbers = _heads(tokens)
        check_tree(numbers)
    words = []
    for token, head in zip(tokens, heads, strict=True):
        if control := CONTROL.search(token.text):
            raise FaultError("control-character", f"character U+{ord(control[0]):04X} in a word")
        last = token.i + 1 == len(token.doc)
        words.append(
            Word(
                form=token.text,
                lemma=token.lemma_ or None,
                upos=token.pos_ or None,
                xpos=token.tag_ or None,
                feats=str(token.morph) or None,
                head_index=head,
                deprel=token.dep_ or None,
                space_after=last or bool(token.whitespace_) or is_space(token.nbor()),
            )
        )
    return tuple(words)


def _heads(tokens: Sequence[Token]) -> list[int]:
    """Return the 1-based head of each word, 0 for the root, skipping white space."""
    index = {token.i: k for k, token in enumerate(tokens, start=1)}
    promoted: dict[int, int] = {}  # where a space is the root, its first dependent word becomes it
    known: dict[int, Token] = {}
    heads = []
    for number, token in enumerate(tokens, start=1):
        head = _head_past_spaces(token, known)
        if is_space(head):
            first = promoted.setdefault(head.i, number)
            heads.append(0 if first == number else first)
        elif head.i == token.i:
            heads.append(0)
        elif head.i not in index:
            fact = f"the head of word {number}, {token.text!r}, is in another sentence; spaCy "
            fact += "splits a Doc wrongly where arcs cross: store each sentence as its own Doc"
            raise FaultError("head-out-of-range", fact)
        else:
            heads.append(index[head.i])
    return heads


def _head_past_spaces(token: Token, known: dict[int, Token]) -> Token:
    """Return the head of a word, past white space; `known` caches the heads of spaces."""
    head = token.head
    climbed: set[int] = set()
    while is_space(head) and head.i not in climbed:
        climbed.add(head.i)
        head = known.get(head.i, head.head)
    known.update(dict.fromkeys(climbed, head))
    return head


def _spans_in_sentence(
    mentions: Sequence[tuple[str, Span]], sentence: Span, index: dict[int, int]
) -> list[EntitySpan]:
    spans = []
    check_covered([span.end - span.start for _, span in mentions], 0)
    for entity, span in mentions:
        if span.end > sentence.end:
            text = span.text[:50]
            fact = f"the mention {text!r} of entity {entity} continues in the next sentence"
            raise FaultError("mention-across-sentences", fact)
        words = tuple(index[token.i] for token in span if token.i in index)
        if words:
            spans.append(EntitySpan(entity, words, type=span.label_ or None))
    return spans


# The memory that a DocBin would take is bounded before spaCy reads it: a thousand bytes of zlib may
# become a million, and a byte of msgpack a list of 64 bytes.


def check_docbin(data: bytes) -> None:
    """Raise ValueError for data that are no DocBin, or exceed MOST_DOCBIN or MOST_ITEMS."""
    inflated = zlib.decompressobj().decompress(data, MOST_DOCBIN + 1)
    if len(inflated) > MOST_DOCBIN:
        raise ValueError(f"it decompresses to more than {MOST_DOCBIN:,} bytes")
    count_items(inflated)


def check_docs(docbin: DocBin) -> None:
    """Raise ValueError for a Doc with too many tokens, or too much user data or spans."""
    longest = max((len(tokens) for tokens in docbin.tokens), default=0)
    if longest > MOST_TOKENS:
        raise ValueError(f"a Doc has {longest:,} tokens; at most {MOST_TOKENS:,} are read")
    for notes in chain(docbin.user_data, docbin.span_groups):
        if isinstance(notes, bytes) and notes:
            if len(notes) > _MOST_NOTES:
                raise ValueError(f"a Doc has {len(notes):,} bytes of user data or spans")
            count_items(notes)


def count_items(data: bytes | bytearray) -> int:
    """Count the items of a msgpack value, including nested ones, without unpacking it.

    Raises ValueError if there are more than MOST_ITEMS, or if the data end within one.
    """
    at = count = 0
    due = 1
    try:
        while due:
            due -= 1
            count += 1
            first = data[at]
            at += 1
            if first <= 0x7F or first >= 0xE0:  # a small number
                continue
            if first <= 0x8F:
                due += 2 * (first & 15)
            elif first <= 0x9F:
                due += first & 15
            elif first <= 0xBF:
                at += first & 31
            elif first in _PLAIN:
                at += _PLAIN[first]
            elif first in _SIZED:
                width, more = _SIZED[first]
                at += width + more + int.from_bytes(data[at : at + width])
            elif first in _NESTED:
                width, items = _NESTED[first]
                due += items * int.from_bytes(data[at : at + width])
                at += width
            else:
                raise ValueError(f"byte 0x{first:02x} is not valid in msgpack")
            if count + due > MOST_ITEMS:
                raise ValueError(f"it has more than {MOST_ITEMS:,} items")
    except IndexError:
        raise ValueError("it ends too early") from None
    if at > len(data):
        raise ValueError("it ends too early")
    return count


def read_text(lines: Iterable[bytes], document: str, spacy: str) -> Iterator[Sentence | Problem]:
    """Read plain text in UTF-8: a blank line ends a paragraph, and the file is one document.

    `spacy` is the name or the folder of a spaCy pipeline with a parser. Yields a `Sentence` for
    each sentence that it finds, and a `Problem` for each paragraph that is not text.

    Raises CallError if the pipeline cannot be loaded, or does not find sentences or trees.
    """
    pipeline = _load_pipeline(spacy)
    start: DocumentStart | None = DocumentStart(document)
    problems: list[Problem] = []
    for doc, (text, line, paragraph) in _annotate(pipeline, _pieces(lines, problems)):
        yield from problems
        problems.clear()
        if sum(not is_space(token) for token in doc) > 1:
            for annotation, task in (("SENT_START", "find sentences"), ("DEP", "parse")):
                if not doc.has_annotation(annotation):
                    fact = f"The spaCy pipeline {spacy} does not {task}."
                    raise CallError(fact, "Use one with a parser.")
        for item in doc_sentences(doc, start, partial(_line_at, text, line), paragraph):
            if isinstance(item, Sentence):
                start = None
            yield item
    yield from problems


def pipeline_identity(name: str) -> tuple[str, str]:
    """Return the name and version of a pipeline, and its digest.

    The first is, for example, en_core_web_sm 3.8.0 (spaCy 3.8.7). The digest is the SHA-256, in
    hexadecimal, of the lines `sha256  path` that sha256sum prints for its files, sorted by path.
    The pipeline is loaded again, since its files may have changed. Raises CallError if it cannot be
    loaded.
    """
    _load_pipeline.cache_clear()
    pipeline = _load_pipeline(name)
    meta = pipeline.meta
    own = f"{meta['lang']}_{meta['name']} {meta['version']}"
    return f"{own} (spaCy {version('spacy')})", _files_digest(pipeline)


def _files_digest(pipeline: Language) -> str:
    folder = pipeline.path
    if folder is None:  # a package that makes its pipeline in Python
        return hashlib.sha256(pipeline.to_bytes()).hexdigest()
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts:
            name = path.relative_to(folder).as_posix()
            digest.update(f"{file_digest(path)}  {name}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _load_pipeline(name: str) -> Language:
    require_extra("Annotating plain text", "spacy", "spacy")
    import spacy

    try:
        return spacy.load(name)
    except OSError:
        fact = f"The spaCy pipeline {name} does not exist."
        remedy = f"Try: python -m spacy download {name}, or name the folder of a pipeline."
    except Exception as error:  # it exists, but is damaged or made for another version
        fact = f"Cannot load the spaCy pipeline {name}: {first_line(error)[:300]}"
        remedy = "Use a pipeline made for the installed version of spaCy."
    raise CallError(fact, remedy)


def _pieces(lines: Iterable[bytes], problems: list[Problem]) -> Iterator[_Piece]:
    """Yield the paragraphs, long ones in pieces; add a problem for each that is not text."""
    for paragraph, (line, block) in enumerate(blocks(lines, *_PARAGRAPH), start=1):
        try:
            text = decode(block, line, *_PARAGRAPH).removesuffix("\n")
        except FaultError as fault:
            problems.append(fault.problem)
            continue
        begin = 0
        while len(text) - begin > LONGEST_DOC:
            end = begin + LONGEST_DOC
            cuts = (text.rfind(separator, begin + 1, end) for separator in "\n ")
            cut = next((cut for cut in cuts if cut > 0), end)
            yield text[begin:cut], line, paragraph
            line += text.count("\n", begin, cut)
            begin = cut
        yield text[begin:], line, paragraph


def _annotate(pipeline: Language, pieces: Iterable[_Piece]) -> Iterator[tuple[Doc, _Piece]]:
    """Annotate pieces in batches, and yield the Doc of each with the piece.

    Batches are bounded by tokens too: spaCy's own have 1,000 texts, however long.
    """
    batch: list[tuple[str, _Piece]] = []
    size = 0
    for piece in pieces:
        text = piece[0]
        # Rather too many: some languages write without spaces.
        words = text.count(" ") + text.count("\n") + 1
        tokens = max(words, len(text) // (5 if text.isascii() else 2))
        if batch and (len(batch) == _BATCH or size + tokens > _MOST_TOGETHER):
            yield from pipeline.pipe(batch, as_tuples=True, batch_size=_BATCH)
            batch, size = [], 0
        batch.append((text.replace("\n", " "), piece))
        size += tokens
    yield from pipeline.pipe(batch, as_tuples=True, batch_size=_BATCH)


def _line_at(text: str, line: int, offset: int) -> int:
    return line + text.count("\n", 0, offset)


def _is_docbin(start: Start) -> bool:
    """Recognise a DocBin: zlib around a msgpack map with the attributes of its tokens."""
    try:
        head = zlib.decompressobj().decompress(start.data, 4096)
    except zlib.error:
        return False
    return b"\xa5attrs" in head


DOCBIN = Format(
    "docbin", "spaCy's DocBin", (".spacy",), 0, _is_docbin,
    lambda source, how: read_docbin(source.data(), source.stem, strict=how.strict),
)  # fmt: skip
PLAIN_TEXT = Format(
    "text", "plain text", (".txt",), 9, lambda start: start.is_text,
    lambda source, how: read_text(source.lines(), source.stem, how.spacy or ""),
)  # fmt: skip
