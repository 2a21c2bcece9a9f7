"""What a probe gets right is counted as by a slow count, and its interval is that of resampling."""

from __future__ import annotations

import bounds
import duckdb
import numpy as np
import oracle_probe as slow
import probe_tasks
import pytest

from attnbank.ingest.derived.probes.sentences import Sentences
from attnbank.ingest.derived.probes.training import compare_to_gold, right_branching, scores


def _flat(sentences: list[slow.Sentence], predictions: list[list[int]]) -> np.ndarray:
    """Slow predictions (ROOT or word k) as the package's candidates, one entry a position."""
    found = []
    for sentence, predicted in zip(sentences, predictions, strict=True):
        row = [-1] * len(sentence.maps[0])
        for place, head in zip(sentence.words, predicted, strict=True):
            row[place] = 0 if head == 0 else sentence.words[head - 1] + 1
        found += row
    return np.array(found)


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
    flat_gold = np.concatenate([np.array(row) for row in gold])
    start = np.concatenate([[0], np.cumsum(lengths)])
    is_scored = flat_words & ~is_punctuation[flat_relation]
    head = np.repeat(start[:-1], lengths) + flat_gold - 1
    return Sentences(
        sequence=np.arange(len(heads)),
        cluster=np.zeros(len(heads), dtype=np.int64),
        start=start,
        is_word=flat_words,
        opens=np.concatenate([[True] + [False] * (length - 1) for length in lengths]),
        closes=np.concatenate([[False] * (length - 1) + [True] for length in lengths]),
        gold=flat_gold[None],
        relation=flat_relation[None],
        is_scored=is_scored[None],
        is_head_scored=((flat_gold > 0) & is_scored[head])[None],
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
    frame = scores(sentences, predicted, 10, np.random.default_rng(0))
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
    frame = scores(sentences, sentences.gold[0], 5, np.random.default_rng(0))
    assert frame.select("relation", "n", "correct", "edges").rows() == [
        ("all", 1, 1, 0), ("dep", 1, 1, 0),
    ]  # fmt: skip


def test_counts_equal_the_slow_ones(reading: duckdb.DuckDBPyConnection) -> None:
    task = probe_tasks.task(reading, "attention")
    sentences = probe_tasks.slow_sentences(reading, probe_tasks.TEST)
    rng = np.random.default_rng(0)
    guesses = [
        [head if rng.random() < 0.4 else int(rng.integers(len(sentence.heads) + 1))
         for head in sentence.heads]
        for sentence in sentences
    ]  # fmt: skip
    frame = scores(task.test.sentences, _flat(sentences, guesses), 3, rng)
    found = {row[0]: row[1:] for row in frame.select(
        "relation", "n", "correct", "edges", "found").rows()}  # fmt: skip
    assert found == slow.counts(sentences, guesses)
    assert len(found) > 10


def test_right_branching_is_the_next_word(reading: duckdb.DuckDBPyConnection) -> None:
    task = probe_tasks.task(reading, "attention")
    sentences = probe_tasks.slow_sentences(reading, probe_tasks.TEST)
    chains = [[*range(2, len(sentence.heads) + 1), 0] for sentence in sentences]
    found = right_branching(task.test.sentences)
    is_word = task.test.sentences.is_word
    assert found[is_word].tolist() == _flat(sentences, chains)[is_word].tolist()


def test_intervals_are_percentiles_over_resampled_documents(
    reading: duckdb.DuckDBPyConnection,
) -> None:
    task = probe_tasks.task(reading, "attention")
    sentences = task.test.sentences
    is_correct, is_edge, is_found = compare_to_gold(sentences, right_branching(sentences))
    frame = scores(sentences, right_branching(sentences), 120, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    document = dict(reading.execute("select id, document from sequence").fetchall())
    documents = list(dict.fromkeys(document[each] for each in sentences.sequence.tolist()))
    count = len(documents)
    assert 1 < count < len(sentences.sequence)
    drawn = np.concatenate(
        [rng.multinomial(count, [1 / count] * count, size=size) for size in (50, 50, 20)]
    )
    spans = list(zip(sentences.start, sentences.start[1:], strict=False))
    shares, undirected = [], []
    for times in drawn:
        n = correct = edges = found = 0
        for number, (begin, end) in zip(sentences.sequence.tolist(), spans, strict=True):
            repeats = times[documents.index(document[number])]
            n += repeats * sentences.is_scored[0, begin:end].sum()
            correct += repeats * is_correct[0, begin:end].sum()
            edges += repeats * is_edge[0, begin:end].sum()
            found += repeats * is_found[0, begin:end].sum()
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
    alone = 0
    for each in frame[1:].iter_rows(named=True):
        is_of = sentences.relation == sentences.relations.index(each["relation"])
        counted = (sentences.is_scored & is_of)[0]
        of = [
            document[number]
            for number, (begin, end) in zip(sentences.sequence.tolist(), spans, strict=True)
            if counted[begin:end].any()
        ]
        if len({*of}) == 1:
            alone += 1
            assert each["uas_low"] is each["uas_high"] is None
        else:
            assert each["uas_low"] <= each["uas"] <= each["uas_high"]
    assert alone > 0
