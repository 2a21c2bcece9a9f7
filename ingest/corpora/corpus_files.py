"""Finds the files of a corpus (files, folders, standard input, data frames), and reads them."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import select
import shutil
import stat
import sys
import tempfile
import warnings
import weakref
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import count, groupby, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from attnbank.ingest.corpora.document import (
    LINES,
    TEXT,
    CorpusError,
    Departure,
    DocumentStart,
    FaultError,
    Problem,
    Sentence,
    Word,
)
from attnbank.ingest.corpora.format import (
    BOM,
    STDIN,
    CorpusFile,
    ReadOptions,
    Start,
    endings,
    formats,
    read_error,
    recognise,
)
from attnbank.ingest.corpora.limits import (
    LEAST_FREE,
    MOST_CHARACTERS,
    MOST_OF_A_LABEL,
    MOST_PIPE,
    MOST_WORDS,
)
from attnbank.sql.errors import AttnbankWarning, CallError, first_line

_MARK = BOM.decode()
_GZIP = b"\x1f\x8b"
_START = 1 << 16  # bytes by which a format is recognised
_LONGEST_NAME = 4096  # characters, as of paths on Linux
_BY_LINES = "read each line as a sentence: --format lines."
_PATIENCE = 2.0  # seconds without data in a pipe before a warning
# By which text that no format reads is recognised, such as XML, JSON and tables.
_MOST_SHARE = 0.9  # of the lines that must match
_LEAST_ROWS = 3  # fewer lines may look like a table by chance
_XML = re.compile(r"\ufeff?<[?!/A-Za-z]")
_PHRASE = re.compile(r"\s*\(\s*(\(|[A-Z][^\s()]*\s*(\(|$)|[^\s()]+ [^\s()]+\))")
_BRAT = re.compile(r"T\d+\t\S+ \d+ \d+|[REAMN]\d+\t\S+ |\*\t\S+ T\d+|#\d*\t\S+ [TREAMN]\d+\t")
_LABELLED = re.compile(r"\S.*[ \t](O|[BIESLU]-\S+)\s*$")

# By which prose is recognised.
_PROSE = 0.25  # a text is prose if more than this share of its lines looks like it
# The end of a sentence (not of a short abbreviation), and the first letter of the next one.
_SENTENCE_END_INSIDE = re.compile(
    r"(?:[^\W\d_]{3}|[^\w\s.,])[.!?\u2026][^\w\s]{0,3}\s{1,3}[^\w\s]?([^\W\d_])"
    r"|[\u3002\uff01\uff1f][^\w\s]{0,3}(\w)|[\u061f\u06d4\u0964]\s(\w)"
)
_ENDS = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f\u061f\u06d4\u0964][^\w\s]{0,3}$")
# The columns of a data frame: those of table `word`.
_TEXTS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc", "surface", "document")
_NUMBERS = ("index", "head_index", "token_start")
_NAMES = ("sentence", "sent_id")
_KNOWN = (*_TEXTS, *_NUMBERS, *_NAMES, "space_after")
_BREAKS = frozenset("\t\n\r")
_EMPTY_NODE = re.compile(r"(?:^|\|)([0-9]{1,5})\.([0-9]{1,2}):")


class _Folder:
    """A temporary folder, deleted with the last source that refers to it, or at exit."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="attnbank-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def find_sources(
    corpus: Sequence[Any],
    format: str | None = None,
    spacy: str | None = None,
    *,
    name: str | None = None,
    bad: list[Problem] | None = None,
) -> list[CorpusFile]:
    """Resolve the CORPUS arguments of a command to files, in order.

    Folders are searched recursively for known endings (with `format`: for its own, if there are
    such files), and sorted by path. Plain text in a folder that also has annotated files is
    skipped: it is their text or their licence. `-` is standard input, copied to a
    temporary file. Any file may be gzip-compressed; duplicates are read once. A data frame of words
    is written to a temporary file called `name`. By default the `format` is recognised from each
    file's content, and plain text without a spaCy pipeline (`spacy`) is read as lines. If `bad` is
    given, files that cannot be read are added to it and skipped, as long as others are left.

    Raises CallError for arguments that are no corpus or do not match its format, and for a folder
    of several formats without `format`; CorpusError (empty-file, unknown-format, bad-gzip or
    inflates-too-far), whose `problems` list every such file.
    """
    if format is not None and format not in formats():
        raise CallError(f"Unknown format {format!r}.", f"Use one of {', '.join(formats())}.")
    if not corpus:
        remedy = "Name files or folders, or - for standard input; or generate one: --repeat N."
        raise CallError("No corpus given.", remedy)
    if [argument for argument in corpus if isinstance(argument, str)].count(STDIN) > 1:
        raise CallError("Standard input (-) is given twice.", "Give - once.")
    sources_by_path: dict[Path, CorpusFile] = {}
    problems: list[Problem] = []
    for argument in corpus:
        # A data frame, of Polars, pandas, pyarrow or anything streaming Arrow.
        if hasattr(argument, "__arrow_c_stream__") or hasattr(argument, "iloc"):
            source = _spool_frame(argument, name, format)
            sources_by_path[source.path] = source
            continue
        sources = []
        for file in _files_of_argument(argument, format):
            try:
                sources.append(_identify(file, format))
            except FaultError as fault:
                problems.append(replace(fault.problem, file=file.name))
        if argument != STDIN and Path(argument).is_dir() and format is None:
            sources = _files_of_one_format(Path(argument), sources)
        for source in sources:
            sources_by_path.setdefault(source.path.resolve(), source)
    for path, source in [*sources_by_path.items()] if format is None else ():
        if source.format == TEXT and (fact := unsupported_format(source)):
            problems.append(Problem("unknown-format", fact, file=source.name))
            del sources_by_path[path]
    if problems and (bad is None or not sources_by_path):
        raise CorpusError(problems)
    if bad is not None:
        bad.extend(problems)
    plain_text = [source.name for source in sources_by_path.values() if source.format == TEXT]
    if spacy is not None and not plain_text:
        raise CallError("--spacy annotates plain text, but none was given.", "Leave out --spacy.")
    if spacy is None and format == TEXT:
        remedy = "Name a spaCy pipeline to annotate it (e.g. --spacy en_core_web_sm), or "
        raise CallError(f"{plain_text[0]} is plain text without annotation.", remedy + _BY_LINES)
    as_lines = spacy is None
    return [_as_lines(s) if as_lines and s.format == TEXT else s for s in sources_by_path.values()]


def _files_of_argument(argument: Any, format: str | None) -> list[CorpusFile]:
    """Return the files that an argument names, not yet identified. Raises CallError."""
    if not isinstance(argument, str):
        raise CallError(
            f"A corpus cannot be a {type(argument).__name__}.",
            "Give paths as text, or data frames.",
        )
    _check_name(argument)
    path = Path(argument)
    if argument == STDIN:
        return [_spool(argument, format)]
    if path.is_dir():
        return [CorpusFile(str(file), file) for file in _files_in_folder(path, format)]
    if path.is_file():
        return [CorpusFile(argument, path)]
    if path.exists():
        return [_spool(argument, format)]
    raise CallError(f"{argument} does not exist.", "Check the path.")


def _as_lines(source: CorpusFile) -> CorpusFile:
    """Return plain text as a source of format lines. Raises CallError if it is prose."""
    with source.open() as file:
        fact = prose_fact(file.read(_START))
    if fact is not None:
        remedy = "Name a spaCy pipeline that finds its sentences (--spacy en_core_web_sm), or "
        raise CallError(f"{source.name} is unannotated prose: {fact}.", remedy + _BY_LINES)
    return replace(source, format=LINES)


def _check_name(name: str) -> None:
    """Raise CallError for a file name that is not valid text, as it must be in a bank."""
    try:
        name.encode()
    except UnicodeEncodeError:
        escaped = name.encode("utf-8", "backslashreplace").decode()
        raise CallError(
            f"The file name {escaped} is not valid UTF-8.", "Rename the file."
        ) from None
    if "\0" in name or len(name) > _LONGEST_NAME:
        raise CallError(f"{name[:100]!r} does not exist.", "Check the path.")


def _files_of_one_format(folder: Path, sources: list[CorpusFile]) -> list[CorpusFile]:
    """Leave out the plain text beside annotated files: it is their text or their licence.

    Raises CallError if several formats are left: they may be layers of the same text.
    """
    # A file with another ending that looks like plain text stays, so that it is reported.
    plain = {*formats()[TEXT].endings}
    annotated = [s for s in sources if s.format != TEXT or plain.isdisjoint(s.path.suffixes)]
    sources = annotated or sources
    of_format: dict[str, list[CorpusFile]] = {}
    for source in sources:
        of_format.setdefault(source.format, []).append(source)
    if len(of_format) > 1:
        listed = ", ".join(
            f"{formats()[name].title} ({len(own):,}, {own[0].path.relative_to(folder)})"
            for name, own in sorted(of_format.items())
        )
        by_endings = ", ".join(
            f"{name}: {' '.join(format.endings)}"
            for name, format in formats().items()
            if format.endings
        )
        raise CallError(
            f"The folder {folder} has files of several formats: {listed}.",
            "Name the files of one of them, or add --format, which reads only files with the"
            f" endings of that format ({by_endings}).",
        )
    return sources


def unsupported_format(source: CorpusFile) -> str | None:
    """Return what a file that looks like plain text is, by its first lines; None for text.

    As text, XML, JSON or a table would become sentences of markup.
    """
    with source.open() as file:
        start = Start(file.read(_START))
    lines = start.lines
    if not lines:
        return None
    if _XML.match(lines[0]):
        return "XML or a vertical file: its first line begins with <"
    if lines[0].lstrip()[0] == "{" or lines[0].strip() == "[" or lines[0].startswith('[{"'):
        return f"JSON: its first line begins with {lines[0].lstrip()[0]}"
    # Of a longer file the last line is cut off somewhere.
    complete = lines if len(start.data) < _START else lines[:-1] or lines

    def are_most(matches: Callable[[str], object]) -> bool:
        return sum(map(bool, map(matches, complete))) >= _MOST_SHARE * len(complete)

    if are_most(_BRAT.match):
        return "annotation of brat: its lines begin with T1, R1 and the like"
    if are_most(_LABELLED.match):
        return "a table of words: its lines end with O or B-... as those of CoNLL-2003"
    if lines[0].lstrip()[0] == "(" and are_most(
        lambda line: _PHRASE.match(line) or not line.strip("() \t")
    ):
        return "bracketed trees: its lines begin with ( and a phrase"
    return _looks_like_table(complete)


def _looks_like_table(lines: Sequence[str]) -> str | None:
    """Return what table the lines are rows of, if most have the same number of delimiters."""
    if len(lines) < _LEAST_ROWS:
        return None
    for delimiter, name in (("\t", "tabs"), (",", "commas"), (";", "semicolons")):
        # Without quoting for tabs: a text may have unpaired quotation marks.
        rows = csv.reader(lines, delimiter=delimiter, quotechar=None if name == "tabs" else '"')
        sizes: Counter[int] = Counter()
        spaced = 0
        for cells in rows:
            sizes[len(cells)] += 1
            spaced += any(cell.startswith(" ") for cell in cells[1:])
        ((columns, count),) = sizes.most_common(1)
        is_text = delimiter != "\t" and 10 * spaced >= sizes.total()  # a comma, then a space
        if columns > 1 and count >= _MOST_SHARE * sizes.total() and not is_text:
            most = f"{count:,} of its first {sizes.total():,} lines"
            return f"a table: {most} have {columns} columns between {name}"
    return None


def prose_fact(start: bytes) -> str | None:
    """Return why a text, by its first bytes, is prose and not one sentence per line; else None.

    Of six treebanks and an encyclopedia with one sentence per line, at most 1.3 % of the lines have
    a second one, and 3.3 % continue on the next. As paragraphs, at least 90 % of the lines of the
    treebanks have several sentences; in lines of 72 characters, 32 %.
    """
    rows = [row.strip() for row in start.decode("utf-8", "replace").split("\n")]
    lines = [row for row in rows if row]
    starts = (
        [match[match.lastindex or 0] for match in _SENTENCE_END_INSIDE.finditer(row)]
        for row in lines
    )
    several = sum(any(not letter.islower() for letter in begun) for begun in starts)
    if several > _PROSE * len(lines):
        return f"{several:,} of its first {len(lines):,} lines have several sentences"
    pairs = [(row, after) for row, after in pairwise(rows) if row and after]
    wrapped = sum(after[0].islower() and not _ENDS.search(row) for row, after in pairs)
    if wrapped > _PROSE * len(pairs):
        return f"{wrapped:,} of its first {len(lines):,} lines continue on the next"
    return None


def _files_in_folder(folder: Path, format: str | None) -> list[Path]:
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.name.removesuffix(".gz").endswith(endings())
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if not paths:
        fact = f"The folder {folder} contains no corpus files."
        known = " ".join(endings())
        raise CallError(fact, f"Known extensions: {known}, also with .gz. Or name the files.")
    own = formats()[TEXT if format == LINES else format].endings if format else endings()
    # If no file has the endings of --format, the user knows better: all files are read with it.
    return [path for path in paths if path.name.removesuffix(".gz").endswith(own)] or paths


def _spool(name: str, format: str | None) -> CorpusFile:
    """Copy standard input or a pipe, which can be read only once, to a temporary file.

    If its format is not recognised, only the start is copied: it may be endless, as /dev/zero is.
    Raises CallError if it is longer than MOST_PIPE, or does not fit on the disk.
    """
    folder = _Folder()
    path = folder.path / ("stdin" if name == STDIN else Path(name).name)
    try:
        with (
            nullcontext(sys.stdin.buffer) if name == STDIN else _open_pipe(name) as file,
            path.open("wb") as copy,
        ):
            chunk = file.read(_START)
            if not (format or chunk.startswith(_GZIP) or recognise(chunk)):
                copy.write(chunk)
                chunk = b""
            disk = os.statvfs(folder.path)
            most = min(MOST_PIPE, disk.f_bavail * disk.f_frsize - LEAST_FREE)
            why = "can be read from a pipe" if most == MOST_PIPE else f"fits in {folder.path}"
            while chunk:
                if copy.tell() + len(chunk) > most:
                    raise CallError(
                        f"{name} has more than {max(most, 0) / 1e9:.1f} GB, the most that {why}.",
                        "Write it to a file and name the file.",
                    )
                copy.write(chunk)
                chunk = file.read(1 << 20)
    except OSError as error:
        raise read_error(name, error) from None
    return CorpusFile(name, path, keep=folder)


def _open_pipe(name: str) -> BinaryIO:
    """Open a named pipe to read; warn (AttnbankWarning) while nobody writes to it.

    Raises CallError for a device or a socket.
    """
    # Without O_NONBLOCK, open itself would wait for a writer, without a chance to warn.
    handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISFIFO(os.fstat(handle).st_mode):
            raise CallError(f"{name} is a device, not a corpus.", "Name files, folders or pipes.")
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        if not waiting.poll(int(1000 * _PATIENCE)):
            message = f"Nothing has been written to the pipe {name} yet; waiting."
            warnings.warn(message, AttnbankWarning, stacklevel=2)
            waiting.poll()
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def _spool_frame(frame: Any, name: str | None, format: str | None) -> CorpusFile:
    """Write a data frame to a temporary CoNLL-U file; its digest is that of the content.

    It has a row for each word, in the order of the text. Consecutive rows with the same `sent_id`
    (its name) or `sentence` (its name if text) are a sentence. Unknown columns are ignored. Raises
    CallError for a frame without words or sentences, or with values that a CoNLL-U file cannot
    have.
    """
    if name is None:
        raise CallError("A data frame has no name.", "Give the corpus one: name=NAME.")
    if format is not None:
        raise CallError("A data frame has no format.", "Leave format out.")
    _check_name(name)
    folder = _Folder()
    path = folder.path / f"{Path(name).name}.conllu"
    places = array("l")  # of each line: the row of the frame, from 1
    digest = hashlib.sha256()
    try:
        with path.open("wb") as file:
            for row, line in _conllu_lines(_frame_rows(frame)):
                content = f"{line}\n".encode()
                digest.update(content)
                file.write(content)
                places.append(row)
    except OSError as error:
        raise read_error(name, error) from None
    return CorpusFile(name, path, "conllu", digest.hexdigest(), keep=folder, line_numbers=places)


def _frame_rows(frame: Any) -> Iterator[dict[str, Any]]:
    try:
        streams = hasattr(frame, "__arrow_c_stream__")
        table = pa.table(frame) if streams else pa.Table.from_pandas(frame, preserve_index=False)
        named = [name for name in table.column_names if name in _KNOWN]
        table = table.select(named)
        for name in {*named} & {*_NUMBERS}:
            at = named.index(name)
            # pandas makes floats (3.0) of integers where some are missing.
            table = table.set_column(at, name, table[name].cast(pa.int64()))
    except Exception as error:  # the caller's object may raise anything
        raise CallError(
            f"The frame cannot be read: {first_line(error)}",
            "Give a Polars or pandas frame with a row for each word.",
        ) from error
    if "form" not in named or not {*named} & {*_NAMES}:
        raise CallError(
            f"The frame has these columns: {', '.join(table.column_names) or 'none'}.",
            "It needs form, and sentence or sent_id; it may have " + ", ".join(_KNOWN[1:-3]) + ".",
        )
    return (row for batch in table.to_batches(10_000) for row in batch.to_pylist())


def _conllu_lines(rows: Iterator[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a CoNLL-U file, each with the number of the row it comes from."""
    before: Any = None
    numbered = enumerate(rows, start=1)
    by_sentence = groupby(
        numbered, lambda item: [item[1].get(column) for column in ("document", *_NAMES)]
    )
    for (document, sentence, sent_id), group in by_sentence:
        words = [*group]
        first = words[0][0]
        if document is not None and document != before:
            yield first, f"# newdoc id = {_cell_to_text(document, first, 'document')}"
        before = document
        name = sentence if sent_id is None and isinstance(sentence, str) else sent_id
        if name is not None:
            yield first, f"# sent_id = {_cell_to_text(name, first, 'sent_id')}"
        empty = _empty_nodes([word for _, word in words])
        yield from ((first, line) for line in empty["0"])
        for at, (row, word) in enumerate(words):
            if word.get("token_start") is not None and word["token_start"] == _word_index(word, at):
                yield row, _token_row(words[at:], at)
            yield row, _word_row(word, at, row)
            yield from ((row, line) for line in empty[str(_word_index(word, at))])
        yield words[-1][0], ""


def _empty_nodes(words: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return lines for the empty nodes that `deps` refers to, by the index of the word before.

    Frames have no rows for empty nodes, but in CoNLL-U a head in DEPS must be a node.
    """
    most: dict[str, int] = defaultdict(int)
    for word in words:
        for before, number in _EMPTY_NODE.findall(str(word.get("deps") or "")):
            most[before] = max(most[before], int(number))
    nodes = {at: [f"{at}.{n}" + "\t_" * 9 for n in range(1, last + 1)] for at, last in most.items()}
    return defaultdict(list, nodes)


def _word_index(word: Mapping[str, Any], at: int) -> Any:
    return word.get("index", at + 1)


def _token_row(words: Sequence[tuple[int, Mapping[str, Any]]], at: int) -> str:
    """Return the line of the multiword token that begins with the first of these words."""
    (row, first), start = words[0], words[0][1]["token_start"]
    parts = [word for _, word in words if word.get("token_start") == start]
    last = _word_index(parts[-1], at + len(parts) - 1)
    misc = "_" if parts[-1].get("space_after") is not False else "SpaceAfter=No"
    surface = _cell_to_text(first.get("surface"), row, "surface")
    return "\t".join([f"{start}-{last}", surface, *"_" * 7, misc])


def _word_row(word: Mapping[str, Any], at: int, row: int) -> str:
    def column_text(name: str) -> str:
        return _cell_to_text(word.get(name), row, name)

    misc = [] if word.get("misc") is None else [column_text("misc")]
    if word.get("space_after") is False:
        misc.insert(0, "SpaceAfter=No")
    form = "" if word["form"] is None else column_text("form")
    cells = [
        column_text(name)
        for name in ("lemma", "upos", "xpos", "feats", "head_index", "deprel", "deps")
    ]
    index = _cell_to_text(_word_index(word, at), row, "index")
    return "\t".join([index, form, *cells, "|".join(misc) or "_"])


def _cell_to_text(value: Any, row: int, column: str) -> str:
    text = "_" if value is None else str(value)
    if not _BREAKS.isdisjoint(text):
        raise CallError(
            f"Row {row:,} of the frame has a tab or a line break in column {column}.",
            "Replace it with a space.",
        )
    return text


def _identify(source: CorpusFile, format: str | None) -> CorpusFile:
    """Return the source with its digest and format.

    Raises FaultError (empty-file, unknown-format) and the errors of `CorpusFile.open`.
    """
    _check_name(source.name)
    try:
        with source.path.open("rb") as file:
            compressed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise read_error(source.name, error) from None
    source = replace(source, sha256=sha256, compressed=compressed)
    with source.open() as file:
        start = file.read(_START)
    if not start.replace(BOM, b"").strip() and len(start) < _START:
        raise FaultError("empty-file", "the file is empty")
    recognised = format or recognise(start)
    if recognised is None:
        raise FaultError("unknown-format", "cannot recognise its format: it is not UTF-8 text")
    return replace(source, format=recognised)


def digest_corpus(sources: Sequence[CorpusFile]) -> str:
    """Return the SHA-256 of a corpus in hexadecimal.

    For one file, that of the file. For several, that of the lines `sha256  name` as sha256sum
    prints them, in the order of `sources`; the folder does not matter.
    """
    if len(sources) == 1:
        return sources[0].sha256
    lines = "".join(f"{source.sha256}  {source.path.name}\n" for source in sources)
    return hashlib.sha256(lines.encode()).hexdigest()


def read_corpus(
    sources: Sequence[CorpusFile],
    spacy: str | None = None,
    split: str | None = None,
    *,
    strict: bool = False,
) -> Iterator[Sentence | Problem]:
    """Read a corpus file by file, from the sources of `find_sources`.

    `spacy` is the name or folder of the pipeline that annotates plain text. `split` is that of
    every document (default: from the name of its file). If `strict`, departures are problems.

    Yields sentences, and a `Problem` for each faulty sentence or file. The first sentence of each
    document has its `DocumentStart`, with file and split. Names of documents are made unique by
    adding ` (FILE)` where an earlier file has a document of the same name.

    Raises CallError if the pipeline cannot be loaded, or does not find sentences or trees.
    """
    names: set[str] = set()
    for source in sources:
        reader = formats()[source.format]
        item = None
        try:
            for item in _check_sentences(reader.read(source, ReadOptions(spacy, strict)), strict):
                yield _with_location(item, source, split or source.split, names)
            if item is None:
                raise FaultError("no-sentences", "the file has no sentences")
        except FaultError as fault:
            yield _with_location(fault.problem, source, None, names)


def _check_sentences(
    items: Iterable[Sentence | Problem], strict: bool
) -> Iterator[Sentence | Problem]:
    """Replace sentences that no bank can store by problems; remove byte-order marks."""
    pending: DocumentStart | None = None  # of a skipped sentence: it begins with the next one
    for item in items:
        if isinstance(item, Sentence):
            if item.document is None and pending is not None:
                item = replace(item, document=pending)
            checked = _size_problem(item) or _without_marks(item, strict)
            pending = item.document if isinstance(checked, Problem) else None
            item = checked
        yield item


def _size_problem(sentence: Sentence) -> Problem | None:
    words = sentence.words
    long = (
        at
        for at, word in enumerate(words, start=1)
        if len(word.form) > MOST_CHARACTERS
        or len(word.deprel or "") > MOST_OF_A_LABEL
        or len(word.upos or "") > MOST_OF_A_LABEL
    )
    if len(words) > MOST_WORDS:
        id, fact = "too-many-words", f"the sentence has {len(words):,} words"
    elif first_long := next(long, None):
        word = words[first_long - 1]
        label = max(word.deprel or "", word.upos or "", key=len)
        is_form = len(word.form) > MOST_CHARACTERS
        text = word.form if is_form else label
        of = f"word {first_long}" if is_form else f"the label of word {first_long}"
        id, fact = "word-too-long", f"{of} has {len(text):,} characters: {text[:20]}..."
    elif sentence.empty_nodes > MOST_WORDS:
        id, fact = "too-many-words", f"the sentence has {sentence.empty_nodes:,} empty nodes"
    else:
        return None
    return Problem(id, fact, sentence.line, sentence.name)


def _without_marks(sentence: Sentence, strict: bool) -> Sentence | Problem:
    """Remove byte-order marks from words, where they are invisible and break searches.

    Each such word is a departure; if `strict`, the first is a problem.
    """
    if _MARK not in (sentence.text or "".join(word.form for word in sentence.words)):
        return sentence
    words = tuple(map(_without_mark, sentence.words))
    departures = tuple(
        Departure("mark-in-word", f"a byte-order mark in {word.form!r}, word {at}", sentence.line)
        for at, word in enumerate(words, start=1)
        if word != sentence.words[at - 1]
    )
    if departures and strict:
        return Problem("mark-in-word", departures[0].fact, sentence.line, sentence.name)
    text = sentence.text and sentence.text.replace(_MARK, "")
    return replace(sentence, words=words, text=text, departures=(*sentence.departures, *departures))


def _without_mark(word: Word) -> Word:
    """Remove the marks from form and lemma, unless nothing would be left."""
    form, lemma = word.form.replace(_MARK, ""), (word.lemma or "").replace(_MARK, "")
    if form in ("", word.form):
        return word
    return replace(word, form=form, lemma=lemma or word.lemma)


def _with_location(
    item: Sentence | Problem, source: CorpusFile, split: str | None, names: set[str]
) -> Sentence | Problem:
    """Add the file to an item, and make the name of its document unique among `names`."""
    if isinstance(item, Problem):
        return replace(item, file=source.name, line=source.line(item.line))
    if item.departures or source.line_numbers:
        departures = tuple(
            replace(departure, file=source.name, line=source.line(departure.line))
            for departure in item.departures
        )
        item = replace(item, departures=departures, line=source.line(item.line))
    if item.document is None:
        return item
    name = item.document.name
    if name in names:
        candidates = (f"{name} ({source.name}{f' {n}' if n > 1 else ''})" for n in count(1))
        name = next(candidate for candidate in candidates if candidate not in names)
    names.add(name)
    return replace(item, document=replace(item.document, name=name, file=source.name, split=split))
