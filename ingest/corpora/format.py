"""Corpus files, the formats in which they are read, and the parsing that line-based formats share.

The formats are the `Format`s in the modules of the folder `formats`. The format of a file is
recognised from its content, not from its name.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, BinaryIO, cast

from attnbank.ingest.corpora import formats as folder
from attnbank.ingest.corpora.document import TEXT, FaultError, Problem, Sentence
from attnbank.ingest.corpora.limits import (
    MOST_BLANK,
    MOST_DOCBIN,
    MOST_FACTOR,
    MOST_LINE,
    MOST_ROWS,
    MOST_SENTENCE,
    SMALL_FILE,
)
from attnbank.sql.errors import AttnbankError, CallError

STDIN = "-"
BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 18  # bytes of a decompression buffer
_SPLIT = re.compile(r"(?<![a-z])(train|dev|test)(?![a-z])")
_BLANK = frozenset({b"\n", b"\r\n"})
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CONTROL_BYTES = bytes({*range(9), *range(14, 32), 127})


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A corpus file that can be read any number of times."""

    name: str  # as the user named it; - is standard input
    path: Path
    format: str = TEXT  # the name of a format
    sha256: str = ""  # of the bytes as they are on the disk, in hexadecimal
    compressed: bool = False
    keep: object = field(default=None, repr=False, compare=False)  # keeps a temporary folder alive
    line_numbers: Sequence[int] = field(default=(), repr=False)  # to report, if not 1, 2, 3, ...

    @property
    def stem(self) -> str:
        """The file's name without folder and endings, for documents without a name."""
        name = self.path.name.removesuffix(".gz")
        return Path(name).stem or name

    @property
    def split(self) -> str | None:
        """The split in the file's name (train, dev or test as a word of it), else None."""
        match = _SPLIT.search(self.path.name.lower())
        return match[1] if match else None

    def line(self, number: int) -> int:
        """Return the number to report for a line: its own, or the row of the data frame."""
        return self.line_numbers[number - 1] if self.line_numbers and number else number

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it, decompressed. Raises FaultError (bad-gzip, inflates-too-far) or CallError."""
        try:
            with self.path.open("rb") as file:
                if not self.compressed:
                    yield file
                    return
                most = max(SMALL_FILE, MOST_FACTOR * os.fstat(file.fileno()).st_size)
                yield cast(BinaryIO, io.BufferedReader(_Inflated(file, most), _CHUNK))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FaultError("bad-gzip", str(error)) from None
        except OSError as error:
            raise read_error(self.name, error) from None

    def lines(self) -> Iterator[bytes]:
        """Yield the raw lines. Also raises FaultError (line-too-long, blank-lines)."""
        blank = 0
        with self.open() as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST_LINE + 1), b""), start=1):
                if len(line) > MOST_LINE:
                    fact = f"the line has more than {MOST_LINE:,} bytes"
                    raise FaultError("line-too-long", fact, number)
                blank = blank + 1 if line in _BLANK else 0
                if blank > MOST_BLANK:
                    fact = f"more than {MOST_BLANK:,} blank lines in a row"
                    raise FaultError("blank-lines", fact, number)
                yield line

    def data(self) -> bytes:
        """Read the whole file, decompressed. Also raises FaultError (bad-docbin) if too large."""
        with self.open() as file:
            data = file.read(MOST_DOCBIN + 1)
        if len(data) > MOST_DOCBIN:
            raise FaultError("bad-docbin", f"it has more than {MOST_DOCBIN:,} bytes")
        return data


class _Inflated(io.RawIOBase):
    """A gzip file, decompressed as it is read. Raises FaultError beyond `most` bytes."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._packed = gzip.GzipFile(fileobj=file)
        self._most = self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size: int = self._packed.readinto(buffer)
        self._left -= size
        if self._left < 0:
            fact = f"it decompresses to more than {self._most:,} bytes"
            raise FaultError("inflates-too-far", fact)
        return size


def read_error(name: str, error: OSError) -> AttnbankError:
    """Return the error for a file that cannot be read."""
    return CallError(f"Cannot read {name}: {error.strerror or error}.", "Check the file.")


@dataclass(frozen=True)
class Start:
    """The first bytes of a file (some 64 KiB, decompressed), by which its format is recognised."""

    data: bytes

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines that are not blank, without a byte-order mark."""
        text = self.data.decode("utf-8", "replace").removeprefix("\ufeff")
        return tuple(line for line in text.splitlines() if line.strip())

    @cached_property
    def uncommented(self) -> tuple[str, ...]:
        """The `lines` that are not comments."""
        return tuple(line for line in self.lines if not line.startswith("#"))

    @cached_property
    def is_text(self) -> bool:
        """Whether at most 1 % are control characters; those of a text are reported as a fault."""
        control = len(self.data) - len(self.data.translate(None, _CONTROL_BYTES))
        return control * 100 <= max(len(self.data), 1000)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file: the spaCy pipeline for plain text, and whether departures are errors."""

    spacy: str | None = None
    strict: bool = False


@dataclass(frozen=True)
class Format:
    """A corpus format. `read` yields a Problem for each faulty sentence."""

    name: str  # what --format takes
    title: str
    endings: tuple[str, ...]  # of the files that are read from a folder
    rank: int  # the order in which `recognises` is called: the lowest first
    recognises: Callable[[Start], bool] | None  # None: only with --format
    read: Callable[[CorpusFile, ReadOptions], Iterator[Sentence | Problem]]


@cache
def formats() -> dict[str, Format]:
    """Return the formats by name, in the order in which they are tried on a file."""
    names = (f"{folder.__name__}.{module.name}" for module in iter_modules(folder.__path__))
    modules = [import_module(name) for name in names]
    by_rank = sorted(
        (
            value
            for module in modules
            for value in vars(module).values()
            if isinstance(value, Format)
        ),
        key=lambda format: (format.rank, format.name),
    )
    return {format.name: format for format in by_rank}


@cache
def endings() -> tuple[str, ...]:
    """Return the endings of the names of corpus files, without .gz."""
    return tuple(ending for format in formats().values() for ending in format.endings)


def recognise(start: bytes) -> str | None:
    """Return the name of the format of a file's first bytes (some 64 KiB, decompressed), or None.

    It is never "lines", which nothing distinguishes from "text".
    """
    seen = Start(start)
    recognised = (name for name, f in formats().items() if f.recognises and f.recognises(seen))
    return next(recognised, None)


def blocks(
    lines: Iterable[bytes], most: int = MOST_SENTENCE, most_rows: int = MOST_ROWS
) -> Iterator[tuple[int, bytes]]:
    """Yield each block of non-blank lines, with the 1-based number of its first line.

    Byte-order marks at the start of a block are dropped: files may have been concatenated. The last
    block need not be followed by a blank line. A block of more than `most_rows` lines or `most`
    bytes is truncated just beyond the limit, so that `decode` refuses it.
    """
    block: list[bytes] = []
    begin = size = 0
    for number, line in enumerate(lines, start=1):
        while not block and line.startswith(BOM):
            line = line.removeprefix(BOM)
        if line and not line.isspace():
            if not block:
                begin, size = number, 0
            if size <= most and len(block) <= most_rows:
                block.append(line)
                size += len(line)
        elif block:
            yield begin, b"".join(block)
            block = []
    if block:
        yield begin, b"".join(block)


def decode(block: bytes, line: int, most: int = MOST_SENTENCE, most_rows: int = MOST_ROWS) -> str:
    """Decode a block that begins at `line`, without spaces and carriage returns at line ends.

    Raises FaultError, with its line: sentence-too-long, not-utf8, control-character,
    carriage-return or byte-order-mark.
    """
    sizes = ((len(block), most, "bytes"), (block.count(b"\n"), most_rows, "lines"))
    for size, bound, unit in sizes:
        if size > bound:
            fact = f"more than {bound:,} {unit} before the next blank line"
            raise FaultError("sentence-too-long", fact, line)
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        at = line + block.count(b"\n", 0, error.start)
        fact = f"byte 0x{block[error.start]:02x} is not valid UTF-8 here"
        raise FaultError("not-utf8", fact, at) from None
    if control := CONTROL.search(text):
        at = line + text.count("\n", 0, control.start())
        raise FaultError("control-character", f"character U+{ord(control[0]):04X}", at)
    if "\n\ufeff" in text:
        at = line + 1 + text.count("\n", 0, text.index("\n\ufeff"))
        raise FaultError("byte-order-mark", "a byte-order mark within the sentence", at)
    if "\r" in text or " \n" in text or text.endswith(" "):
        text = "\n".join(row.rstrip(" \r") for row in text.split("\n"))
        if "\r" in text:
            at = line + text.count("\n", 0, text.index("\r"))
            raise FaultError("carriage-return", "a carriage return within the line", at)
    return text


def split_lines(text: str) -> list[str]:
    """Split a block at line feeds alone: words may contain U+2028, where splitlines splits."""
    return text.removesuffix("\n").split("\n")
