"""A bank that is typed as an argument, as other programs take it: the right line is told."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from case_bank import make_bank
from command_line import Cli

REQUEST = "'pattern { X [upos=\"NOUN\"] }'"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bank(
        tmp_path_factory.mktemp("made") / "my.duckdb",
        {"run": "id,name\n", "word": "id,form\n1,a\n"},
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder to be in, with a bank under three names; none is the default one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTNBANK", raising=False)
    for name in ("my.duckdb", "my own bank.duckdb", "bank of 2020"):
        shutil.copy(made, name)
    return tmp_path


@pytest.mark.usual("my.duckdb*", "*query BANK*", "*BANK-info")
@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("query BANK best_head --min-count 5", "query best_head --min-count 5"),
        ("plot BANK best_head -o 'a b.svg'", "plot best_head -o 'a b.svg'"),
        ("compute BANK --all", "compute --all"),
        (f"find BANK {REQUEST}", f"find {REQUEST}"),
        (f"count BANK {REQUEST} --by upos", f"count {REQUEST} --by upos"),
        (f"score --run 1 BANK {REQUEST}", f"score --run 1 {REQUEST}"),
        ("find BANK", "find REQUEST"),
        ("show BANK 3 --layer 2", "show 3 --layer 2"),
        ("publish BANK site", "publish site"),
        ("publish --name x BANK", "publish --name x DIR"),
        ("explore BANK --port 0", "explore --port 0"),
        ("sql BANK 'select 1 as \"a b\"'", "sql 'select 1 as \"a b\"'"),
        ("sql BANK", "sql STATEMENT"),
        ("export BANK parquet", "export parquet"),
        ("shell BANK -c 'from word'", "shell -c 'from word'"),
        ("info BANK", "info"),
        ("BANK query best_head", "query best_head"),
        ("BANK", "info"),
        ("--debug query BANK best_head", "--debug query best_head"),
    ],
)
@pytest.mark.parametrize("name", ["my.duckdb", "'my own bank.duckdb'", "'bank of 2020'"])
def test_the_right_line_is_told(typed: str, right: str, name: str, cli: Cli) -> None:
    fact, remedy = cli(*shlex.split(typed.replace("BANK", name)), status=2).err.splitlines()[-2:]
    assert fact == f"Error: {shlex.split(name)[0]} is a bank: name it with -b."
    assert remedy == f"Type: attnbank -b {name} {right}"


def test_the_line_that_is_told_works(cli: Cli) -> None:
    typed = ["info", "my own bank.duckdb", "-f", "csv"]
    remedy = cli(*typed, status=2).err.splitlines()[-1]
    assert cli(*shlex.split(remedy.removeprefix("Type: attnbank "))).out.startswith("id,name,")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("query best_hed", "There is no analysis best_hed. Did you mean best_head"),
        ("query no.duckdb best_head", "There is no analysis no.duckdb."),
        ("-b my.duckdb query 'bank of 2020'", "There is no analysis bank of 2020."),
        ("find my.duckdb x -b my.duckdb", "unexpected extra argument (x)"),
        ("fnd my.duckdb", "There is no command fnd. Did you mean find"),
        ("sql", "STATEMENT is missing."),
        ("merge my.duckdb my.duckdb", "Without -b the first argument is the new bank"),
    ],
)
def test_other_errors_are_as_they_were(typed: str, message: str, cli: Cli) -> None:
    assert message in cli(*shlex.split(typed), status=2).err


@pytest.mark.slow
def test_what_takes_banks_takes_them(cli: Cli) -> None:
    cli("merge", "my.duckdb", "bank of 2020", "-b", "new.duckdb")
    assert "REQUEST" in cli("find", "my.duckdb", "--help").out


def test_an_argument_may_be_missing(cli: Cli) -> None:
    for command in ("use", "schema"):
        assert cli(command, status=1).err.startswith("Error: There is no bank attnbank.duckdb.")


def test_a_text_that_is_no_file_is_read_as_before(cli: Cli) -> None:
    Path("notes").write_text("no bank")
    for text in ("x" * 5000, "notes", "."):
        assert cli("schema", text, status=1).err.startswith("Error: There is no bank ")
