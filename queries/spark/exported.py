"""An export that is open on Spark: its analyses, with the rows that a bank would give."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from attnbank.queries import parameters
from attnbank.queries.dialects import to_dialect, written_out
from attnbank.queries.results import frame_of_arrow
from attnbank.queries.scores import Scores
from attnbank.queries.spark.errors import explained
from attnbank.queries.spark.merged import Merged
from attnbank.queries.spark.stages import stages_of
from attnbank.queries.spark.tables import Export, Tables
from attnbank.sql import registry
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.extras import need
from attnbank.sql.header import Analysis
from attnbank.sql.runs import Asked, Run, UnfinishedRunWarning, check_relation, choose_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    # Its time and memory grow exponentially with the names that a statement gives to one column:
    # with it the optimizer needs gigabytes for best_head, and finds nothing.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.session.timeZone": "UTC",
    # Otherwise ${env:NAME} in a value, such as the name of a relation, would be replaced.
    "spark.sql.variable.substitute": "false",
}
"""What the statements need to mean on Spark what they mean in a bank, and to be planned at all."""
_TYPES = {
    "bigint": pl.Int64(),
    "boolean": pl.Boolean(),
    "double": pl.Float64(),
    "float": pl.Float32(),
    "integer": pl.Int32(),
    "smallint": pl.Int16(),
    "varchar": pl.String(),
}


def open_export(session: SparkSession, *folders: str | Path) -> Exported:
    """An export that `attnbank export` wrote, on a Spark session that the caller has made.

    Several are read as one bank: what they share counts once, and the shards of a run are that run.
    Each is a path, or an address that Spark can read (`s3a://...`, `hdfs://...`). The views of
    the tables and the settings that the statements need are those of a session of its own within
    the same application, so that nothing of the given one changes. Raises MissingPackageError
    without pyspark, CallError if there is no such folder, or if several cannot be one, and
    BankError if one is no whole export of this format.
    """
    if not folders:
        raise CallError("No export is named.", "Give the folder that attnbank export wrote.")
    need("Spark", "pyspark")
    own = session.newSession()
    for name, value in _SETTINGS.items():
        own.conf.set(name, value)
    with explained(", ".join(map(str, folders))):
        exports = [Export(own, str(folder)) for folder in folders]
        return Exported(Tables(exports[0] if len(exports) == 1 else Merged(exports)))


class Exported(Scores):
    """An export that is open on Spark. Results are Polars frames, as those of a Bank.

    `find`, `count` and `score` are those of a Bank, too; but the limits of time and memory that
    they take are for DuckDB, and Spark does not know them.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.path = Path(tables.folder)

    def __repr__(self) -> str:
        return f"<Exported {self._tables.folder}, on Spark>"

    @property
    def session(self) -> SparkSession:
        """The session of its own that its statements run in."""
        return self._tables.session

    def query(self, name: str, /, **values: Any) -> pl.DataFrame:
        """Run an analysis, as `Bank.query` does: with its parameters, columns and rows.

        Numbers that are sums may differ from those of a bank in their last digits, since Spark adds
        up in another order. Raises and warns as `Bank.query` does, and raises CallError for an
        analysis of the user's own, which only the sandbox of a bank may run.
        """
        analysis, given = _asked(name, values)
        with self.answering():
            run = self._choose(analysis, given)
            if run is not None:
                if not run.is_finished:
                    warnings.warn(
                        f"The run {run.name} is not finished: the figures are over its first part.",
                        UnfinishedRunWarning,
                        stacklevel=2,
                    )
                check_relation(_Asked(self), analysis, given, run)
            with self._rows(to_dialect(analysis.name, "spark", **given)) as found:
                frame = frame_of_arrow(found.toArrow(), [])
        return frame.cast({each.name: _type(each.type) for each in analysis.columns})

    def run_of(self, name: str, /, **values: Any) -> Run | None:
        """The run that `query` reads with the same arguments; None if it does not read exactly one.

        Raises as `query` does.
        """
        analysis, given = _asked(name, values)
        with self.answering():
            return self._choose(analysis, given)

    def rows_of(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a SELECT that is written for a bank, with the values of its `$name`."""
        written = written_out(statement, "spark", values)
        with self._rows(written) as found:
            return [tuple(row) for row in found.collect()]

    @property
    def connection(self) -> Asked:
        """What answers a SELECT of the package's own."""
        return _Asked(self)

    def answering(self) -> AbstractContextManager[None]:
        """As `Asking.answering`."""
        return explained(self._tables.folder)

    def found_by(self, statement: str, seconds: float, memory: int) -> pl.DataFrame:
        """As `Asking.found_by`; Spark has no such limits."""
        with self.answering():
            return self.frame_of(statement, {})

    def frame_of(self, statement: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """As `Asking.frame_of`."""
        with self._rows(written_out(statement, "spark", values)) as found:
            return frame_of_arrow(found.toArrow(), [])

    def beside(self, name: str, rows: pl.DataFrame) -> AbstractContextManager[None]:
        """As `Asking.beside`, with a view of the session."""
        return self._tables.beside(name, rows)

    def _choose(self, analysis: Analysis, given: Mapping[str, Any]) -> Run | None:
        try:
            return choose_run(_Asked(self), self.path, analysis, given)
        except QueryError as error:
            if error.remedy.startswith("Make one: "):
                # That remedy is for a bank, and this is the export of one.
                remedy = "Ingest such a run into a bank, and export that: attnbank export DIR."
                raise QueryError(error.fact, remedy) from error
            raise

    @contextmanager
    def _rows(self, statement: str) -> Iterator[DataFrame]:
        """The rows of a statement in the dialect of Spark; within, they can be collected.

        What several parts of the statement read is computed once and kept until the end.
        """
        planned = stages_of(statement)
        session = self._tables.session
        self._tables.need(planned.tables)
        try:
            for stage in planned.stages:
                rows = session.sql(stage.statement)
                if stage.reads > 1:
                    rows = rows.localCheckpoint()
                rows.createOrReplaceTempView(stage.view)
            yield session.sql(planned.last)
        finally:
            for stage in planned.stages:
                session.catalog.dropTempView(stage.view)


class _Asked:
    """An export as the functions see it that ask a bank with `execute(...).fetchall()`."""

    def __init__(self, exported: Exported) -> None:
        self._exported = exported
        self._found: list[tuple[Any, ...]] = []

    def execute(self, query: str, parameters: Any = None, /) -> _Asked:
        """Run a SELECT; `parameters` are the values of its `$name`."""
        asked = _Asked(self._exported)
        asked._found = self._exported.rows_of(query, parameters or {})
        return asked

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that were found."""
        return self._found


def _asked(name: str, values: Mapping[str, Any]) -> tuple[Analysis, dict[str, Any]]:
    """The analysis, and its checked values. Raises CallError as `query` does."""
    analysis = registry.find(name)
    if analysis.is_own:
        raise CallError(
            f"{analysis.name} is an analysis of your own, which runs only in the sandbox of a"
            " bank.",
            f"See it for Spark, and run it there: attnbank query {analysis.name} --dialect spark",
        )
    return analysis, parameters.check(analysis, values)


def _type(declared: str) -> pl.DataType:
    """The type that a column has in the frames of a bank, from the type that its header says."""
    if declared.endswith("[]"):
        return pl.List(_type(declared.removesuffix("[]")))
    if declared.startswith("decimal"):
        precision, scale = declared.removeprefix("decimal(").rstrip(")").split(",")
        return pl.Decimal(int(precision), int(scale))
    return _TYPES[declared]
