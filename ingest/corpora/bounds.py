"""How large the parts of a corpus may be.

A corpus that somebody else made may hold a line without end, a few bytes that inflate to billions,
or brackets by the thousand. Every bound here is far above what text has, and keeps what a reader
holds at a time well below 3 GB. A whole file may be of any size: it is read piece by piece.
"""

from __future__ import annotations

import io
import os
import select
import stat
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from attnbank.ingest.corpora.document import CorpusError, Sentence
from attnbank.ingest.corpora.faults import SentenceError, problem
from attnbank.sql.errors import AttnbankWarning, CallError

MOST_LINE = 16 * 2**20
"""Bytes of a line. A sentence of 32,767 words has 0.2 MB, a paragraph of a book 0.02 MB."""
MOST_SENTENCE = 32 * 2**20
"""Bytes of a sentence with its annotation, or of what stands between two blank lines."""
MOST_BLANK = 1_000_000
"""Blank lines that follow one another."""
MOST_PARAGRAPH = 128 * 2**20
"""Bytes of plain text between two blank lines: there may be none in a file of sentences."""
MOST_ROWS = 100_000
"""Lines of a sentence, comments and empty nodes counted."""
MOST_WORDS = 32_767
"""Words of a sentence: word.index is a SMALLINT."""
MOST_CHARACTERS = 32_767
"""Characters of a word."""
MOST_COVERED = 1_000_000
"""Words in the mentions of a sentence, those in several counted several times."""
MOST_DIGITS = 9
"""Digits of an id or a head: Python refuses to read more than 4,300, and nobody counts so far."""
MOST_FACTOR = 200
"""Bytes that a byte of a gzip file becomes; of text, 3 to 20. A file below 64 MB may do more."""
SMALL = 64 * 2**20
MOST_DOCBIN = 512 * 2**20
"""Bytes of an inflated DocBin: 4 million words with all their annotation."""
MOST_ITEMS = 4_000_000
"""Strings, numbers and lists in a DocBin, or in the user data of one of its Docs."""
MOST_TOKENS = 1_000_000
"""Tokens of a Doc; spaCy itself refuses a text of a million characters."""
MOST_PIPE = 2 * 2**30
"""Bytes that are copied from standard input or a pipe, which can be read only once."""
LEAST_FREE = 2**30
"""Bytes that such a copy leaves free on its disk."""
_BLANK = frozenset({b"\n", b"\r\n"})
_PATIENCE = 2.0  # seconds that a pipe may be silent before that is told


def check_sentence(sentence: Sentence) -> None:
    """Raise SentenceError (too-many-words, word-too-long) for a sentence that no bank can hold."""
    if len(sentence.words) > MOST_WORDS:
        fact = f"the sentence has {len(sentence.words):,} words"
        raise SentenceError("too-many-words", fact, sentence.line)
    for at, word in enumerate(sentence.words, start=1):
        if len(word.form) > MOST_CHARACTERS:
            fact = f"word {at} has {len(word.form):,} characters: {word.form[:20]}..."
            raise SentenceError("word-too-long", fact, sentence.line)
    if sentence.empty_nodes > MOST_WORDS:
        fact = f"the sentence has {sentence.empty_nodes:,} empty nodes"
        raise SentenceError("too-many-words", fact, sentence.line)


def check_covered(sizes: Sequence[int], line: int) -> None:
    """Raise SentenceError (too-many-mentions) where they cover over MOST_COVERED words."""
    if sum(sizes) > MOST_COVERED:
        fact = f"{len(sizes):,} mentions cover {sum(sizes):,} words"
        raise SentenceError("too-many-mentions", fact, line)


class Lines:
    """The lines of a file, each with its line end. A line without end is no line.

    Raises CorpusError (line-too-long, blank-lines) where one is longer than MOST_LINE, or more than
    MOST_BLANK in a row are blank.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._number = 0
        self._blank = 0

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> bytes:
        line = self._file.readline(MOST_LINE + 1)
        if not line:
            raise StopIteration
        self._number += 1
        if len(line) > MOST_LINE:
            fact = f"the line has more than {MOST_LINE:,} bytes"
            raise CorpusError([problem("line-too-long", fact, self._name, self._number)])
        self._blank = self._blank + 1 if line in _BLANK else 0
        if self._blank > MOST_BLANK:
            fact = f"more than {MOST_BLANK:,} blank lines follow one another"
            raise CorpusError([problem("blank-lines", fact, self._name, self._number)])
        return line


class Inflating(io.RawIOBase):
    """A file that is decompressed as it is read, as far as compressed text goes.

    Raises CorpusError (inflates-too-far) where it becomes more than MOST_FACTOR times its size.
    """

    def __init__(self, packed: BinaryIO, size: int, name: str) -> None:
        self._packed = packed
        self._most = max(SMALL, MOST_FACTOR * size)
        self._read = 0
        self._name = name

    def readable(self) -> bool:
        """Always True: the stream can be read."""
        return True

    def readinto(self, buffer: object) -> int:
        """Read the next decompressed bytes into a buffer; the number of bytes read."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._packed.read(len(view))
        view[: len(data)] = data
        self._read += len(data)
        if self._read > self._most:
            fact = f"it inflates to more than {self._most:,} bytes"
            raise CorpusError([problem("inflates-too-far", fact, self._name)])
        return len(data)


def open_pipe(name: str) -> BinaryIO:
    """Open a named pipe to read, telling (AttnbankWarning) where nobody writes into it.

    Raises CallError for what is neither a file nor a pipe: a device, a socket.
    """
    handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISFIFO(os.fstat(handle).st_mode):
        os.close(handle)
        raise CallError(f"{name} is a device, and no corpus.", "Name files, folders or pipes.")
    try:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        if not waiting.poll(int(1000 * _PATIENCE)):
            told = f"nobody has written into the pipe {name} yet; waiting for it."
            warnings.warn(told, AttnbankWarning, stacklevel=2)
            waiting.poll()
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def copy_bounded(name: str, file: BinaryIO, start: bytes, copy: BinaryIO, folder: Path) -> None:
    """Copy what can be read once, behind the bytes of it that were read already.

    Raises CallError where it has no end within MOST_PIPE, or no room on the disk.
    """
    free = os.statvfs(folder)
    room = free.f_bavail * free.f_frsize - LEAST_FREE
    most = min(MOST_PIPE, room)
    copied = len(start)
    copy.write(start)
    while chunk := file.read(1 << 20):
        copied += len(chunk)
        if copied > most:
            why = "is read from a pipe" if most == MOST_PIPE else f"there is room for in {folder}"
            raise CallError(
                f"{name} gives more than {max(most, 0) / 1e9:.1f} GB, the most that {why}.",
                "Put it into a file, and name the file.",
            )
        copy.write(chunk)
