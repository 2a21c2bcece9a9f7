"""What is in a bank: its runs, models and corpora, its tables and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
from duckdb import DuckDBPyConnection

from attnbank.queries.results import frame_of
from attnbank.sql import registry
from attnbank.sql.bank.places import bank_place
from attnbank.sql.errors import CallError
from attnbank.sql.quoting import literal, place
from attnbank.sql.suggest import did_you_mean, listed

_BYTES_UNROUNDED = 3.8
_BYTES_ROUNDED = 2.5
"""Bytes that a weight takes in the file, as measured; rounded means to at most 5 decimals."""
_BYTES_OF_SUMS = 40.0
"""Bytes that the peaks and sums take for each position of a map, as measured on sentences."""


@dataclass(frozen=True)
class Contents:
    """What is in a bank. `bytes` is the size of the file; each frame has one row per thing."""

    path: Path
    bytes: int
    format: int
    created_by: str
    runs: pl.DataFrame
    models: pl.DataFrame
    corpora: pl.DataFrame
    skipped: pl.DataFrame
    departures: pl.DataFrame
    tables: pl.DataFrame

    def _repr_html_(self) -> str:
        from attnbank.queries.html import of_contents

        return of_contents(self)


def read(connection: DuckDBPyConnection, path: Path) -> Contents:
    """A summary of everything that is in a bank."""
    written = connection.execute("select format, created_by from bank").fetchall()[0]
    return Contents(
        path=path,
        bytes=path.stat().st_size,
        format=written[0],
        created_by=written[1],
        runs=runs(connection, path),
        models=_statement(connection, "contents/models"),
        corpora=_statement(connection, "contents/corpora"),
        skipped=_statement(connection, "contents/skipped"),
        departures=_statement(connection, "contents/departures"),
        tables=_counts(connection),
    )


def runs(connection: DuckDBPyConnection, path: Path) -> pl.DataFrame:
    """The runs, one row each, with their options and how much they hold.

    The column `bytes` estimates the part of the file that a run takes: the size of the file is
    divided in proportion to the weights, of which rounded ones count less, and the sums.
    """
    found = _statement(connection, "contents/runs")
    each = pl.when(pl.col("decimals") <= 5).then(_BYTES_ROUNDED).otherwise(_BYTES_UNROUNDED)
    size = bank_place(path).stat().st_size
    return (
        found.with_columns(
            share=pl.col("weights") * each + pl.col("distributions") * _BYTES_OF_SUMS
        )
        .with_columns(share=pl.col("share") / pl.col("share").sum())
        .with_columns(
            bytes=(pl.col("share").fill_nan(0.0) * size).round().cast(pl.Int64),
        )
        .drop("share")
    )


def choices(connection: DuckDBPyConnection) -> pl.DataFrame:
    """The runs, and whether each may be chosen when none is named."""
    return _statement(connection, "contents/run_choices")


def saved(connection: DuckDBPyConnection) -> pl.DataFrame:
    """The saved relations, one row each."""
    return _statement(connection, "contents/saved")


def schema(connection: DuckDBPyConnection, table: str | None = None) -> pl.DataFrame:
    """Kind, name and comment of everything in the bank; or the columns of one table or analysis.

    If a table and an analysis have the same name, the name means the table, as in SQL, and
    `head_distance()` means the analysis. Raises CallError for an unknown name.
    """
    if table is None:
        found = _statement(connection, "contents/relation_names")
        is_main = pl.col("schema") == "main"
        prefix = pl.when(is_main).then(pl.lit("")).otherwise(pl.col("schema") + ".")
        return found.select("kind", (prefix + pl.col("name")).alias("name"), "comment")
    plain = table.removesuffix("()").removeprefix("main.").removeprefix("paper.")
    if plain in registry.analyses() and (table.endswith("()") or not _is_table(connection, table)):
        analysis = registry.analyses()[plain]
        return pl.DataFrame(
            [(each.name, each.type.upper(), each.help) for each in analysis.columns],
            schema=["column", "type", "comment"],
            orient="row",
        )
    schema_name, name = relation(connection, table)
    return _statement(connection, "contents/relation_columns", schema=schema_name, name=name)


def _is_table(connection: DuckDBPyConnection, name: str) -> bool:
    kinds = _statement(connection, "contents/relation_names").filter(
        (pl.col("kind") == "table") & (pl.col("name") == name.removeprefix("main."))
    )
    return bool(kinds.height)


def relation(connection: DuckDBPyConnection, name: str) -> tuple[str, str]:
    """The schema and the name of a table or view. Raises CallError if there is none."""
    known = {
        f"{row['schema']}.{row['name']}": (row["schema"], row["name"])
        for row in _statement(connection, "contents/relation_names").iter_rows(named=True)
        if row["kind"] in ("table", "view")
    }
    for asked in (name, f"main.{name}", f"paper.{name}"):
        if asked in known:
            return known[asked]
    names = [each.removeprefix("main.") for each in known] + list(registry.analyses())
    raise CallError(
        f"There is no table {name}.",
        f"{did_you_mean(name, names)} attnbank schema lists all.".strip(),
    )


def of_run(connection: DuckDBPyConnection, table: str, run: str | int) -> str:
    """The SQL condition that is true for the rows of a table that belong to a run.

    Raises CallError for an unknown run, and for a table with no column `run` or `sequence`.
    """
    rows = connection.execute("select id, name from run order by id").fetchall()
    ids = [number for number, name in rows if str(run) in (str(number), name)]
    if not ids:
        names = [name for _, name in rows]
        raise CallError(
            f"There is no run {run}.", f"{did_you_mean(str(run), names)} It has: {listed(names)}."
        )
    columns = list(schema(connection, table)["column"])
    if "run" in columns:
        return f"run = {ids[0]}"
    if "sequence" in columns:
        return f"sequence in (select sequence.id from sequence where sequence.run = {ids[0]})"
    raise CallError(f"No row of {table} belongs to a run.", "Leave run out.")


def _counts(connection: DuckDBPyConnection) -> pl.DataFrame:
    names = [
        (row["schema"], row["name"])
        for row in _statement(connection, "contents/relation_names").iter_rows(named=True)
        if row["kind"] == "table"
    ]
    every = " union all ".join(
        f'select {literal(name if schema == "main" else f"{schema}.{name}")} as "table",'
        f' count(*) as "rows" from {place(schema, name)}'
        for schema, name in names
    )
    return frame_of(connection.query(every))


def _statement(connection: DuckDBPyConnection, statement: str, /, **values: str) -> pl.DataFrame:
    found: duckdb.DuckDBPyRelation = connection.query(registry.statement(statement), params=values)
    return frame_of(found)
