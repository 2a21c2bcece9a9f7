"""What a bank in DuckDB and exports on Spark have in common, for modules that read either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from attnbank.sql.run_choice import Run, SupportsExecute

if TYPE_CHECKING:
    from attnbank.queries.results import CachedResult


class Backend(ABC):
    """A bank, whichever engine reads it."""

    # The bank or export, for errors.
    path: Path

    # Whether `query` returns kept answers.
    reads_kept = True

    @property
    @abstractmethod
    def connection(self) -> SupportsExecute:
        """What answers a SELECT of the package's own, which may call the macros of a bank."""

    @abstractmethod
    def query(self, name: str, /, **values: Any) -> pl.DataFrame:
        """Run an analysis."""

    @abstractmethod
    def run_of(self, name: str, /, **values: Any) -> Run | None:
        """The run that `query` reads with the same arguments."""

    def cached(self, name: str, /, **values: Any) -> CachedResult | None:
        """The answer that is kept for `query` with the same arguments; an export keeps none."""
        return None

    @abstractmethod
    def run_of_request(
        self, request: str, run: str | int | None, within: str, columns: str
    ) -> Run | None:
        """The run whose attention or surprisal a request reads."""

    @abstractmethod
    def answering(self) -> AbstractContextManager[None]:
        """Within, errors of the engine become errors for people."""

    @abstractmethod
    def run_request(self, statement: str, seconds: float, memory: int) -> pl.DataFrame:
        """The rows of a SELECT that was made of a request; limits are seconds and bytes."""

    @abstractmethod
    def fetch(self, statement: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """The rows of a SELECT of the package's own, with the values of its `$name`."""

    @abstractmethod
    def temp_table(self, name: str, rows: pl.DataFrame) -> AbstractContextManager[None]:
        """Within, statements find these rows in the table of this name, in place of its own."""
