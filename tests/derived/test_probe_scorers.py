"""The scores of a probe and its loss equal slow ones written apart."""

from __future__ import annotations

import bounds
import duckdb
import numpy as np
import oracle_probe as slow
import probe_tasks
import pytest
import torch
from torch import nn

from attnbank.ingest.derived.probes import tasks
from attnbank.ingest.derived.probes.tasks import Batches, ProbeBatch, Task
from attnbank.ingest.derived.probes.training import (
    AttentionWordsScorer,
    HeadScorer,
    HeadWeights,
    loss_of,
)

WITHIN = 10 * bounds.sums(5000)
"""Scores in float64 on either side, of 24 maps by 66 entries of vectors at most, and sums of them
over words. Their terms have both signs, so the sums are up to ten times smaller than the terms."""

STEP = 1e-4


def _parameters(kind: str, scorer: nn.Module) -> slow.Parameters:
    """The parameters of a scorer as the slow implementation has them."""
    p = {name: value.detach().numpy() for name, value in scorer.named_parameters()}
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


def _slow_vectors(task: Task, sentences: list[slow.Sentence]) -> list[np.ndarray]:
    """The vectors of each sentence: the task's, looked up by the pieces of a word."""
    if task.vectors is None:
        return [np.zeros((len(sentence.words), 1)) for sentence in sentences]
    row_of = dict(zip(task.test.sentences.pieces.to_pylist(), task.test.vector, strict=True))
    return [
        np.stack([task.vectors[row_of["\x1f".join(pieces)]] for pieces in sentence.pieces]).astype(
            np.float64
        )
        for sentence in sentences
    ]


@pytest.mark.parametrize("root_at", ["root", "published"])
@pytest.mark.parametrize("kind", probe_tasks.LEARNING)
def test_scores_and_loss_equal_the_slow_ones(
    reading: duckdb.DuckDBPyConnection, kind: str, root_at: str
) -> None:
    task = probe_tasks.task(reading, kind, root_at)
    scorer = probe_tasks.random_scorer(task)
    sentences = probe_tasks.slow_sentences(reading, probe_tasks.TEST)
    vectors = _slow_vectors(task, sentences)
    every = np.arange(len(sentences))
    at = 0
    for batch in Batches(reading, task, task.test, every, probe_tasks.CPU):
        loss, scores = loss_of(scorer, probe_tasks.double(batch))
        expected_loss = 0.0
        for row in scores.detach().numpy():
            expected = slow.logits(
                kind, sentences[at], vectors[at], _parameters(kind, scorer),
                published=root_at == "published",
            )  # fmt: skip
            words = np.array(sentences[at].words)
            own = row[np.ix_(words, np.concatenate([[0], words + 1]))]
            largest = np.abs(expected[np.isfinite(expected)]).max()
            np.testing.assert_allclose(own, expected, rtol=0, atol=WITHIN * largest)
            expected_loss += slow.loss(expected, sentences[at].heads)
            at += 1
        assert float(loss.detach()) == pytest.approx(expected_loss, rel=WITHIN)
    assert at == len(sentences) == 10


@pytest.mark.parametrize("kind", probe_tasks.LEARNING)
def test_gradients_are_slopes_of_the_loss(reading: duckdb.DuckDBPyConnection, kind: str) -> None:
    """Of each parameter in a random direction."""
    task = probe_tasks.task(reading, kind)
    scorer = probe_tasks.random_scorer(task)
    (batch, *_) = Batches(reading, task, task.test, np.arange(4), probe_tasks.CPU)

    def loss() -> torch.Tensor:
        total: torch.Tensor = loss_of(scorer, probe_tasks.double(batch))[0]
        return total

    loss().backward()  # type: ignore[no-untyped-call]
    generator = torch.Generator().manual_seed(2)
    for name, parameter in scorer.named_parameters():
        assert parameter.grad is not None
        step = STEP * torch.randn(parameter.shape, generator=generator, dtype=torch.double)
        with torch.no_grad():
            above = (parameter.add_(step), float(loss()))[1]
            below = (parameter.sub_(2 * step), float(loss()))[1]
            parameter.add_(step)
        slope = float((parameter.grad * step).sum())
        assert slope == pytest.approx((above - below) / 2, rel=1e-5), name


@pytest.mark.usual(3)
@pytest.mark.parametrize("root_at", ["root", "published"])
@pytest.mark.parametrize("kind", ["attention", "attention_words"])
def test_weights_of_the_heads_equal_the_slow_ones(
    reading: duckdb.DuckDBPyConnection, kind: str, root_at: str
) -> None:
    task = probe_tasks.task(reading, kind, root_at)
    scorer = probe_tasks.random_scorer(task)
    assert isinstance(scorer, HeadScorer)
    sentences = probe_tasks.slow_sentences(reading, probe_tasks.TEST)
    gathered = HeadWeights(task.test, scorer)
    with torch.no_grad():
        every = np.arange(len(sentences))
        for batch in Batches(reading, task, task.test, every, probe_tasks.CPU):
            gathered.add_batch(probe_tasks.double(batch))
    weight, contribution = slow.head_weights(
        kind, sentences, _slow_vectors(task, sentences), _parameters(kind, scorer),
        published=root_at == "published",
    )  # fmt: skip
    rows = gathered.to_frame()
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
    words = torch.tensor([[False, True, True, True, False]])
    batch = ProbeBatch(
        entry=torch.arange(5)[None],
        is_word=words,
        opens=torch.tensor([[1.0, 0, 0, 0, 0]]),
        closes=torch.tensor([[0, 0, 0, 0, 1.0]]),
        gold=torch.tensor([[[-1, 0, 0, 0, -1]]]),
        position=torch.arange(5)[None],
        words=torch.tensor([3.0]),
        vector=torch.tensor([[0, 1, 2, 3, 0]]),
        attention=torch.ones(1, 5, 5, 1),
    )
    vectors = torch.tensor([[0.0], [2], [3], [5]])
    scores = {}
    for root_at in ("root", "published"):
        scorer = AttentionWordsScorer(1, vectors, root_at)
        with torch.no_grad():
            scorer.dependent[:, 0] = 100
            scorer.candidate[:, 0] = 10
            scorer.closes.fill_(0)
            scores[root_at] = scorer(batch)[0, 1:4][:, [0, 2, 3, 4]].tolist()
    none = -float("inf")
    # ROOT, then the words: the candidate's own vector.
    assert scores["root"] == [
        [200, none, 230, 250],
        [300, 320, none, 350],
        [500, 520, 530, none],
    ]
    # ROOT has the first word's, each word that of the next, the last word nothing at all.
    assert scores["published"] == [
        [220, none, 250, 0],
        [320, 330, none, 0],
        [520, 530, 550, none],
    ]


def test_long_sentences_go_in_smaller_batches(
    reading: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "CELLS_AT_ONCE", 12 * 800)
    task = probe_tasks.task(reading, "attention")
    every = np.arange(len(task.test.sentences.sequence))
    made = list(Batches(reading, task, task.test, every, probe_tasks.CPU))
    sizes = [batch.is_word.shape for batch in made]
    assert all(count == 1 or count * longest**2 <= 800 for count, longest in sizes)
    assert any(count == 1 for count, _ in sizes) and any(count > 1 for count, _ in sizes)
    entries = np.concatenate([batch.entry[batch.entry >= 0].numpy() for batch in made])
    assert entries.tolist() == list(range(task.test.sentences.start[-1]))
