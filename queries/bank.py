"""A bank that is open for reading: its analyses, any SELECT, and what is in it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from attnbank.queries import contents, parameters
from attnbank.queries.connections.lazy import scan
from attnbank.queries.kept import KeptAnswers
from attnbank.queries.own import as_declared, join
from attnbank.queries.pictures.plotting import Plots
from attnbank.queries.report.reporting import Reports
from attnbank.queries.results import frame_of, query_error
from attnbank.queries.sandbox import select as sandbox
from attnbank.queries.sandbox.isolated import Isolated, check_limits
from attnbank.queries.scores import Scores
from attnbank.queries.sentences.showing import Sentences
from attnbank.sql import reading, registry
from attnbank.sql.bank.explaining import is_damage
from attnbank.sql.header import Analysis
from attnbank.sql.quoting import place
from attnbank.sql.registry import analyses
from attnbank.sql.runs import Run, UnfinishedRunWarning, check_relation

__all__ = ["Bank", "UnfinishedRunWarning", "open_bank"]


def open_bank(path: str | Path, *, queries: str | Path | None = None) -> Bank:
    """Open a bank for reading. Close it, or use it in a `with` statement.

    `queries` is a folder of analyses of your own; by default it is the one that the environment
    variable ATTNBANK_QUERIES names. Each file `NAME.sql` in it that has a header can be called like
    any other analysis. Raises CallError if that folder cannot be read, BankError if the file is
    missing, is no bank, or is held by a process that writes to it.
    """
    join(queries)
    return Bank(path)


def open_for_requests(path: str | Path, seconds: float, memory: int = sandbox.MEMORY) -> Bank:
    """Open a bank only for `find` and `count`, which must then use these same limits.

    `seconds` and `memory` (in bytes) are the limits of each statement. This takes less time, since
    the bank is opened once instead of twice. Raises BankError as `open_bank` does, and CallError
    for limits out of range.
    """
    check_limits(seconds, memory)
    return Bank(path, (seconds, memory))


class Bank(KeptAnswers, Plots, Reports, Scores, Sentences):
    """A bank that is open for reading. Results are Polars frames.

    Threads can share a Bank: each gets its own connection. After it is closed, everything except
    `close` raises BankError.
    """

    def __repr__(self) -> str:
        return f"<Bank {self.path}{', closed' if self._cursors.is_closed else ''}>"

    def _repr_html_(self) -> str:
        from attnbank.queries.html import of_bank

        return of_bank(self.path, None if self._cursors.is_closed else self.runs())

    def query(self, name: str, /, **values: Any) -> pl.DataFrame:
        """Run an analysis; its parameters, defaults and columns are those of its header.

        Parameters that are left out have their default. An answer that `attnbank compute` has kept
        is returned if it is still valid (see `kept`). Raises CallError for an unknown analysis,
        parameter, run or relation and for a value of the wrong type, QueryError if the bank has no
        run that fits. Warns with UnfinishedRunWarning if the run that was asked for is not
        finished.
        """
        analysis = registry.find(name)
        given = parameters.check(analysis, values)
        if analysis.is_own:
            return self._query_own(analysis, given)
        with self._answering():
            connection = self.connection
            run = self._choose(analysis, given)
            if run is not None:
                if not run.is_finished:
                    warnings.warn(
                        f"The run {run.name} is not finished: the figures are over its first part.",
                        UnfinishedRunWarning,
                        stacklevel=2,
                    )
                check_relation(connection, analysis, given, run)
            kept = self._kept_rows(analysis, given, run)
            if kept is not None:
                return kept
            try:
                return frame_of(connection.query(with_defaults(analysis, given), params=given))
            except duckdb.Error as error:
                if is_damage(error):
                    raise
                raise query_error(error, f"{analysis.name} cannot be answered: ") from error

    def _query_own(self, analysis: Analysis, given: Mapping[str, Any]) -> pl.DataFrame:
        """Run an analysis that a user wrote, in the sandbox of `sql`. Raises as `sql` does."""
        with self._answering():
            run = self._choose(analysis, given)
            kept = self._kept_rows(analysis, given, run)
        if kept is not None:
            return kept
        return as_declared(analysis, self.sql(with_defaults(analysis, given), given))

    def run_of(self, name: str, /, **values: Any) -> Run | None:
        """The run that `query` reads with the same arguments; None if it does not read exactly one.

        Raises as `query` does.
        """
        analysis = registry.find(name)
        given = parameters.check(analysis, values)
        with self._answering():
            return self._choose(analysis, given)

    def sql(
        self,
        statement: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        seconds: float = sandbox.SECONDS,
        memory: int = sandbox.MEMORY,
        isolated: bool = False,
    ) -> pl.DataFrame:
        """Run one SELECT of your own, in a sandbox: no file, no network, no writing.

        `params` are the values of `$name` (a mapping) or `?` (a sequence) in it. `seconds` is how
        long it may take, `memory` how many bytes it may use. DuckDB checks both limits only now and
        then. With `isolated` the statement runs in a separate process, which is ended if it exceeds
        them; starting it takes half a second. Raises QueryError if the statement is not a single
        SELECT, is wrong, or runs out of time or memory; CallError for limits out of range.
        """
        check_limits(seconds, memory)
        if isolated:
            with self.stream(statement, params, seconds=seconds, memory=memory) as running:
                return running.frame()
        return self._sandboxed("sql", seconds, memory).run(statement, params)

    def stream(
        self,
        statement: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        seconds: float = sandbox.SECONDS,
        memory: int = sandbox.MEMORY,
    ) -> Isolated:
        """Run one SELECT of your own in a separate process, and receive its rows in parts.

        Use the result in a `with` statement. Iterating over it gives frames; the first one comes
        even if there are no rows, so that the columns are known. Errors are those of `sql`, and may
        be raised at any row.
        """
        check_limits(seconds, memory)
        self._cursors.check()
        running = Isolated(self.path, statement, params, seconds, memory)
        self._statements.add(running)
        return running

    def table(self, name: str, run: str | int | None = None) -> pl.LazyFrame:
        """A table or view as a lazy frame; only the columns that are used are read.

        With `run` it has only the rows of that run, which needs a column `sequence` or `run`.
        A view of the schema `paper` is read as this version of attnbank defines it, whatever the
        file has. Raises CallError for an unknown name or run, and for `run` with a table that has
        neither column.
        """
        with self._answering():
            schema, found = contents.relation(self.connection, name)
            select = f"select * from {place(schema, found)}"
            if schema == "paper" and found in analyses():
                select = with_defaults(registry.find(found), {})
            if run is not None:
                select += f" where {contents.of_run(self.connection, found, run)}"
            return scan(self._cursors, select)

    def runs(self) -> pl.DataFrame:
        """The runs, one row each, with their options and how much they hold."""
        with self._answering():
            return contents.runs(self.connection, self.path)

    def choices(self) -> pl.DataFrame:
        """The runs, and whether each may be chosen when none is named: first, yes, or why not."""
        with self._answering():
            return contents.choices(self.connection)

    def info(self) -> contents.Contents:
        """What is in the bank: runs, models, corpora, tables, what was left out."""
        with self._answering():
            return contents.read(self.connection, self.path)

    def saved(self) -> pl.DataFrame:
        """The saved relations, one row each: name, number of pairs, request, nodes, meaning."""
        return contents.saved(self.connection)

    def schema(self, table: str | None = None) -> pl.DataFrame:
        """The tables, views, analyses and functions with their comments.

        If `table` names a table, view or analysis, its columns instead. Raises CallError for an
        unknown name.
        """
        with self._answering():
            return contents.schema(self.connection, table)


def with_defaults(analysis: Analysis, given: Mapping[str, Any]) -> str:
    """The statement of an analysis, with the default in place of each parameter not in `given`."""
    # The others stay as $name, so that their values reach DuckDB as parameters.
    defaults = {each.name: each.default for each in analysis.parameters if each.name not in given}

    return reading.with_references(analysis.statement, lambda name: defaults.get(name, f"${name}"))
