"""Decoded trees are trees, and none weighs more: by exhaustive search, and by networkx."""

from __future__ import annotations

import itertools
from functools import cache

import bounds
import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbank.ingest.derived.trees import (
    ROOT,
    arborescences,
    neighbour_distances,
    projective_trees,
    spanning_trees,
    split_spans,
)

pytest.importorskip("ufal.chu_liu_edmonds")

Heads = tuple[int, ...]


@cache
def _all_trees(n: int) -> list[Heads]:
    """Every tree over n words, as the heads of the words."""
    found = []
    for heads in itertools.product(range(-1, n), repeat=n):
        if heads.count(ROOT) == 1 and _is_tree(heads):
            found.append(heads)
    return found


def _is_tree(heads: Heads) -> bool:
    if heads.count(ROOT) != 1:
        return False
    for start in range(len(heads)):
        word, steps = start, 0
        while word != ROOT and steps <= len(heads):
            word, steps = heads[word], steps + 1
        if word != ROOT:
            return False
    return True


def _crosses(heads: Heads) -> bool:
    """Whether two arcs cross, or one stands over the root."""
    ends = [(min(word, head), max(word, head)) for word, head in enumerate(heads)]
    return any(a < c < b < d for (a, b), (c, d) in itertools.permutations(ends, 2))


def _weight(scores: np.ndarray, heads: Heads) -> float:
    return float(sum(scores[word, head] for word, head in enumerate(heads) if head != ROOT))


def _drawn(n: int, kind: str, seed: int) -> np.ndarray:
    """Scores [3, n, n] of a kind: shares, tied ones, mostly 0, and norms."""
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.ones(n), size=(3, n))
    if kind == "tied":
        return np.round(shares * 4) / 4
    if kind == "sparse":
        return np.asarray(np.where(random.random(shares.shape) < 0.8, 0.0, shares))
    return shares * 1e4 if kind == "norms" else shares


KINDS = st.sampled_from(["shares", "tied", "sparse", "norms"])


@pytest.mark.parametrize("n", range(1, 6))
@settings(max_examples=15)
@given(kind=KINDS, seed=st.integers(0, 10_000), data=st.data())
def test_no_tree_of_a_few_words_weighs_more(
    n: int, kind: str, seed: int, data: st.DataObject
) -> None:
    _check(n, kind, seed, data.draw(st.none() | st.integers(0, n - 1)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shares", "tied", "sparse", "norms"])
@pytest.mark.parametrize("root", [None, 0, 3, 6])
def test_no_tree_of_seven_words_weighs_more(kind: str, root: int | None) -> None:
    _check(7, kind, 1, root)


def _check(n: int, kind: str, seed: int, root: int | None) -> None:
    scores = _drawn(n, kind, seed)
    rooted = [heads for heads in _all_trees(n) if root is None or heads[root] == ROOT]
    flat = [heads for heads in rooted if not _crosses(heads)]
    symmetric = (scores + scores.transpose(0, 2, 1)) / 2
    from_root = [heads for heads in _all_trees(n) if heads[root or 0] == ROOT]
    for given_, found, among in (
        (scores, arborescences(scores, root), rooted),
        (scores, projective_trees(scores, root), flat),
        (symmetric, spanning_trees(symmetric, root or 0), from_root),
    ):
        for own, row in zip(given_, found, strict=True):
            heads = tuple(row.tolist())
            assert heads in among
            best = max(_weight(own, each) for each in among)
            assert _weight(own, heads) == pytest.approx(best, rel=_bound(n), abs=0)


def _bound(n: int) -> float:
    """The root costs 2 n + 1 of the largest score, which is rounded with every sum."""
    return 2 * n * bounds.sums(2 * n)


@settings(max_examples=12)
@given(n=st.integers(8, 25), kind=KINDS, seed=st.integers(0, 10_000))
def test_networkx_finds_no_larger_one_over_more_words(n: int, kind: str, seed: int) -> None:
    scores = _drawn(n, kind, seed)[:1]
    directed = networkx.DiGraph()
    for word, head in itertools.permutations(range(n), 2):
        directed.add_edge(head, word, weight=float(scores[0, word, head]))
    undirected = networkx.Graph()
    symmetric = scores + scores.transpose(0, 2, 1)
    for word, head in itertools.combinations(range(n), 2):
        undirected.add_edge(word, head, weight=float(symmetric[0, word, head]))
    for own, heads, best in (
        (scores, arborescences(scores), networkx.maximum_spanning_arborescence(directed)),
        (symmetric, spanning_trees(symmetric, n - 1), networkx.maximum_spanning_tree(undirected)),
    ):
        found = tuple(heads[0].tolist())
        assert _is_tree(found)
        largest = float(best.size(weight="weight"))
        assert _weight(own[0], found) == pytest.approx(largest, rel=_bound(n))
    flat = tuple(projective_trees(scores)[0].tolist())
    assert _is_tree(flat) and not _crosses(flat)
    assert _weight(scores[0], flat) <= _weight(scores[0], tuple(arborescences(scores)[0])) * (
        1 + _bound(n)
    )


def test_ties_are_always_decided_alike() -> None:
    same = np.ones((2, 6, 6))
    assert spanning_trees(same, 2).tolist() == [[2, 2, ROOT, 2, 2, 2]] * 2
    for decode in (arborescences, projective_trees):
        one, two = decode(same).tolist()
        assert one == two == decode(same[:1]).tolist()[0]


def test_every_sentence_is_decoded_by_itself() -> None:
    scores = _drawn(9, "shares", 3)
    for decode in (arborescences, projective_trees, spanning_trees):
        alone = [decode(scores[at : at + 1])[0].tolist() for at in range(3)]
        assert decode(scores).tolist() == alone


def _split(distances: list[float], first: int, last: int) -> set[tuple[int, int]]:
    """The phrases of the words from first to last, split at the leftmost largest distance."""
    if first == last:
        return set()
    inner = distances[first:last]
    at = first + inner.index(max(inner))
    left, right = _split(distances, first, at), _split(distances, at + 1, last)
    return {(first, last)} | left | right


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), max_size=12))
def test_phrases_are_split_at_the_largest_distance(steps: list[int]) -> None:
    distances = np.array([steps], dtype=np.float64)
    first, last = split_spans(distances)
    found = list(zip(first[0].tolist(), last[0].tolist(), strict=True))
    assert set(found) == _split([float(step) for step in steps], 0, len(steps))
    assert len(found) == len(set(found)) == len(steps)


def test_distances_of_neighbours() -> None:
    rows = np.array([[[1.0, 0, 0], [0, 2.0, 0], [0, 1.0, 1.0], [0, 0, 0]]])
    (found,) = neighbour_distances(rows, "jensen_shannon")
    half = np.log(2) - 0.75 * np.log(3) + 0.5 * np.log(2)  # H(3/4, 1/4) - H(1/2, 1/2) / 2
    assert found[:2] == pytest.approx([np.log(2), half], abs=1e-12)
    (found,) = neighbour_distances(rows, "hellinger")
    assert found[:2] == pytest.approx([1, np.sqrt(1 - np.sqrt(0.5))], abs=1e-12)
