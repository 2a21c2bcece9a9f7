"""An order of things in which near ones stand together, for matrices of distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def by_cluster(distances: NDArray[np.float64]) -> list[int]:
    """The order of the leaves of a tree of clusters (average linkage).

    `distances` is a square, symmetric matrix. The two nearest clusters are joined again and again;
    of the four ways to lay two side by side the one is taken whose touching ends are nearest. Equal
    distances: the earlier pair.
    """
    count = len(distances)
    orders: list[list[int]] = [[each] for each in range(count)]
    between = distances.astype(np.float64).copy()
    between[~np.isfinite(between)] = np.inf
    np.fill_diagonal(between, np.inf)
    sizes = np.ones(count)
    alive = np.ones(count, dtype=bool)
    for _ in range(count - 1):
        first, second = sorted(divmod(int(np.argmin(between)), count))
        if first == second:  # nothing is at a finite distance any more: the order of the rows
            rest = [each for each in range(count) if alive[each]]
            return [leaf for each in rest for leaf in orders[each]]
        orders[first] = _beside(orders[first], orders[second], distances)
        weights = sizes[first], sizes[second]
        merged = (weights[0] * between[first] + weights[1] * between[second]) / sum(weights)
        between[first, :] = merged
        between[:, first] = merged
        between[first, first] = np.inf
        between[second, :] = np.inf
        between[:, second] = np.inf
        sizes[first] += sizes[second]
        alive[second] = False
    return orders[0] if count else []


def _beside(left: list[int], right: list[int], distances: NDArray[np.float64]) -> list[int]:
    ways = [
        (left[-1], right[0], left + right),
        (left[-1], right[-1], left + right[::-1]),
        (left[0], right[0], left[::-1] + right),
        (left[0], right[-1], left[::-1] + right[::-1]),
    ]
    return min(ways, key=lambda way: distances[way[0], way[1]])[2]
