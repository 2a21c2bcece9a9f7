"""Two runs compared, and a head's errors, against loops over the words."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from pathlib import Path

import bounds
import polars as pl
import pytest
from bank_rows import query_bank
from oracle_heads import Reading, mcnemar, mcnemar_better
from oracle_statistics import (
    corrected,
    documents_to_detect,
    interval,
    paired_interval,
    sign_flips,
)

from attnbank.queries import Bank, open_bank
from attnbank.sql.errors import CallError, QueryError


@pytest.fixture(scope="module")
def names(full_bank: Path) -> list[str]:
    """The runs over words of the whole sample, sentences first."""
    rows = query_bank(
        full_bank,
        "select name from run where unit = 'word' and subword = 'mean' and corpus = 2 order by id",
    )
    return [name for (name,) in rows]


@pytest.fixture(scope="module")
def bank(full_bank: Path) -> Iterator[Bank]:
    with open_bank(full_bank) as opened:
        yield opened


@pytest.fixture(scope="module")
def readings(full_bank: Path, names: list[str]) -> list[Reading]:
    return [Reading(full_bank, name) for name in names]


def test_two_runs_are_compared_on_the_words_of_both(
    bank: Bank, names: list[str], readings: list[Reading]
) -> None:
    asked = {"run_a": names[0], "run_b": names[1], "choose": "all"}
    rows = bank.query("compare_runs", **asked).to_dicts()
    frequent = bank.query("compare_runs", min_count=30, **asked).to_dicts()
    every = bank.query("compare_runs", min_count=1, **asked).to_dicts()
    # Which relations are shown does not change what is said of them.
    assert frequent == [row for row in rows if row["n"] >= 30] and len(frequent) < len(rows)
    assert rows == [row for row in every if row["n"] >= 10]
    assert {row["p_corrected"] for row in every if row["n"] < 10} == {None}
    assert len(rows) > 10 and rows[0]["relation"] == "all"
    one, other = readings
    differences: dict[Hashable, dict[int, int]] = {}
    for row in rows:
        both = set(one.dependents(row["relation"])) & set(other.dependents(row["relation"]))
        words = sorted(word for word in both if bool(one.head(word)) == bool(other.head(word)))
        (head_a, right_a), (head_b, right_b) = one.best(words), other.best(words)
        assert row["n"] == len(words) >= 10
        assert (row["layer_a"], row["head_a"], row["direction_a"]) == head_a
        assert (row["layer_b"], row["head_b"], row["direction_b"]) == head_b
        assert row["accuracy_a"] == len(right_a) / len(words)
        assert row["accuracy_b"] == len(right_b) / len(words)
        only_a, only_b = len(right_a - right_b), len(right_b - right_a)
        assert (row["only_a"], row["only_b"]) == (only_a, only_b)
        assert row["difference"] == (only_a - only_b) / len(words)
        pairs = _by_cluster(one, words, right_a, right_b)
        told = (row["difference_low"], row["difference_high"])
        assert told == pytest.approx(paired_interval([*pairs.values()]), abs=1e-3)
        angles = [2 * math.asin(row[f"accuracy_{side}"] ** 0.5) for side in "ab"]
        assert row["cohens_h"] == pytest.approx(angles[0] - angles[1], abs=1e-12)
        ahead = {cluster: only - other for cluster, (only, other, _) in pairs.items()}
        flips = min(sign_flips([*ahead.values()]), sign_flips([-each for each in ahead.values()]))
        assert row["p_value"] == pytest.approx(min(1.0, 2 * flips), rel=1e-14)
        assert row["p_value"] == row["p_documents"]
        assert row["p_corrected"] == row["p_documents_corrected"]
        assert (row["run_a"], row["run_b"]) == tuple(names)
        differences[row["relation"]] = ahead
    of_all = rows.pop(0)
    assert of_all["p_corrected"] == of_all["p_value"] and differences.pop("all")
    largest = corrected(differences, is_two_sided=True)
    for row in rows:
        wanted = max(row["p_value"], largest[row["relation"]])
        assert row["p_corrected"] == pytest.approx(wanted, rel=1e-12)


def _by_cluster(
    one: Reading, words: list[int], right: set[int], other: set[int]
) -> dict[int, tuple[int, int, int]]:
    """Of each document, what one has right alone, what the other has, and how many words it has."""
    counts = {one.cluster[word]: Counter[str]() for word in words}
    for word in words:
        counted = counts[one.cluster[word]]
        counted["n"] += 1
        counted["only"] += word in right - other
        counted["other"] += word in other - right
    return {
        cluster: (counted["only"], counted["other"], counted["n"])
        for cluster, counted in counts.items()
    }


def test_heads_chosen_on_one_half_are_compared_on_the_other(
    bank: Bank, names: list[str], readings: list[Reading]
) -> None:
    rows = bank.query("compare_runs", run_a=names[0], run_b=names[1], min_count=1).to_dicts()
    of_train = {"run_a": names[0], "run_b": names[1], "choose": "train"}
    assert bank.query("compare_runs", min_count=1, **of_train).is_empty()  # no split is train
    one, other = readings
    assert len(rows) > 10
    for row in rows:
        both = set(one.dependents(row["relation"])) & set(other.dependents(row["relation"]))
        words = sorted(word for word in both if bool(one.head(word)) == bool(other.head(word)))
        held_out = {word for word in words if one.cluster[word] % 2 == 0}
        for reading, side in ((one, "a"), (other, "b")):
            head, _ = reading.best([word for word in words if word not in held_out])
            assert (row[f"layer_{side}"], row[f"head_{side}"], row[f"direction_{side}"]) == head
            right = {
                word for word in held_out
                if reading.found[word][head] is not None
                and reading.found[word][head] == reading.head(word)
            }  # fmt: skip
            assert row[f"accuracy_{side}"] == len(right) / len(held_out)
        assert row["n"] == len(held_out)


def _bound(n: int) -> float:
    """How far off a p value of n pairs may be, relative to it.

    It is a sum of exponentials of three logarithms of factorials each, which are n ln n at most:
    sums of ten terms, and a series that ends at 1.3e-14.
    """
    size = max(1.0, n * math.log(n)) if n else 1.0
    return 4 * (size * bounds.sums(10) + 1.3e-14) + bounds.sums(n + 1)


def test_the_exact_test_is_mcnemars(bank: Bank) -> None:
    for one, other in [(0, 0), (1, 0), (5, 5), (3, 10), (62, 157), (300, 250), (0, 900)]:
        (found, better) = bank.sql(
            "select mcnemar($a, $b), mcnemar_better($a, $b)", {"a": one, "b": other}
        ).row(0)
        most = _bound(one + other)
        assert found == pytest.approx(mcnemar(one, other), rel=most, abs=1e-300)
        assert better == pytest.approx(mcnemar_better(one, other), rel=most, abs=1e-300)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["nsubj", "all"])
def test_every_head_against_the_best_offset(
    bank: Bank, names: list[str], readings: list[Reading], relation: str
) -> None:
    one = readings[0]
    words = one.dependents(relation)
    away = {
        word: one.place[head][1] - one.place[word][1]
        for word in words
        if (head := one.head(word)) is not None
    }
    tried = (1, -1, 2, -2, 3, -3)
    offset = max(
        sorted(tried, key=lambda k: (abs(k), k)),
        key=lambda k: sum(distance == k for distance in away.values()),
    )
    there = {word for word, distance in away.items() if distance == offset}
    rows = bank.query("head_score", relation=relation, run=names[0]).to_dicts()
    (best,) = bank.query("best_head", relation=relation, run=names[0]).to_dicts()
    for name in (
        "layer", "head", "direction", "n", "accuracy", "low", "high", "offset", "gain", "gain_low",
        "gain_high",
    ):  # fmt: skip
        assert rows[0][name] == best[name]
    heads = sorted(one.found[words[0]])
    differences: dict[Hashable, dict[int, int]] = {}
    assert sorted((row["layer"], row["head"], row["direction"]) for row in rows) == heads
    for row in rows:
        right = {
            word
            for word in words
            if (found := one.found[word][row["layer"], row["head"], row["direction"]]) is not None
            and found == one.head(word)
        }
        assert (row["n"], row["correct"]) == (len(words), len(right))
        assert (row["offset"], row["offset_accuracy"]) == (offset, len(there) / len(words))
        only_head, only_offset = len(right - there), len(there - right)
        assert (row["only_head"], row["only_offset"]) == (only_head, only_offset)
        pairs = _by_cluster(one, words, right, there)
        ahead = {cluster: only - other for cluster, (only, other, _) in pairs.items()}
        assert row["p_value"] == pytest.approx(sign_flips([*ahead.values()]), rel=1e-12)
        assert row["p_value"] == row["p_documents"]
        assert row["p_corrected"] == row["p_documents_corrected"]
        differences[row["layer"], row["head"], row["direction"]] = ahead
        ends = (row["gain_low"], row["gain_high"])
        assert ends == pytest.approx(paired_interval([*pairs.values()]), abs=1e-3)
        assert row["clusters_needed"] == documents_to_detect([*pairs.values()], 0.05)
        outcomes: dict[int, list[bool]] = defaultdict(list)
        for word in words:
            outcomes[one.cluster[word]].append(word in right)
        assert row["clusters"] == len(outcomes)
        told = interval(list(outcomes.values()))
        assert told == pytest.approx(
            (row["design_effect"], row["low"], row["high"]), rel=2e-3, abs=1e-12
        )
        assert row["ceiling"] == sum(one.head(word) is not None for word in words) / len(words)
    assert [row["correct"] for row in rows] == sorted((r["correct"] for r in rows), reverse=True)
    largest = corrected(differences)
    for row in rows:
        share = largest.get((row["layer"], row["head"], row["direction"]), 1.0)
        assert row["p_corrected"] == pytest.approx(max(row["p_value"], share), rel=1e-12)


@pytest.mark.slow
def test_a_run_is_compared_with_its_like_unless_another_is_named(
    bank: Bank, names: list[str]
) -> None:
    rows = bank.query("compare_runs", run_b=names[1])
    turned = bank.query("compare_runs", run_a=names[1], run_b=names[0])
    assert rows["run_a"].unique().to_list() == [names[0]] and turned.height == rows.height
    told = ["only_b", "only_a"], ["only_a", "only_b"]
    assert turned.select(told[0]).rows() == rows.select(told[1]).rows()
    for name in ("p_value", "p_documents", "p_corrected"):
        assert turned[name].to_list() == rows[name].to_list()
    alike = bank.query("compare_runs")
    assert alike["run_b"].unique().to_list() == ["sample/tiny/first"]
    with pytest.raises(QueryError, match=r"inputs of the same kind \(documents\)\. Name"):
        bank.query("compare_runs", run_a=names[1])


def test_a_run_that_cannot_be_compared_is_told(bank: Bank) -> None:
    with pytest.raises(QueryError, match="There is no other run press/tiny of words with"):
        bank.query("compare_runs", run_b="press/tiny")
    with pytest.raises(CallError, match="There is no run nonesuch in "):
        bank.query("compare_runs", run_b="nonesuch")


def test_a_run_alone_is_compared_with_nothing(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank:
        assert bank.query("compare_runs").is_empty()


@pytest.mark.usual(3)
@pytest.mark.parametrize("relation", [None, "nsubj", "det"])
def test_what_a_head_finds_instead(
    bank: Bank, names: list[str], readings: list[Reading], relation: str | None
) -> None:
    one = readings[0]
    for head, direction in (("1-2", "dependent_to_head"), ("2-1", "head_to_dependent")):
        found = bank.query(
            "head_error", run=names[0], head=head, direction=direction, relation=relation
        )
        layer, number = map(int, head.split("-"))
        words = [word for word in one.dependents(relation or "all") if one.head(word)]
        wrong = [
            (word, one.found[word][layer, number, direction])
            for word in words
            if one.found[word][layer, number, direction] != one.head(word)
        ]
        assert wrong and set(found["errors"]) == {len(wrong)}
        assert set(found["dependents"]) == {len(words)}
        relations, tags, distances = Counter[str](), Counter[str](), Counter[str]()
        for word, other in wrong:
            relations["none" if other is None else one.words[other].relation] += 1
            tags["none" if other is None else one.words[other].tag] += 1
            away = 0 if other is None else one.place[other][1] - one.place[word][1]
            distances[str(away) if away else "none"] += 1
        for breakdown, counted in (
            ("relation", relations), ("upos", tags), ("distance", distances),
        ):  # fmt: skip
            rows = found.filter(pl.col("breakdown") == breakdown)
            wanted = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
            assert rows.select("value", "n").rows() == wanted
            assert rows["share"].to_list() == [n / len(wrong) for _, n in wanted]


@pytest.mark.slow
def test_by_default_it_is_the_best_head(bank: Bank) -> None:
    (best,) = bank.query("best_head", relation="det").to_dicts()
    (rows,) = bank.query("head_error", relation="det").select(
        "layer", "head", "direction", "dependents", "errors"
    ).unique().to_dicts()  # fmt: skip
    assert [rows[each] for each in ("layer", "head", "direction")] == [
        best[each] for each in ("layer", "head", "direction")
    ]
    assert rows["dependents"] == best["n"]
    assert 1 - rows["errors"] / rows["dependents"] == pytest.approx(best["accuracy"], rel=1e-15)


@pytest.mark.usual(3)
@pytest.mark.parametrize("head", ["0-1", "99-1", "1", "1-1-1", "best", "1-1; drop table run"])
def test_a_head_that_there_is_not_is_told(bank: Bank, head: str) -> None:
    with pytest.raises(QueryError, match="There is no head"):
        bank.query("head_error", head=head)
