"""The tables of an export as Spark reads them.

An export comes from outside: only tables and columns that a bank of this format has are read, and
their types are checked first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql.bank.upgrading import columns_of_this_format
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.export_format import check_format, is_by_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        remedy = "Upgrade the bank, and export it again: attnbank upgrade, attnbank export."
        check_format(self.folder, format_, remedy)

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with the columns that a bank has.

        Raises BankError if the table is missing, or has other columns than a bank of this format.
        """
        if is_by_run(columns_of_this_format()[name]):
            return self.table_of_runs(name, self._run_ids)
        return self._read_files(name, [f"{name}.parquet"])

    def table_of_runs(self, name: str, runs: Sequence[int]) -> DataFrame:
        """The rows of some runs in a table whose files are divided by run. Raises as `table`."""
        return self._read_files(name, [f"{name}/run={run}" for run in runs])

    def _read_files(self, name: str, files: list[str]) -> DataFrame:
        """The rows of some files, or folders of files, of a table; opened once."""
        if not files:
            return spark_rows(self.session, name, [])
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
        columns = types_of(name)
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


def spark_rows(session: SparkSession, table: str, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Rows that are given by column, with the columns and types of a table of a bank."""
    types = types_of(table)
    shape = ", ".join(f"`{column}` {type_}" for column, type_ in types.items())
    return session.createDataFrame([tuple(row[column] for column in types) for row in rows], shape)


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
            f"Folder {folder} does not exist.", "Make one of a bank: attnbank -b BANK export DIR."
        )
    escaped = "".join(f"\\{sign}" if sign in "\\*?[]{}," else sign for sign in str(path.resolve()))
    return f"file://{escaped}"
