"""`attnbank shell`: the DuckDB shell, on the bank, unable to write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Cli, run_attnbank

from attnbank.cli.commands.query import find_shell
from attnbank.sql.errors import AttnbankError


def _attnbank(*args: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    return run_attnbank(*args, stdin=subprocess.DEVNULL, env={"PATH": path})


@pytest.fixture(scope="module")
def _has_shell() -> None:
    try:
        find_shell()
    except AttnbankError as error:
        pytest.skip(error.fact)


@pytest.mark.slow
@pytest.mark.usefixtures("_has_shell")
def test_arguments_go_to_the_shell(sample_bank: Path) -> None:
    done = _attnbank("-b", str(sample_bank), "shell", "-csv", "-c", "select count(*) as n from run")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["n", "1"], "")
    done = _attnbank("shell", "-b", str(sample_bank), "-c", "from paper.table_1 limit 1")
    assert "baseline" in done.stdout


@pytest.mark.usefixtures("_has_shell")
def test_the_shell_cannot_write(sample_bank: Path) -> None:
    before = sample_bank.read_bytes()
    done = _attnbank("-b", str(sample_bank), "shell", "-c", "delete from word")
    assert done.returncode != 0 and "read-only" in done.stderr
    assert sample_bank.read_bytes() == before


@pytest.mark.usefixtures("_has_shell")
def test_what_is_wrong_with_the_bank_is_told_first(tmp_path: Path, cli: Cli) -> None:
    missing = tmp_path / "missing.duckdb"
    assert "There is no bank" in cli("-b", missing, "shell", "-c", "select 1", status=1).err
    assert not (tmp_path / "missing.duckdb").exists()


def test_without_the_shell_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AttnbankError, match=r"pip install '\.\[shell\]' "):
        find_shell()
