"""Tests and intervals by documents, by enumeration and by integrals instead of closed forms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from statistics import NormalDist
from typing import TypeVar

import numpy as np

Name = TypeVar("Name", bound=Hashable)
Interval = tuple[float, float | None, float | None]
"""A figure and both ends of its interval, if there is one."""


def sign_flips(differences: Sequence[int]) -> float:
    """The share of all signs with which the differences add up to at least their own sum."""
    if sum(differences) <= 0:
        return 1.0
    ways = Counter({0: 1})  # how many of the ways to choose signs give each sum
    for difference in differences:
        turned = Counter[int]()
        for total, count in ways.items():
            turned[total + difference] += count
            turned[total - difference] += count
        ways = turned
    as_large = sum(count for total, count in ways.items() if total >= sum(differences))
    return float(Fraction(as_large, ways.total()))


def student_quantile(freedom: float) -> float:
    """The 0.975 quantile of Student's t, by bisection on a sum over its density."""
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    constant /= math.sqrt(freedom * math.pi)
    low, high = 1.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        steps = np.linspace(0, middle, 20_001)
        density = constant * (1 + steps**2 / freedom) ** (-(freedom + 1) / 2)
        below = 0.5 + float(np.trapezoid(density, steps))
        low, high = (middle, high) if below < 0.975 else (low, middle)
    return low


def of_one_size(sizes: Sequence[float]) -> float:
    """How many documents of one size these are worth (Kish), 2 at least."""
    return max(2.0, sum(sizes) ** 2 / sum(size**2 for size in sizes))


def interval(outcomes: Sequence[Sequence[bool]]) -> tuple[float, float, float] | None:
    """Design effect, and both ends of the interval of a share; `outcomes` has a list per document.

    The interval is Wilson's, with the variance among documents and Student's quantile.
    """
    documents = [np.array(rows, dtype=float) for rows in outcomes if len(rows)]
    if len(documents) < 2:
        return None
    every = np.concatenate(documents)
    n, share = len(every), float(every.mean())
    effect = 1.0
    if 0 < share < 1:
        residuals = np.array([float((rows - share).sum()) for rows in documents])
        among = float(residuals.var(ddof=1)) * len(documents)  # residuals add up to 0
        effect = among / n**2 / (share * (1 - share) / n)
    z = student_quantile(of_one_size([len(rows) for rows in documents]) - 1)
    m = n / max(1.0, effect)
    middle = (share + z**2 / (2 * m)) / (1 + z**2 / m)
    half = z * math.sqrt(share * (1 - share) / m + z**2 / (4 * m**2)) / (1 + z**2 / m)
    return effect, max(0.0, middle - half), min(1.0, middle + half)


def flips(clusters: int) -> list[list[int]]:
    """All the ways to give so many clusters a sign; of more than 11, 1 and 1,999 drawn ones."""
    if clusters <= 11:
        return [list(signs) for signs in product((1, -1), repeat=clusters)]
    drawn = [[_sign(flip, place) for place in range(clusters)] for flip in range(1, 2000)]
    return [[1] * clusters, *drawn]


def _sign(flip: int, place: int) -> int:
    """What the macro `drawn` gives, written out."""
    prime = 2**31 - 1
    number = (flip * 1000003 + place * 7919 + 12345) % prime
    for salt in (104729 * place, 1299709 * flip, 15485863):
        number = (number**2 + salt) % prime
    return 1 - 2 * (number // 65536 % 2)


def corrected(
    differences: Mapping[Name, Mapping[int, int]], *, is_two_sided: bool = False
) -> dict[Name, float]:
    """Of each: in what share of the flips the largest statistic of all is at least its own (max-T).

    `differences` has those of each by cluster; one that has none above or below 0 is left out.
    """
    clusters = sorted({cluster for row in differences.values() for cluster in row})
    rows = {
        name: np.array([row.get(cluster, 0) for cluster in clusters], dtype=float)
        for name, row in differences.items()
        if any(row.values())
    }
    scaled = np.array([row / math.sqrt((row**2).sum()) for row in rows.values()])
    statistics = scaled @ np.array(flips(len(clusters)), dtype=float).T
    observed = scaled.sum(1)
    if is_two_sided:
        statistics, observed = abs(statistics), abs(observed)
    largest = statistics.max(0)
    return {
        name: float((largest >= own - 1e-9).mean())
        for name, own in zip(rows, observed, strict=True)
    }


def paired_interval(pairs: Sequence[tuple[int, int, int]]) -> tuple[float, float] | None:
    """Bonett and Price's interval of a difference, by documents.

    `pairs` has only_a, only_b and n of each document; it is taken for as many as tell as much if
    all were independent.
    """
    documents = [pair for pair in pairs if pair[2]]
    if len(documents) < 2:
        return None
    only_a, only_b, n = (sum(column) for column in zip(*documents, strict=True))
    difference = (only_a - only_b) / n
    alone = ((only_a + only_b) / n - difference**2) / n
    residuals = np.array([a - b - difference * m for a, b, m in documents])
    among = float(residuals.var(ddof=1)) * len(documents) / n**2  # residuals add up to 0
    z = 1.959963984540054
    effect = max(1.0, among / alone) if alone > 1e-15 else 1.0
    m = n / effect * (z / student_quantile(of_one_size([n for *_, n in documents]) - 1)) ** 2
    one, other = (only_a / n * m + 1) / (m + 2), (only_b / n * m + 1) / (m + 2)
    half = z * math.sqrt(max(0.0, one + other - (one - other) ** 2) / (m + 2))
    return max(-1.0, one - other - half), min(1.0, one - other + half)


def pairs_of(outcomes: Sequence[Sequence[tuple[bool, bool]]]) -> list[tuple[int, int, int]]:
    """Of each document what only the first has right, what only the second has, and how many."""
    return [
        (sum(a and not b for a, b in rows), sum(b and not a for a, b in rows), len(rows))
        for rows in outcomes
    ]


def difference_of_shares(outcomes: Sequence[Sequence[tuple[bool, bool]]]) -> Interval:
    """The share of the first of two outcomes minus that of the second, and its interval."""
    pairs = pairs_of(outcomes)
    difference = sum(a - b for a, b, _ in pairs) / sum(n for *_, n in pairs)
    return difference, *(paired_interval(pairs) or (None, None))


def mean_difference(differences: Sequence[Sequence[float]]) -> Interval:
    """The mean of the differences of all documents, and its interval by Student's t.

    There is none if they are all one number.
    """
    documents = [np.array(rows, dtype=float) for rows in differences if len(rows)]
    every = np.concatenate(documents)
    mean = float(every.mean())
    residuals = np.array([float((rows - mean).sum()) for rows in documents])
    if len(documents) < 2 or not residuals.var() > 1e-15:
        return mean, None, None
    variance = float(residuals.var(ddof=1)) * len(documents) / len(every) ** 2
    quantile = student_quantile(of_one_size([len(rows) for rows in documents]) - 1)
    half = quantile * math.sqrt(variance)
    return mean, mean - half, mean + half


def documents_to_detect(pairs: Sequence[tuple[int, int, int]], difference: float) -> int | None:
    """How many documents like these show a difference in four of five samples, one-sided."""
    documents = [pair for pair in pairs if pair[2]]
    if len(documents) < 2:
        return None
    n = sum(pair[2] for pair in documents)
    mean = sum(a - b for a, b, _ in documents) / n
    residuals = np.array([a - b - mean * m for a, b, m in documents])
    of_one = float(residuals.var(ddof=1)) / (n / len(documents)) ** 2
    normal = NormalDist()
    needed = of_one * ((normal.inv_cdf(0.95) + normal.inv_cdf(0.8)) / difference) ** 2
    return max(5, math.ceil(needed - 1e-9))
