"""The corpus formats: every module of the folder `formats` that has a FORMAT is one.

A file's format is recognised by what stands in it, not by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules

from attnbank.ingest.corpora import formats as folder
from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.ingest.corpora.source import CorpusFile

_CONTROL = bytes({*range(9), *range(14, 32), 127})


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
        """The lines that are not comments either."""
        return tuple(line for line in self.lines if not line.startswith("#"))

    @cached_property
    def is_text(self) -> bool:
        """Whether it is text of any kind: a few control characters are a fault of their own."""
        control = len(self.data) - len(self.data.translate(None, _CONTROL))
        return control * 100 <= max(len(self.data), 1000)


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read: the spaCy pipeline that annotates plain text, and how strictly."""

    spacy: str | None = None
    strict: bool = False


@dataclass(frozen=True)
class Format:
    """A corpus format. `read` yields a Problem for each sentence that is faulty."""

    name: str  # what --format takes
    title: str
    endings: tuple[str, ...]  # of the files that are taken from a folder
    rank: int  # formats are asked whether a file is theirs by this, the smallest first
    recognises: Callable[[Start], bool] | None  # None: never
    read: Callable[[CorpusFile, ReadOptions], Iterator[Sentence | Problem]]


@cache
def formats() -> dict[str, Format]:
    """Every format by its name, in the order in which they are asked whether a file is theirs."""
    names = (f"{folder.__name__}.{module.name}" for module in iter_modules(folder.__path__))
    modules = [import_module(name) for name in names]
    by_rank = sorted(
        (module.FORMAT for module in modules if hasattr(module, "FORMAT")),
        key=lambda format: (format.rank, format.name),
    )
    return {format.name: format for format in by_rank}


@cache
def endings() -> tuple[str, ...]:
    """The endings of the names of corpus files, without that of a compressed one."""
    return tuple(ending for format in formats().values() for ending in format.endings)


def recognise(start: bytes) -> str | None:
    """The name of the format of a file's first bytes (some 64 KiB, decompressed), or None.

    It is text for lines, too: the difference does not show.
    """
    seen = Start(start)
    recognised = (name for name, f in formats().items() if f.recognises and f.recognises(seen))
    return next(recognised, None)
