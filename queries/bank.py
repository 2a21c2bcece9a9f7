"""A bank that is open for reading: its analyses, any SELECT, and what is in it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload
from weakref import WeakSet

import duckdb
import polars as pl

from attnbank.queries import contents
from attnbank.queries.answers import Answer, reasons_without_rows
from attnbank.queries.backend import SECONDS, DuckDBBackend
from attnbank.queries.execution import Isolated
from attnbank.queries.options import MEMORY, ShowOptions, card_options, keywords_of
from attnbank.queries.requests import Requests
from attnbank.queries.results import CachedResult, cached_result, query_error
from attnbank.sql import registry
from attnbank.sql.bank.connections import readers
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError, is_damage
from attnbank.sql.header import Analysis
from attnbank.sql.names import qualified_name
from attnbank.sql.paths import printable_path, typed_path
from attnbank.sql.registry import analyses
from attnbank.sql.run_choice import (
    Run,
    UnfinishedRunWarning,
    choose_analysis_run,
    resolve_weights,
)
from attnbank.sql.worker import check_limits

if TYPE_CHECKING:
    from attnbank.queries.pictures import Look, Picture, Size
    from attnbank.queries.report.page import OnSection
    from attnbank.queries.sentences.showing import Shown

__all__ = ["Bank", "UnfinishedRunWarning", "open_bank"]


def open_bank(path: str | Path, *, queries: str | Path | None = None) -> Bank:
    """Open a bank for reading. Close it, or use it in a `with` statement.

    `queries` is a folder of analyses of your own, by default that of the environment variable
    ATTNBANK_QUERIES. Raises CallError if that folder cannot be read, BankError if the file is
    missing, is not a bank, or is locked by a process that writes it.
    """
    registry.load_user_analyses(queries)
    return Bank(path)


def open_for_requests(path: str | Path, seconds: float, memory: int = MEMORY) -> Bank:
    """Open a bank only for requests, with limits (seconds, bytes). Raises BankError, CallError."""
    check_limits(seconds, memory)
    return Bank(path, (seconds, memory))


class Bank(Requests):
    """A bank that is open for reading, which threads can share. Results are Polars frames."""

    backend: DuckDBBackend

    def __init__(self, path: str | Path, limits: tuple[float, int] | None = None) -> None:
        """Open a bank; with `limits` (seconds, bytes) its connection is the sandbox of requests."""
        self.path = printable_path(path).expanduser()
        self.backend = DuckDBBackend(self.path, limits)
        self._processes: WeakSet[Isolated] = WeakSet()
        self._chosen: dict[Any, Run | None] = {}  # by the kind of run, and the names that are given
        if limits is None:
            readers.add(self)

    def __repr__(self) -> str:
        is_closed = self.backend.cursors.is_closed
        return f"<Bank {typed_path(self.path)}{', closed' if is_closed else ''}>"

    def _repr_html_(self) -> str:
        runs = None if self.backend.cursors.is_closed else self.runs()
        return contents.html_of_bank(typed_path(self.path), runs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and stop other threads' statements; BankError if one does not stop."""
        for process in list(self._processes):
            process.close()
        self.backend.close()

    def release(self) -> None:
        """Close the file until the next query. Raises BankError if another thread reads it."""
        self.backend.release()
        self._chosen.clear()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The calling thread's read-only connection. Raises BankError if the bank is closed."""
        return self.backend.connection

    def _read_rows(self, answer: Answer) -> pl.DataFrame:
        analysis, arguments, cached = answer.analysis, answer.arguments, answer.cached
        call = self._macro_call(analysis, arguments)
        if analysis.is_own:  # it runs in the sandbox of `sql`
            return cached.rows if cached else _as_declared(analysis, self.sql(call, arguments))
        with self.backend.answering():
            try:
                rows = cached.rows if cached else self.backend.fetch(call, arguments)
            except duckdb.Error as error:  # of the analysis, unless of the bank: see `answering`
                if is_damage(error) or isinstance(error, duckdb.InterruptException):
                    raise
                lead = f"{analysis.name} cannot be answered: "
                raise query_error(error, lead, path=self.path) from error
            return self._without_circular(rows, arguments)

    def _macro_call(self, analysis: Analysis, arguments: Mapping[str, Any]) -> str:
        """The SELECT that runs an analysis: it calls the macro that any DuckDB shell calls.

        A user's own is not in the bank: it is the statement itself, with the default in place of
        each parameter that is not in `arguments`.
        """
        if analysis.is_own:
            defaults = {parameter.name: parameter.default for parameter in analysis.parameters}
            return analysis.with_parameters(
                lambda name: f"${name}" if name in arguments else defaults[name]
            )
        # The macros of another version are in the file, and those of this one in memory.
        schema = "paper." if analysis.is_view and not self.backend.cursors.is_other_version else ""
        values = ", ".join(f"{name} := ${name}" for name in arguments)
        return f"from {schema}{analysis.name}({values})"

    def _without_circular(self, rows: pl.DataFrame, arguments: Mapping[str, Any]) -> pl.DataFrame:
        """The rows without p values, and a warning, if their relation was saved from attention.

        If it was saved from surprisal, only a warning.
        """
        saved = self.connection.execute(
            "select request, is_circular from saved_relation where name = $name",
            {"name": arguments.get("relation")},
        ).fetchone()
        if saved is None:
            return rows
        from attnbank.queries.patterns import reads_run
        from attnbank.queries.patterns.scoring import CIRCULAR, SELECTED, without_p_values

        request, is_circular = saved
        if not is_circular:
            if reads_run(request):
                warnings.warn(SELECTED, AttnbankWarning, stacklevel=6)
            return rows
        warnings.warn(CIRCULAR, AttnbankWarning, stacklevel=6)
        return without_p_values(rows)

    def _choose_run(self, analysis: Analysis, arguments: Mapping[str, Any]) -> Run | None:
        """As `choose_analysis_run`, once for the same kind of run and names: nothing writes."""
        of_runs = [parameter.name for parameter in analysis.parameters if parameter.names_run]
        choice = (
            None if analysis.run is None else resolve_weights(self.connection, analysis, arguments)
        )
        key = choice, tuple((name, arguments.get(name)) for name in of_runs)
        if key not in self._chosen:
            self._chosen[key] = choose_analysis_run(self.connection, self.path, analysis, arguments)
        return self._chosen[key]

    def _cached_result(self, answer: Answer) -> CachedResult | None:
        with self.backend.answering():
            return cached_result(self.connection, answer.analysis, answer.arguments, answer.run)

    def sql(
        self,
        statement: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        seconds: float = SECONDS,
        memory: int = MEMORY,
        isolated: bool = False,
    ) -> pl.DataFrame:
        """Run one SELECT of your own, in a sandbox: no file, no network, no writing.

        `params` are the values of `$name` (a mapping) or `?` (a sequence). DuckDB checks the
        limits, `seconds` and `memory` (bytes), only now and then; an `isolated` statement runs in a
        process that is ended when it exceeds them, and takes half a second to start. Warns with
        AttnbankWarning if there are no rows and an analysis that it calls says why. Raises
        QueryError if it is not a single SELECT, is wrong, or runs out of time or memory; CallError
        for limits out of range.
        """
        if isolated:
            with self.stream(statement, params, seconds=seconds, memory=memory) as running:
                return running.frame()
        frame = self.backend.run_select(statement, params, seconds, memory)
        if not frame.height:
            for reason in reasons_without_rows(self, statement):
                warnings.warn(reason, AttnbankWarning, stacklevel=2)
        return frame

    def stream(
        self,
        statement: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        seconds: float = SECONDS,
        memory: int = MEMORY,
    ) -> Isolated:
        """Run one SELECT of your own in a separate process, and receive its rows in parts.

        Use it in a `with` statement. It iterates over at least one frame, and may raise the errors
        of `sql` at any.
        """
        check_limits(seconds, memory)
        self.backend.cursors.check_open()
        running = Isolated(self.path, statement, params, seconds, memory)
        self._processes.add(running)
        return running

    def table(self, name: str, run: str | int | None = None) -> pl.LazyFrame:
        """A table or view, or its rows of a `run`, as a lazy frame; only used columns are read.

        A view of the schema `paper` is read as this version of attnbank defines it. Raises
        CallError for an unknown name or run, and for a table that is not divided by run.
        """
        with self.backend.answering():
            schema, name_in_schema = contents.relation(self.backend, name)
            select = f"select * from {qualified_name(schema, name_in_schema)}"
            if schema == "paper" and name_in_schema in analyses():
                select = self._macro_call(registry.find_analysis(name_in_schema), {})
            if run is not None:
                select += f" where {contents.condition_on_run(self.backend, name_in_schema, run)}"
            return self.backend.cursors.scan(select)

    def runs(self) -> pl.DataFrame:
        """The runs, one row each, with their options and how much they hold."""
        with self.backend.answering():
            return contents.list_runs(self.backend)

    def choices(self) -> pl.DataFrame:
        """The runs, and whether each may be the default: first, yes, or why not."""
        with self.backend.answering():
            return self.backend.internal("contents/run_choices")

    def info(self) -> contents.Contents:
        """What is in the bank: runs, models, corpora, tables, and skipped sentences."""
        with self.backend.answering():
            return contents.summarize_bank(self.backend)

    def queries(self) -> pl.DataFrame:
        """The analyses, one row each: section, name, title, paper, grain. `query` runs them."""
        return list_analyses()

    @keywords_of(ShowOptions)
    def show(self, options: ShowOptions) -> Shown:
        """Show what heads attend to in a sentence: rows, weights and a picture.

        `sentence` is its number (sentence.id), its name (sent_id), or a request of `find`, of which
        the first `hits` sentences are shown, the matched words marked. `head` is "3-1" or several;
        `layer` is all heads of one; with `mean` their mean is shown. The gold arcs of a `relation`
        (obj, all, or a saved one) are drawn in colour, with the `direction` head_to_dependent from
        the head, with later_to_earlier from the later of the two. `coreference` colours the
        mentions of each entity, `tree` adds the tree; `decoded` (head, layer, all or ensemble) adds
        that and the trees that `compute attention_tree` made of each head that is shown, its layer,
        all heads, or an ensemble. Without `special` special tokens are left out. `words` are the
        first and the last index to show, `before` is how many sentences of the same input are drawn
        above, the words of `matched` are marked, and weights under `least` are not drawn. The run
        is chosen as for an analysis, among those over the sentence's corpus.

        Raises CallError for a sentence, head, relation or run that is not there, QueryError where
        no run fits, it left the sentence out, or a mean needs weights that it does not keep, and as
        `find`. Warns with AttnbankWarning where a part is not shown.
        """
        from attnbank.queries.sentences.showing import show_sentence

        return show_sentence(self, options)

    def plot(
        self,
        name: str,
        /,
        *,
        theme: str = "light",
        size: Size | None = None,
        look: Look | None = None,
        fresh: bool = False,
        **values: Any,
    ) -> Any:
        """The picture of an analysis, an Altair chart: a notebook draws it, `save` writes it.

        `values` are its parameters; `theme` is light, dark or print; with `fresh` its rows are
        computed even if they are cached. Raises CallError if it has no picture or too many panels,
        QueryError if there is nothing to draw, MissingPackageError if Altair is not installed, and
        the errors of `query`.
        """
        from attnbank.queries import pictures

        picture = self.picture(name, theme=theme, size=size, look=look, fresh=fresh, **values)
        if isinstance(picture, pictures.Chart):
            return pictures.altair_chart(picture.specification)
        return picture

    def picture(
        self,
        name: str,
        /,
        *,
        theme: str = "light",
        size: Size | None = None,
        look: Look | None = None,
        fresh: bool = False,
        **values: Any,
    ) -> Picture:
        """The picture of an analysis, to be written with `as_bytes(".pdf")`.

        `head_card` is not an analysis but the picture of one `head` ("3-1") of a `run`, with what
        it finds beside the best fixed offset, held-out accuracy and random weights, where its
        attention goes, and examples of the best relation, or of the `relation`.
        """
        from attnbank.queries.drawing import Drawing
        from attnbank.queries.pictures import HEAD_CARD

        if name == HEAD_CARD:
            from attnbank.queries.sentences.cards import head_card

            return head_card(self, card_options(values), theme, look, fresh=fresh)
        return Drawing(self, self.answer(name, values, fresh=fresh)).in_theme(theme, size, look)

    if TYPE_CHECKING:  # typing keeps overloads, and all that their module knows, until the very end

        @overload
        def report(
            self,
            path: str | Path,
            *,
            run: str | int | Sequence[str | int] | None = None,
            on_section: OnSection | None = None,
            fresh: bool = False,
        ) -> None: ...

        @overload
        def report(
            self,
            path: None = None,
            *,
            run: str | int | Sequence[str | int] | None = None,
            on_section: OnSection | None = None,
            fresh: bool = False,
        ) -> str: ...

    def report(
        self,
        path: str | Path | None = None,
        *,
        run: str | int | Sequence[str | int] | None = None,
        on_section: OnSection | None = None,
        fresh: bool = False,
    ) -> str | None:
        """Write every table and figure that the bank can answer into one HTML file.

        It needs nothing outside itself, and is written whole or not at all; without `path` it is
        returned as text. `run` (name or id) is the run of words over single sentences that the
        sections on syntax read; the other sections choose among the runs of its model. Of several
        runs, the later ones stand beside the first. `on_section` is called with how many sections
        are done, and how many there are. With `fresh` cached answers are computed again. What the
        bank cannot answer is listed on the page. Raises CallError for an unknown run or an
        impossible path, MissingPackageError, BankError for a damaged bank, AttnbankError if it
        cannot be written.
        """
        from attnbank.queries.report import page

        return page.write_report(self, path, run, on_section, fresh=fresh)

    def save(self, name: str, request: str, *, dependent: str, head: str, **options: Any) -> int:
        """Save the pairs that a request finds as a relation for the analyses; return their number.

        `dependent` and `head` are nodes of the request; options and errors are those of
        `attnbank.ingest.save_relation`. Raises CallError if the bank was not opened with
        `attnbank.open_bank`.
        """
        raise CallError("This bank is open for reading only.", "Open it with attnbank.open_bank.")

    def saved(self) -> pl.DataFrame:
        """The saved relations, one row each: name, number of pairs, request, nodes, meaning."""
        with self.backend.answering():
            return self.backend.internal("contents/saved_relations")

    def schema(self, table: str | None = None) -> pl.DataFrame:
        """The relations and functions with comments, or the columns of one. Raises CallError."""
        with self.backend.answering():
            return contents.describe_schema(self.backend, table)


def list_analyses() -> pl.DataFrame:
    """The analyses, a user's own among them: section, name, title, paper and grain of each."""
    names = ("section", "name", "title", "paper", "grain")
    rows = [
        tuple(getattr(analysis, name) for name in names)
        for analysis in registry.all_analyses().values()
    ]
    return pl.DataFrame(rows, schema=names, orient="row")


def _as_declared(analysis: Analysis, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of an analysis. Raises QueryError if their columns are not those it declares."""
    declared = [column.name for column in analysis.columns]
    if rows.columns != declared:
        raise QueryError(
            f"{analysis.name}.sql has the columns {', '.join(rows.columns)}; its header says"
            f" {', '.join(declared)}.",
            "List them in the column lines of the header, in that order.",
        )
    return rows
