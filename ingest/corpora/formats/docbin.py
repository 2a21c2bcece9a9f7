"""Reads spaCy's DocBin files (.spacy)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attnbank.ingest.corpora.document import DocumentStart, Problem, Sentence
from attnbank.ingest.corpora.faults import problem
from attnbank.ingest.corpora.format import Format, Reading, Start
from attnbank.ingest.corpora.formats.docbin_checks import check_docbin, check_docs
from attnbank.ingest.corpora.formats.spacy_docs import doc_sentences, is_space
from attnbank.ingest.corpora.source import Source
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from spacy.tokens import Doc

_NAME_KEYS = ("name", "id", "doc_id", "title")


def read_docbin(
    data: bytes, file: str = "", document: str = "document"
) -> Iterator[Sentence | Problem]:
    """Read a DocBin.

    Args:
        data: the whole file.
        file: its name, for messages.
        document: documents are called after it, with their number, unless their user data hold a
            name, id, doc_id or title.

    Yields:
        A `Sentence` for each sound sentence and a `Problem` for each faulty one, in order.

    Raises:
        CallError: spaCy is not installed.

    """
    try:
        from spacy.tokens import DocBin
        from spacy.vocab import Vocab
    except ImportError:
        raise CallError("Reading .spacy files needs spaCy.", "pip install spacy") from None
    docs: Iterator[Doc] = iter(())
    names: set[str] = set()
    number = 0
    try:
        check_docbin(data)
        found = DocBin().from_bytes(data)
        check_docs(found)
        docs = iter(found.get_docs(Vocab()))
    except Exception as error:  # of zlib, msgpack, numpy or spaCy: a damaged file raises any
        yield _damaged(error, file)
    while True:
        number += 1
        try:
            doc = next(docs)
            start = _start(doc.user_data, f"{document}-{number}", names)
            names.add(start.name)
            if all(is_space(token) for token in doc):
                yield problem("empty-document", f"document {start.name} holds no words", file)
            else:
                yield from doc_sentences(doc, start, file)
        except StopIteration:
            return
        except Exception as error:  # likewise: what a Doc says of its words is found out by word
            yield _damaged(error, file)
            return


def _damaged(error: Exception, file: str) -> Problem:
    reason = str(error).partition(". ")[0].partition("\n")[0] or type(error).__name__
    return problem("bad-docbin", f"spaCy cannot read it: {reason}", file)


def _start(user_data: dict[Any, Any], default: str, names: set[str]) -> DocumentStart:
    texts = {k: v for k, v in user_data.items() if isinstance(k, str) and isinstance(v, str)}
    name = next((texts[key] for key in _NAME_KEYS if texts.get(key)), default)
    if name in names:
        name = default
    return DocumentStart(name, {key: value for key, value in texts.items() if value != name})


def _recognises(start: Start) -> bool:
    """Tell a DocBin: zlib around a msgpack map that names the attributes of its tokens."""
    try:
        head = zlib.decompressobj().decompress(start.data, 4096)
    except zlib.error:
        return False
    return b"\xa5attrs" in head


def _read(source: Source, how: Reading) -> Iterator[Sentence | Problem]:
    return read_docbin(source.data(), source.name, source.stem)


FORMAT = Format("docbin", "spaCy's DocBin", (".spacy",), 0, _recognises, _read)
