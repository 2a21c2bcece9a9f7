"""Of what tests/support/answers.py saves before a change, it finds after it what differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import answers
import polars as pl
import pytest
from answers import Answer
from readme_blocks import ROOT

import attnbank

HEADS = pl.DataFrame({"head": ["3-1", "3-2"], "accuracy": [0.5, float("nan")], "at": [[1], None]})
BEST = Answer("best_head", 0, rows=HEADS)
WRONG = Answer("query nothing", 2, err="Error: There is no analysis nothing.\nSee: queries")
INFO = Answer("info", 0, out="1 run\n2 words\n")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    assert answers.save(folder, [BEST, WRONG, INFO]) == 3
    return folder


def test_the_same_answers_differ_in_nothing(saved: Path) -> None:
    nearly = HEADS.with_columns(pl.col("accuracy") * (1 + 1e-15))
    same = answers.compare(saved, [replace(BEST, rows=nearly), WRONG, INFO])
    assert same == answers.Differences()


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (replace(BEST, rows=HEADS.with_columns(accuracy=pl.lit(0.25))), '"accuracy"'),
        (replace(BEST, rows=HEADS.with_columns(at=pl.lit([1]))), '"at"'),
        (replace(BEST, rows=HEADS.head(1)), "(row count) mismatch"),
        (replace(BEST, rows=HEADS.rename({"at": "place"})), "columns mismatch"),
        (replace(BEST, rows=HEADS.select("at", "head", "accuracy")), "not in the same order"),
        (replace(BEST, rows=None), "had rows before"),
        (replace(WRONG, status=1), "exit status 2 / 1"),
        (replace(WRONG, rows=HEADS), "no rows before"),
        (replace(BEST, name="best_heads"), "is new"),
    ],
)
def test_changed_rows_and_statuses_are_found(saved: Path, changed: Answer, difference: str) -> None:
    others = [answer for answer in (BEST, WRONG, INFO) if answer.name != changed.name]
    differences = answers.compare(saved, [changed, *others])
    assert [difference in line for line in differences.answers] == [True]
    assert not differences.messages


def test_an_answer_that_is_gone_is_found(saved: Path) -> None:
    assert answers.compare(saved, [BEST, INFO]).answers == ["query nothing: is gone"]


def test_changed_messages_are_a_list_to_read(saved: Path) -> None:
    err = "Error: There is no analysis nothing.\nSee: attnbank queries"
    changed = [BEST, replace(WRONG, err=err), replace(INFO, out="1 run\n3 words\n")]
    differences = answers.compare(saved, changed)
    assert not differences.answers
    assert str(differences).splitlines() == [
        "query nothing",
        "  - See: queries",
        "  + See: attnbank queries",
        "info",
        "  - 2 words",
        "  + 3 words",
    ]


def test_one_change_of_many_messages_is_told_once(saved: Path, tmp_path: Path) -> None:
    many = [replace(WRONG, name=name) for name in ("a", "b", "c")]
    answers.save(tmp_path / "many", many)
    differences = answers.compare(tmp_path / "many", [replace(each, err="") for each in many])
    assert str(differences).startswith("a and 2 others\n  - Error:")


def test_nothing_of_a_machine_or_a_day_is_saved(tmp_path: Path) -> None:
    printed = (
        f"Reading x\n{tmp_path}/x.duckdb has 16.6 MB, by attnbank {attnbank.__version__} in 1.5 s,"
        f" 2026-01-02 03:04:05 UTC, of {ROOT}/docs; 30 s\n"
    )
    said = "FOLDER/x.duckdb has SIZE, by attnbank VERSION in TIME, TIME UTC, of ROOT/docs; 30 s\n"
    assert answers.plain(printed, tmp_path) == said
