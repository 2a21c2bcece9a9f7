"""Analyses on Spark, over an export: the rows that DuckDB gives, and what goes wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from attnbank.queries import Bank, analyses, open_bank
from attnbank.queries.spark import Exported, open_export, stages_of
from attnbank.queries.spark_sessions import check_java
from attnbank.sql.errors import AttnbankError, BankError, CallError

DISTINCT = (
    "attention_by_class", "constituent_accuracy", "coreference_baseline", "coreference_candidate",
    "coreference_distance", "coreference_mention", "entropy", "head_function", "offset_profile",
    "probe_heads", "special_tokens", "table_3",
)  # fmt: skip
"""Analyses that have, with head_score below, each function and clause that any has: the others are
left to the soak."""


@pytest.mark.slow
@pytest.mark.few(*DISTINCT)
@pytest.mark.parametrize("name", analyses())
def test_spark_gives_the_same_frame(name: str, on_both: Callable[..., pl.DataFrame]) -> None:
    given = {"p_below": 2} if name == "figure_5" else {}  # the weights are random
    on_both(lambda each: each.query(name, **given), abs_tol=1e-12)


@pytest.mark.slow
def test_the_sides_of_a_causal_model(full_bank: Path, exported: Exported, tmp_path: Path) -> None:
    """Each direction and offset is judged on one side, and the share it can find is told."""
    path = Path(shutil.copy(full_bank, tmp_path / "causal.duckdb"))
    with duckdb.connect(str(path)) as connection:
        connection.execute("update model set causal = true")
        models = pl.DataFrame(connection.query("from model").to_arrow_table())
    with open_bank(path) as bank, exported.backend.temp_table("model", models):
        mine, theirs = (each.query("head_score", relation="obj") for each in (bank, exported))
    one_sided = mine.filter(pl.col("direction") != "later_to_earlier")
    assert one_sided.height and (one_sided["findable"] < 1).all()
    both = mine.filter(pl.col("direction") == "later_to_earlier")
    assert both.height and (both["findable"] == 1).all()
    assert_frame_equal(theirs, mine, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.soak
def test_values_reach_spark(bank: Bank, exported: Exported) -> None:
    given = {"relation": "nmod:poss", "subtypes": True, "run": 2}
    assert_frame_equal(
        exported.query("head_score", **given), bank.query("head_score", **given), rel_tol=1e-9
    )
    assert exported.run_of("head_score", **given) == bank.run_of("head_score", **given)


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"run": "smaple"},
        {"relation": "objj"},
        {"relation": "${env:HOME}"},
        {"min_count": "many"},
        {"nothing": 1},
    ],
)
def test_a_wrong_value_is_told_as_for_a_bank(
    given: dict[str, object], bank: Bank, exported: Exported
) -> None:
    messages = []
    for opened in (bank, exported):
        with pytest.raises(AttnbankError) as caught:
            opened.query("best_head", **given)
        messages.append(str(caught.value).replace(str(opened.path), "PATH"))
    assert messages[0] == messages[1]


@pytest.mark.slow
def test_an_export_that_is_not_whole(exported: Exported, folder: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    shutil.copytree(folder, part)
    (part / "word.parquet").unlink()
    opened = open_export(exported.session, part)
    with pytest.raises(BankError, match=r"is not a complete export: it has no word\.parquet"):
        opened.query("gold_dependency")
    (part / "word.parquet").write_bytes(b"PAR1")
    with pytest.raises(AttnbankError, match="cannot read"):
        opened.query("gold_dependency")
    pl.DataFrame({"id": [1]}).write_parquet(part / "word.parquet")
    with pytest.raises(BankError, match=r"word\.\w+ is "):
        opened.query("gold_dependency")
    newer = {"format": [99], "created_by": ["9"], "analyses": ["x"], "changes": [1]}
    pl.DataFrame(newer, schema_overrides={"format": pl.Int32}).write_parquet(part / "bank.parquet")
    with pytest.raises(BankError, match="format 99; this version reads format"):
        open_export(exported.session, part)


def test_java_is_missing_or_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CallError, match=r"and none is installed\.\nInstall Java 17"):
        check_java()
    java = tmp_path / "java"
    for says, fact in (
        ('openjdk version "1.8.0_392"', "is Java 8"),
        ('openjdk version "11.0.2" 2019', "is Java 11"),
        ("what?", "is unknown"),
    ):
        java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
        java.chmod(0o755)
        with pytest.raises(CallError, match=fact):
            check_java()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21\" 2023-09-19' >&2\n")
    check_java()
    monkeypatch.setenv("JAVA_HOME", os.fspath(tmp_path / "nowhere"))
    with pytest.raises(CallError, match="none in JAVA_HOME"):
        check_java()


def test_stages_follow_the_scope_of_names() -> None:
    """A name that is given twice, and one that hides a table, mean what they mean in one piece."""
    compiled = stages_of(
        "with word as (select word.id from word), one as (with word as (select 1 as id)"
        " select word.id from word) select word.id from word join one on one.id = word.id"
        " join word as other on other.id = one.id"
    )
    assert compiled.tables == {"word"}
    assert [stage.reads for stage in compiled.stages] == [2, 1, 1]
    outer, inner, one = (stage.view for stage in compiled.stages)
    assert f"FROM {inner} AS word" in compiled.stages[2].statement
    assert f"FROM {outer} AS word" in compiled.last and f"JOIN {one} AS one" in compiled.last


def test_a_repeated_expression_is_one_stage() -> None:
    """So two analyses that read a third compute it once; what differs in a value stays apart."""
    one = "(with c as (select word.id from word where word.id > {0}) select c.id from c)"
    compiled = stages_of(
        f"select a.id from {one.format(1)} as a join {one.format(1)} as b on a.id = b.id"
        f" join {one.format(2)} as c on a.id = c.id"
    )
    assert [stage.reads for stage in compiled.stages] == [2, 1]


def test_what_reads_itself_is_one_stage() -> None:
    compiled = stages_of(
        "with recursive base as (select word.id from word), climb as (select base.id from base"
        " union all select climb.id + 1 from climb where climb.id < 9) select climb.id from climb"
    )
    base, climb = compiled.stages
    assert climb.statement.startswith("WITH RECURSIVE climb AS (") and base.reads == 1
    assert f"FROM {base.view} AS base" in climb.statement and climb.view in compiled.last
