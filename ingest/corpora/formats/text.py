"""Reads plain text, annotated by a spaCy pipeline that the user names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from attnbank.ingest.corpora.blocks import blocks, decode
from attnbank.ingest.corpora.bounds import MOST_PARAGRAPH
from attnbank.ingest.corpora.document import DocumentStart, Problem, Sentence
from attnbank.ingest.corpora.faults import SentenceError, problem
from attnbank.ingest.corpora.format import Format, Reading, Start
from attnbank.ingest.corpora.formats.spacy_docs import doc_sentences, is_space
from attnbank.ingest.corpora.source import Source
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_MOST = (MOST_PARAGRAPH, MOST_PARAGRAPH)  # bytes and lines of a paragraph
_BATCH = 1000  # pieces of text for the pipeline at once, as is spaCy's own usage
_MOST_TOGETHER = 100_000  # tokens of them, about; a pipeline takes some 20 KB for each
_Piece = tuple[str, int, int]  # the text as it stands, its first line and its paragraph
LONGEST_PARAGRAPH = (
    100_000  # characters for the pipeline at once; a parser's memory grows with them
)


def read_text(
    lines: Iterable[bytes],
    file: str = "",
    document: str = "document",
    spacy: str | None = None,
) -> Iterator[Sentence | Problem]:
    """Read plain text: a blank line ends a paragraph, and the file is one document.

    Args:
        lines: raw lines, in UTF-8. The lines of a paragraph are joined.
        file: the file's name, for messages.
        document: the document's name.
        spacy: the name or the folder of a spaCy pipeline with a parser.

    Yields:
        A `Sentence` for each sentence that the pipeline finds, and a `Problem` for each
        paragraph that is not text in UTF-8.

    Raises:
        CallError: no pipeline is named, it cannot be loaded, or it finds no sentences or trees.

    """
    if spacy is None:
        raise CallError(
            f"{file} is plain text, without annotation.",
            "Name a spaCy pipeline to annotate it (e.g. --spacy en_core_web_sm), or read a sentence"
            " from each line: --format lines.",
        )
    pipeline = _load(spacy)
    start: DocumentStart | None = DocumentStart(document)
    problems: list[Problem] = []
    texts = _texts(lines, file, problems)
    pieces = (
        (" ".join(text.split("\n")), (text, line, paragraph)) for text, line, paragraph in texts
    )
    for doc, (text, line, paragraph) in _piped(pipeline, pieces):
        yield from problems
        problems.clear()
        _check(doc, spacy)
        for item in doc_sentences(doc, start, file, _line_at(text, line), paragraph):
            if isinstance(item, Sentence):
                start = None
            yield item
    yield from problems


def pipeline_identity(name: str) -> tuple[str, str]:
    """What a pipeline calls itself, and the digest of what it is.

    Its own name and version and spaCy's, e.g. en_core_web_sm 3.8.0 (spaCy 3.8.7); and the SHA-256
    of its files, in hexadecimal: of the lines `sha256  path` in the order of the paths, as
    sha256sum prints them within its folder. It is loaded anew: its files may have changed since
    this process loaded it last. Raises CallError as `read_text` does.
    """
    _load.cache_clear()
    pipeline = _load(name)
    meta = pipeline.meta
    own = f"{meta['lang']}_{meta['name']} {meta['version']}"
    return f"{own} (spaCy {version('spacy')})", _files_digest(pipeline)


def _files_digest(pipeline: Language) -> str:
    folder = pipeline.path
    if folder is None:  # a package that makes its pipeline in Python
        return hashlib.sha256(pipeline.to_bytes()).hexdigest()
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = path.relative_to(folder).as_posix()
        if "__pycache__" not in path.parts:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{found}  {name}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _load(name: str) -> Language:
    try:
        import spacy
    except ImportError:
        raise CallError("Plain text needs spaCy.", "pip install spacy") from None
    try:
        return spacy.load(name)
    except OSError:
        fact = f"There is no spaCy pipeline {name}."
        remedy = f"Try: python -m spacy download {name}. Or give the folder of a pipeline."
    except Exception as error:  # it is there, but cannot be used; its files may be damaged
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        fact = f"The spaCy pipeline {name} cannot be loaded: {reason[:300]}"
        remedy = "Use a pipeline made for the spaCy version that is installed."
    raise CallError(fact, remedy)


def _texts(
    lines: Iterable[bytes], file: str, problems: list[Problem]
) -> Iterator[tuple[str, int, int]]:
    """Yield pieces of paragraphs, each with its first line and its paragraph, 1-based."""
    for paragraph, (line, block) in enumerate(blocks(lines, *_MOST), start=1):
        try:
            text = decode(block, line, *_MOST).removesuffix("\n")
        except SentenceError as fault:
            problems.append(problem(fault.id, fault.fact, file, fault.line))
            continue
        begin = 0
        while len(text) - begin > LONGEST_PARAGRAPH:
            end = begin + LONGEST_PARAGRAPH
            cut = text.rfind("\n", begin + 1, end)
            cut = cut if cut > 0 else text.rfind(" ", begin + 1, end)
            cut = cut if cut > 0 else end
            yield text[begin:cut], line, paragraph
            line += text.count("\n", begin, cut)
            begin = cut
        yield text[begin:], line, paragraph


def _piped(
    pipeline: Language, pieces: Iterable[tuple[str, _Piece]]
) -> Iterator[tuple[Doc, _Piece]]:
    """The Docs of pieces of text, annotated a batch at a time, each with what is known of it.

    spaCy alone would take 1,000 of them together, whatever their length.
    """
    batch: list[tuple[str, _Piece]] = []
    size = 0
    for piece in pieces:
        if batch and (len(batch) == _BATCH or size + _tokens(piece[0]) > _MOST_TOGETHER):
            yield from pipeline.pipe(batch, as_tuples=True, batch_size=_BATCH)
            batch, size = [], 0
        batch.append(piece)
        size += _tokens(piece[0])
    yield from pipeline.pipe(batch, as_tuples=True, batch_size=_BATCH)


def _tokens(text: str) -> int:
    """About how many tokens a text is, rather too many: some languages write without spaces."""
    return max(text.count(" ") + 1, len(text) // (5 if text.isascii() else 2))


def _line_at(text: str, line: int) -> Callable[[int], int]:
    return lambda offset: line + text.count("\n", 0, offset)


def _check(doc: Doc, name: str) -> None:
    words = [token for token in doc if not is_space(token)]
    if len(words) > 1 and not doc.has_annotation("SENT_START"):
        raise CallError(f"The spaCy pipeline {name} finds no sentences.", "Use one with a parser.")
    if len(words) > 1 and not doc.has_annotation("DEP"):
        raise CallError(f"The spaCy pipeline {name} gives no trees.", "Use one with a parser.")


def _recognises(start: Start) -> bool:
    return start.is_text


def _read(source: Source, how: Reading) -> Iterator[Sentence | Problem]:
    return read_text(source.lines(), source.name, source.stem, how.spacy)


FORMAT = Format("text", "plain text", (".txt",), 9, _recognises, _read)
