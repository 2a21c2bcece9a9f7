"""`attnbank probe`: the scores on standard output, the rest on standard error."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

import pytest
import toy_attention as toy
from command_line import Cli

from attnbank.cli.app import run_command_line
from attnbank.queries import open_bank


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("command") / "toy.duckdb"
    return toy.make_bank(path, {"train": 30, "test": 10})


@pytest.fixture
def bank(tmp_path: Path, made: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def test_trains_prints_and_keeps(bank: Path, cli: Cli) -> None:
    given = ["probe", "attention", "--train-run", "train", "--test-run", "test"]
    options = ["--epochs", "12", "--patience", "12", "--seed", "5", "--resamples", "40"]
    told = cli("-b", bank, *given, *options, "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert rows[0]["relation"] == "all"
    lines = told.err.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "Epoch 1 of at most 12", "Epoch 11 of at most 12", "Probe 1",
    ]  # fmt: skip
    assert f"finds {100 * float(rows[0]['uas']):.1f} % of the heads in test" in lines[-1]
    with open_bank(bank) as opened:
        kept = opened.query("probe_accuracy", relation=None)
        assert kept["relation"].to_list() == [row["relation"] for row in rows]
        assert kept["uas"].to_list() == [float(row["uas"]) for row in rows]
        assert kept["seed"].to_list()[0] == 5
        assert len(opened.query("probe_heads")) == 2 * toy.LAYERS * toy.HEADS
        assert opened.query("table_3")["probe"].to_list() == ["Attention"]


def test_quiet(bank: Path, cli: Cli) -> None:
    cli("-b", bank, "probe", "right-branching", "--test-run", "2", "-q", status=2)
    told = cli("-b", bank, "probe", "right_branching", "--test-run", "2", "-q")
    assert "all" in told.out and not told.err


@pytest.mark.parametrize(
    ("args", "status", "fact"),
    [
        (["attention", "--test-run", "test"], 2, "needs a run to train on"),
        (["attention", "--train-run", "train"], 2, "--test-run is missing"),
        (["attention", "--train-run", "trian", "--test-run", "test"], 2, "no run trian"),
        (["nothing", "--test-run", "test"], 2, "nothing"),
        (["attention", "--train-run", "train", "--test-run", "test", "-o", "x.y"], 2, "a format"),
    ],
)
def test_errors(
    bank: Path, capsys: pytest.CaptureFixture[str], args: list[str], status: int, fact: str
) -> None:
    before = bank.read_bytes()
    assert run_command_line(["-b", str(bank), "probe", *args]) == status
    told = capsys.readouterr()
    assert fact in told.err and not told.out
    assert "Traceback" not in told.err
    assert bank.read_bytes() == before


@pytest.mark.slow
def test_the_same_probe_is_not_trained_twice(bank: Path, cli: Cli) -> None:
    given = ["-b", str(bank), "probe", "attention", "--train-run", "train", "--test-run", "test"]
    options = ["--epochs", "2", "--resamples", "10", "-f", "csv"]
    first = cli(*given, *options)
    before = bank.read_bytes()
    part = bank.with_name(f".{bank.name}.99999999-1.part")  # of one that was killed at its end
    part.mkdir()
    again = cli(*given, *options, "--memory", "7MB")
    assert not part.exists()
    assert again.out == first.out and "already in the bank" in again.err
    assert "Epoch" not in again.err and bank.read_bytes() == before
    told = cli(*given, *options, "--replace")
    assert told.out == first.out and "Probe 2:" in told.err and "Epoch 1" in told.err
    assert "Probe 3:" in cli(*given, *options, "--seed", "1").err
    with open_bank(bank) as opened:
        assert opened.sql("select id from probe order by id")["id"].to_list() == [2, 3]
        for table in ("probe_score", "probe_weight"):
            rows = opened.sql(f"select distinct probe from {table} order by probe")
            assert rows["probe"].to_list() == [2, 3]


@pytest.mark.slow
def test_changed_vectors_make_another_probe(bank: Path, tmp_path: Path, cli: Cli) -> None:
    vectors = tmp_path / "vectors.txt"
    given = ["-b", str(bank), "probe", "distance_words", "--train-run", "train", "-q"]
    more = ["--test-run", "test", "--epochs", "1", "--resamples", "5", "--embeddings"]
    with open_bank(bank) as opened:
        words = opened.sql("select distinct form from word order by form")["form"].to_list()
    for factor, probes in ((1, 1), (1, 1), (2, 2)):
        lines = [f"{word} {at % 7} {(at * factor) % 5} 1" for at, word in enumerate(words)]
        vectors.write_text("\n".join(lines) + "\n")
        cli(*given, *more, vectors)
        with open_bank(bank) as opened:
            assert opened.sql("select count(*) as n from probe")["n"].to_list() == [probes]
