"""Intervals of differences between two things that are measured on the same cases, by clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from oracle_statistics import of_one_size, student_quantile

Interval = tuple[float, float | None, float | None]
NORMAL = 1.959963984540054


def shares(clusters: Sequence[Sequence[tuple[bool, bool]]]) -> Interval:
    """The share of the first of two outcomes minus that of the second, and the ends (2012).

    `clusters` has a list of pairs of outcomes per cluster. The interval is that of Bonett and Price
    for as many independent cases as have the variance among the clusters.
    """
    differences = [np.array([a - float(b) for a, b in each]) for each in clusters if len(each)]
    every = np.concatenate(differences)
    n, mean = len(every), float(every.mean())
    if len(differences) < 2:
        return mean, None, None
    alone = float(every.var()) / n
    effect = max(1.0, _among(differences) / alone) if alone > 1e-15 else 1.0
    independent = n / effect * (NORMAL / _quantile(differences)) ** 2
    a = (float((every > 0).mean()) * independent + 1) / (independent + 2)
    b = (float((every < 0).mean()) * independent + 1) / (independent + 2)
    half = NORMAL * math.sqrt((a + b - (a - b) ** 2) / (independent + 2))
    return mean, max(-1.0, a - b - half), min(1.0, a - b + half)


def means(clusters: Sequence[Sequence[float]]) -> Interval:
    """The mean of the differences, and the ends by Student's t; null if they are all one number."""
    differences = [np.array(each, dtype=float) for each in clusters if len(each)]
    mean = float(np.concatenate(differences).mean())
    if len(differences) < 2 or not _among(differences) > 1e-15:
        return mean, None, None
    half = _quantile(differences) * math.sqrt(_among(differences))
    return mean, mean - half, mean + half


def _quantile(clusters: Sequence[np.ndarray]) -> float:
    return student_quantile(of_one_size([len(each) for each in clusters]) - 1)


def _among(clusters: Sequence[np.ndarray]) -> float:
    """The variance of the mean of all, from what is left in each cluster of its distance to it."""
    every = np.concatenate(clusters)
    left = np.array([float((each - every.mean()).sum()) for each in clusters])
    return float(left.var(ddof=1)) * len(clusters) / len(every) ** 2
