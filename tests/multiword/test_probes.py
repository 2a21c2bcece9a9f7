"""Probes judge a position and the position of its head, once for each word that has it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from multiword import probes
from multiword_cases import Case

from attnbank.ingest.derived.probes import ProbeOptions, train_probe

Rows = dict[str, tuple[int, int, int, int]]


def _trained(case: Case, folder: Path, kind: str) -> tuple[Case, Rows]:
    """A copy of the bank with a probe, and (n, correct, edges, found) of its rows."""
    bank = folder / "bank.duckdb"
    shutil.copy(case.path, bank)
    train = None if kind == "right_branching" else "train"
    options = ProbeOptions(epochs=2, resamples=5, train_split=train, test_split="dev")
    train_probe(bank, kind, 1, 1, options)
    copy = replace(case, path=bank)
    rows = copy.query("probe_accuracy", relation=None)
    return copy, {
        row["relation"]: (
            row["n"],
            round(row["uas"] * row["n"]),
            row["edges"],
            round((row["uuas"] or 0) * row["edges"]),
        )
        for row in rows
    }


def _expected(case: Case, predict: probes.Predict) -> Rows:
    """The same rows by loops, over the last file, which is the split dev."""
    files = case.corpus.files
    judged = [arc for arc in case.judged if files[arc.word.sentence] == files[-1]]
    return probes.scores(case.corpus, case.inputs, judged, predict)


@pytest.mark.slow
def test_right_branching_is_the_next_position(case: Case, tmp_path: Path) -> None:
    _, found = _trained(case, tmp_path, "right_branching")
    assert found == _expected(case, probes.right_branching)


@pytest.mark.slow
def test_what_a_trained_probe_finds(chosen: Case, tmp_path: Path) -> None:
    copy, found = _trained(chosen, tmp_path, "attention")
    layers, heads = chosen.inputs[0].maps.shape[:2]
    weights = np.full((2, layers, heads), np.nan)
    for direction, layer, head, weight in copy.rows(
        "select direction, layer, head, weight from probe_weight"
    ):
        weights[int(direction == "head_to_dependent"), layer - 1, head - 1] = weight
    assert not np.isnan(weights).any()
    opens, closes = copy.rows("select opens, closes from probe")[0]
    expected = _expected(chosen, probes.attention(weights, opens, closes))
    assert {name: (n, edges) for name, (n, _, edges, _) in found.items()} == {
        name: (n, edges) for name, (n, _, edges, _) in expected.items()
    }
    # The probe adds in float32: of a thousand examples one may be a near tie.
    total = expected["all"]
    assert found["all"][1] == pytest.approx(total[1], abs=total[0] / 1000)
    assert found["all"][3] == pytest.approx(total[3], abs=total[0] / 1000)
