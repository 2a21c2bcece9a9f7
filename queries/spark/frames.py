"""Small steps on Spark's data frames: new ids in place of old ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def expr(text: str) -> Any:
    """A column from its SQL."""
    from pyspark.sql import functions

    return functions.expr(text)


def extent(column: str, kind: str) -> list[Any]:
    """The first and the last of the ids in a column."""
    return [expr(f"min({column}) as {kind}_first"), expr(f"max({column}) as {kind}_last")]


def case(column: str, values: Mapping[int, int]) -> str:
    """SQL that gives a new number for each old one; null for any other."""
    cases = " ".join(f"when {old} then {new}" for old, new in values.items())
    return f"(case {column} {cases} end)"


def with_ids(rows: DataFrame, column: str, ids: Mapping[int, int]) -> DataFrame:
    """The rows that have one of these ids in a column, with the new id in its place."""
    if not ids:
        return rows.limit(0)
    kept = rows.where(f"{column} in ({', '.join(map(str, ids))})")
    return kept.withColumn(column, expr(case(column, ids)))


def moved(rows: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """Rows with SQL in place of some columns, all of them read before any is replaced."""
    return rows.withColumns({name: expr(sql) for name, sql in columns.items()})


def together(parts: Sequence[DataFrame], empty: DataFrame) -> DataFrame:
    """The rows of several frames with the columns of `empty`, which is the answer for none."""
    if not parts:
        return empty
    columns = empty.columns
    return reduce(
        lambda one, other: one.unionByName(other), [each.select(*columns) for each in parts]
    )
