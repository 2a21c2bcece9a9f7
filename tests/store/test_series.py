"""Checkpoints as runs: which they are, what they share, and their heads from step to step."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import bounds
import polars as pl
import pytest
from bank_factory import BankFactory
from bank_rows import query_bank
from case_bank import make_bank
from command_line import Cli
from fixture_types import Models
from once import Once
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer
from two_runs import TWO_RUNS

import checkpoints as training
from attnbank.ingest import IngestOptions, ingest, ingest_series
from attnbank.ingest.derived.computations import compute
from attnbank.ingest.models.files import find_checkpoints, step_of
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError, QueryError

STEPS = (0, 3, 9)
SMALL = training.Settings(
    steps=STEPS, vocabulary=300, hidden=16, heads=4, length=16, batch=8, rate=0.05, warmup=2
)


@pytest.fixture(scope="session")
def trained(once: Once, sample: Path) -> Path:
    """A folder with three checkpoints of a tiny decoder."""
    return once("series", lambda folder: training.train(folder, training.texts([sample]), SMALL))


@pytest.fixture(scope="session")
def bank(once: Once, few: Path, trained: Path) -> Path:
    """A bank of two series of runs, over a text and over repeated tokens; not written to."""

    def fill(folder: Path) -> None:
        path = folder / "bank.duckdb"
        model, given = str(trained), (str(few),)
        series = IngestOptions(given, path, model, name="sample", series="step*")
        assert [ingest_sery.run for ingest_sery in ingest_series(series)]
        for number in range(1, len(STEPS) + 1):
            compute(path, "attention_tree", number)
        made = IngestOptions((), path, model, repeat=12, limit=6, unit="token", series="step*")
        assert [ingest_sery.run for ingest_sery in ingest_series(made)]

    return once("series-bank", fill) / "bank.duckdb"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("step1000", (1000, None)),
        ("step0", (0, None)),
        ("checkpoint-2000", (2000, None)),
        ("step_3000", (3000, None)),
        ("multiberts-seed_0-step_20k", (20_000, None)),
        ("step1000-tokens4B", (1000, 4 * 10**9)),
        ("stage1-step10000-tokens21B", (10_000, 21 * 10**9)),
        ("iter-0000150-ckpt", (150, None)),
        ("global_step1.5k", (1500, None)),
        ("2000-steps", None),
        ("main", None),
        ("step", None),
        ("footstep7", None),
        ("step99999999999999999999", None),
    ],
)
def test_steps_are_in_names(name: str, message: tuple[int, int | None] | None) -> None:
    assert step_of(name) == message


def test_a_training_gives_the_same_weights_twice(
    trained: Path, sample: Path, tmp_path: Path
) -> None:
    training.train(tmp_path, training.texts([sample]), SMALL)
    for step in STEPS:
        one, two = (load_file(each / f"step{step}" / "model.safetensors")
                    for each in (trained, tmp_path))  # fmt: skip
        assert one.keys() == two.keys() and all(one[each].equal(two[each]) for each in one)
    last = trained / "step9"
    assert AutoModelForCausalLM.from_pretrained(last).config.num_hidden_layers == 2
    assert AutoTokenizer.from_pretrained(last).decode([5]) and sorted(
        path.name for path in trained.iterdir()
    ) == ["step0", "step3", "step9"]


@pytest.mark.slow
def test_each_checkpoint_is_a_run_as_if_it_had_been_ingested_alone(
    bank: Path, trained: Path, few: Path, bank_of: BankFactory
) -> None:
    named: dict[str, Any] = {"name": "sample"}
    alone = bank_of.in_turn(*((few, trained / f"step{step}", named) for step in STEPS))
    rows = []
    for path in (bank, alone):
        rows.append(
            query_bank(
                path,
                "select model.sha256, peak.* replace (sequence.sentence as sequence) from peak"
                " join sequence on sequence.id = peak.sequence"
                " join run on run.id = sequence.run join model on model.id = run.model"
                " join corpus on corpus.id = run.corpus where corpus.name = 'sample'"
                " order by all",
            )
        )
    assert rows[0] == rows[1] and len({row[0] for row in rows[0]}) == len(STEPS)
    with open_bank(bank) as opened:
        models = opened.sql("select name, series, step, tokens_seen from model order by step")
        assert models["step"].to_list() == [*STEPS]
        assert set(models["series"]) == {str(trained)} and models["tokens_seen"].null_count() == 3
        names = opened.runs()["name"].to_list()
    folder = trained.name
    assert names == [
        *(f"sample/{folder}@step{step}" for step in STEPS),
        *(f"repeat-12/{folder}@step{step}/token" for step in STEPS),
    ]


@pytest.mark.slow
def test_what_is_there_is_passed_over(
    bank: Path, trained: Path, few: Path, tmp_path: Path, cli: Cli
) -> None:
    own = Path(shutil.copy(bank, tmp_path / "bank.duckdb"))
    cli("-b", own, "delete", "2", "--yes", "-q")
    given = ["-b", str(own), "ingest", str(few), "--name", "sample", "--model", str(trained)]
    lines = cli(*given, "--series", "step*").err.splitlines()
    message = [line for line in lines if line.startswith(("Run ", "At most "))]
    assert message.pop(1).startswith("At most 2 runs to make, about ")
    assert [line.split("; ")[0].split(" is ")[1] for line in message] == [
        "already in the bank", "finished (2 of 3)", "already in the bank"
    ]  # fmt: skip
    assert (
        "runs       3  (what follows is of one of them)"
        in cli(*given, "--series", "step*", "--dry-run").out
    )


@pytest.mark.slow
def test_a_model_that_is_there_alone_joins_its_series(
    trained: Path, sample: Path, tmp_path: Path
) -> None:
    path, given = tmp_path / "bank.duckdb", (str(sample / "press.conllu"),)
    ingest(IngestOptions(given, path, str(trained / "step3")))
    states = [
        ingest_sery.state
        for ingest_sery in ingest_series(IngestOptions(given, path, str(trained), series="step*"))
    ]
    assert states == ["new", "unchanged", "new"]


def test_what_does_not_belong_together_is_refused_before_anything_is_written(
    trained: Path, sample: Path, tmp_path: Path, tiny_model: Models
) -> None:
    folder, path = tmp_path / "ck", tmp_path / "bank.duckdb"
    shutil.copytree(trained, folder)
    shutil.copytree(folder / "step0", folder / "step_3")
    shutil.copytree(folder / "step0", folder / "last")
    shutil.copytree(tiny_model("gpt2"), folder / "other5")
    (folder / "step77").mkdir()  # without a model
    for pattern, fact in (
        ("epoch*", "No folder of .* that has a model matches 'epoch[*]'; it has: last, other5"),
        ("step*", "step3 and step_3 have the same step|step_3 and step3 have the same step"),
        ("la*", "The name of the folder last has no step"),
    ):
        with pytest.raises(CallError, match=fact):
            find_checkpoints(str(folder), pattern)
    (folder / "other5").rename(folder / "step5")
    shutil.rmtree(folder / "step_3")
    with pytest.raises(CallError, match=r"step5 does not have the same .* as .*step0: they are"):
        list(ingest_series(IngestOptions((str(sample),), path, str(folder), series="step*")))
    assert not path.exists()


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        (["--revision", "main"], "--series makes a run of each checkpoint, but --revision"),
        (
            ["--random-weights", "1"],
            "--series makes a run of each checkpoint, but --random-weights",
        ),
        (["--replace"], "--series makes a run of each checkpoint, but --replace"),
        (["--engine", "spark", "--to", "x"], "--series cannot fill an export (--to)."),
        (["--model", "minilm"], "--series makes a run of each checkpoint, but --model minilm"),
    ],
)
def test_options_that_do_not_go_together(
    trained: Path, sample: Path, tmp_path: Path, cli: Cli,
    more: list[str], fact: str,
) -> None:  # fmt: skip
    given = ["-b", str(tmp_path / "b.duckdb"), "ingest", str(sample), "--model", str(trained)]
    error = cli(*given, "--series", "step*", *more, status=2).err
    assert fact in error and len(error.strip().splitlines()) <= 2
    assert not (tmp_path / "b.duckdb").exists()


def test_a_hub_that_is_out_of_reach(
    sample: Path,
    tmp_path: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    given = ["-b", str(tmp_path / "b.duckdb"), "ingest", str(sample), "--model", "nobody/model"]
    error = cli(*given, "--series", "step*", status=2).err
    assert "Cannot load the model nobody/model" in error and len(error.strip().splitlines()) <= 2


@pytest.mark.slow
def test_the_history_is_that_of_each_run(bank: Path) -> None:
    with open_bank(bank) as opened:
        names = opened.runs()["name"].to_list()
        text, made = names[: len(STEPS)], names[len(STEPS) :]
        for measure, runs, analysis, value in (
            ("accuracy", text, "head_accuracy", "accuracy"),
            ("uuas", text, "tree_accuracy", "uuas"),
            ("previous_token", text, "previous_token_head", "weight"),
            ("previous_token", made, "previous_token_head", "weight"),
            ("duplicate_token", made, "duplicate_token_head", "weight"),
            ("induction", made, "induction_head", "weight"),
            ("entropy", made, "entropy", "entropy"),
        ):
            answer = opened.query("head_history", measure=measure, run=runs[-1], top=None)
            assert answer["run"].unique().sort().to_list() == sorted(runs)
            has_direction = measure in ("accuracy", "uuas")
            keys = ["layer", "head", *(["direction"] if has_direction else [])]
            for name, step in zip(runs, STEPS, strict=True):
                own = opened.query(analysis, run=name)
                if measure == "accuracy":
                    own = own.filter(pl.col("relation") == "all")
                both = answer.filter(pl.col("step") == step).join(
                    own, on=keys, suffix="_own", nulls_equal=True
                )
                assert both.height == own.height > 0
                for row in both.iter_rows(named=True):
                    # Sums over the same rows, in another order.
                    assert row["value"] == pytest.approx(row[value], rel=bounds.sums(10_000))
                    if measure == "uuas":
                        assert row["low"] == pytest.approx(row["low_own"], rel=bounds.sums(100))
                        assert row["baseline"] == row["adjacent"]
            chosen = opened.query("head_history", measure=measure, run=runs[0], top=2)
            last = answer.filter(pl.col("step") == STEPS[-1]).sort(
                "value", descending=measure != "entropy", maintain_order=True
            )
            assert (
                chosen["name"].unique(maintain_order=True).to_list() == last["name"].to_list()[:2]
            )


@pytest.mark.slow
def test_onset_is_the_first_step_from_which_on_a_head_is_above(bank: Path) -> None:
    with open_bank(bank) as opened:
        for measure, at in (("accuracy", 0), ("previous_token", 0), ("previous_token", -1)):
            name = opened.runs()["name"][at]
            every = opened.query("head_history", measure=measure, run=name, top=None)
            onsets = opened.query("head_onset", measure=measure, run=name)
            slow = {}
            for key, rows in every.group_by("layer", "head", "direction"):
                onset = before = None
                for row in rows.sort("step", descending=True).iter_rows(named=True):
                    if row["low"] is None or row["low"] <= row["baseline"]:
                        before = row["step"]
                        break
                    onset = row["step"]
                slow[key] = onset, before
            result = {row[:3]: row[3:5] for row in onsets.rows()}
            assert result == slow
            assert onsets["onset"].to_list() == sorted(
                onsets["onset"].to_list(), key=lambda each: (each is None, each)
            )


def test_a_bank_without_a_series_says_what_to_type(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "bank.duckdb", TWO_RUNS)
    with open_bank(bank) as opened, pytest.raises(QueryError) as caught:
        opened.query("head_history")
    assert "its model is not known to be a checkpoint of a training" in str(caught.value)
    assert "ingest CORPUS --model FOLDER --series 'step*'" in str(caught.value)
