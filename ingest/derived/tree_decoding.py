"""Maximum spanning trees, projective trees and binary trees over the words of a sentence.

The head of a root is ROOT. Ties between trees of the same weight are broken in a fixed order, which
each function states, so that the same scores always give the same tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROOT = -1


def spanning_trees(scores: Floats, root: int = 0) -> Ints:
    """Return the heads [T, n] of the maximum spanning trees of symmetric scores [T, n, n] (Prim).

    All arcs point away from `root`. Of equal scores the leftmost word is added first, to the word
    that was added first.
    """
    trees, n, _ = scores.shape
    tree = np.arange(trees)
    heads = np.full((trees, n), root)
    heads[:, root] = ROOT
    best = scores[:, root].copy()  # the best score of each word with a word of the tree
    is_added = np.zeros((trees, n), dtype=bool)
    is_added[:, root] = True
    for _ in range(n - 1):
        best[is_added] = -np.inf
        added = best.argmax(axis=1)
        is_added[tree, added] = True
        new = scores[tree, added]
        is_better = (new > best) & ~is_added
        heads = np.where(is_better, added[:, None], heads)
        best = np.where(is_better, new, best)
    return heads


def arborescences(scores: Floats, root: int | None = None) -> Ints:
    """Return the heads [T, n] of the maximum directed trees (Chu and Liu 1965, Edmonds 1967).

    `scores` [T, n, n] go from dependent to head. Without `root`, any single word may be the root.
    Of equal trees it is the one that the package ufal.chu_liu_edmonds finds.
    """
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    trees, n, _ = scores.shape
    if n == 1:
        return np.full((trees, 1), ROOT)
    heads = np.empty((trees, n), dtype=np.int64)
    for tree, rooted in enumerate(_add_root(scores, root, absent=np.nan)):
        heads[tree] = chu_liu_edmonds(rooted)[0][1:]
    return heads - 1


def _add_root(scores: Floats, root: int | None, absent: float) -> Floats:
    """Return scores [T, n + 1, n + 1] with an artificial head of the root at index 0.

    An arc to it costs more than all other arcs together can gain, so that there is only one.
    """
    trees, n, _ = scores.shape
    rooted = np.full((trees, n + 1, n + 1), absent)
    rooted[:, 1:, 1:] = scores
    rooted[:, range(n + 1), range(n + 1)] = absent
    if root is None:
        rooted[:, 1:, 0] = -1 - 2 * n * np.abs(scores).max(axis=(1, 2))[:, None]
    else:
        rooted[:, root + 1, 0] = 0
    return rooted


def projective_trees(scores: Floats, root: int | None = None) -> Ints:
    """Return the heads [T, n] of the maximum trees without crossing arcs (Eisner 1996).

    `scores` [T, n, n] go from dependent to head; `root` is as in `arborescences`, and no arc
    crosses the one to it. Of equal trees, the one whose spans are split further left.
    """
    rooted = _add_root(scores, root, absent=-np.inf)
    trees, size, _ = rooted.shape
    shape = (2, trees, size, size)
    # Eisner's incomplete spans (an arc between their ends) and complete spans (a word and all its
    # dependents on one side), by the side of the head: 0 left, 1 right.
    arc, side = np.full(shape, -np.inf), np.full(shape, -np.inf)
    arc_at, side_at = np.zeros(shape, dtype=np.int16), np.zeros(shape, dtype=np.int16)
    side[:, :, range(size), range(size)] = 0
    for width in range(1, size):
        start = np.arange(size - width)
        end = start + width
        split = start[:, None] + np.arange(width)
        first, last = start[:, None], end[:, None]
        inner = side[0][:, first, split] + side[1][:, split + 1, last]
        at = inner.argmax(axis=2)
        best = np.take_along_axis(inner, at[..., None], axis=2)[..., 0]
        arc[0][:, start, end] = best + rooted[:, end, start]
        arc[1][:, start, end] = best + rooted[:, start, end]
        arc_at[:, :, start, end] = start + at
        for direction, candidates in (
            (0, arc[0][:, first, split + 1] + side[0][:, split + 1, last]),
            (1, side[1][:, first, split] + arc[1][:, split, last]),
        ):
            at = candidates.argmax(axis=2)
            side[direction][:, start, end] = np.take_along_axis(candidates, at[..., None], axis=2)[
                ..., 0
            ]
            side_at[direction][:, start, end] = start + at + (direction == 0)
    heads = np.empty((trees, size), dtype=np.int64)
    for tree in range(trees):
        _backtrack(arc_at[:, tree].tolist(), side_at[:, tree].tolist(), heads[tree])
    return heads[:, 1:] - 1


def _backtrack(arc_at: list[list[list[int]]], side_at: list[list[list[int]]], heads: Ints) -> None:
    """Fill in the heads of one tree from the indices at which its spans were split."""
    open_spans = [(False, 0, 0, len(heads) - 1)]  # is an arc, side of its head, start, end
    while open_spans:
        is_arc, direction, start, end = open_spans.pop()
        if start == end:
            continue
        if is_arc:
            heads[end if direction == 0 else start] = start if direction == 0 else end
            at = arc_at[direction][start][end]
            open_spans += [(False, 0, start, at), (False, 1, at + 1, end)]
        else:
            at = side_at[direction][start][end]
            left, right = (start, at), (at, end)
            open_spans += [(direction == 0, direction, *left), (direction == 1, direction, *right)]


def split_spans(distances: Floats) -> tuple[Ints, Ints]:
    """Return the first and last words [T, n - 1] of the phrases of binary trees (Kim et al. 2020).

    The sentence is split where the distance [T, n - 1] of two neighbours is largest (of equal ones
    at the leftmost), and so is each part. So the phrase that is split between two words extends to
    the nearest larger distances on both sides.
    """
    width = distances.shape[1]
    earlier = np.tri(width, k=-1, dtype=bool)  # [index, other]: whether other < index
    distance, other_distance = distances[:, :, None], distances[:, None, :]
    before = (other_distance >= distance) & earlier
    after = (other_distance > distance) & earlier.T
    index = np.arange(width)
    first = np.where(before, index + 1, 0).max(axis=2, initial=0)
    last = np.where(after, index, width).min(axis=2, initial=width)
    return first, last
