"""An error that nobody expected, on a bank whose rows cannot be, is told as damage of the bank."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from command_line import Cli

from attnbank.cli.exit_status import error_message

TOLD = "is damaged: its table peak has rows that no map has."


@pytest.fixture
def damaged(full_bank: Path, tmp_path: Path) -> Path:
    """A bank whose peaks are not numbers."""
    copy = tmp_path / "damaged.duckdb"
    shutil.copy(full_bank, copy)
    with duckdb.connect(str(copy)) as connection:
        connection.execute("update peak set most_attended_weight = 'nan'")
    return copy


def test_show_tells_it(damaged: Path, cli: Cli) -> None:
    printed = cli("-b", damaged, "show", "1", "--head", "1-1", status=1).err
    assert f"Error: The bank {damaged} {TOLD}\nUse an intact copy" in printed
    assert printed.count("\n") == 2 and "bug" not in printed


def test_any_error_is_looked_into(damaged: Path, full_bank: Path) -> None:
    assert TOLD in error_message(IndexError("of a list"), damaged)[0]
    told = "unexpected IndexError: of a list"
    assert error_message(IndexError("of a list"), full_bank)[0] == told
    assert error_message(IndexError("of a list"), damaged.with_name("none.duckdb"))[0] == told
