"""Inserts rows into DuckDB through Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyConnection

from attnbank.sql.bank.upgrading import columns_of_this_format

ID = pa.int64()
INT = pa.int32()
SMALL = pa.int16()
TEXT = pa.string()
_TYPES = {
    "BIGINT": ID,
    "BOOLEAN": pa.bool_(),
    "INTEGER": INT,
    "MAP(VARCHAR, VARCHAR)": pa.map_(TEXT, TEXT),
    "SMALLINT": SMALL,
    "VARCHAR": TEXT,
}


class Rows:
    """Collects rows of a table of a bank, to insert them together."""

    def __init__(self, table: str) -> None:
        self.table = table
        columns = columns_of_this_format()[table]
        self.schema = arrow_schema(**{name: _TYPES[type_] for name, type_ in columns.items()})
        self._columns: list[list[Any]] = [[] for _ in columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, *values: Any) -> None:
        """Add a row, with its values in the order of the table's columns."""
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def extend(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self._columns)
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)

    def insert(self, connection: DuckDBPyConnection) -> None:
        """Insert the collected rows, and clear them."""
        if len(self):
            columns = dict(zip(self.schema.names, self._columns, strict=True))
            insert(connection, self.table, pa.Table.from_pydict(columns, schema=self.schema))
            self._columns = [[] for _ in self.schema]


def insert(connection: DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert an Arrow table into a table of the bank; columns are matched by name."""
    connection.register("arriving", rows)
    try:
        connection.execute(f"insert into {table} by name select * from arriving")
    finally:
        connection.unregister("arriving")


def arrow_schema(**types: pa.DataType) -> pa.Schema:
    """Return an Arrow schema of names and types."""
    return pa.schema(list(types.items()))
