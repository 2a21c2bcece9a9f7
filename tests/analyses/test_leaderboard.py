"""The best head of every run for each relation, against loops over the words and other analyses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from oracle_heads import Reading

from attnbank.queries import Bank, open_bank


@pytest.fixture(scope="module")
def path(sample: Path, bank_of: BankFactory) -> Path:
    """Two encoders and a decoder over one text, each sentence of which is a cluster.

    Two seeds of random weights are the controls of the first, and the second has read half of it.
    """
    lines = (sample / "stories.conllu").read_text(encoding="utf-8").splitlines(keepends=True)
    text = {"s.conllu": "".join(line for line in lines if not line.startswith("# newdoc"))}
    options: list[tuple[str, dict[str, Any]]] = [
        ("bert", {}), ("bert", {"random_weights": 5}), ("bert", {"random_weights": 2}),
        ("electra", {"limit": 12}), ("gpt2", {}),
    ]  # fmt: skip
    return bank_of.in_turn(*((text, model, given) for model, given in options))


@pytest.fixture(scope="module")
def bank(path: Path) -> Bank:
    return open_bank(path)


@pytest.mark.slow
def test_runs_are_ordered_by_what_their_best_heads_find(path: Path, bank: Bank) -> None:
    whole, *controls, part, _ = bank.runs()["name"].to_list()
    rows = bank.query("leaderboard").to_dicts()
    order = [row["relation"] for row in rows if row["run"] == whole]
    assert len(order) > 10 and order[0] == "all"
    assert rows == sorted(
        rows,
        key=lambda row: (order.index(row["relation"]), -row["overall"], -row["n"], row["run"]),
    )
    reading, of_part = Reading(path, whole), Reading(path, part)
    of_controls = [(Reading(path, name), name) for name in controls]
    counted = 0
    for row in rows:
        if row["run"] not in (whole, part):
            assert (row["control_seeds"], row["excess"], row["control_run"]) == (0, None, None)
            continue
        one = reading if row["run"] == whole else of_part
        words = one.dependents(row["relation"])
        head, right = one.best(words)
        assert (row["layer"], row["head"], row["direction"]) == head
        assert (row["n"], row["accuracy"]) == (len(words), len(right) / len(words))
        assert row["is_whole"] == (row["run"] == whole)
        if row["run"] == whole:
            counts = [(len(control.best(words)[1]), name) for control, name in of_controls]
            most = max(count for count, _ in counts)
            assert row["control_accuracy"] == most / len(words)
            assert row["control_run"] == next(name for count, name in counts if count == most)
            assert row["excess"] == (len(right) - most) / len(words)
            assert (row["control_n"], row["control_seeds"]) == (row["n"], 2)
            counted += 1
    assert counted == len(order)


@pytest.mark.slow
def test_it_has_the_figures_of_the_analyses_of_one_run(bank: Bank) -> None:
    """Also of a causal model: the best head, and its test on the other half of the text."""
    rows = bank.query("leaderboard", min_count=1).to_dicts()
    for run in {row["run"] for row in rows}:
        mine = {row["relation"]: row for row in rows if row["run"] == run}
        best = bank.query("best_head", run=run, min_count=1)
        held_out = bank.query("best_head_held_out", run=run, min_count=1)
        names = [name for name in best.columns if name in rows[0]]
        assert len(names) == 14
        assert {row["relation"]: row for row in best.select(names).to_dicts()} == {
            relation: {name: row[name] for name in names} for relation, row in mine.items()
        }
        tested = [row for row in held_out.to_dicts() if row["p_value"] is not None]
        assert len(tested) >= 4
        for row in tested:
            told = mine[row["relation"]]
            assert told["held_out_accuracy"] == row["accuracy"]
            assert told["held_out_gain"] == row["gain"]
            assert (told["p_value"], told["p_corrected"]) == (row["p_value"], row["p_corrected"])
        (of_one,) = bank.query("best_head_test", run=run, relation="nsubj").to_dicts()
        assert of_one["held_out_p"] == mine["nsubj"]["p_value"] is not None


@pytest.mark.slow
def test_fewer_corpora_and_one_relation(bank: Bank) -> None:
    rows = bank.query("leaderboard")
    of_one = bank.query("leaderboard", relation="nsubj")
    assert of_one.equals(rows.filter(relation="nsubj")) and of_one.height == 3
    assert bank.query("leaderboard", corpora=["elsewhere"]).is_empty()
