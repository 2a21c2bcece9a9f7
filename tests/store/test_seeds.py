"""`ingest --random-weights 1..3`: a run for each seed, as if each had been asked for by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bank_rows import query_bank
from command_line import Cli
from crashes import ingest_part
from fixture_types import Models

from attnbank.cli.app import run_command_line as attnbank
from attnbank.ingest import IngestOptions

NAMES = [f"press/tiny-bert-random-{seed}" for seed in (1, 2, 3)]


@pytest.fixture
def typed(sample: Path, tiny_model: Models, tmp_path: Path) -> list[str]:
    """The command without its seeds, over a copy of a file that may go."""
    corpus = Path(shutil.copy(sample / "press.conllu", tmp_path))
    model = ["--model", str(tiny_model("bert")), "--batch-tokens", "256"]
    return ["-b", str(tmp_path / "bank.duckdb"), "ingest", str(corpus), *model]


@pytest.mark.slow
def test_each_seed_gets_the_run_that_it_gets_alone(
    typed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attnbank([*typed, "--random-weights", "1..3"]) == 0
    printed = capsys.readouterr().err
    for number, name in enumerate(NAMES, start=1):
        assert f"Run {name} is finished ({number} of 3):\n" in printed
    assert printed.count("no sentences skipped") == 1  # what is of the corpus stands once
    alone = ["-b", str(tmp_path / "alone.duckdb"), *typed[2:]]
    for seed in "123":
        assert attnbank([*alone, "--random-weights", seed]) == 0
    assert "(1 of" not in capsys.readouterr().err
    for select in (
        "select id, name, corpus, batches, run.finished is not null from run"
        " inner join run_part on run_part.run = run.id order by id",
        "select * from model order by id",
        "select * from attention order by all",
    ):
        assert query_bank(typed[1], select) == query_bank(alone[1], select)
    models = query_bank(typed[1], "select random_seed, sha256 from model order by id")
    assert [seed for seed, _ in models] == [1, 2, 3] and len({sha256 for _, sha256 in models}) == 3


@pytest.mark.slow
def test_what_is_there_stays_and_what_was_interrupted_goes_on(typed: list[str], cli: Cli) -> None:
    bank, corpus, model = typed[1], typed[3], typed[5]
    ingest_part(IngestOptions((corpus,), Path(bank), model, batch_tokens=256, random_weights=2))
    cli(*typed, "--random-weights", "1")
    printed = cli(*typed, "--random-weights", "1..3").err
    assert f"Run {NAMES[0]} is already in the bank; nothing was added (1 of 3):" in printed
    assert f"Run {NAMES[1]} is finished; it resumed where it had stopped (2 of 3):" in printed
    assert f"Run {NAMES[2]} is finished (3 of 3):" in printed
    before = query_bank(bank, "select name, id from run order by name")
    assert [name for name, _ in before] == NAMES
    cli(*typed, "--random-weights", "2..3", "--replace", "-q")
    after = query_bank(bank, "select name, id from run order by name")
    changed = [old != new for old, new in zip(before, after, strict=True)]
    assert changed == [False, True, True]


@pytest.mark.slow
def test_a_dry_run_says_how_many(typed: list[str], cli: Cli) -> None:
    assert cli(*typed, "--random-weights", "0..4", "--dry-run").out.startswith(
        "runs       5  (what follows is of one of them)\n"
    )
    assert not Path(typed[1]).exists()


@pytest.mark.parametrize(
    ("seeds", "printed"),
    [
        ("5..1", ["ends before it begins.", "smaller seed first: 1..5."]),
        ("1..1000000", ["is 1,000,000 runs, and one command makes at most 100.", "1..5"]),
        ("1..", ["'1..' is not a valid value of --random-weights", "(1..5)"]),
        ("x..y", ["'x..y' is not a valid value of --random-weights", "(1..5)"]),
        ("1,3", ["'1,3' is not a valid value of --random-weights", "(1..5)"]),
        ("-1", ["'-1' is not a valid value of --random-weights", "(1..5)"]),
        ("٣", ["'٣' is not a valid value of --random-weights", "(1..5)"]),
        ("1..2147483648", ["at most 2,147,483,647", "smaller"]),
        ("1..2 --engine spark --to x", ["cannot fill an export (--to)", "leave --to out"]),
        ("1..2 --series step*", ["--series makes a run of each checkpoint", ""]),
        ("1..2 --model none", ["--model none writes the text alone", ""]),
    ],
)
def test_invalid_seeds_are_refused(
    typed: list[str], seeds: str, printed: list[str], cli: Cli
) -> None:
    fact, remedy = cli(*typed, "--random-weights", *seeds.split(), status=2).err.splitlines()
    assert fact.startswith("Error: ") and printed[0] in fact and printed[1] in remedy
    assert not Path(typed[1]).exists()
