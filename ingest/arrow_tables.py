"""Makes Arrow tables of rows, with the columns of the tables of a bank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import pyarrow as pa

from attnbank.sql.bank.bank_format import columns_of_this_format

_TYPES = {
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "INTEGER": pa.int32(),
    "MAP(VARCHAR, VARCHAR)": pa.map_(pa.string(), pa.string()),
    "SMALLINT": pa.int16(),
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
}


def arrow_table(table: str, rows: Iterable[Sequence[object]]) -> pa.Table:
    """Return rows of a table of the bank, each with its values in the order of the columns."""
    schema = table_schema(table)
    columns = dict(zip(schema.names, zip(*rows, strict=True), strict=True))
    return pa.Table.from_pydict(columns, schema=schema)


@cache
def table_schema(table: str) -> pa.Schema:
    """Return the Arrow schema of a table of the bank."""
    columns = columns_of_this_format()[table]
    return pa.schema([(name, _TYPES[type_]) for name, type_ in columns.items()])
