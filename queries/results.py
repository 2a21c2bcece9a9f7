"""Results and errors of DuckDB, in the form that the rest of the package uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from attnbank.sql.errors import QueryError, first_line
from attnbank.sql.quoting import quoted

ROWS_AT_ONCE = 16_384
"""Rows of a batch of a streamed result."""

_AS_TEXT = frozenset({
    "bignum", "bit", "geometry", "interval", "time with time zone", "time_ns", "union", "variant",
})  # fmt: skip
"""The ids of DuckDB's types that a Polars frame does not have."""
_NESTED = frozenset({"array", "list", "map", "struct", "tuple"})
_YEARS = (-62_135_596_800, 253_402_300_799)
"""Seconds from 1970 to the beginning of the year 1 and to the end of the year 9999."""
_WAYS = 4
"""How many ways to call a function an error lists."""
_SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def as_frames_have_it(found: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """A result in which columns of types that a frame does not have, even nested, become text."""
    odd = [_holds_odd(each) for each in found.types]
    if not any(odd):
        return found
    return found.project(
        ", ".join(
            f"cast({quoted(name)} as varchar) as {quoted(name)}" if is_odd else quoted(name)
            for name, is_odd in zip(found.columns, odd, strict=True)
        )
    )


def frame_of(found: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """A result as a frame.

    Columns of 128-bit integers, the type of every sum in DuckDB, become 64 bits wide if all values
    fit; types that frames do not have become text. Raises QueryError for a value that a frame
    cannot hold, and KeyboardInterrupt if the query was interrupted.
    """
    wide = wide_columns(found)
    try:
        table = as_frames_have_it(found).to_arrow_table()
    except RuntimeError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    return frame_of_arrow(table, wide)


def wide_columns(found: duckdb.DuckDBPyRelation) -> list[str]:
    """The columns that are integers of 128 bits."""
    return [
        name
        for name, each in zip(found.columns, found.types, strict=True)
        if str(each) in ("HUGEINT", "UHUGEINT")
    ]


def frame_of_arrow(table: pa.Table | pa.RecordBatch, wide: Sequence[str]) -> pl.DataFrame:
    """An Arrow table, or a batch of one, as a frame; `wide` are columns of 128-bit integers.

    Raises QueryError for a value that a frame cannot hold.
    """
    names = table.schema.names
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise QueryError(f"Two columns are called {twice[0]}.", "Name one otherwise: ... as NAME.")
    for name, column in zip(names, table.columns, strict=True):
        for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            _check_dates(name, part)
    try:
        frame = pl.DataFrame(table)
    except pl.exceptions.PolarsError as error:
        raise QueryError(
            f"The result has a type that a frame does not have: {first_line(error)}",
            "Cast it in the statement: cast(x as varchar).",
        ) from error
    for name in wide:
        frame = frame.with_columns(_narrowed(frame[name]))
    return frame


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is the one that DuckDB raises for a Ctrl-C."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def query_error(error: BaseException, lead: str = "") -> QueryError:
    """An error of DuckDB as a QueryError: the fact, then what to type or what was probably meant.

    `lead` is put before the fact. An analysis raises error('... Type: ...') in SQL to say what must
    be done before it can answer.
    """
    fact, found, remedy = first_line(error).partition(" Type: ")
    if found:
        return QueryError(fact, f"Type: {remedy}")
    return QueryError(f"{lead}{fact}", _hint(str(error), shows_place=not lead))


def _hint(text: str, *, shows_place: bool) -> str:
    """What the later lines of an error of DuckDB say to do, in one line; "" if they say nothing.

    They name what was probably meant, list the ways to call a function, say what to do, or show the
    place in the statement, which helps only whoever typed the statement.
    """
    lines = text.splitlines()[1:]
    for at, line in enumerate(lines):
        said = line.strip()
        if said.startswith(("Did you mean", "Candidate")):
            ways = [
                each.strip() for each in takewhile(lambda each: each[:1] == "\t", lines[at + 1 :])
            ]
            shown = ways[:_WAYS] + ["..."] * (len(ways) > _WAYS)
            return f"{said} {', '.join(shown)}".strip().replace('"system".main.', "")
    first = next((line.strip() for line in lines if line.strip()), "")
    place = re.fullmatch(r"LINE (?P<line>\d+): (?P<text>.*)", first)
    if place is None:
        return first
    return f"Look at line {place['line']}: {place['text']}" if shows_place else ""


def _holds_odd(type_: Any) -> bool:
    if type_.id in _AS_TEXT:
        return True
    if type_.id not in _NESTED:
        return False
    parts = [child for _, child in type_.children if hasattr(child, "id")]
    return not parts or any(map(_holds_odd, parts))  # Parquet has no record without a field


def _check_dates(name: str, values: pa.Array) -> None:
    """Raise QueryError for dates that Polars does not have: with them it would panic.

    A panic of Polars ends the process.
    """
    for leaf in _leaves(values):
        if not (pa.types.is_date32(leaf.type) or pa.types.is_timestamp(leaf.type)):
            continue
        import pyarrow.compute as pc  # imported late: it is a tenth of the time of a short command

        if pa.types.is_date32(leaf.type):
            seconds = 86_400
            found = pc.min_max(leaf.cast(pa.int32()))
        else:
            seconds = 1
            found = pc.min_max(leaf.cast(pa.int64()))
        ends = [found["min"].as_py(), found["max"].as_py()]
        if ends[0] is None:
            continue
        per = _SECONDS[leaf.type.unit] if seconds == 1 else 1
        if ends[0] * seconds // per < _YEARS[0] or ends[1] * seconds // per > _YEARS[1]:
            raise QueryError(
                f"The column {name} holds a date that a frame cannot hold: infinity, or one before"
                " the year 1 or after 9999.",
                "Cast it in the statement: cast(x as varchar).",
            )


def _leaves(values: pa.Array) -> Iterator[pa.Array]:
    if pa.types.is_struct(values.type):
        for part in values.flatten():
            yield from _leaves(part)
    elif pa.types.is_map(values.type):
        yield from _leaves(values.keys)
        yield from _leaves(values.items)
    elif hasattr(values, "flatten") and pa.types.is_nested(values.type):
        yield from _leaves(values.flatten())
    else:
        yield values


def _narrowed(column: pl.Series) -> pl.Series:
    try:
        return column.cast(pl.Int64)
    except pl.exceptions.InvalidOperationError:
        return column
