"""What can be asked about requests: an open bank, or exports that are open on Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import polars as pl

from attnbank.sql.runs import Asked


class Asking(ABC):
    """What the requests and scores need of what they are asked of, whatever engine answers."""

    path: Path
    """The bank or export, for errors."""

    @property
    @abstractmethod
    def connection(self) -> Asked:
        """What answers a SELECT of the package's own, which may call the macros of a bank."""

    @abstractmethod
    def query(self, name: str, /, **values: Any) -> pl.DataFrame:
        """Run an analysis."""

    @abstractmethod
    def answering(self) -> AbstractContextManager[None]:
        """Within, errors of the engine become errors for people."""

    @abstractmethod
    def found_by(self, statement: str, seconds: float, memory: int) -> pl.DataFrame:
        """The rows of a SELECT that was made of a request; limits are seconds and bytes."""

    @abstractmethod
    def frame_of(self, statement: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """The rows of a SELECT of the package's own, with the values of its `$name`."""

    @abstractmethod
    def beside(self, name: str, rows: pl.DataFrame) -> AbstractContextManager[None]:
        """Within, statements find these rows in the table of this name, in place of its own."""
