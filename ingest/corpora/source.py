"""A corpus file that can be read any number of times."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from attnbank.ingest.corpora.bounds import MOST_DOCBIN, Inflating, Lines
from attnbank.ingest.corpora.document import CorpusError
from attnbank.ingest.corpora.faults import problem
from attnbank.sql.errors import AttnbankError, CallError

STDIN = "-"
_CHUNK = 1 << 18
_SPLIT = re.compile(r"(?<![a-z])(train|dev|test)(?![a-z])")


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus file that can be read any number of times."""

    name: str  # as the user named it; - is standard input
    format: str  # the name of a format
    path: Path
    sha256: str  # of the bytes as they are on the disk, in hexadecimal
    compressed: bool = False
    keep: object = field(default=None, repr=False, compare=False)  # holds a temporary folder

    @property
    def stem(self) -> str:
        """The file's name without its folder and endings: it names a document without a name."""
        if self.name == STDIN:
            return "stdin"
        name = self.path.name.removesuffix(".gz")
        return Path(name).stem or name

    @property
    def split(self) -> str | None:
        """The split that the file's name tells: train, dev or test as a word in it, else None."""
        match = _SPLIT.search("" if self.name == STDIN else self.path.name.lower())
        return match[1] if match else None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file, decompressed.

        Raises CorpusError (bad-gzip, inflates-too-far) or CallError (unreadable).
        """
        try:
            with self.path.open("rb") as file:
                if not self.compressed:
                    yield file
                    return
                packed = cast(BinaryIO, gzip.GzipFile(fileobj=file))
                size = os.fstat(file.fileno()).st_size
                yield cast(BinaryIO, io.BufferedReader(Inflating(packed, size, self.name), _CHUNK))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise CorpusError([problem("bad-gzip", str(error), self.name)]) from None
        except OSError as error:
            raise unreadable(self.name, error) from None

    def lines(self) -> Iterator[bytes]:
        """Yield the raw lines with their line ends. Raises as `open` and `Lines` do."""
        with self.open() as file:
            yield from Lines(file, self.name)

    def data(self) -> bytes:
        """Read the whole file, decompressed. Raises as `open` does; CorpusError (bad-docbin)."""
        with self.open() as file:
            found = file.read(MOST_DOCBIN + 1)
        if len(found) > MOST_DOCBIN:
            fact = f"it has more than {MOST_DOCBIN:,} bytes"
            raise CorpusError([problem("bad-docbin", fact, self.name)])
        return found


def unreadable(name: str, error: OSError) -> AttnbankError:
    """The error for a file that the system does not let us read."""
    return CallError(f"{name} cannot be read: {error.strerror or error}.", "Check the file.")
