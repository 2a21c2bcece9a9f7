"""Results and errors of DuckDB as the rest of the package has them."""

from __future__ import annotations

import re

import duckdb
import polars as pl

from attnbank.sql.errors import QueryError

_AS_TEXT = ("INTERVAL", "BIT", "BIGNUM", "VARIANT", "TIME WITH TIME ZONE", "UNION")
"""Types that a frame does not have."""


def frame_of(found: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """A result as a frame.

    Integers of 128 bits, which DuckDB makes of every sum, become 64 bits wide where they fit;
    types that frames do not have become text. Raises QueryError where one is nested.
    """
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    if any(each.startswith(_AS_TEXT) for each in types.values()):
        found = found.project(
            ", ".join(
                f"cast({_quoted(name)} as varchar) as {_quoted(name)}"
                if each.startswith(_AS_TEXT)
                else _quoted(name)
                for name, each in types.items()
            )
        )
    try:
        frame: pl.DataFrame = found.pl()
    except RuntimeError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    except pl.exceptions.PolarsError as error:
        raise QueryError(
            f"The result has a type that a frame does not have: {first_line(error)}",
            "Cast it in the statement: cast(x as varchar).",
        ) from error
    for name, each in types.items():
        if each in ("HUGEINT", "UHUGEINT") and name in frame.columns:
            frame = frame.with_columns(_narrowed(frame[name]))
    return frame


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is how DuckDB tells a Ctrl-C."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def first_line(error: BaseException) -> str:
    """The first line of an error, without the kind of error that DuckDB begins it with."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"^[A-Za-z ]+ Error: ", "", text)


def suggestion(error: BaseException) -> str:
    """What an error of DuckDB says that was meant; empty where it says nothing."""
    found = re.search(r"^(?:Did you mean|Candidate).*", str(error), re.MULTILINE)
    return found[0] if found else ""


def _narrowed(column: pl.Series) -> pl.Series:
    try:
        return column.cast(pl.Int64)
    except pl.exceptions.InvalidOperationError:
        return column


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
