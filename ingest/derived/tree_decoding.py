"""Trees of the largest weight over words, from scores of every pair; nothing of a bank.

The head of a root is ROOT. Of trees of the same weight one is found by a fixed order, which each
function states, so that the same scores always give the same tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROOT = -1


def spanning_trees(scores: Floats, root: int = 0) -> Ints:
    """The heads [T, n] of the maximum spanning trees of symmetric scores [T, n, n], by Prim.

    All arcs point away from `root`. Of equal scores the leftmost word is added first, to the word
    that was added first.
    """
    trees, n, _ = scores.shape
    tree = np.arange(trees)
    heads = np.full((trees, n), root)
    heads[:, root] = ROOT
    best = scores[:, root].copy()  # of each word that is not added, its best score
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
    """The heads [T, n] of the maximum directed trees, by Chu and Liu, and Edmonds.

    `scores` [T, n, n] go from dependent to head. Without a `root` any word is one, but only one
    is. Of equal trees it is the one that the package ufal.chu_liu_edmonds finds.
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
    """Scores [T, n + 1, n + 1] whose first place is the head of the root.

    An arc from there costs more than all others together can give, so that there is one only.
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
    """The heads [T, n] of the maximum trees without crossing arcs, by Eisner 1996.

    `scores` [T, n, n] go from dependent to head; the root is as in `arborescences`, and nothing
    crosses the arc to it. Of equal trees the one whose spans are split further left.
    """
    rooted = _add_root(scores, root, absent=-np.inf)
    trees, size, _ = rooted.shape
    shape = (2, trees, size, size)
    # By the side on which the head stands: 0 left, 1 right. An arc (incomplete) or all of one side.
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
    """Fill in the heads of one tree from the places at which its spans were split."""
    open_spans = [(False, 0, 0, len(heads) - 1)]  # whether it is an arc, its head's side, and ends
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
    """The first and last words [T, n - 1] of the phrases of binary trees, by Kim et al. 2020.

    The sentence is split where the distance [T, n - 1] of two neighbours is largest (of equals, at
    the leftmost), and so is each part: so that one phrase is split at each place, which reaches to
    the next places with larger distances.
    """
    width = distances.shape[1]
    earlier = np.tri(width, k=-1, dtype=bool)  # [at, other]: whether the other place is before
    distance, other_distance = distances[:, :, None], distances[:, None, :]
    before = (other_distance >= distance) & earlier
    after = (other_distance > distance) & earlier.T
    index = np.arange(width)
    first = np.where(before, index + 1, 0).max(axis=2, initial=0)
    last = np.where(after, index, width).min(axis=2, initial=width)
    return first, last
