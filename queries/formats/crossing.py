"""Counts by two keys as a cross table, which people read more easily than a list."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

_MOST_COLUMNS = 12
"""Values of a second key that stand side by side; more stand below each other."""


def can_be_crossed(found: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Whether counts by these keys make a cross table that has room beside a text.

    `found` has a row for each combination of values, as `Bank.count` gives them.
    """
    return len(keys) == 2 and found[keys[1]].n_unique() <= _MOST_COLUMNS


def crossed(found: pl.DataFrame, rows: str, columns: str) -> pl.DataFrame:
    """A cross table of counts: the values of one key below, of the other side by side.

    `found` has the columns `rows`, `columns` and `n`. The table has a column for each value of
    `columns`, named KEY=VALUE, the most frequent first; a combination that is not found has 0. The
    last column, `n`, is the sum of the row, by which the rows are sorted.
    """
    values = found.group_by(columns).agg(pl.col("n").sum()).sort("n", columns, descending=True)
    words = {None: "none", True: "yes", False: "no"}
    names = {
        value: words[value] if value is None or isinstance(value, bool) else str(value)
        for value in values[columns]
    }
    table = found.select(pl.col(rows).unique(maintain_order=True))
    for value, name in names.items():
        own = pl.col(columns).is_null() if value is None else pl.col(columns) == value
        part = found.filter(own).select(rows, pl.col("n").alias(f"{columns}={name}"))
        table = table.join(part, on=rows, how="left", nulls_equal=True, maintain_order="left")
    table = table.with_columns(pl.exclude(rows).fill_null(0))
    total = table.select(pl.sum_horizontal(pl.exclude(rows)).alias("n"))
    return pl.concat([table, total], how="horizontal").sort("n", descending=True)
