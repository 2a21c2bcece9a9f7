"""Answers of analyses, on any engine: the run that is read, and the rows, cached or computed."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from attnbank.queries.backend import Backend
from attnbank.queries.parameters import analyses_called, bind_values
from attnbank.queries.results import CachedResult
from attnbank.sql.errors import AttnbankError
from attnbank.sql.header import Analysis
from attnbank.sql.registry import find_analysis
from attnbank.sql.run_choice import Run, UnfinishedRunWarning, check_relation

# Parameters of best_relation for every relation of each head, as the explorer asks.
EVERY_RELATION: dict[str, Any] = {"most": 10_000, "min_count": 1}


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The answer of an analysis with these arguments. Rows are computed when they are first read.

    `run` is the run that it reads; None if it reads not exactly one. If it `is_fresh`, its rows are
    computed even if they are cached.
    """

    bank: AnyBank
    analysis: Analysis
    arguments: Mapping[str, Any]
    run: Run | None
    is_fresh: bool

    @cached_property
    def cached(self) -> CachedResult | None:
        """The rows that `attnbank compute` has cached, and when; None if they are computed."""
        return None if self.is_fresh else self.bank._cached_result(self)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows. Raises and warns as `Bank.query`."""
        if self.run is not None and not self.run.is_finished and not self.analysis.is_own:
            text = "is not finished: figures cover its first part only."
            warnings.warn(f"The run {self.run.name} {text}", UnfinishedRunWarning, stacklevel=4)
        self.check_relation()
        return self.bank._read_rows(self)

    def check_relation(self) -> None:
        """Raise CallError for a relation that the run, or of several runs no corpus, has."""
        takes_subtypes = any(own.name == "subtypes" for own in self.analysis.parameters)
        if not self.analysis.is_own and (self.run is not None or takes_subtypes):
            backend = self.bank.backend
            with backend.answering():
                check_relation(backend.connection, self.analysis, self.arguments, self.run)


class AnyBank(ABC):
    """A bank in DuckDB, or an export of one on Spark."""

    # The bank or export, for errors.
    path: Path

    backend: Backend

    def answer(
        self, name: str, /, values: Mapping[str, Any] | None = None, *, fresh: bool = False
    ) -> Answer:
        """The answer of an analysis to `values`, its parameters.

        It has the `run` that is read, the `rows`, which are computed when they are first read, and
        `cached`: when `attnbank compute` cached them. With `fresh` they are computed anyway. Raises
        as `query`.
        """
        analysis = find_analysis(name)
        arguments = bind_values(analysis, values or {})
        with self.backend.answering():
            run = self._choose_run(analysis, arguments)
        return Answer(self, analysis, arguments, run, fresh)

    def query(self, name: str, /, **values: Any) -> pl.DataFrame:
        """Run an analysis; its parameters, defaults and columns are those of its header.

        A cached answer (see `cached`) is returned if it is still valid. Raises CallError for an
        unknown analysis, parameter, run or relation and for a value of the wrong type, QueryError
        if no run fits. Warns with UnfinishedRunWarning if the run that was asked for is not
        finished.
        """
        return self.answer(name, values).rows

    def cached(self, name: str, /, **values: Any) -> CachedResult | None:
        """The answer that `attnbank compute` has cached for `query` with the same arguments.

        None if the analysis, or what it reads, has changed since; an export has no cache.
        """
        return self.answer(name, values).cached

    def run_of(self, name: str, /, **values: Any) -> Run | None:
        """The run that `query` reads with the same arguments; None if it reads not exactly one."""
        return self.answer(name, values).run

    @abstractmethod
    def _choose_run(self, analysis: Analysis, arguments: Mapping[str, Any]) -> Run | None:
        """The run that an analysis reads with these arguments."""

    @abstractmethod
    def _read_rows(self, answer: Answer) -> pl.DataFrame:
        """The rows of an answer."""

    def _cached_result(self, answer: Answer) -> CachedResult | None:
        """The cached rows of an answer."""
        return None


def reasons_without_rows(bank: AnyBank, statement: str) -> Iterator[str]:
    """Why a SELECT has no rows: for each analysis that it calls, what is wrong, or `empty`.

    The macros themselves cannot tell.
    """
    for name, literals in analyses_called(statement):
        try:
            answer = bank.answer(name, literals)
            answer.check_relation()
        except AttnbankError as error:
            yield f"{name}: {error.fact} {error.remedy}".strip()
        else:
            if answer.analysis.empty:
                yield f"{name} may have no rows: {answer.analysis.empty}."
