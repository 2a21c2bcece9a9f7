"""What a corpus format says of itself; each is one module of the folder `formats`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.ingest.corpora.source import Source


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
    def words(self) -> tuple[str, ...]:
        """The lines that are no comments either."""
        return tuple(line for line in self.lines if not line.startswith("#"))

    @cached_property
    def is_text(self) -> bool:
        """Whether it is text of any kind: a few control characters are a fault of their own."""
        control = sum(byte < 9 or 13 < byte < 32 or byte == 127 for byte in self.data)
        return control * 100 <= max(len(self.data), 1000)


@dataclass(frozen=True)
class Reading:
    """How a file is read: the spaCy pipeline that annotates plain text, and how strictly."""

    spacy: str | None = None
    strict: bool = False


@dataclass(frozen=True)
class Format:
    """A corpus format.

    `name` is what --format takes, `title` says what it is. Files with one of the `endings` are
    taken from a folder. `recognises` tells the format by the start of a file; formats are asked
    by their `rank`, the smallest first, and one with None is never recognised. `read` yields the
    sentences of a file, and a Problem for each one that is faulty.
    """

    name: str
    title: str
    endings: tuple[str, ...]
    rank: int
    recognises: Callable[[Start], bool] | None
    read: Callable[[Source, Reading], Iterator[Sentence | Problem]]
