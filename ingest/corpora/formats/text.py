"""Reads plain text and annotates it with a spaCy pipeline."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from attnbank.ingest.corpora.document import (
    MOST_PARAGRAPH,
    DocumentStart,
    FaultError,
    Problem,
    Sentence,
)
from attnbank.ingest.corpora.format import Format, blocks, decode
from attnbank.ingest.corpora.formats.docbin import doc_sentences, is_space
from attnbank.sql.errors import CallError
from attnbank.sql.extras import require_extra

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_MOST = (MOST_PARAGRAPH, MOST_PARAGRAPH)  # bytes and lines of a paragraph
_BATCH = 1000  # texts in a batch of the pipeline: spaCy's default
_MOST_TOGETHER = 100_000  # tokens in a batch, about; a pipeline takes some 20 KB for each
_Piece = tuple[str, int, int]  # a text, its first line and its paragraph, 1-based
LONGEST_PARAGRAPH = 100_000  # characters of a Doc: a parser's memory grows with them


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
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{sha256}  {path.relative_to(folder).as_posix()}\n".encode())
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
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        fact = f"Cannot load the spaCy pipeline {name}: {reason[:300]}"
        remedy = "Use a pipeline made for the installed version of spaCy."
    raise CallError(fact, remedy)


def _pieces(lines: Iterable[bytes], problems: list[Problem]) -> Iterator[_Piece]:
    """Yield the paragraphs, long ones in pieces; add a problem for each that is not text."""
    for paragraph, (line, block) in enumerate(blocks(lines, *_MOST), start=1):
        try:
            text = decode(block, line, *_MOST).removesuffix("\n")
        except FaultError as fault:
            problems.append(fault.problem)
            continue
        begin = 0
        while len(text) - begin > LONGEST_PARAGRAPH:
            end = begin + LONGEST_PARAGRAPH
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


FORMAT = Format(
    "text", "plain text", (".txt",), 9, lambda start: start.is_text,
    lambda source, how: read_text(source.lines(), source.stem, how.spacy or ""),
)  # fmt: skip
