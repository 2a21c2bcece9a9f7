"""The tables of an export as views of a Spark session, each made when a statement first reads it.

An export comes from outside: only tables and columns that a bank of this format has are read, and
their types are checked first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from attnbank.sql import registry
from attnbank.sql.bank.formats import columns_of_this_format
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.outputs.tables import is_by_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    "TIMESTAMP": "timestamp_ntz",
    "VARCHAR": "string",
    "VARCHAR[]": "array<string>",
}
"""What Spark calls the types of the columns of a bank, as it reads them from Parquet."""
_WHOLE = "Name a folder that attnbank export wrote, with all its files: --data DIR."


class Source(Protocol):
    """Where the tables come from: one export, or several that are read as one."""

    session: SparkSession
    folder: str

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with the columns that a bank has."""
        ...


class Tables:
    """The tables of a source as views of its session, which has no other views."""

    def __init__(self, source: Source) -> None:
        self.session = source.session
        self.folder = source.folder
        self._source = source
        self._made: set[str] = set()

    def need(self, names: Collection[str]) -> None:
        """Make the views of these tables; names that are no table of a bank are passed over.

        Raises BankError for a table that is missing or has other columns than a bank of this
        format.
        """
        for name in names:
            if name in columns_of_this_format() and name not in self._made:
                self._source.table(name).createOrReplaceTempView(name)
                self._made.add(name)

    @contextmanager
    def beside(self, name: str, rows: pl.DataFrame) -> Iterator[None]:
        """Within, the view of this name has these rows, in place of those of the source."""
        self.session.createDataFrame(rows.to_arrow()).createOrReplaceTempView(name)
        self._made.add(name)
        try:
            yield
        finally:
            self.session.catalog.dropTempView(name)
            self._made.discard(name)


class Export:
    """The tables of one export."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        """Check that a folder is an export of this format.

        `folder` is a path, or an address that Spark can read (`s3a://...`, `hdfs://...`). Raises
        CallError if a path is no folder, BankError if it holds no export, or one of another format.
        """
        self.session = session
        self.folder = folder
        self._root = _root(folder)
        self._runs: list[int] | None = None
        self._read_before: dict[tuple[str, ...], DataFrame] = {}
        self._check_format()

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with the columns that a bank has.

        Raises BankError if the table is missing, or has other columns than a bank of this format.
        """
        if is_by_run(columns_of_this_format()[name]):
            return self.of_runs(name, self._run_ids())
        return self._read(name, [f"{name}.parquet"])

    def of_runs(self, name: str, runs: Sequence[int]) -> DataFrame:
        """The rows of some runs in a table whose files are divided by run. Raises as `table`."""
        return self._read(name, [f"{name}/run={each}" for each in runs])

    def _check_format(self) -> None:
        rows = self.table("bank").collect()
        formats = [row["format"] for row in rows]
        if len(formats) != 1 or formats[0] is None:
            raise BankError(f"{self.folder} does not say which format it has.", _WHOLE)
        (format_,) = formats
        if format_ > registry.FORMAT:
            raise BankError(
                f"{self.folder} is of format {format_}, which a newer attnbank wrote; this version"
                f" reads format {registry.FORMAT}.",
                "Use that version, or name another folder.",
            )
        if format_ < registry.FORMAT:
            raise BankError(
                f"{self.folder} is of format {format_}; this version reads format"
                f" {registry.FORMAT}.",
                "Upgrade the bank, and export it again: attnbank upgrade, attnbank export.",
            )

    def _read(self, name: str, files: list[str]) -> DataFrame:
        """The rows of some files, or folders of files, of a table; opened once."""
        if not files:
            return rows_of(self.session, name, [])
        if tuple(files) in self._read_before:
            return self._read_before[tuple(files)]
        from pyspark.errors import AnalysisException

        try:
            found = self.session.read.parquet(*(f"{self._root}/{each}" for each in files))
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            missing = files[0] if len(files) == 1 else f"{name}/run=..."
            raise BankError(
                f"{self.folder} is no whole export: it has no {missing}.", _WHOLE
            ) from error
        types = {each.name: each.dataType.simpleString() for each in found.schema.fields}
        columns = types_of(name)
        for column, type_ in columns.items():
            if types.get(column) != type_:
                has = f"is {types[column]}" if column in types else "is missing"
                raise BankError(
                    f"{self.folder} is not an export as this version makes it: {name}.{column}"
                    f" {has}.",
                    "Export the bank again with this version: attnbank export.",
                )
        found = found.select(*(f"`{column}`" for column in columns))
        self._read_before[tuple(files)] = found
        return found

    def _run_ids(self) -> list[int]:
        """The ids of the runs, whose rows of the big tables are in files of their own."""
        if self._runs is None:
            self._runs = sorted(int(row["id"]) for row in self.table("run").select("id").collect())
        return self._runs


def rows_of(session: SparkSession, table: str, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Rows that are given by column, with the columns and types of a table of a bank."""
    types = types_of(table)
    shape = ", ".join(f"`{column}` {type_}" for column, type_ in types.items())
    return session.createDataFrame([tuple(row[each] for each in types) for row in rows], shape)


def types_of(table: str) -> dict[str, str]:
    """The columns of a table of a bank, and what Spark calls their types."""
    columns = columns_of_this_format()[table]
    return {column: _TYPES[type_] for column, type_ in columns.items()}


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
            f"There is no folder {folder}.", "Make one of a bank: attnbank -b BANK export DIR."
        )
    escaped = "".join(f"\\{sign}" if sign in "\\*?[]{}," else sign for sign in str(path.resolve()))
    return f"file://{escaped}"
