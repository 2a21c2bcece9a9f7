"""How far apart two right results may lie, and why: the bounds of the tests.

Rounding is all that may differ between two results that should be equal. Processors differ in how
many numbers they add at a time (SSE, AVX2, AVX-512), and libraries cut a product into blocks by its
shape, so that a sentence has other last digits alone than in a batch. What is expected to the last
bit is the same arithmetic twice: the same batches, in one process or in two of the same settings.

The theorems: Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapters 3 and 4; Higham
and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

SINGLE = 2.0**-24
"""Unit roundoff of float32: to round a number moves it by this share of it at most."""

DOUBLE = 2.0**-53
"""Unit roundoff of float64."""

NEIGHBOURS = 2 * SINGLE
"""Two numbers that agree in float64, each rounded to float32: the same float or its neighbour."""

NEAR_TIE = 1e-5
"""Two weights that are equal to this share of the larger may change places between processors.

Measured: rounding moves the largest weight of a row or column by up to 8e-6 of itself (minilm; tiny
models by 6e-6), and where two processors disagree on which is largest, the two differ by 5.3e-6 at
most (docs/reproducibility.md). test_processors.py holds it to this.
"""

_SAMPLES = 24
_TEXTS = 4


def sums(terms: int) -> float:
    """Two float64 sums of so many terms of one sign, in any order: relative to the sum.

    Each is off by (terms - 1) DOUBLE at most (Higham, 4.2); a term that is a product or a
    logarithm has three roundings more, and a mean another one.
    """
    return 2 * (terms + 4) * DOUBLE


def row_sum(positions: int) -> float:
    """A softmax over so many positions in float32, summed: from 1, absolute.

    The divisor is a sum of so many terms, off by SINGLE for each at most. Each exponential is good
    to two roundings (those of the vectorised ones err by less than 1 in the last place), and each
    weight is rounded once more by the division, and once where pieces were merged.
    """
    return (positions + 4) * SINGLE


def slope(step: float, value: float, terms: int, third: float) -> float:
    """A central difference (f(x + step) - f(x - step)) / (2 step) in float64: absolute.

    What it cuts off is step**2 / 6 times the third derivative, `third` at most; and f, of size
    `value` and made of so many terms, is off by terms * DOUBLE * value on either side.
    """
    return step**2 / 6 * third + terms * DOUBLE * value / step


def passes(module: Any, result: Callable[[Any], np.ndarray]) -> float:
    """Two float32 passes through a transformer: the largest entry of `result`, absolute.

    A product of n terms in float32 is the exact product of operands that are moved a little: by n
    SINGLE at most, and, as roundings go both ways, by about sqrt(n) SINGLE (Higham and Mary). So
    what a model gives in float32 is what a model gives exactly whose weights are moved by as much.
    How far that moves its result is its condition, a property of the model and of the text, and it
    is measured: in float64, with every weight times 1 + e, e uniform in +-sqrt(n) SINGLE, and n
    the longest product of the model. The shorter products (queries and keys, weights and values),
    softmax and LayerNorm round less than that; what comes out is itself rounded, the size of it
    counts. Two passes are apart by twice as much.

    `result(module)` is called with float64 copies of the module. Weights are drawn at least twice,
    and more often where the result has few entries, any of which may stand still by rng.
    """
    exact = copy.deepcopy(module).double()
    tables = {id(each.weight) for each in exact.modules() if isinstance(each, torch.nn.Embedding)}
    factors = [each for each in exact.parameters() if id(each) not in tables]
    kept = [each.detach().clone() for each in factors]
    terms = max(max(each.shape) for each in factors if each.ndim == 2)
    middle = result(exact)
    furthest = 0.0
    for draw in range(max(2, math.ceil(_SAMPLES / middle.size))):
        rng = torch.Generator().manual_seed(draw)
        with torch.no_grad():
            for each, own in zip(factors, kept, strict=True):
                even = torch.rand(each.shape, generator=rng, dtype=torch.float64)
                each.copy_(own * (1 + (2 * even - 1) * math.sqrt(terms) * SINGLE))
        furthest = max(furthest, float(np.abs(result(exact) - middle).max()))
    assert furthest > 0  # `result` looks at the module that it is given
    return 2 * (furthest + SINGLE * float(np.abs(middle).max()))


def attention(module: Any, inputs: Sequence[dict[str, torch.Tensor]]) -> float:
    """Attention weights of two float32 passes over inputs such as these, absolute: see `passes`.

    Each input holds the arguments of the module for one text, without padding. A few of them tell:
    from text to text the bound differs by a factor of 2.
    """
    inputs = inputs[:: max(1, len(inputs) // _TEXTS)]

    def maps(model: Any) -> np.ndarray:
        with torch.no_grad():
            found = [model(**each, output_attentions=True).attentions for each in inputs]
        return np.concatenate([layer.numpy().ravel() for maps in found for layer in maps])

    return passes(module, maps)
