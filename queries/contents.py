"""What is in a bank: its runs, models and corpora, its tables and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

import polars as pl

from attnbank.queries.backend import Backend
from attnbank.sql import registry
from attnbank.sql.bank.opening import size_of
from attnbank.sql.errors import CallError
from attnbank.sql.messages import did_you_mean, html_table
from attnbank.sql.names import literal, qualified_name
from attnbank.sql.paths import typed_path
from attnbank.sql.run_choice import find_run

# Bytes of a weight in the file, as measured; rounded means to at most 5 decimals.
_BYTES_UNROUNDED, _BYTES_ROUNDED = 3.8, 2.5

# Bytes that the peaks and sums take for each position of a map, as measured on sentences.
_BYTES_OF_SUMS = 40.0


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

    @property
    def filled(self) -> pl.DataFrame:
        """The tables that have rows, for people: most banks fill a third of them."""
        return self.tables.filter(self.tables["rows"] > 0)

    def _repr_html_(self) -> str:
        frames = {name: getattr(self, name) for name in ("runs", "models", "corpora", "skipped")}
        frames["tables"] = self.filled
        return (
            f"<p><code>{escape(typed_path(self.path))}</code>: {self.bytes:,} bytes,"
            f" format {self.format}, written by attnbank {escape(self.created_by)}</p>"
            + "".join(html_table(frame, part.capitalize()) for part, frame in frames.items())
        )


def summarize_bank(backend: Backend) -> Contents:
    """Summarize everything in a bank."""
    ((format_, created_by),) = backend.connection.execute(
        "select format, created_by from bank"
    ).fetchall()
    parts = ("models", "corpora", "skipped", "departures")
    return Contents(
        backend.path,
        size_of(backend.path),
        format_,
        created_by,
        runs=list_runs(backend),
        tables=_counts(backend),
        **{part: backend.internal(f"contents/{part}") for part in parts},
    )


def list_runs(backend: Backend) -> pl.DataFrame:
    """The runs, one row each; `bytes` is a share of the file's, estimated by weights and sums."""
    weight = pl.when(pl.col("decimals") <= 5).then(_BYTES_ROUNDED).otherwise(_BYTES_UNROUNDED)
    share = pl.col("weights") * weight + pl.col("distributions") * _BYTES_OF_SUMS
    part = (share / share.sum()).fill_nan(0.0) * size_of(backend.path)
    return backend.internal("contents/runs").with_columns(bytes=part.round().cast(pl.Int64))


def describe_schema(backend: Backend, table: str | None = None) -> pl.DataFrame:
    """Kind, name and comment of everything in the bank; or the columns of one table or analysis.

    `head_distance()` is the analysis where a table has its name. CallError for an unknown name.
    """
    if table is None:
        relations = backend.internal("contents/relation_names")
        is_main = pl.col("schema") == "main"
        prefix = pl.when(is_main).then(pl.lit("")).otherwise(pl.col("schema") + ".")
        return relations.select("kind", (prefix + pl.col("name")).alias("name"), "comment")
    plain = table.removesuffix("()").removeprefix("main.").removeprefix("paper.")
    kind, *_ = _tables_and_views(backend).get(f"main.{table.removeprefix('main.')}", ("none",))
    if plain in registry.analyses() and kind != "table":
        columns = registry.analyses()[plain].columns
        rows = [(column.name, column.type.upper(), column.help) for column in columns]
        return pl.DataFrame(rows, schema=["column", "type", "comment"], orient="row")
    schema_name, name = relation(backend, table)
    return backend.internal("contents/relation_columns", schema=schema_name, name=name)


def _tables_and_views(backend: Backend) -> dict[str, tuple[str, str, str]]:
    relations = backend.internal("contents/relation_names").select("kind", "schema", "name").rows()
    return {
        f"{relation_row[1]}.{relation_row[2]}": relation_row
        for relation_row in relations
        if relation_row[0] in ("table", "view")
    }


def relation(backend: Backend, name: str) -> tuple[str, str]:
    """The schema and the name of a table or view. Raises CallError if there is none."""
    known = _tables_and_views(backend)
    for candidate in (name, f"main.{name}", f"paper.{name}"):
        if candidate in known:
            return known[candidate][1:]
    names = [relation_name.removeprefix("main.") for relation_name in known] + list(
        registry.analyses()
    )
    raise CallError(
        f"Table {name} does not exist.",
        f"{did_you_mean(name, names)} attnbank schema lists all tables.".strip(),
    )


def condition_on_run(backend: Backend, table: str, run: str | int) -> str:
    """The SQL condition for the rows of a table that are of a run; CallError if there is none."""
    number, _ = find_run(backend.connection, backend.path, run)
    columns = list(describe_schema(backend, table)["column"])
    if "run" in columns:
        return f"run = {number}"
    if "sequence" in columns:
        return f"sequence in (select sequence.id from sequence where sequence.run = {number})"
    raise CallError(f"Table {table} has no column run or sequence.", "Leave out run.")


def _counts(backend: Backend) -> pl.DataFrame:
    every = " union all ".join(
        f'select {literal(name if schema == "main" else f"{schema}.{name}")} as "table",'
        f' count(*) as "rows" from {qualified_name(schema, name)}'
        for kind, schema, name in _tables_and_views(backend).values()
        if kind == "table"
    )
    return backend.fetch(every, {})


# Columns of runs that are shown beside each other, without the options.
OF_RUNS = ("id", "name", "model", "corpus", "context", "unit", "sentences", "words", "weights",
            "skipped", "finished")  # fmt: skip


def html_of_bank(path: str, runs: pl.DataFrame | None) -> str:
    """A bank with a table of its runs; `runs` is None if the bank is closed."""
    if runs is None:
        return f"<p>Bank <code>{escape(path)}</code>, closed</p>"
    shown = runs.select(name for name in OF_RUNS if name in runs.columns)
    return f"<p>Bank <code>{escape(path)}</code></p>{html_table(shown, 'Runs')}"
