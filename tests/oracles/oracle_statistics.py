"""Tests and intervals by documents, by enumeration and by integrals instead of closed forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np


def sign_flips(differences: Sequence[int]) -> float:
    """The share of all signs with which the differences add up to at least their own sum."""
    if sum(differences) <= 0:
        return 1.0
    ways = [
        sum(sign * each for sign, each in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    return float(Fraction(sum(each >= sum(differences) for each in ways), len(ways)))


def student_quantile(freedom: int) -> float:
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


def interval(outcomes: Sequence[Sequence[bool]]) -> tuple[float, float, float] | None:
    """Design effect, and both ends of the interval of a share; `outcomes` has a list per document.

    The interval is Wilson's, with the variance among documents and Student's quantile.
    """
    documents = [np.array(each, dtype=float) for each in outcomes if len(each)]
    if len(documents) < 2:
        return None
    every = np.concatenate(documents)
    n, share = len(every), float(every.mean())
    effect = 1.0
    if 0 < share < 1:
        residuals = np.array([float((each - share).sum()) for each in documents])
        among = float(residuals.var(ddof=1)) * len(documents)  # residuals add up to 0
        effect = among / n**2 / (share * (1 - share) / n)
    z = student_quantile(len(documents) - 1)
    m = n / max(1.0, effect)
    middle = (share + z**2 / (2 * m)) / (1 + z**2 / m)
    half = z * math.sqrt(share * (1 - share) / m + z**2 / (4 * m**2)) / (1 + z**2 / m)
    return effect, max(0.0, middle - half), min(1.0, middle + half)
