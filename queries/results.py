"""Results and errors of DuckDB, in the form that the rest of the package uses, and kept answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from attnbank.sql.bank import result_cache
from attnbank.sql.errors import QueryError, first_line
from attnbank.sql.header import Analysis
from attnbank.sql.quoting import quoted
from attnbank.sql.runs import Run

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


@dataclass(frozen=True)
class CachedResult:
    """A kept answer: its rows, when it was computed (UTC), and how many seconds that took."""

    rows: pl.DataFrame
    finished: datetime
    seconds: float

    @property
    def message(self) -> str:
        """A phrase for people: since when it is kept, and what to type to compute it anew."""
        return f"kept since {self.finished:%Y-%m-%d %H:%M} UTC (--fresh computes it anew)"


def as_frames_have_it(found: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """A result in which columns of types that a frame does not have, even nested, become text."""
    if not any(map(_holds_odd, found.types)):
        return found
    columns = (
        f"cast({quoted(name)} as varchar) as {quoted(name)}" if _holds_odd(type_) else quoted(name)
        for name, type_ in zip(found.columns, found.types, strict=True)
    )
    return found.project(", ".join(columns))


def frame_of(found: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """A result as a frame; 128-bit integers, the type of sums, become 64 bits wide if they fit.

    Types that frames do not have become text. Raises QueryError for a value that a frame cannot
    hold, and KeyboardInterrupt.
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
    types = zip(found.columns, found.types, strict=True)
    return [name for name, each in types if str(each) in ("HUGEINT", "UHUGEINT")]


def frame_of_arrow(table: pa.Table | pa.RecordBatch, wide: Sequence[str]) -> pl.DataFrame:
    """An Arrow table or batch as a frame; `wide` are its 128-bit integers. Raises QueryError."""
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
        with suppress(pl.exceptions.InvalidOperationError):  # some value needs all 128 bits
            frame = frame.with_columns(frame[name].cast(pl.Int64))
    return frame


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is the one that DuckDB raises for a Ctrl-C."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def query_error(error: BaseException, lead: str = "") -> QueryError:
    """An error of DuckDB as a QueryError: `lead` and the fact, then what to type or was meant.

    An analysis raises error('... Type: ...') in SQL to say what must be done before it can answer.
    """
    fact, found, remedy = first_line(error).partition(" Type: ")
    if found:
        return QueryError(fact, f"Type: {remedy}")
    return QueryError(f"{lead}{fact}", _hint(str(error), shows_place=not lead))


def _hint(text: str, *, shows_place: bool) -> str:
    """What the later lines of an error of DuckDB say to do, in one line, if anything."""
    lines = text.splitlines()[1:]
    for at, line in enumerate(lines):
        said = line.strip()
        if said.startswith(("Did you mean", "Candidate")):
            ways = [*takewhile(lambda each: each[:1] == "\t", lines[at + 1 :])]
            shown = [each.strip() for each in ways[:_WAYS]] + ["..."] * (len(ways) > _WAYS)
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
    """Raise QueryError for dates at which Polars would panic, which ends the process."""
    for leaf in _leaves(values):
        is_date = pa.types.is_date32(leaf.type)
        if not (is_date or pa.types.is_timestamp(leaf.type)):
            continue
        import pyarrow.compute as pc  # imported late: it is a tenth of the time of a short command

        found = pc.min_max(leaf.cast(pa.int32() if is_date else pa.int64()))
        first, last = found["min"].as_py(), found["max"].as_py()
        seconds, per = (86_400, 1) if is_date else (1, _SECONDS[leaf.type.unit])
        if first is not None and not (
            _YEARS[0] <= first * seconds // per and last * seconds // per <= _YEARS[1]
        ):
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


def kept_result(
    connection: duckdb.DuckDBPyConnection,
    analysis: Analysis,
    given: Mapping[str, Any],
    run: Run | None,
) -> CachedResult | None:
    """The kept answer of an analysis with these values and this run; None if none is valid."""
    if (run is not None and not run.is_finished) or not result_cache.exists(connection):
        return None
    try:
        # The row first, then its answer: a filter over the whole table reads every answer in it.
        rows = connection.execute(
            f"select rowid, row_count, finished, seconds from {result_cache.TABLE}"
            " where analysis = ? and parameters = ? and run is not distinct from ? and reads = ?"
            " order by finished desc limit 1",
            [
                analysis.name,
                result_cache.parameters_text(connection, analysis, given),
                None if run is None else run.id,
                result_cache.reads(connection, analysis, given),
            ],
        ).fetchall()
        if not rows:
            return None
        number, count, finished, seconds = rows[0]
        ((answer,),) = connection.execute(
            f"select answer from {result_cache.TABLE} where rowid = ?", [number]
        ).fetchall()
        with pa.ipc.open_stream(answer) as reader:
            table = reader.read_all()
        table.validate(full=True)
        frame = frame_of_arrow(table, [])
    except (duckdb.BinderException, duckdb.CatalogException, pa.ArrowException, OSError):
        return None
    if frame.columns != [each.name for each in analysis.columns] or frame.height != count:
        return None
    return CachedResult(frame, finished, seconds)


def as_bytes(rows: pl.DataFrame) -> bytes:
    """Rows in the form in which they are kept: the bytes of an Arrow IPC stream."""
    table = rows.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
