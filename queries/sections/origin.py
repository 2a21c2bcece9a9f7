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

    def of(self, names: Collection[str]) -> Origin:
        """Return the same of the runs of these names alone."""
        runs = self.runs.filter(pl.col("name").is_in(list(names)))
        corpora = pl.col("corpus").is_in(runs["corpus"].unique().to_list())
        those = pl.col("run").is_in(runs["name"].to_list())
        models = runs.select(pl.col("model").alias("name"), "random_seed").unique()
        on = ["name", "random_seed"]
        return Origin(
            runs,
            self.models.join(models, on=on, how="semi", nulls_equal=True),
            self.corpora.filter(pl.col("name").is_in(runs["corpus"].unique().to_list())),
            self.skipped.filter((those | pl.col("run").is_null()) & corpora),
            self.departures.filter(corpora),
            self.versions.filter(those),
        )


def origin(bank: Bank) -> Origin:
    """Return what every run of a bank was made from. Raises BankError for a damaged bank."""
    contents = bank.info()
    with bank._answering():
        rows = bank.connection.execute(registry.statement("sections/versions")).fetchall()
    versions = pl.DataFrame(
        rows, schema={"run": pl.String, "library": pl.String, "version": pl.String}, orient="row"
    )
    return Origin(
        contents.runs,
        contents.models,
        contents.corpora,
        contents.skipped,
        contents.departures,
        versions,
    )
