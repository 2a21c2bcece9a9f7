"""An error that nobody expected, on a bank whose rows cannot be, is told as damage of the bank."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bank_rows import change_bank
from case_bank import make_bank
from command_line import Cli
from two_runs import TWO_RUNS

from attnbank.cli.exit_status import error_message

TOLD = "is damaged: its table peak has rows that no map has."


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bank(tmp_path_factory.mktemp("whole") / "whole.duckdb", TWO_RUNS)


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    """A bank whose peaks are not numbers."""
    copy = Path(shutil.copy(whole, tmp_path / "damaged.duckdb"))
    change_bank(copy, "update peak set most_attended_weight = 'nan'")
    return copy


def test_show_tells_it(damaged: Path, cli: Cli) -> None:
    printed = cli("-b", damaged, "show", "1", "--head", "1-1", status=1).err
    assert f"Error: The bank {damaged} {TOLD}\nUse an intact copy" in printed
    assert printed.count("\n") == 2 and "bug" not in printed


def test_info_checks_all_rows_if_asked(damaged: Path, whole: Path, cli: Cli) -> None:
    shown = cli("-b", whole, "info").out
    assert cli("-b", whole, "info", "--check").out == shown
    cli("-b", damaged, "info")
    assert TOLD in cli("-b", damaged, "info", "--check", status=1).err


def test_any_error_is_looked_into(damaged: Path, whole: Path) -> None:
    assert TOLD in error_message(IndexError("of a list"), damaged)[0]
    told = "unexpected IndexError: of a list"
    assert error_message(IndexError("of a list"), whole)[0] == told
    assert error_message(IndexError("of a list"), damaged.with_name("none.duckdb"))[0] == told
