"""Results and errors of DuckDB, in the form that the rest of the package uses, and kept answers."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl

from attnbank.sql import answer_cache
from attnbank.sql.errors import AttnbankError, QueryError, cause_of, first_line
from attnbank.sql.header import Analysis
from attnbank.sql.messages import to_type
from attnbank.sql.names import quoted
from attnbank.sql.run_choice import Run

# Rows of a batch of a streamed result.
ROWS_AT_ONCE = 16_384

# The ids of DuckDB's types that a Polars frame does not have.
_AS_TEXT = frozenset({
    "bignum", "bit", "geometry", "interval", "time with time zone", "time_ns", "union", "variant",
})  # fmt: skip

_NESTED = frozenset({"array", "list", "map", "struct", "tuple"})

# The beginnings of the years 1 and 10000 since 1970; nanoseconds in 64 bits do not reach them.
_FRAME_DATES = {
    unit: (-719_162 * per_day, 2_932_897 * per_day)
    for unit, per_day in {"day": 1, "ms": 86_400 * 10**3, "us": 86_400 * 10**6}.items()
}

# How many ways to call a function an error lists.
_WAYS = 4


@dataclass(frozen=True)
class CachedResult:
    """A kept answer: its rows, when it was computed (UTC), and how many seconds that took."""

    rows: pl.DataFrame
    finished: datetime
    seconds: float

    @property
    def message(self) -> str:
        """A phrase for people: when it was cached, and what to type to compute it again."""
        return f"cached on {self.finished:%Y-%m-%d %H:%M} UTC (--fresh computes it again)"


def as_frames_have_it(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """A result in which columns of types that a frame does not have, even nested, become text."""
    if not any(map(_holds_odd, relation.types)):
        return relation
    columns = (
        f"cast({quoted(name)} as varchar) as {quoted(name)}" if _holds_odd(type_) else quoted(name)
        for name, type_ in zip(relation.columns, relation.types, strict=True)
    )
    return relation.project(", ".join(columns))


def frame_of_relation(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """A result as a frame; 128-bit integers, the type of sums, become 64 bits wide if they fit.

    Types that frames do not have become text. Raises QueryError for a value that a frame cannot
    hold, and KeyboardInterrupt.
    """
    try:
        # Materialized, or Polars would meet DuckDB's errors and give them as its own.
        rows = as_frames_have_it(relation).materialize()
    except RuntimeError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    # Polars keeps the type of what it reads. If that is one of DuckDB's, it is alive when Python
    # ends, and DuckDB prints hundreds of "leaks".
    stream = SimpleNamespace(__arrow_c_stream__=rows.__arrow_c_stream__)
    return frame_of_arrow(stream, relation.columns, wide_columns(relation))


def wide_columns(relation: duckdb.DuckDBPyRelation) -> list[str]:
    """The columns that are integers of 128 bits."""
    types = zip(relation.columns, relation.types, strict=True)
    return [name for name, dtype in types if str(dtype) in ("HUGEINT", "UHUGEINT")]


def frame_of_arrow(rows: Any, names: Sequence[str], wide: Sequence[str] = ()) -> pl.DataFrame:
    """What can be read as Arrow, as a frame; `wide` are its 128-bit integers. Raises QueryError."""
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise QueryError(f"Two columns are called {twice[0]}.", "Rename one: ... as NAME.")
    try:
        frame = pl.DataFrame(rows)
    except pl.exceptions.PolarsError as error:
        raise QueryError(
            f"The result has a type that a frame cannot hold: {first_line(error)}",
            "Cast it in the statement: cast(x as varchar).",
        ) from error
    for column in frame:
        _check_dates(column.name, column)
    for name in wide:
        with suppress(pl.exceptions.InvalidOperationError):  # some value needs all 128 bits
            frame = frame.with_columns(frame[name].cast(pl.Int64))
    return frame


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is the one that DuckDB raises for a Ctrl-C."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def query_error(error: BaseException, lead: str = "", *, path: Path | None = None) -> AttnbankError:
    """An error of DuckDB as a QueryError: `lead` and the fact, then what to type or was meant.

    It is a BankError if the host of a bank gave none, or the system no memory. An analysis raises
    error('... Type: attnbank ...') in SQL to say what must be done before it can answer; SQL does
    not know the `path` of the bank.
    """
    if (cause := cause_of(error)) is not None:
        return cause
    fact, what_there_is, remedy = first_line(error).partition(" Type: ")
    if what_there_is:
        command = remedy.removeprefix("attnbank ")
        if path is None or command == remedy or command.startswith("-b "):
            return QueryError(fact, f"Type: {remedy}")
        return QueryError(fact, to_type(path, command))
    return QueryError(f"{lead}{fact}", _hint(str(error), shows_place=not lead))


def _hint(text: str, *, shows_place: bool) -> str:
    """What the later lines of an error of DuckDB say to do, in one line, if anything."""
    lines = text.splitlines()[1:]
    for at, line in enumerate(lines):
        hint = line.strip()
        if hint.startswith(("Did you mean", "Candidate")):
            ways = [*takewhile(lambda line: line[:1] == "\t", lines[at + 1 :])]
            shown_ways = [way.strip() for way in ways[:_WAYS]] + ["..."] * (len(ways) > _WAYS)
            return f"{hint} {', '.join(shown_ways)}".strip().replace('"system".main.', "")
    first = next((line.strip() for line in lines if line.strip()), "")
    match = re.fullmatch(r"LINE (?P<line>\d+): (?P<text>.*)", first)
    if match is None:
        return first
    return f"Look at line {match['line']}: {match['text']}" if shows_place else ""


def _holds_odd(type_: Any) -> bool:
    if type_.id in _AS_TEXT:
        return True
    if type_.id not in _NESTED:
        return False
    parts = [child for _, child in type_.children if hasattr(child, "id")]
    return not parts or any(map(_holds_odd, parts))  # Parquet has no record without a field


def _check_dates(name: str, values: pl.Series) -> None:
    """Raise QueryError for dates at which Polars would panic, which ends the process."""
    kind = values.dtype
    if isinstance(kind, pl.Struct):
        for part in values.struct.unnest():
            _check_dates(name, part)
    elif isinstance(kind, pl.Map):
        pairs = pl.Struct({"key": kind.key, "value": kind.value})
        _check_dates(name, values.cast(pl.List(pairs)))
    elif isinstance(kind, pl.List | pl.Array):
        _check_dates(name, values.explode())
    elif isinstance(kind, pl.Date | pl.Datetime):
        unit = "day" if isinstance(kind, pl.Date) else kind.time_unit
        if unit != "ns" and not values.to_physical().is_between(*_FRAME_DATES[unit], "left").all():
            raise QueryError(
                f"The column {name} holds a date that a frame cannot hold: infinity, or one before"
                " the year 1 or after 9999.",
                "Cast it in the statement: cast(x as varchar).",
            )


def cached_result(
    connection: duckdb.DuckDBPyConnection,
    analysis: Analysis,
    arguments: Mapping[str, Any],
    run: Run | None,
) -> CachedResult | None:
    """The cached answer of an analysis for these values and this run; None if there is none."""
    if (run is not None and not run.is_finished) or not answer_cache.has_cache(connection):
        return None
    # The row first, then its answer: a filter over the whole table reads every answer in it.
    rows = connection.execute(
        f"select rowid, row_count, finished, seconds from {answer_cache.TABLE} where question = ?"
        " and state = ? and isfinite(finished) and isfinite(seconds) limit 1",
        [
            answer_cache.question(connection, analysis, arguments, None if run is None else run.id),
            answer_cache.state(connection),
        ],
    ).fetchall()
    if not rows:
        return None
    number, count, finished, seconds = rows[0]
    answers = connection.execute(
        f"select answer from {answer_cache.TABLE} where rowid = ? and octet_length(answer) <= ?",
        [number, answer_cache.MOST_BYTES],
    ).fetchall()
    frame = _from_ipc(answers[0][0], _empty_frame(connection, analysis)) if answers else None
    if frame is None or frame.height != count:
        return None  # damaged: it is computed again
    return CachedResult(frame, finished, seconds)


def _empty_frame(connection: duckdb.DuckDBPyConnection, analysis: Analysis) -> pl.DataFrame:
    """The columns of an analysis, without rows."""
    columns = (
        f"cast(null as {column.type}) as {quoted(column.name)}" for column in analysis.columns
    )
    return frame_of_relation(connection.query(f"select {', '.join(columns)} where false"))


def _from_ipc(answer: bytes, empty: pl.DataFrame) -> pl.DataFrame | None:
    """The rows that `to_ipc` made bytes of; None unless they have the columns of `empty`.

    Of a bank from somebody else the bytes may be anything. What they unpack to is never more than
    they are: no part of them is compressed, or a dictionary.
    """
    import pyarrow as pa  # imported late: it is a fifth of the time of a short command

    try:
        for message in pa.ipc.MessageReader.open_stream(answer):
            is_batch = message.type == "record batch"
            if message.type != "schema" and (not is_batch or _is_compressed(message.metadata)):
                return None
        with pa.ipc.open_stream(answer) as reader:
            if not reader.schema.equals(empty.to_arrow().schema):
                return None
            table = reader.read_all()
        table.validate(full=True)
        return frame_of_arrow(table, table.column_names)
    except (pa.ArrowException, OSError, struct.error, QueryError):
        return None


def _is_compressed(metadata: Any) -> bool:
    """Whether the body of a record batch is compressed; pyarrow reads it, but does not say so.

    The metadata is a FlatBuffers table of type Message, whose field 2 is the table RecordBatch,
    whose field 3 is there if it is compressed (Message.fbs of the Arrow format). Raises
    struct.error if it is not such a table.
    """

    def field(table: int, number: int) -> int:
        """The place of a field, or 0 if the table does not have it."""
        (back,) = struct.unpack_from("<i", metadata, table)
        (size,) = struct.unpack_from("<H", metadata, table - back)
        if 4 + 2 * number >= size:
            return 0
        (offset,) = struct.unpack_from("<H", metadata, table - back + 4 + 2 * number)
        return table + offset if offset else 0

    def table_at(place: int) -> int:
        (offset,) = struct.unpack_from("<I", metadata, place)
        return place + int(offset)

    return bool(field(table_at(field(table_at(0), 2)), 3))


def to_ipc(rows: pl.DataFrame) -> bytes:
    """Rows as they are cached: the bytes of an Arrow IPC stream."""
    import pyarrow as pa

    table = rows.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
