"""What a head finds best is what its accuracies and the offsets say, put together slowly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import new_banks
import pytest

from attnbank.ingest import IngestOptions, ingest
from attnbank.queries import open_bank

SIDES = {
    "dependent_to_head": ("both", "left"),
    "head_to_dependent": ("both", "right"),
    "later_to_earlier": ("either",),
}
"""The dependents whose offsets a direction is judged beside; of a causal model the second."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_every_gain(
    kind: str, tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    path = new_banks.put(tmp_path / "bank.duckdb")
    ingest(IngestOptions((str(sample / "stories.conllu"),), path, str(tiny_model(kind))))
    with open_bank(path) as bank:
        scores = bank.query("head_accuracy").rows(named=True)
        offsets = bank.query("offset_baseline").rows(named=True)
        every = bank.query("best_relation", most=1000, min_count=5).rows(named=True)
        best = bank.query("best_relation", min_count=5).rows(named=True)
    gains: dict[tuple[int, int], list[tuple[Fraction, str, str]]] = {}
    for row in scores:
        if row["n"] < 5 or row["relation"] == "all":
            continue
        beside = [
            Fraction(each["correct"], each["n"])
            for each in offsets
            if each["relation"] == row["relation"] and each["side"] in SIDES[row["direction"]]
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
    assert (len(best), len({row["direction"] for row in every})) == (12, 3 if kind == "gpt2" else 2)
