"""What was run: the runs behind a report, with their models and corpora, and what was left out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from attnbank.sql import registry

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank


@dataclass(frozen=True)
class Origin:
    """The rows of `Bank.info` that the runs of a report have, and the versions of libraries.

    `runs`, `models`, `corpora`, `skipped` and `departures` have the columns that they have there;
    `versions` has run, library and version.
    """

    runs: pl.DataFrame
    models: pl.DataFrame
    corpora: pl.DataFrame
    skipped: pl.DataFrame
    departures: pl.DataFrame
    versions: pl.DataFrame


def origin(bank: Bank, names: Collection[str]) -> Origin:
    """What the runs of these names were made from; of every run where there is no name."""
    contents = bank.info()
    with bank._answering():
        rows = bank.connection.execute(registry.statement("sections/versions")).fetchall()
    versions = pl.DataFrame(
        rows, schema={"run": pl.String, "library": pl.String, "version": pl.String}, orient="row"
    )
    runs = contents.runs
    if names:
        runs = runs.filter(pl.col("name").is_in(list(names)))
    those = runs["name"].to_list()
    corpora = runs["corpus"].unique().to_list()
    of_run = pl.col("run").is_in(those) | pl.col("run").is_null()
    return Origin(
        runs,
        contents.models.join(
            runs.select(pl.col("model").alias("name"), "random_seed").unique(),
            on=["name", "random_seed"],
            how="semi",
            nulls_equal=True,
        ),
        contents.corpora.filter(pl.col("name").is_in(corpora)),
        contents.skipped.filter(of_run & pl.col("corpus").is_in(corpora)),
        contents.departures.filter(pl.col("corpus").is_in(corpora)),
        versions.filter(pl.col("run").is_in(those)),
    )
