"""The same analyses and requests on Spark, over the Parquet files of `attnbank export`.

    from attnbank.queries.spark import open_export

    with open_export(session, "parquet") as exported:
        frame = exported.query("best_head", relation="obj")

`session` is a SparkSession that the caller has made, with whatever cluster it is of. Python or the
JVM of Spark is started only by what is called, never by importing this.

An export comes from outside: only tables and columns that a bank of this format has are read, and
their types are checked first.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import sqlglot
from sqlglot import exp

from attnbank.queries.answers import Answer
from attnbank.queries.backend import Backend
from attnbank.queries.dialects import spark_statement, to_dialect
from attnbank.queries.requests import Requests
from attnbank.queries.results import frame_of_arrow, query_error
from attnbank.sql.bank.bank_format import columns_of_this_format
from attnbank.sql.bank.connections import connected
from attnbank.sql.errors import BankError, CallError, QueryError, require_extra
from attnbank.sql.export_format import check_format, is_by_run
from attnbank.sql.header import Analysis
from attnbank.sql.names import quoted
from attnbank.sql.run_choice import Run, choose_analysis_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What the statements need to mean on Spark what they mean in a bank, and to be planned at all.
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    # Its time and memory grow exponentially with the names that a statement gives to one column:
    # with it the optimizer needs gigabytes for best_head, and finds nothing.
    "spark.sql.constraintPropagation.enabled": "false",
    # Otherwise what climbs a tree ends after a million rows, or a hundred heads above each other.
    "spark.sql.cteRecursionLevelLimit": "10000",
    "spark.sql.cteRecursionRowLimit": "-1",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.session.timeZone": "UTC",
    # Otherwise ${env:NAME} in a value, such as the name of a relation, would be replaced.
    "spark.sql.variable.substitute": "false",
}


def open_export(session: SparkSession, folder: str | Path) -> Exported:
    """An export that `attnbank export` wrote, on a Spark session that the caller has made.

    `folder` is a path, or an address that Spark can read (`s3a://...`, `hdfs://...`). The views and
    settings are those of a session of its own, so that nothing of the given one changes. Raises
    MissingPackageError without pyspark, CallError if there is no such folder, and BankError if it
    is not a whole export of this format.
    """
    require_extra("Spark", "spark", "pyspark")
    own_session = session.newSession()
    for name, value in _SETTINGS.items():
        own_session.conf.set(name, value)
    with _translate_spark_errors(str(folder)):
        return Exported(Export(own_session, str(folder)))


class Exported(Requests):
    """An export that is open on Spark. Results are Polars frames, as those of a Bank.

    `query` runs the analyses of a Bank, without those of the user's own (CallError); sums may
    differ in their last digits. `find`, `count` and `score` are those of a Bank, too, without its
    limits of time and memory.
    `session` is the session of its own that its statements run in.
    """

    backend: SparkBackend

    def __init__(self, source: Export) -> None:
        self.backend = SparkBackend(source)
        self.path = self.backend.path
        self.session = source.session

    def __repr__(self) -> str:
        return f"<Exported {self.path}, on Spark>"

    def _read_rows(self, answer: Answer) -> pl.DataFrame:
        statement = to_dialect(answer.analysis.name, "spark", **answer.arguments)
        with self.backend.answering(), self.backend.collect(statement) as collected:
            frame = frame_of_arrow(collected.toArrow(), collected.columns)
        return frame.cast(_schema(answer.analysis))

    def _choose_run(self, analysis: Analysis, arguments: Mapping[str, Any]) -> Run | None:
        if analysis.is_own:
            raise CallError(
                f"{analysis.name} is an analysis of your own, which runs only in the sandbox of a"
                " bank.",
                "Print its SQL and run that on Spark:"
                f" attnbank query {analysis.name} --dialect spark",
            )
        try:
            return choose_analysis_run(self.backend.connection, self.path, analysis, arguments)
        except QueryError as error:
            if error.remedy.startswith("Type: attnbank "):
                # That remedy is for a bank, and this is the export of one.
                remedy = "Make such a run in a bank, and export that: attnbank export DIR."
                raise QueryError(error.fact, remedy) from error
            raise


class SparkBackend(Backend):
    """A session of Spark, with the tables of an export as views."""

    def __init__(self, source: Export) -> None:
        self.path = Path(source.folder)
        self.source = source
        self._session = source.session
        self._views: set[str] = set()  # the tables that are views of the session by now

    @property
    def connection(self) -> _Answers:
        """What answers a SELECT of the package's own."""
        return _Answers(self)

    def answering(self) -> AbstractContextManager[None]:
        """As `Backend.answering`."""
        return _translate_spark_errors(self.source.folder)

    def run_request(self, statement: str, seconds: float, memory: int) -> pl.DataFrame:
        """As `Backend.run_request`; Spark has no such limits."""
        with self.answering():
            return self.fetch(statement, {})

    def fetch(self, statement: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """As `Backend.fetch`."""
        with self.collect(spark_statement(statement, values)) as collected:
            return frame_of_arrow(collected.toArrow(), collected.columns)

    @contextmanager
    def temp_table(self, name: str, rows: pl.DataFrame) -> Iterator[None]:
        """As `Backend.temp_table`, with a view of the session."""
        self._session.createDataFrame(rows.to_arrow()).createOrReplaceTempView(name)
        self._views.add(name)
        try:
            yield
        finally:
            self._session.catalog.dropTempView(name)
            self._views.discard(name)

    @contextmanager
    def collect(self, statement: str) -> Iterator[DataFrame]:
        """The rows of a statement in the dialect of Spark; within, they can be collected.

        What several parts of the statement read is computed once and kept until the end.
        """
        planned = stages_of(statement)
        for name in planned.tables & columns_of_this_format().keys() - self._views:
            self.source.table(name).createOrReplaceTempView(name)
            self._views.add(name)
        try:
            for stage in planned.stages:
                self._prepare(stage)
            yield self._session.sql(planned.last)
        finally:
            for stage in planned.stages:
                self._session.catalog.dropTempView(stage.view)

    def _prepare(self, stage: Stage) -> None:
        """Make the view of a stage, whose rows are computed now if they are read several times."""
        rows = self._session.sql(stage.statement)
        # New ids of its columns: of two stages that have some in common, Spark may not see which
        # one is meant, and plans no join of them.
        rows = rows.toDF(*rows.columns)
        if stage.reads > 1:
            rows = rows.localCheckpoint()
        rows.createOrReplaceTempView(stage.view)


class _Answers:
    """Spark as the functions see it that ask a bank with `execute(...).fetchall()`."""

    def __init__(self, backend: SparkBackend, rows: Sequence[tuple[Any, ...]] = ()) -> None:
        self._backend = backend
        self._rows = list(rows)

    def execute(self, query: str, parameters: Any = None, /) -> _Answers:
        """Run a SELECT; `parameters` are the values of its `$name`."""
        with self._backend.collect(spark_statement(query, parameters or {})) as collected:
            return _Answers(self._backend, [tuple(row) for row in collected.collect()])

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that were found."""
        return self._rows


def _schema(analysis: Analysis) -> pl.Schema:
    """The columns of an analysis with the types that they have in the frames of a bank."""
    columns = ", ".join(
        f"cast(null as {column.type}) as {quoted(column.name)}" for column in analysis.columns
    )
    with connected() as connection:
        empty: pl.DataFrame = connection.query(f"select {columns}").pl()
    return empty.schema


@contextmanager
def _translate_spark_errors(where: str) -> Iterator[None]:
    """Context manager that raises errors of Spark as a QueryError; `where` is what it reads."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    # This one would print every error with the whole stack of the JVM before it is raised.
    log = logging.getLogger("SQLQueryContextLogger")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    except PySparkException as error:
        if error.getCondition() == "USER_RAISED_EXCEPTION":  # an analysis says what must be done
            message = (error.getMessageParameters() or {}).get("errorMessage", str(error))
            raise query_error(RuntimeError(message)) from error
        raise QueryError(f"Spark cannot read {where}: {_first_line(error)}", "") from error
    except Py4JJavaError as error:
        # Java says more than the text of the error, which only tells what was called.
        message = _first_line(RuntimeError(str(error.java_exception)))
        raise QueryError(f"Spark cannot read {where}: {message}", "") from error
    except (Py4JError, ConnectionError) as error:
        raise QueryError(f"Spark ended while reading {where}: {_first_line(error)}", "") from error
    finally:
        log.disabled = was_disabled


def _first_line(error: BaseException) -> str:
    """The first line of an error, cut if it is long: some of Spark's hold a whole plan."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0][:300]


@dataclass(frozen=True)
class Stage:
    """A common table expression: the name of its view, its SELECT, and how often it is read."""

    view: str
    statement: str
    reads: int


@dataclass(frozen=True)
class Stages:
    """The stages of a statement in the order to run them, its last SELECT, and what all read."""

    stages: tuple[Stage, ...]
    last: str
    tables: frozenset[str]


def stages_of(statement: str) -> Stages:
    """A statement in Spark's dialect as stages, whose views are named by their text."""
    tree = sqlglot.parse_one(statement, dialect="spark")
    stages: dict[str, tuple[str, exp.Expr]] = {}
    _extract_ctes(tree, {}, stages)
    every = [*(stage for _, stage in stages.values()), tree]
    names = Counter(
        table.name for stage in every for table in stage.find_all(exp.Table) if not table.db
    )
    views = {view for view, _ in stages.values()}
    return Stages(
        tuple(Stage(view, text, names[view]) for text, (view, _) in stages.items()),
        tree.sql(dialect="spark"),
        frozenset(names) - views,
    )


def _extract_ctes(
    node: exp.Expr, known: Mapping[str, str], stages: dict[str, tuple[str, exp.Expr]]
) -> None:
    """Replace every common table expression in a tree by a view.

    `known` are the views by the names that are visible here. Each extracted query is added to
    `stages` by its text, with its view, after those that it reads.
    """
    with_ = node.args.get("with_") or node.args.get("with")
    if with_ is not None:
        known = dict(known)
        for cte in with_.expressions:
            # What reads itself keeps its name, and is a stage as a whole.
            is_own = with_.recursive and cte.alias in {
                table.name for table in cte.this.find_all(exp.Table) if not table.db
            }
            visible = {**known, cte.alias: cte.alias} if is_own else known
            _extract_ctes(cte.this, visible, stages)
            query = cte.this
            if is_own:
                query = exp.select("*").from_(cte.alias)
                query.set("with_", exp.With(expressions=[cte.copy()], recursive=True))
            text = query.sql(dialect="spark")
            new = f"attnbank_stage_{sha256(text.encode()).hexdigest()[:16]}_{cte.alias}"
            known[cte.alias], _ = stages.setdefault(text, (new, query))
        with_.pop()
    if isinstance(node, exp.Table) and not node.db and node.name in known:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(node.alias or node.name)))
        node.set("this", exp.to_identifier(known[node.name]))
    for child in list(node.iter_expressions()):
        _extract_ctes(child, known, stages)


# What Spark calls the types of the columns of a bank, as it reads them from Parquet.
_TYPES = {
    "BIGINT": "bigint",
    "BOOLEAN": "boolean",
    "DOUBLE": "double",
    "DOUBLE[]": "array<double>",
    "FLOAT": "float",
    "FLOAT[]": "array<float>",
    "INTEGER": "int",
    "MAP(VARCHAR, VARCHAR)": "map<string,string>",
    "SMALLINT": "smallint",
    "SMALLINT[]": "array<smallint>",
    "STRUCT(last_batch INTEGER, batch_tokens INTEGER)[]": (
        "array<struct<last_batch:int,batch_tokens:int>>"
    ),
    "TIMESTAMP": "timestamp_ntz",
    "VARCHAR": "string",
    "VARCHAR[]": "array<string>",
}
_WHOLE = "Name a complete folder that attnbank export wrote: --data DIR."


class Export:
    """The tables of one export."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        """Check that a folder, a path or an address for Spark, is an export of this format.

        Raises CallError if a path is not a folder, BankError if it holds no export of this format.
        """
        self.session = session
        self.folder = folder
        self._root = _root(folder)
        self._read_before: dict[tuple[str, ...], DataFrame] = {}
        formats = [row["format"] for row in self.table("bank").collect()]
        format_ = formats[0] if len(formats) == 1 else None
        if format_ is None:
            raise BankError(f"{self.folder} does not say which format it is in.", _WHOLE)
        check_format(self.folder, format_)

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with the columns that a bank has.

        Raises BankError if the table is missing, or has other columns than a bank of this format.
        """
        if is_by_run(columns_of_this_format()[name]):
            return self._read_files(name, [f"{name}/run={run}" for run in self._run_ids])
        return self._read_files(name, [f"{name}.parquet"])

    def _read_files(self, name: str, files: list[str]) -> DataFrame:
        """The rows of some files, or folders of files, of a table; opened once."""
        columns = {
            column: _TYPES[type_] for column, type_ in columns_of_this_format()[name].items()
        }
        if not files:  # an export without runs
            shape = ", ".join(f"`{column}` {type_}" for column, type_ in columns.items())
            return self.session.createDataFrame([], shape)
        if tuple(files) in self._read_before:
            return self._read_before[tuple(files)]
        from pyspark.errors import AnalysisException

        try:
            frame = self.session.read.parquet(*(f"{self._root}/{file}" for file in files))
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            missing = files[0] if len(files) == 1 else f"{name}/run=..."
            raise BankError(
                f"{self.folder} is not a complete export: it has no {missing}.", _WHOLE
            ) from error
        types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        for column, type_ in columns.items():
            if types.get(column) != type_:
                has = f"is {types[column]}" if column in types else "is missing"
                raise BankError(
                    f"{self.folder} is not an export of this version: {name}.{column} {has}.",
                    "Export the bank again with this version: attnbank export.",
                )
        frame = frame.select(*(f"`{column}`" for column in columns))
        self._read_before[tuple(files)] = frame
        return frame

    @cached_property
    def _run_ids(self) -> list[int]:
        return sorted(int(row["id"]) for row in self.table("run").select("id").collect())


def _root(folder: str) -> str:
    """The folder as Spark takes it: an address, with what would be a pattern in it escaped."""
    if "://" in folder:
        return folder.rstrip("/")
    path = Path(folder).expanduser()
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        raise CallError(
            f"Folder {folder} does not exist.", "Make one of a bank: attnbank -b BANK export DIR."
        )
    escaped = "".join(f"\\{sign}" if sign in "\\*?[]{}," else sign for sign in str(path.resolve()))
    return f"file://{escaped}"
