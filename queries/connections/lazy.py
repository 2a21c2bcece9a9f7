"""A table of a bank as a lazy Polars frame."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from polars.io.plugins import register_io_source

from attnbank.queries.connections.cursors import Cursors
from attnbank.sql.quoting import quoted

_ROWS_AT_ONCE = 65_536
"""Rows of a batch, if Polars does not ask for a number."""


def scan(cursors: Cursors, select: str) -> pl.LazyFrame:
    """The rows of a SELECT as a lazy frame.

    They are read when the frame is collected, and only the columns that are used. Every scan has
    its own connection, because a plan may read one table several times at once, and DuckDB's own
    lazy frames fail then.
    """

    def batches(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        columns = "*" if with_columns is None else ", ".join(map(quoted, with_columns))
        limit = "" if n_rows is None else f" limit {n_rows}"
        own = cursors.new()
        try:
            with cursors.answering():
                reader = own.query(f"select {columns} from ({select}){limit}").to_arrow_reader(
                    _ROWS_AT_ONCE if batch_size is None else batch_size
                )
                for batch in reader:
                    frame = pl.DataFrame(batch)
                    yield frame if predicate is None else frame.filter(predicate)
        finally:
            own.close()

    schema = cursors.own().query(f"select * from ({select}) limit 0").pl().schema
    return register_io_source(batches, schema=schema, validate_schema=True)
