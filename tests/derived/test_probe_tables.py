"""What a probe learnt is in its tables: whoever reads them finds the heads that it found."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import oracle_probe as slow
import pytest
import toy_attention as toy
from bank_rows import change_bank, query_bank

from attnbank.ingest.derived.probes import KINDS, ProbeOptions, train_probe
from attnbank.sql.bank.opening import open_to_read

TRAIN, TEST = "stories/model", "press/model"


@pytest.fixture
def bank(tmp_path: Path, probe_bank: Path) -> Path:
    """A copy of the bank of two runs, to be written to."""
    return Path(shutil.copy(probe_bank, tmp_path))


def _rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    return query_bank(path, statement)


def _uas_from_tables(path: Path, probe: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """(n, correct, edges, found) by relation: of the tables of a probe, and as it was scored."""
    with open_to_read(path) as connection, connection.cursor() as cursor:
        run, heads = cursor.execute(
            "select run.id, model.heads from probe inner join run on run.id = probe.test_run"
            " inner join model on model.id = run.model where probe.id = ?",
            [probe],
        ).fetchall()[0]
        sentences = slow.read(cursor, run, heads)
        learnt = slow.stored(cursor, probe, heads)
        predicted = []
        for sentence in sentences:
            nothing = np.zeros((len(sentence.words), 1))
            logits = slow.logits("attention", sentence, nothing, learnt, published=False)
            predicted.append([int(head) for head in logits.argmax(1)])
        scored = cursor.execute(
            "select relation, n, correct, edges, found from probe_score where probe = ?", [probe]
        ).fetchall()
    return slow.counts(sentences, predicted), {row[0]: row[1:] for row in scored}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_probe_can_be_run_again_from_its_tables_alone(bank: Path, seed: int) -> None:
    options = ProbeOptions(epochs=8, learning_rate=0.05, resamples=1, seed=seed)
    report = train_probe(bank, "attention", TRAIN, TEST, options)
    found, scored = _uas_from_tables(bank, report.probe)
    assert found == scored
    assert 0 < found["root"][1] < found["root"][0]  # the special tokens decide, and not always


@pytest.mark.slow
def test_what_a_probe_stores_of_root(bank: Path, probe_bank: Path) -> None:
    for kind in KINDS:
        options = ProbeOptions(epochs=2, resamples=1, model=str(probe_bank.parent / "model"))
        train_probe(bank, kind, TRAIN, TEST, options)
    rows = _rows(bank, "select kind, opens, closes from probe")
    stored = {kind: (opens, closes) for kind, opens, closes in rows}
    for kind in KINDS:
        reads_attention = kind in ("attention", "attention_words")
        assert all((each is not None) == reads_attention for each in stored[kind])
    assert 1.0 not in stored["attention"]  # as they begin


def test_weights_are_kept_where_no_dependency_is(tmp_path: Path) -> None:
    """Of words that are roots or punctuation there is no mean of weights, but there are weights."""
    path = toy.make_bank(tmp_path / "toy.duckdb", {"train": 10, "test": 5}, toy.follow_heads)
    change_bank(
        path,
        "update word set deprel = 'punct' where head_index > 0 and sentence in"
        " (select sentence from sequence where run = 2)",
    )
    report = train_probe(path, "attention", "train", "test", ProbeOptions(epochs=2, resamples=1))
    weights = _rows(path, "select weight, contribution from probe_weight")
    assert all(weight != 0 and contribution == 0 for weight, contribution in weights)
    found, scored = _uas_from_tables(path, report.probe)
    assert found == scored
