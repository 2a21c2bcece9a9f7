"""Analyses on Spark, over an export: the rows that DuckDB gives, and what goes wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from attnbank.cli.app import run
from attnbank.queries import Bank, analyses
from attnbank.queries.spark import Exported, open_export
from attnbank.queries.spark.java import check_java
from attnbank.queries.spark.stages import stages_of
from attnbank.sql.errors import AttnbankError, BankError, CallError


@pytest.mark.slow
@pytest.mark.parametrize("name", analyses())
def test_spark_gives_the_same_frame(name: str, bank: Bank, exported: Exported) -> None:
    mine, theirs = bank.query(name), exported.query(name)
    assert mine.height > 0
    assert_frame_equal(theirs, mine, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.slow
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
    told = []
    for opened in (bank, exported):
        with pytest.raises(AttnbankError) as caught:
            opened.query("best_head", **given)
        told.append(str(caught.value).replace(str(opened.path), "PATH"))
    assert told[0] == told[1]


@pytest.mark.slow
def test_an_export_that_is_not_whole(exported: Exported, folder: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    shutil.copytree(folder, part)
    (part / "word.parquet").unlink()
    opened = open_export(exported.session, part)
    with pytest.raises(BankError, match=r"is no whole export: it has no word\.parquet"):
        opened.query("gold_dependency")
    (part / "word.parquet").write_bytes(b"PAR1")
    with pytest.raises(AttnbankError, match="cannot answer"):
        opened.query("gold_dependency")
    pl.DataFrame({"id": [1]}).write_parquet(part / "word.parquet")
    with pytest.raises(BankError, match=r"word\.\w+ is "):
        opened.query("gold_dependency")
    pl.DataFrame({"format": [99], "created_by": ["9"], "analyses": ["x"]}).cast(
        {"format": pl.Int32}
    ).write_parquet(part / "bank.parquet")
    with pytest.raises(BankError, match="format 99, which a newer attnbank wrote"):
        open_export(exported.session, part)


@pytest.mark.slow
def test_the_command_writes_what_it_writes_of_a_bank(
    full_bank: Path, folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    asked = ["query", "gold_dependency", "-f"]
    told = []
    for more in (["-b", str(full_bank)], ["--engine", "spark", "--data", str(folder)]):
        command = [sys.executable, "-m", "attnbank", *asked, "table", *more]
        told.append(
            subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        )
    assert told[0].stdout == told[1].stdout and told[0].stdout.startswith("Run: ")
    assert [each.stderr for each in told] == [told[0].stderr] * 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "fact"),
    [
        (["--engine", "spark"], "Spark reads an export, and none is named."),
        (["--data", "a"], "--data is for Spark."),
        (["--master", "local"], "--master is for Spark."),
    ],
)
def test_options_that_do_not_fit(
    args: list[str], fact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["query", "best_head", *args]) == 2
    assert fact in capsys.readouterr().err


def test_java_is_missing_or_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CallError, match=r"and none is installed\.\nInstall Java 17"):
        check_java()
    java = tmp_path / "java"
    for says, fact in (
        ('openjdk version "1.8.0_392"', "is 8"),
        ('openjdk version "11.0.2" 2019', "is 11"),
        ("what?", "does not tell its version"),
    ):
        java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
        java.chmod(0o755)
        with pytest.raises(CallError, match=fact):
            check_java()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21\" 2023-09-19' >&2\n")
    check_java()
    monkeypatch.setenv("JAVA_HOME", os.fspath(tmp_path / "nowhere"))
    with pytest.raises(CallError, match="JAVA_HOME is"):
        check_java()


def test_stages_follow_the_scope_of_names() -> None:
    """A name that is given twice, and one that hides a table, mean what they mean in one piece."""
    found = stages_of(
        "with word as (select word.id from word), one as (with word as (select 1 as id)"
        " select word.id from word) select word.id from word join one on one.id = word.id"
        " join word as other on other.id = one.id"
    )
    assert found.tables == {"word"}
    assert [each.reads for each in found.stages] == [2, 1, 1]
    outer, inner, one = (each.view for each in found.stages)
    assert f"FROM {inner} AS word" in found.stages[2].statement
    assert f"FROM {outer} AS word" in found.last and f"JOIN {one} AS one" in found.last
