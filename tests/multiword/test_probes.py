"""Probes judge a position and the position of its head, once for each word that has it."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from multiword_cases import Case

from attnbank.ingest.derived.probes import ProbeOptions, train_probe

COUNTS = ("n", "correct", "edges", "found")


@pytest.mark.slow
def test_right_branching_is_the_next_position(case: Case, tmp_path: Path) -> None:
    """Over the last file, which is the split dev; no word follows the last one, which is a root."""
    bank = Path(shutil.copy(case.path, tmp_path / "bank.duckdb"))
    options = ProbeOptions(resamples=5, train_split=None, test_split="dev")
    train_probe(bank, "right_branching", 1, 1, options)
    counts: Counter[tuple[str, str]] = Counter()
    for arc in case.judged:
        if arc.word.is_punctuation or case.corpus.files[arc.word.sentence] != case.corpus.files[-1]:
            continue
        words = case.inputs[arc.input].word_positions
        following = dict(pairwise(words))
        is_correct = following.get(arc.position) == arc.gold
        for name in ("all", arc.relation):
            counts[name, "n"] += 1
            counts[name, "correct"] += is_correct
            governor = arc.word.governor
            if governor is not None and not case.corpus.words[governor].is_punctuation:
                is_found = is_correct or following.get(arc.gold or 0) == arc.position
                counts[name, "edges"] += 1
                counts[name, "found"] += is_found
    rows = replace(case, path=bank).query("probe_accuracy", relation=None)
    assert {
        row["relation"]: (
            row["n"],
            round(row["uas"] * row["n"]),
            row["edges"],
            round((row["uuas"] or 0) * row["edges"]),
        )
        for row in rows
    } == {name: tuple(counts[name, count] for count in COUNTS) for name, _ in counts}
