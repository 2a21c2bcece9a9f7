"""What a head finds best is what its accuracies and the offsets say, put together slowly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import pytest
from bank_factory import BankFactory
from oracle_statistics import corrected, interval, sign_flips

from attnbank.queries import open_bank

SIDES = {
    "dependent_to_head": ("both", "left"),
    "head_to_dependent": ("both", "right"),
    "later_to_earlier": ("either",),
}
"""The dependents whose offsets a direction is judged beside; of a causal model the second."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_every_gain(kind: str, bank_of: BankFactory) -> None:
    with open_bank(bank_of("stories", kind)) as bank:
        scores = bank.query("head_accuracy").rows(named=True)
        offsets = bank.query("offset_baseline").rows(named=True)
        every = bank.query("best_relation", most=1000, min_count=5).rows(named=True)
        best = bank.query("best_relation", min_count=5).rows(named=True)
        of_subjects = bank.query("head_score", relation="nsubj").to_dicts()
    gains: dict[tuple[int, int], list[tuple[Fraction, str, str]]] = {}
    for row in scores:
        if row["n"] < 5 or row["relation"] == "all":
            continue
        beside = [
            Fraction(offset["correct"], offset["n"])
            for offset in offsets
            if offset["relation"] == row["relation"] and offset["side"] in SIDES[row["direction"]]
        ]
        gain = Fraction(row["correct"], row["n"]) - max(beside)
        found = (gain, row["relation"], row["direction"])
        gains.setdefault((row["layer"], row["head"]), []).append(found)
    for rows in gains.values():
        rows.sort(key=lambda row: (-row[0], *row[1:]))
    told: dict[tuple[int, int], list[tuple[float, str, str]]] = {}
    for row in every:
        named = (row["gain"], row["relation"], row["direction"])
        told.setdefault((row["layer"], row["head"]), []).append(named)
        assert row["rank"] == len(told[row["layer"], row["head"]])
    assert told == {
        head: [(float(gain), *names) for gain, *names in rows] for head, rows in gains.items()
    }
    assert {(row["layer"], row["head"]): row["relation"] for row in best} == {
        head: rows[0][1] for head, rows in gains.items()
    }
    named = ("layer", "head", "direction")
    intervals = {
        tuple(row[key] for key in named): (row["low"], row["high"])
        for row in of_subjects
        if row["n"] >= 5
    }
    assert len(intervals) > 20 and intervals == {
        tuple(row[key] for key in named): (row["low"], row["high"])
        for row in every
        if row["relation"] == "nsubj"
    }
    assert (len(best), len({row["direction"] for row in every})) == (12, 3 if kind == "gpt2" else 2)


@pytest.mark.slow
@pytest.mark.few("True-bert", "False-gpt2")
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize("clamped", [False, True])
def test_every_p_value_is_that_of_the_pairs(kind: str, clamped: bool, bank_of: BankFactory) -> None:
    """Counted apart, dependent by dependent; sign flips and the largest statistic in NumPy."""
    with open_bank(bank_of("stories", kind)) as bank:
        told = bank.query("best_relation", most=1000, min_count=1, clamped=clamped).to_dicts()
        gold = bank.query("gold_dependency").to_dicts()
        peaks = bank.sql(
            "select sequence, position, layer, head, most_attended, most_attending from peak"
        ).rows()
        ends = bank.sql(
            "select sequence, max(position) from position where word is not null group by sequence"
        ).rows()
    last, found = dict(ends), {tuple(row[:4]): row[4:] for row in peaks}
    tried = [row for row in told if row["n"] >= 10]
    assert {row["tried"] for row in told} == {len(tried)} and 0 < len(tried) < len(told)
    differences: dict[Hashable, Counter[int]] = {}
    for row in told:
        ahead, outcomes = Counter[int](), defaultdict[int, list[bool]](list)
        for pair in gold:
            if pair["relation"] != row["relation"] or pair["is_root"] or pair["side"] is None:
                continue
            place, head_place, offset = pair["position"], pair["head_position"], row["offset"]
            attended, attending = found[pair["sequence"], place, row["layer"], row["head"]]
            if row["direction"] == "later_to_earlier":
                looked, by_offset = (
                    attended if pair["side"] == "left" else attending,
                    abs(head_place - place) == -offset,
                )
            elif pair["side"] not in SIDES[row["direction"]]:
                continue
            else:
                looked = attended if row["direction"] == "dependent_to_head" else attending
                guess = place + offset
                by_offset = (min(guess, last[pair["sequence"]]) if clamped else guess) == head_place
            outcomes[pair["cluster"]].append(looked == head_place)
            ahead[pair["cluster"]] += (looked == head_place) - by_offset
        n = sum(map(len, outcomes.values()))
        assert n == row["n"]
        if row["rank"] == 1:
            own_ends = interval([*outcomes.values()])
            told_ends = (row["low"], row["high"])
            wanted_ends = (None, None) if own_ends is None else own_ends[1:]
            assert told_ends == pytest.approx(wanted_ends, abs=2e-3)
        assert len(ahead) >= 5 or row["p_value"] is None
        if len(ahead) >= 5:
            assert row["p_value"] == pytest.approx(sign_flips([*ahead.values()]), rel=1e-12)
        assert ahead.total() == pytest.approx(row["gain"] * n, abs=1e-6)
        if row["n"] >= 10:
            differences[_name(row)] = ahead
    largest = corrected(differences)
    for row in told:
        if row["p_value"] is None or row["n"] < 10:
            assert row["p_corrected"] is None
        else:
            wanted = max(row["p_value"], largest.get(_name(row), 1.0))
            assert row["p_corrected"] == pytest.approx(wanted, rel=1e-12)


def _name(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["layer"], row["head"], row["direction"], row["relation"]
