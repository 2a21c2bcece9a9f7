"""Analyses over many corpora, against loops over the words of each."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bounds
import pytest
from bank_factory import BankFactory
from oracle_heads import Head, Reading

from attnbank.queries import Bank, open_bank

CORPORA = ("letters_and_notices", "press", "stories")
RELATION = "nsubj"
WITHIN = bounds.sums(len(CORPORA))


@pytest.fixture(scope="module")
def path(bank_of: BankFactory) -> Path:
    """Three corpora under one model, with random weights of two seeds, and under another one."""
    ingests: list[tuple[str, str, dict[str, Any]]] = []
    for name in CORPORA:
        ingests.append((name, "electra", {}))
        ingests += [(name, "bert", {"random_weights": seed}) for seed in (5, 2)]
    ingests += [(name, "bert", {"language": "en"}) for name in CORPORA]
    return bank_of.in_turn(*ingests)


@pytest.fixture(scope="module")
def bank(path: Path) -> Bank:
    return open_bank(path)


@pytest.fixture(scope="module")
def runs(bank: Bank) -> dict[str, list[str]]:
    """The runs by model, in the order of the corpora."""
    rows = bank.sql("select name, model from run order by corpus, id").rows()
    by_model: dict[int, list[str]] = {}
    for name, model in rows:
        by_model.setdefault(model, []).append(name)
    names = ("other", "control", "second control", "own")
    return {name: by_model[number] for name, number in zip(names, sorted(by_model), strict=True)}


def _accuracies(path: Path, run: str, relation: str = RELATION) -> tuple[dict[Head, float], int]:
    """The accuracy of each head and direction in a run, and how many dependents there are."""
    reading = Reading(path, run)
    words = reading.dependents(relation)
    right: dict[Head, int] = {}
    for word in words:
        for head, found in reading.found[word].items():
            is_right = found is not None and found == reading.head(word)
            right[head] = right.get(head, 0) + is_right
    return {head: count / len(words) for head, count in right.items()}, len(words)


def _best(accuracy: dict[Head, float]) -> Head:
    return min(accuracy, key=lambda head: (-round(accuracy[head], 12), head))


def _mean(rows: list[dict[Head, float]]) -> dict[Head, float]:
    return {head: sum(row[head] for row in rows) / len(rows) for head in rows[0]}


@pytest.mark.slow
def test_each_corpus_beside_the_head_of_all(
    path: Path, bank: Bank, runs: dict[str, list[str]]
) -> None:
    rows = bank.query("relation_by_corpus", relation=RELATION, min_count=1).to_dicts()
    scored = [_accuracies(path, run) for run in runs["own"]]
    common = _best(_mean([accuracy for accuracy, _ in scored]))
    assert [row["corpus"] for row in rows] == list(CORPORA)
    assert [row["run"] for row in rows] == runs["own"]
    for row, (accuracy, n) in zip(rows, scored, strict=True):
        best = _best(accuracy)
        assert (row["layer"], row["head"], row["direction"]) == best
        assert (row["n"], row["accuracy"], row["language"]) == (n, accuracy[best], "en")
        assert row["low"] < row["accuracy"] < row["high"]
        assert (row["common_layer"], row["common_head"], row["common_direction"]) == common
        assert row["common_accuracy"] == accuracy[common]
        offsets = bank.query("offset_baseline", relation=RELATION, run=row["run"])
        assert row["offset_accuracy"] == offsets["accuracy"].max()


@pytest.mark.slow
def test_a_universal_head_is_judged_where_it_was_not_chosen(
    path: Path, bank: Bank, runs: dict[str, list[str]]
) -> None:
    rows = bank.query("universal_head", relation=RELATION).to_dicts()
    scored = [_accuracies(path, run)[0] for run in runs["own"]]
    best_offset = [
        max(bank.query("offset_baseline", relation=RELATION, run=run)["accuracy"].to_list())
        for run in runs["own"]
    ]
    chosen = [
        _best(_mean([each for other, each in enumerate(scored) if other != at]))
        for at in range(len(scored))
    ]
    mean = _mean(scored)
    assert [(row["layer"], row["head"], row["direction"]) for row in rows] == sorted(
        mean, key=lambda head: (-round(mean[head], 12), head)
    )
    for row in rows:
        head = row["layer"], row["head"], row["direction"]
        own = [each[head] for each in scored]
        assert row["corpora"] == 3
        assert row["accuracy"] == pytest.approx(mean[head], rel=WITHIN)
        assert row["lowest"] == min(own)
        gains = [a - b for a, b in zip(own, best_offset, strict=True)]
        assert row["gain"] == pytest.approx(sum(gains) / 3, abs=WITHIN)
        better = [sum(other > each[head] for other in each.values()) for each in scored]
        assert row["among_three"] == sum(count < 3 for count in better)
        left_out = [each[head] for each, who in zip(scored, chosen, strict=True) if who == head]
        assert row["chosen_by"] == len(left_out)
        if left_out:
            wanted = pytest.approx(sum(left_out) / len(left_out), rel=WITHIN)
            assert row["held_out_accuracy"] == wanted
        else:
            assert row["held_out_accuracy"] is None
    assert sum(row["chosen_by"] for row in rows) == 3


def _ranks(values: dict[Head, float]) -> list[float]:
    """The rank of each value, in the order of the heads; equals share the mean of theirs."""
    found = []
    for head in sorted(values):
        below = sum(other < values[head] for other in values.values())
        equal = sum(other == values[head] for other in values.values())
        found.append(below + (equal + 1) / 2)
    return found


def _spearman(one: dict[Head, float], other: dict[Head, float]) -> float:
    a, b = _ranks(one), _ranks(other)
    mean = (len(a) + 1) / 2
    product = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    squares = [sum((x - mean) ** 2 for x in each) for each in (a, b)]
    return product / math.sqrt(squares[0] * squares[1])


@pytest.mark.slow
@pytest.mark.parametrize("relation", [None, RELATION])
def test_agreement_is_the_correlation_of_ranks(
    path: Path, bank: Bank, runs: dict[str, list[str]], relation: str | None
) -> None:
    rows = bank.query("head_agreement", relation=relation).to_dicts()
    scored = {
        kind: [_accuracies(path, run, relation or "all")[0] for run in runs[kind]]
        for kind in ("own", "control", "second control")
    }
    within = bounds.sums(len(scored["own"][0]) + 4)  # the terms, and the roots and the quotient
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert [(row["corpus_a"], row["corpus_b"]) for row in rows] == [
        (CORPORA[a], CORPORA[b]) for a, b in pairs
    ]
    for row, (a, b) in zip(rows, pairs, strict=True):
        own, *controls = (_spearman(each[a], each[b]) for each in scored.values())
        assert row["agreement"] == pytest.approx(own, abs=within)
        assert row["distance"] == pytest.approx(1 - own, abs=within)
        assert row["control"] == pytest.approx(sum(controls) / 2, abs=within)
        assert row["control_low"] == pytest.approx(min(controls), abs=within)
        assert row["control_high"] == pytest.approx(max(controls), abs=within)
        assert row["control_seeds"] == 2
        assert (row["relation"], row["heads"]) == (relation or "all", len(scored["own"][0]))


@pytest.mark.slow
def test_another_model_or_fewer_corpora_can_be_asked_for(
    bank: Bank, runs: dict[str, list[str]]
) -> None:
    rows = bank.query("relation_by_corpus", relation=RELATION, run=runs["other"][1], min_count=1)
    assert rows["run"].to_list() == runs["other"]
    asked = ["press", "stories"]
    rows = bank.query("relation_by_corpus", relation=RELATION, corpora=asked, min_count=1)
    assert rows["corpus"].to_list() == asked
    assert bank.query("head_agreement", corpora=asked)["corpus_b"].to_list() == ["stories"]
    one = bank.query("universal_head", corpora=["press"])
    assert one["chosen_by"].sum() == 0 and one["corpora"].unique().to_list() == [1]
