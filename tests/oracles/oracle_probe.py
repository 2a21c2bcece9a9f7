"""Probes the slow, obvious way: one sentence, one pair of words, one map at a time, in float64.

It was written apart from the package, and shares nothing with it: rows are fetched by plain SQL,
and word pairs are laid out one by one as in the paper's formulas (section 5). The candidates of a
word are ROOT (0) and the words 1 to n, without the word itself.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

Parameters = dict[str, np.ndarray]


@dataclass
class Sentence:
    """Words with their heads, and maps [K, P, P] over all positions.

    `words`, `opens` and `closes` are the positions of words, of [CLS] and of other special tokens.
    """

    id: int
    document: int
    forms: list[str]
    pieces: list[list[str]]
    heads: list[int]
    relations: list[str]
    maps: np.ndarray
    words: list[int]
    opens: list[int]
    closes: list[int]


def read(connection: Any, run: int, heads: int) -> list[Sentence]:
    """The sentences of a run, by one query per sentence and table."""
    found = []
    sequences = connection.execute(
        "select id, document, positions from sequence where run = ? order by id", [run]
    ).fetchall()
    for id, document, positions in sequences:
        rows = connection.execute(
            "select p.position, p.kind, w.form, p.pieces, w.head_index, w.deprel from position p"
            " left join word w on w.id = p.word where p.sequence = ? order by p.position",
            [id],
        ).fetchall()
        attention = connection.execute(
            "select layer, head, from_position, weights from attention where sequence = ?", [id]
        ).fetchall()
        number = max(row[0] for row in attention) * heads
        maps = np.full((number, positions, positions), np.nan)
        for layer, head, place, weights in attention:
            maps[(layer - 1) * heads + head - 1, place] = weights
        assert not np.isnan(maps).any()
        words = [row for row in rows if row[1] == "word"]
        found.append(
            Sentence(
                id=id,
                document=document,
                forms=[row[2] for row in words],
                pieces=[row[3] for row in words],
                heads=[row[4] for row in words],
                relations=[row[5].split(":")[0] for row in words],
                maps=maps,
                words=[row[0] for row in words],
                opens=[row[0] for row in rows if row[1] == "cls"],
                closes=[row[0] for row in rows if row[1] in ("sep", "special")],
            )
        )
    return found


def features(sentence: Sentence, opens: float, closes: float) -> np.ndarray:
    """The attention of each pair in the maps and their transposes, [n, 1 + n, 2 K], ROOT first."""
    n, number = len(sentence.words), len(sentence.maps)
    found = np.zeros((n, n + 1, 2 * number))
    for k in range(number):
        for direction, weights in ((0, sentence.maps[k]), (1, sentence.maps[k].T)):
            at = direction * number + k
            for i, dependent in enumerate(sentence.words):
                for special in sentence.opens:
                    found[i, 0, at] += opens * weights[dependent, special]
                for special in sentence.closes:
                    found[i, 0, at] += closes * weights[dependent, special]
                for j, candidate in enumerate(sentence.words):
                    found[i, j + 1, at] = weights[dependent, candidate]
    return found


def stored(connection: Any, probe: int, heads: int) -> Parameters:
    """The parameters of a probe of the kind attention: weights [2 K], opens, closes.

    They are read from the tables of the bank.
    """
    rows = connection.execute(
        "select direction, layer, head, weight from probe_weight where probe = ?", [probe]
    ).fetchall()
    number = len(rows) // 2
    weights = np.full(2 * number, np.nan)
    for direction, layer, head, weight in rows:
        at = (layer - 1) * heads + head - 1
        weights[at + number * (direction == "head_to_dependent")] = weight
    assert not np.isnan(weights).any()
    special = connection.execute("select opens, closes from probe where id = ?", [probe])
    opens, closes = special.fetchone()
    return {"weights": weights, "opens": np.array(opens), "closes": np.array(closes)}


def word_pairs(vectors: np.ndarray, *, published: bool) -> np.ndarray:
    """The two vectors of each pair, concatenated, [n, 1 + n, 2 D]; that of ROOT is zero."""
    n, size = vectors.shape
    found = np.zeros((n, n + 1, 2 * size))
    for i in range(n):
        for j in range(n):
            pair = np.concatenate([vectors[i], vectors[j]])
            if published:
                found[i, j] = pair  # as published: one place too far left, and the last stays zero
            else:
                found[i, j + 1] = pair
        if not published:
            found[i, 0] = np.concatenate([vectors[i], np.zeros(size)])
    return found


def distances(n: int) -> np.ndarray:
    """Seven numbers for each pair, [n, 1 + n, 7]; the last one is 1 for ROOT."""
    found = np.zeros((n, n + 1, 7))
    for i in range(n):
        found[i, 0, 6] = 1
        for j in range(n):
            offset = j - i
            if offset > 0:
                found[i, j + 1, 0] = offset / n
            if offset < 0:
                found[i, j + 1, 1] = -offset / n
            for at, near in ((2, 1), (3, -1), (4, 2), (5, -2)):
                if offset == near:
                    found[i, j + 1, at] = 1
    return found


def logits(
    kind: str, sentence: Sentence, vectors: np.ndarray, p: Parameters, *, published: bool
) -> np.ndarray:
    """Scores [n, 1 + n] of the candidates of each word; -inf for the word itself."""
    n = len(sentence.words)
    found = np.zeros((n, n + 1))
    pairs = word_pairs(vectors, published=published)
    seen = None
    if kind != "distance_words":
        seen = features(sentence, float(p["opens"]), float(p["closes"]))
    far = distances(n)
    for i in range(n):
        for j in range(n + 1):
            if j == i + 1:
                found[i, j] = -math.inf
            elif kind == "attention":
                assert seen is not None
                found[i, j] = np.dot(p["weights"], seen[i, j])
            elif kind == "attention_words":
                assert seen is not None
                found[i, j] = np.dot(p["bias"] + pairs[i, j] @ p["linear"], seen[i, j])
            else:
                hidden = np.tanh(np.concatenate([far[i, j], pairs[i, j]]) @ p["layer"] + p["bias"])
                found[i, j] = np.dot(hidden, p["out"])
    return found


def loss(scores: np.ndarray, heads: list[int]) -> float:
    """The negative log-likelihood of the heads in nats, summed over the words."""
    total = 0.0
    for row, head in zip(scores, heads, strict=True):
        largest = row.max()
        total += math.log(sum(math.exp(score - largest) for score in row)) + largest - row[head]
    return total


def counts(
    sentences: list[Sentence], predictions: list[list[int]]
) -> dict[str, tuple[int, int, int, int]]:
    """(n, correct, edges, found) for `all` and every relation, without punctuation."""
    total: Counter[tuple[str, str]] = Counter()
    for sentence, predicted in zip(sentences, predictions, strict=True):
        for i, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
            if relation in ("punct", "p"):
                continue
            for name in ("all", relation):
                total[name, "n"] += 1
                total[name, "correct"] += predicted[i] == head
                if head > 0 and sentence.relations[head - 1] not in ("punct", "p"):
                    total[name, "edges"] += 1
                    total[name, "found"] += predicted[i] == head or predicted[head - 1] == i + 1
    names = {name for name, _ in total}
    return {
        name: (
            total[name, "n"],
            total[name, "correct"],
            total[name, "edges"],
            total[name, "found"],
        )
        for name in names
    }


def head_weights(
    kind: str,
    sentences: list[Sentence],
    vectors: list[np.ndarray],
    p: Parameters,
    *,
    published: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean weight and mean contribution of each map and its transpose, [2 K] each."""
    number = 2 * len(sentences[0].maps)
    weight, contribution, edges = np.zeros(number), np.zeros(number), 0
    for sentence, own in zip(sentences, vectors, strict=True):
        seen = features(sentence, 1, 1)
        pairs = word_pairs(own, published=published)
        n = len(sentence.words)
        for i, head in enumerate(sentence.heads):
            ends = (sentence.relations[i], sentence.relations[head - 1])
            if head == 0 or "punct" in ends:
                continue
            edges += 1

            def term(j: int, i: int = i, pairs: np.ndarray = pairs) -> np.ndarray:
                if kind == "attention":
                    return p["weights"]
                return np.asarray(p["bias"] + pairs[i, j] @ p["linear"])

            others = [j for j in range(1, n + 1) if j not in (i + 1, head)]
            weight += term(head)
            lift = term(head) * seen[i, head]
            if others:
                lift = lift - sum(term(j) * seen[i, j] for j in others) / len(others)
            contribution += lift
    return weight / edges, contribution / edges
