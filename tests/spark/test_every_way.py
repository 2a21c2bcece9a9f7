"""The same tables, cell by cell, from a bank and by every other way that leads to one.

Shards merged, an export imported, Spark over the exports of shards, an export that
Spark has filled, the DuckDB shell of the 1.5 line, and Polars over Parquet without any SQL of ours.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oracle_coreference as slow
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from attnbank.ingest import IngestOptions, import_exports, ingest, ingest_to_export, merge_banks
from attnbank.ingest.engines.spark import SparkEngine
from attnbank.queries import open_bank
from attnbank.queries.export import export
from attnbank.queries.spark import Exported

pytestmark = pytest.mark.slow

NAMES = ("best_head", "table_2", "special_tokens")
COUNT = 3
CONTEXTS = ("sentence", "document")


@dataclass(frozen=True)
class Ways:
    """A bank of everything, and the files of the other ways to the same."""

    bank: Path
    export: Path
    shards: list[Path]
    merged: Path
    imported: Path
    filled: Path


@pytest.fixture(scope="module")
def ways(
    tmp_path_factory: pytest.TempPathFactory,
    sample: Path,
    tiny_model: Callable[[str], Path],
    spark: Any,
) -> Ways:
    home = tmp_path_factory.mktemp("ways")
    model = str(tiny_model("bert"))

    def options(bank: Path, context: str, shard: str | None = None) -> IngestOptions:
        return IngestOptions(  # each input is a batch, so that rounding is the same everywhere
            (str(sample),), bank, model, context=context, shard=shard, batch_tokens=1
        )

    banks = [home / f"{number}.duckdb" for number in range(COUNT + 1)]
    for number, bank in enumerate(banks):
        for context in CONTEXTS:
            ingest(options(bank, context, f"{number}/{COUNT}" if number else None))
        with open_bank(bank) as opened:
            export(opened, home / str(number))
    filled = [home / f"filled-{context}" for context in CONTEXTS]
    for context, folder in zip(CONTEXTS, filled, strict=True):
        given = options(home / "unused", context)
        ingest_to_export(given, folder, lambda place: SparkEngine(spark, place))
    merge_banks(home / "merged.duckdb", banks[1:])
    import_exports([home / "0"], home / "imported.duckdb")
    import_exports(filled, home / "filled.duckdb")
    shards = [home / str(number) for number in range(1, COUNT + 1)]
    return Ways(
        banks[0], home / "0", shards, home / "merged.duckdb", home / "imported.duckdb",
        home / "filled.duckdb",
    )  # fmt: skip


def _of_bank(bank: Path, name: str) -> pl.DataFrame:
    with open_bank(bank) as opened:
        return opened.query(name)


@pytest.mark.few(3)
@pytest.mark.parametrize("way", ["merged", "imported", "filled"])
@pytest.mark.parametrize("name", NAMES)
def test_a_bank_made_otherwise(ways: Ways, name: str, way: str) -> None:
    wanted = _of_bank(ways.bank, name)
    assert wanted.height > 0
    found = _of_bank(getattr(ways, way), name)
    assert_frame_equal(found, wanted, rel_tol=1e-12, abs_tol=1e-15)


@pytest.fixture(scope="module")
def shards(ways: Ways, on_spark: Callable[..., Exported]) -> Exported:
    return on_spark(*ways.shards)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.soak
def test_spark_over_the_exports_of_shards(ways: Ways, name: str, shards: Exported) -> None:
    """Over one export: test_analyses.py, with every analysis."""
    assert_frame_equal(shards.query(name), _of_bank(ways.bank, name), rel_tol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_shell(ways: Ways, name: str) -> None:
    beside = Path(sys.executable).parent / "duckdb"
    shell = str(beside) if beside.exists() else shutil.which("duckdb")
    if shell is None:
        pytest.skip("the DuckDB shell (pip install duckdb-cli) is not installed")
    version = subprocess.run([shell, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("v1.5")
    relation = f"paper.{name}" if name == "table_2" else f"{name}()"
    wanted = _of_bank(ways.bank, name)
    done = subprocess.run(
        [shell, "-readonly", "-csv", str(ways.bank), "-c", f"from {relation}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = pl.read_csv(io.StringIO(done.stdout), schema=wanted.schema, null_values="NULL")
    assert_frame_equal(found, wanted, rel_tol=1e-12, abs_tol=1e-15)


class Parquet:
    """An export by Polars alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def table(self, name: str, run: str | int | None = None) -> pl.LazyFrame:
        """The rows of a table, or those of the run of a name."""
        whole = self.folder / f"{name}.parquet"
        if whole.exists():
            return pl.scan_parquet(whole)
        runs = pl.read_parquet(self.folder / "run.parquet")
        (number,) = runs.filter(pl.col("name") == run)["id"]
        return pl.scan_parquet(self.folder / name / f"run={number}" / "*.parquet")


def test_polars_sums_special_tokens(ways: Ways) -> None:
    """From the weights themselves, and not from the sums that the statement reads."""
    parquet = Parquet(ways.export)
    wanted = _of_bank(ways.bank, "special_tokens")
    run = wanted["run"][0]
    position = parquet.table("position", run)
    role = (
        pl.when(pl.col("kind").is_in(["cls", "sep"]))
        .then(pl.col("kind"))
        .when(pl.col("text").is_in([".", ","]))
        .then(pl.lit("punctuation"))
        .otherwise(pl.lit("other"))
    )
    size = position.group_by("sequence").agg(n=pl.len())
    per_input = (
        parquet.table("attention", run)
        .with_columns(to=pl.int_ranges(0, pl.col("weights").list.len(), dtype=pl.Int16))
        .explode("weights", "to")
        .join(
            position.select("sequence", pl.col("position").alias("to"), role=role),
            on=["sequence", "to"],
        )
        .group_by("sequence", "layer", "head", "role")
        .agg(total=pl.col("weights").cast(pl.Float64).sum())
        .join(size, on="sequence")
        .collect()
    )
    inputs = size.select(pl.len()).collect().item()
    found = (
        per_input.group_by("layer", "head", "role")
        .agg(mean=(pl.col("total") / pl.col("n")).sum() / inputs)
        .pivot("role", index=["layer", "head"], values="mean")
        .sort("layer", "head")
        .select("layer", "head", "cls", "sep", "punctuation", "other")
    )
    assert_frame_equal(found, wanted.select(found.columns), rel_tol=1e-12)


def test_polars_finds_antecedents(ways: Ways, sample: Path) -> None:
    """The row of the best head in table 2; the mentions and their candidates are read by loops."""
    corpus = slow.conllu(sorted(sample.glob("*.conllu")))
    parquet = Parquet(ways.export)
    runs = pl.read_parquet(ways.export / "run.parquet")
    run = runs.filter(pl.col("context") == "document")["name"].item()
    first = int(parquet.table("word").select(pl.col("id").min()).collect().item())
    positions = parquet.table("position", run).filter(pl.col("kind") == "word").collect()
    attention = parquet.table("attention", run).collect()
    right: dict[tuple[int, int], dict[str, list[bool]]] = {}
    for (sequence,), rows in positions.group_by("sequence", maintain_order=True):
        place = {row["word"] - first: row["position"] for row in rows.iter_rows(named=True)}
        of_input = attention.filter(pl.col("sequence") == sequence)
        for each in slow.judged(corpus, list(place)):
            heads = sorted({place[other.head] for other in each.candidates})
            wanted = {place[word] for word in each.right_words}
            looking = of_input.filter(pl.col("from_position") == place[each.mention.head])
            for row in looking.iter_rows(named=True):
                weights = [row["weights"][at] for at in heads]
                at = heads[weights.index(max(weights))] if max(weights) > 0 else None
                counted = right.setdefault((row["layer"], row["head"]), {})
                for kind in ("all", each.mention.kind):
                    counted.setdefault(kind, []).append(at in wanted)
    head = min(right, key=lambda each: (-sum(right[each]["all"]), each))
    found = _of_bank(ways.bank, "table_2").row(-1, named=True)
    assert found["run"] == run and found["model"] == f"Head {head[0]}-{head[1]}"
    for kind, hits in right[head].items():
        assert abs(found[kind] - 100 * sum(hits) / len(hits)) <= 0.5 + 1e-9, kind
