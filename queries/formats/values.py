"""The values of a frame in text formats: CSV and JSON."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def csv_text(frame: pl.DataFrame, separator: str = ",", *, header: bool = True) -> str:
    """The rows as CSV: None is an empty cell, an empty text is "".

    Where there is one column, None is "" too: readers pass over an empty line.
    """
    return csv_columns(frame).write_csv(
        include_header=header,
        separator=separator,
        null_value='""' if frame.width == 1 else None,
    )


def csv_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with JSON texts instead of lists and records, which CSV does not have."""
    import polars as pl

    return _plain(frame).with_columns(
        pl.Series(each.name, _nested_as_text(each), dtype=pl.String)
        for each in frame
        if each.dtype.is_nested()
    )


def json_rows(frame: pl.DataFrame) -> list[str]:
    """Every row as a JSON object on one line; NaN and infinity, which JSON lacks, become null."""
    if all(_is_quick(each) for each in frame.dtypes):
        # Not splitlines(), which would also split a row at U+0085, U+2028 and U+2029 in its texts.
        return _numbers(_plain(frame)).write_ndjson().split("\n")[:-1]
    columns = [[as_json(value, each.dtype) for value in each.to_list()] for each in frame]
    rows = zip(*columns, strict=True)
    return [_json(dict(zip(frame.columns, row, strict=True)), (",", ":")) for row in rows]


def as_json(value: Any, dtype: Any) -> Any:
    """A value of a column of type `dtype` as a value that JSON can hold, nested values included."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _shortest(value, dtype) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if dtype.scale == 0 else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, dict):
        fields = getattr(dtype, "fields", None)  # a map has keys of one type instead
        types = {} if fields is None else {each.name: each.dtype for each in fields}
        return {
            str(name): as_json(each, types[name] if types else dtype.value)
            for name, each in value.items()
        }
    if hasattr(dtype, "inner"):
        return [as_json(each, dtype.inner) for each in value]
    return str(value)


def _nested_as_text(series: pl.Series) -> list[str | None]:
    values = [as_json(value, series.dtype) for value in series.to_list()]
    return [None if value is None else _json(value) for value in values]


def _json(value: Any, separators: tuple[str, str] = (", ", ": ")) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=separators)


def _shortest(value: float, dtype: Any) -> float:
    """The shortest number for a single-precision float: 0.1, not 0.10000000149011612."""
    import numpy as np
    import polars as pl

    return float(str(np.float32(value))) if dtype == pl.Float32 else value


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with texts instead of bytes, dates and times, and shortest single floats."""
    import polars as pl

    changed = []
    for each in frame:
        if each.dtype == pl.Binary:
            changed.append(each.bin.encode("hex"))
        elif each.dtype in (pl.Date, pl.Datetime, pl.Time):
            changed.append(each.dt.to_string("iso:strict"))
        elif each.dtype == pl.Float32:
            changed.append(each.cast(pl.String).cast(pl.Float64))
    return frame.with_columns(changed)


def _is_quick(dtype: pl.DataType) -> bool:
    """Whether Polars itself writes a plain column of the type as JSON without fault."""
    import polars as pl

    if isinstance(dtype, pl.List):
        inner: Any = dtype.inner
        return inner.is_float() or inner.is_integer() or inner in (pl.String, pl.Boolean)
    return not dtype.is_nested()


def _numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with decimals, and single floats in lists, as numbers that Polars writes right."""
    import polars as pl

    changed = []
    for each in frame:
        if each.dtype.is_decimal():
            is_whole = getattr(each.dtype, "scale", 0) == 0
            changed.append(each.cast(pl.Int128 if is_whole else pl.Float64))
        elif each.dtype == pl.List(pl.Float32):
            changed.append(each.cast(pl.List(pl.String)).cast(pl.List(pl.Float64)))
    return frame.with_columns(changed)
