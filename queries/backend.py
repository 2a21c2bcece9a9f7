"""The interface that a bank in DuckDB and an export on Spark share."""

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

    # Whether `query` returns cached answers.
    reads_cache = True

    @property
    @abstractmethod
    def connection(self) -> SupportsExecute:
        """What runs the package's own SELECTs, which may call the macros of a bank."""

    @abstractmethod
    def query(self, name: str, /, **values: Any) -> pl.DataFrame:
        """Run an analysis."""

    @abstractmethod
    def run_of(self, name: str, /, **values: Any) -> Run | None:
        """The run that `query` reads with the same arguments."""

    def cached(self, name: str, /, **values: Any) -> CachedResult | None:
        """The cached answer for `query` with the same arguments; an export has no cache."""
        return None

    @abstractmethod
    def run_of_request(
        self, request: str, run: str | int | None, within: str, columns: str
    ) -> Run | None:
        """The run whose attention or surprisal a request reads."""

    @abstractmethod
    def answering(self) -> AbstractContextManager[None]:
        """Context manager that raises errors of the engine as an AttnbankError."""

    @abstractmethod
    def run_request(self, statement: str, seconds: float, memory: int) -> pl.DataFrame:
        """Run a SELECT that was compiled from a request, within limits in seconds and bytes."""

    @abstractmethod
    def fetch(self, statement: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """Run a SELECT of the package's own, with the values of its `$name` parameters."""

    @abstractmethod
    def temp_table(self, name: str, rows: pl.DataFrame) -> AbstractContextManager[None]:
        """Context manager in which the table of this name has these rows instead of its own."""
