"""What Polars computes from the files of an export, without any SQL of ours, a bank answers."""

from __future__ import annotations

from pathlib import Path

import oracle_coreference as slow
import polars as pl
import pytest
from bank_factory import BankFactory
from polars.testing import assert_frame_equal

from attnbank.queries import open_bank
from attnbank.sql.export_format import export

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory, bank_of: BankFactory) -> Path:
    """A bank of a run over sentences and one over documents, beside its export."""
    folder = tmp_path_factory.mktemp("polars")
    bank = bank_of("sample", after=bank_of("sample"), context="document", to=folder)
    with open_bank(bank) as opened:
        export(opened.path, bank.with_name("parquet"))
    return bank


@pytest.fixture(scope="module")
def export_(bank: Path) -> Parquet:
    return Parquet(bank.with_name("parquet"))


def _of_bank(bank: Path, name: str) -> pl.DataFrame:
    with open_bank(bank) as opened:
        return opened.query(name)


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


def test_polars_sums_special_tokens(export_: Parquet, bank: Path) -> None:
    """From the weights themselves, and not from the sums that the statement reads."""
    parquet = export_
    wanted = _of_bank(bank, "special_tokens")
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
    result = (
        per_input.group_by("layer", "head", "role")
        .agg(mean=(pl.col("total") / pl.col("n")).sum() / inputs)
        .pivot("role", index=["layer", "head"], values="mean")
        .sort("layer", "head")
        .select("layer", "head", "cls", "sep", "punctuation", "other")
    )
    assert_frame_equal(result, wanted.select(result.columns), rel_tol=1e-12)


def test_polars_finds_antecedents(export_: Parquet, bank: Path, sample: Path) -> None:
    """The row of the best head in table 2; the mentions and their candidates are read by loops."""
    corpus = slow.conllu(sorted(sample.glob("*.conllu")))
    parquet = export_
    runs = pl.read_parquet(export_.folder / "run.parquet")
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
    result = _of_bank(bank, "table_2").row(-1, named=True)
    assert result["run"] == run and result["model"] == f"Head {head[0]}-{head[1]}"
    for kind, hits in right[head].items():
        assert abs(result[kind] - 100 * sum(hits) / len(hits)) <= 0.5 + 1e-9, kind
