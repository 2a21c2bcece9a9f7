"""From the files, folders and standard input that a user names to a stream of sentences."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import BinaryIO

from attnbank.ingest.corpora.bounds import check_sentence, copy_bounded, open_pipe
from attnbank.ingest.corpora.document import CorpusError, DocumentStart, Problem, Sentence
from attnbank.ingest.corpora.faults import LINES, TEXT, SentenceError, problem
from attnbank.ingest.corpora.format import Reading
from attnbank.ingest.corpora.registry import endings, formats, recognise
from attnbank.ingest.corpora.source import STDIN, Source, unreadable
from attnbank.sql.errors import CallError

_GZIP = b"\x1f\x8b"
_START = 1 << 16  # bytes by which a format is recognised
_LONGEST_NAME = 4096  # characters, as of paths on Linux


class _Folder:
    """A temporary folder that goes when the last source in it does, or at the end."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="attnbank-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def find_sources(
    corpus: Sequence[str],
    format: str | None = None,
    stdin: BinaryIO | None = None,
    bad: list[Problem] | None = None,
) -> list[Source]:
    """Find the files that the CORPUS arguments of a command mean, in their order.

    Args:
        corpus: files, folders (searched to the bottom for known endings, sorted by path) and `-`
            (standard input, copied to a temporary file). Any file may be gzip-compressed. A file
            that is met twice is taken once. Plain text in a folder is left out where the folder
            holds annotated files, too: it is their text or their licence.
        format: the format of all of them; by default each file's content tells.
        stdin: what `-` reads, by default standard input.
        bad: files that cannot be read are added here and left out, if there are others.

    Raises:
        CallError: no such file, no corpus in a folder, a device, unknown format.
        CorpusError: empty-file, unknown-format, bad-gzip or inflates-too-far; its `problems` name
            every such file.

    """
    if format is not None and format not in formats():
        raise CallError(f"Unknown format {format!r}.", f"Use one of {', '.join(formats())}.")
    if not corpus:
        raise CallError("No corpus was given.", "Name files or folders, or - for standard input.")
    if list(corpus).count(STDIN) > 1:
        raise CallError("Standard input (-) was given twice.", "Give - once.")
    found: dict[Path, Source] = {}
    problems: list[Problem] = []
    for name in corpus:
        path = Path(name)
        _check_name(name)
        if path.is_dir() and name != STDIN:
            sources = _in_folder(path, format, problems)
        elif path.is_file() and name != STDIN:
            sources = _take(name, path, format, problems)
        elif name == STDIN or path.exists():
            sources = _spooled(name, stdin, format, problems)
        else:
            raise CallError(f"There is no file or folder {name}.", "Check the path.")
        for source in sources:
            found.setdefault(source.path.resolve(), source)
    if problems and (bad is None or not found):
        raise CorpusError(problems)
    if bad is not None:
        bad.extend(problems)
    return list(found.values())


def _spooled(
    name: str, stdin: BinaryIO | None, format: str | None, problems: list[Problem]
) -> list[Source]:
    """Make the source of what can be read only once: of a copy of it."""
    folder = _Folder()
    copy = folder.path / ("stdin" if name == STDIN else Path(name).name)
    try:
        file = (stdin or sys.stdin.buffer) if name == STDIN else open_pipe(name)
        try:
            start = file.read(_START)
            if _is_known(start, format):
                with copy.open("wb") as spool:
                    copy_bounded(name, file, start, spool, folder.path)
            else:  # as /dev/zero, which has no end
                copy.write_bytes(start)
        finally:
            if name != STDIN:
                file.close()
    except OSError as error:
        raise unreadable(name, error) from None
    return _take(name, copy, format, problems, folder)


def _is_known(start: bytes, format: str | None) -> bool:
    return format is not None or start.startswith(_GZIP) or recognise(start) is not None


def _in_folder(folder: Path, format: str | None, problems: list[Problem]) -> list[Source]:
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.name.removesuffix(".gz").endswith(endings())
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if not paths:
        fact = f"The folder {folder} holds no corpus file."
        known = " ".join(endings())
        raise CallError(fact, f"Known endings: {known}, each also with .gz. Or name the files.")
    sources = [s for path in paths for s in _take(str(path), path, format, problems)]
    plain = formats()[TEXT].endings
    annotated = [s for s in sources if s.format != TEXT or not {*plain} & {*s.path.suffixes}]
    return annotated if annotated and format is None else sources


def _take(
    name: str, path: Path, format: str | None, problems: list[Problem], keep: object = None
) -> list[Source]:
    """Make the source of a file; a faulty file gives a problem instead."""
    try:
        return [_source(name, path, format, keep)]
    except CorpusError as error:
        problems.extend(error.problems)
        return []


def _source(name: str, path: Path, format: str | None, keep: object) -> Source:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            compressed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError as error:
        raise unreadable(name, error) from None
    _check_name(name)
    source = Source(name, format or TEXT, path, digest.hexdigest(), compressed, keep)
    with source.open() as file:
        start = file.read(_START)
    if not start.replace(b"\xef\xbb\xbf", b"").strip() and len(start) < _START:
        raise CorpusError([problem("empty-file", "the file is empty", name)])
    recognised = format or recognise(start)
    if recognised is None:
        fact = "its format cannot be recognised: it is not text in UTF-8"
        raise CorpusError([problem("unknown-format", fact, name)])
    return replace(source, format=recognised)


def _check_name(name: str) -> None:
    """Raise CallError for a file name that is no valid text: it becomes text in a bank."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode("utf-8", "backslashreplace").decode()
        raise CallError(f"The name {shown} is no text in UTF-8.", "Rename the file.") from None
    if "\0" in name or len(name) > _LONGEST_NAME:
        raise CallError(f"There is no file or folder {name[:100]!r}.", "Check the path.")


def digest(sources: Sequence[Source]) -> str:
    """Give the sha256 of a corpus in hexadecimal.

    Of one file: its own. Of several: that of the lines `sha256  name`, as sha256sum prints them
    within the folder, in the order given; the folder itself plays no part.
    """
    if len(sources) == 1:
        return sources[0].sha256
    lines = "".join(f"{source.sha256}  {source.path.name}\n" for source in sources)
    return hashlib.sha256(lines.encode()).hexdigest()


def format_of(source: Source, format: str | None, spacy: str | None) -> str:
    """The format that a source is read as: plain text that nothing annotates is lines."""
    if format is not None:
        return format
    return LINES if source.format == TEXT and spacy is None else source.format


def read(
    sources: Sequence[Source],
    format: str | None = None,
    spacy: str | None = None,
    split: str | None = None,
    *,
    strict: bool = False,
) -> Iterator[Sentence | Problem]:
    """Read a corpus, file by file.

    Args:
        sources: from `find_sources`.
        format: read every file as this format, whatever was recognised.
        spacy: the name or folder of the spaCy pipeline that annotates plain text.
        split: the split of every document; by default each file's name tells.
        strict: make a `Problem` of each departure from the format.

    Yields:
        Sentences, and a `Problem` for each faulty sentence or file. The first sentence of each
        document carries its `DocumentStart`, with file and split. Names of documents are unique:
        where another file has a document of the same name above, ` (FILE)` is added.

    Raises:
        CallError: format text without a pipeline, no such pipeline, or one without plain text.

    """
    if spacy is not None and all(format_of(each, format, spacy) != TEXT for each in sources):
        raise CallError("--spacy annotates plain text, and there is none.", "Leave --spacy out.")
    names: set[str] = set()
    for source in sources:
        empty = True
        pending: DocumentStart | None = None  # of a sentence that was left out
        try:
            reader = formats()[format_of(source, format, spacy)]
            for item in reader.read(source, Reading(spacy, strict)):
                empty = False
                if isinstance(item, Sentence):
                    if item.document is None and pending is not None:
                        item = replace(item, document=pending)
                    pending = None
                    try:
                        check_sentence(item)
                    except SentenceError as fault:
                        pending = item.document
                        item = problem(fault.id, fault.fact, source.name, fault.line, item.name)
                yield _placed(item, source, split or source.split, names)
        except CorpusError as error:
            empty = False
            yield from error.problems
        if empty:
            yield problem("no-sentences", "the file holds no sentence", source.name)


def _placed(
    item: Sentence | Problem, source: Source, split: str | None, names: set[str]
) -> Sentence | Problem:
    if isinstance(item, Problem) or item.document is None:
        return item
    name = item.document.name
    if name in names:
        candidates = (f"{name} ({source.name}{f' {n}' if n > 1 else ''})" for n in count(1))
        name = next(candidate for candidate in candidates if candidate not in names)
    names.add(name)
    return replace(item, document=replace(item.document, name=name, file=source.name, split=split))
