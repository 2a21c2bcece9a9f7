"""A bank, open to read: its analyses, any SELECT, and what is in it."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

from attnbank.queries import contents, parameters
from attnbank.queries.cursors import Cursors
from attnbank.queries.lazy import scan
from attnbank.queries.own import as_declared, join
from attnbank.queries.results import frame_of, query_error
from attnbank.queries.sandbox import select as sandbox
from attnbank.queries.sandbox.isolated import Isolated, check_limits
from attnbank.queries.scores import Scores
from attnbank.queries.sentences.showing import Sentences
from attnbank.sql import reading, registry
from attnbank.sql.bank.explaining import explained, is_damage
from attnbank.sql.bank.opening import install_beside, open_to_read
from attnbank.sql.errors import AttnbankWarning
from attnbank.sql.header import Analysis
from attnbank.sql.macros import fingerprint
from attnbank.sql.quoting import place
from attnbank.sql.registry import analyses
from attnbank.sql.runs import Run, UnfinishedRunWarning, check_relation, choose_run

if TYPE_CHECKING:
    from attnbank.queries.patterns import Choice, RunFacts

__all__ = ["Bank", "UnfinishedRunWarning", "open_bank"]


def open_bank(path: str | Path, *, queries: str | Path | None = None) -> Bank:
    """Open a bank to read. Close it, or use it in a `with` statement.

    `queries` is a folder of analyses of your own, by default that of the variable
    ATTNBANK_QUERIES: each `NAME.sql` with a header can be asked as any other. Raises CallError
    where that folder cannot be read, BankError where the file is missing, is no bank, or is held
    by a process that writes to it.
    """
    join(queries)
    return Bank(path)


class Bank(Scores, Sentences):
    """A bank that is open to read. Results are Polars frames.

    Threads can share one: each has a connection of its own. When it is closed, everything but
    `close` raises BankError.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        connection = open_to_read(self.path)
        written = connection.execute("select analyses from bank").fetchall()
        is_old = written != [(fingerprint(),)]  # its analyses are beside it, in each connection
        self._cursors = Cursors(
            connection,
            self.path,
            lambda cursor: install_beside(cursor, self.path) if is_old else None,
        )
        self._sandbox: dict[str, sandbox.Sandbox] = {}
        self._statements: weakref.WeakSet[Isolated] = weakref.WeakSet()
        self._sandboxes: weakref.WeakSet[sandbox.Sandbox] = weakref.WeakSet()
        self._lock = threading.Lock()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A connection to the file that is this thread's own; it reads and does not write."""
        return self._cursors.own()

    def __enter__(self) -> Bank:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; stop what other threads still ask. Closing twice does no harm."""
        for running in list(self._statements):
            running.close()
        self._cursors.close()
        with self._lock:
            self._sandbox.clear()
            for each in self._sandboxes:
                each.close()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Say in words what is wrong with the bank; that it is closed, where it is."""
        with explained(self.path), self._cursors.answering():
            yield

    def __repr__(self) -> str:
        return f"<Bank {self.path}{', closed' if self._cursors.is_closed else ''}>"

    def _repr_html_(self) -> str:
        from attnbank.queries.html import of_bank

        return of_bank(self.path, None if self._cursors.is_closed else self.runs())

    def query(self, name: str, /, **values: Any) -> pl.DataFrame:
        """Run an analysis; its parameters, defaults and columns are those of its header.

        Parameters that are left out have their default. Raises CallError for an unknown
        analysis, parameter, run or relation and for a value of the wrong type, QueryError
        where the bank has no run that fits. Warns with UnfinishedRunWarning where the run
        that was asked for is not finished.
        """
        analysis = registry.find(name)
        given = parameters.check(analysis, values)
        if analysis.is_own:
            return self._query_own(analysis, given)
        with self._answering():
            connection = self.connection
            run = choose_run(connection, self.path, analysis, given)
            if run is not None:
                if not run.is_finished:
                    warnings.warn(
                        f"The run {run.name} is not finished: the figures are over its first part.",
                        UnfinishedRunWarning,
                        stacklevel=2,
                    )
                check_relation(connection, analysis, given, run)
            try:
                return frame_of(connection.query(with_defaults(analysis, given), params=given))
            except duckdb.Error as error:
                if is_damage(error):
                    raise
                raise query_error(error, f"{analysis.name} cannot be answered: ") from error

    def _query_own(self, analysis: Analysis, given: Mapping[str, Any]) -> pl.DataFrame:
        """Run a statement that a user wrote, as `sql` does. Raises QueryError as it does."""
        if analysis.run is not None:
            with self._answering():
                choose_run(self.connection, self.path, analysis, given)
        return as_declared(analysis, self.sql(with_defaults(analysis, given), given))

    def run_of(self, name: str, /, **values: Any) -> Run | None:
        """The run that `query` with the same arguments reads; None where it reads no one run.

        Raises as `query` does.
        """
        analysis = registry.find(name)
        given = parameters.check(analysis, values)
        with self._answering():
            return choose_run(self.connection, self.path, analysis, given)

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

        `params` are the values of `$name` (a mapping) or `?` (a sequence) in it; `seconds` is how
        long it may take, `memory` how many bytes. DuckDB looks at both now and then only; with
        `isolated` the statement runs in a process of its own, which is ended where it does not
        keep to them (half a second more to begin with). Raises QueryError where it is no single
        SELECT, is wrong, or runs out of time or memory.
        """
        check_limits(seconds, memory)
        if isolated:
            with self.stream(statement, params, seconds=seconds, memory=memory) as running:
                return running.frame()
        return self._sandboxed("sql", seconds, memory).run(statement, params)

    def _sandboxed(self, use: str, seconds: float, memory: int) -> sandbox.Sandbox:
        """The sandbox of these limits; one of each use is kept open."""
        with self._lock:
            self._cursors.check()
            own = self._sandbox.get(use)
            if own is None or (own.seconds, own.memory) != (seconds, memory):
                # The old one goes when the last thread that asks it is done.
                own = self._sandbox[use] = sandbox.Sandbox(self.path, seconds, memory)
                self._sandboxes.add(own)
        return own

    def find(
        self,
        request: str,
        *,
        columns: str = "",
        corpus: str | None = None,
        run: str | int | None = None,
        within: str = "sentence",
        sort: str = "",
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        timeout: float = 30.0,
        memory: int = sandbox.MEMORY,
    ) -> pl.DataFrame:
        """Find what a request in Grew's language describes: one row a hit, in the text's order.

        The columns are `sent_id`, one for each node with the word's index in its sentence (0 is
        the node before the first word), one for each named edge with its label, and what `columns`
        names (`"V.lemma, delta(V, O)"`). Without `corpus` every sentence of the bank is read; where
        attention is asked about, the sentences that one run read: `run`, by name or id, else the
        one that answers as for an analysis. `within="document"` lets nodes that only attention or
        coreference ties stand in several sentences, each named in a column `N.sent_id`.
        `sort` names what comes first in the order, as `columns` does. `limit` is the most rows;
        `sample` draws so many at random, the same ones for the same `seed`. `timeout` is the most
        seconds.

        Raises RequestError, with line and column, for a request that cannot be read; CallError for
        an unknown corpus; QueryError where it runs out of time or memory. Warns with
        AttnbankWarning where nothing is found and no word has what is asked for.
        """
        from attnbank.queries.patterns import Choice, RunFacts, finding

        is_wide = finding.is_document(within)
        chosen = self.run_of_request(request, run, within, f"{columns}, {sort}")
        facts = None if chosen is None else RunFacts.of(chosen)
        choice = Choice(corpus, limit, sample, seed, is_wide=is_wide, run=facts)
        return self.hits(request, choice, columns, sort, timeout, memory)

    def count(
        self,
        request: str,
        by: str = "",
        *,
        corpus: str | None = None,
        run: str | int | None = None,
        within: str = "sentence",
        limit: int | None = None,
        timeout: float = 30.0,
        memory: int = sandbox.MEMORY,
    ) -> pl.DataFrame:
        """Count what `find` finds by some keys: a column for each, `n`, and `share` in [0, 1].

        Keys are features and labels (`"V.lemma, e.label"`), distances (`"delta(V, O)"`), metadata
        (`"document.genre"`) and patterns (`"{ O =[3-1]=> V }"`: whether it holds). The most
        frequent come first, `limit` of them at most. Raises and warns as `find` does.
        """
        from attnbank.queries.patterns import Choice, RunFacts, finding

        chosen = self.run_of_request(request, run, within, by)
        facts = None if chosen is None else RunFacts.of(chosen)
        choice = Choice(corpus, limit, is_wide=finding.is_document(within), run=facts)
        return self.hits(request, choice, by, "", timeout, memory, counts=True)

    def run_of_request(
        self,
        request: str,
        run: str | int | None = None,
        within: str = "sentence",
        columns: str = "",
    ) -> Run | None:
        """The run whose attention `find` reads for a request; None where it asks about none.

        Raises RequestError as `find` does, and as `query` does for a run.
        """
        from attnbank.queries.patterns import finding

        with self._answering():
            asked = None if run is None else str(run)
            is_wide = finding.is_document(within)
            reads = finding.asks_about_attention(request, columns)
            return finding.choose(self.connection, self.path, asked, reads=reads, is_wide=is_wide)

    def hits(
        self,
        request: str,
        choice: Choice,
        columns: str = "",
        sort: str = "",
        timeout: float = 30.0,
        memory: int = sandbox.MEMORY,
        *,
        counts: bool = False,
    ) -> pl.DataFrame:
        """What `find` or `count` finds, with the choice of hits in one; see there."""
        from attnbank.queries.patterns import finding

        check_limits(timeout, memory)
        asked = finding.question(request, columns=columns, sort=sort, choice=choice, counts=counts)
        if choice.corpus is not None:
            with self._answering():
                finding.check_corpus(self.connection, choice.corpus)
        if choice.run is not None:
            self._tell_of_run(choice.run)
        found = self._sandboxed("find", timeout, memory).run(asked.statement)
        if choice.sample is not None:
            found = asked.in_order(found, choice)
        if not found.height and choice.limit != 0:
            with self._answering():
                for told in finding.unknown_names(self.connection, asked.checked):
                    warnings.warn(told, AttnbankWarning, stacklevel=3)
        return found

    def _tell_of_run(self, run: RunFacts) -> None:
        """Warn where the run whose attention is asked about has not read every sentence."""
        from attnbank.queries.patterns import finding

        with self._answering():
            count = finding.left_out(self.connection, run.id)
        if not run.is_finished:
            told = f"The run {run.name} is not finished: the hits are of its first part."
            warnings.warn(told, UnfinishedRunWarning, stacklevel=4)
        if count:
            told = f"The run {run.name} left out {count:,} sentences: nothing is found there."
            warnings.warn(told, AttnbankWarning, stacklevel=4)

    def concordance(self, found: pl.DataFrame, context: int | None = None) -> pl.DataFrame:
        """Hits of `hits` with their column `sentence`, as people read them.

        The columns are `sent_id`, `left`, `hit` (from the first matched word to the last, each in
        brackets) and `right`; `context` is how many words stand left and right, all where None.
        """
        from attnbank.queries.patterns import concordance

        with self._answering():
            return concordance.lines(self.connection, found, context)

    def stream(
        self,
        statement: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        seconds: float = sandbox.SECONDS,
        memory: int = sandbox.MEMORY,
    ) -> Isolated:
        """Run one SELECT of your own in a process of its own, and take its rows in parts.

        Use what it returns in a `with` statement; iterating it gives frames, the first of which
        has the columns. Raises as `sql` does, up to the last row.
        """
        check_limits(seconds, memory)
        self._cursors.check()
        running = Isolated(self.path, statement, params, seconds, memory)
        self._statements.add(running)
        return running

    def table(self, name: str, run: str | int | None = None) -> pl.LazyFrame:
        """A table or view as a lazy frame; only the columns that are used are read.

        With `run` only the rows of that run, for tables that have column `sequence` or `run`.
        Raises CallError for an unknown name or run, and for a table that no run has rows of;
        BankError for a view of the schema paper that is another version's.
        """
        with self._answering():
            schema, found = contents.relation(self.connection, name)
            select = f"select * from {place(schema, found)}"
            if schema == "paper" and found in analyses():  # as this version has it, not the file
                select = with_defaults(registry.find(found), {})
            if run is not None:
                select += f" where {contents.of_run(self.connection, found, run)}"
            return scan(self._cursors, select)

    def runs(self) -> pl.DataFrame:
        """The runs, each with its options and what it holds."""
        with self._answering():
            return contents.runs(self.connection, self.path)

    def choices(self) -> pl.DataFrame:
        """The runs, and whether each answers where no run is named: first, yes, or why not."""
        with self._answering():
            return contents.choices(self.connection)

    def info(self) -> contents.Contents:
        """What is in the bank: runs, models, corpora, tables, what was left out."""
        with self._answering():
            return contents.read(self.connection, self.path)

    def schema(self, table: str | None = None) -> pl.DataFrame:
        """The tables, views, analyses and functions with their comments; of one, its columns.

        Raises CallError for an unknown name.
        """
        with self._answering():
            return contents.schema(self.connection, table)


def with_defaults(analysis: Analysis, given: Mapping[str, Any]) -> str:
    """The statement of an analysis with the defaults of the parameters that are not given."""
    defaults = {each.name: each.default for each in analysis.parameters if each.name not in given}

    return reading.with_references(analysis.statement, lambda name: defaults.get(name, f"${name}"))
