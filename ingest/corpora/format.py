"""The corpus formats: each module in the folder `formats` that has a FORMAT.

The format of a file is recognised from its content, not from its name.
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
        """The `lines` that are not comments."""
        return tuple(line for line in self.lines if not line.startswith("#"))

    @cached_property
    def is_text(self) -> bool:
        """Whether at most 1 % are control characters; those of a text are reported as a fault."""
        control = len(self.data) - len(self.data.translate(None, _CONTROL))
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
        (module.FORMAT for module in modules if hasattr(module, "FORMAT")),
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
