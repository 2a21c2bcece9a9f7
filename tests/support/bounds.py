"""How far apart two correct results may be, and why: the bounds of the tests.

Two results that should be equal may differ only by rounding. Processors differ in how many numbers
they add at a time (SSE, AVX2, AVX-512), and libraries cut a product into blocks by its shape, so
that the last digits for a sentence by itself differ from those in a batch. Equality to the last bit
is expected only of the same arithmetic done twice: the same batches, in one process or in two with
the same settings.

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
"""Unit roundoff of float32: rounding changes a number by at most this share of it."""

DOUBLE = 2.0**-53
"""Unit roundoff of float64."""

NEIGHBOURS = 2 * SINGLE
"""The relative distance of two float32 that were rounded from almost equal float64: they are the
same float or neighbours."""

NEAR_TIE = 1e-5
"""Two weights that are equal to this share of the larger may change places between processors.

Measured: rounding moves the largest weight of a row or column by up to 8e-6 of itself (minilm; tiny
models by 6e-6), and where two processors disagree on which is largest, the two differ by 5.3e-6 at
most (docs/reproducibility.md). test_processors.py holds it to this.
"""

_SAMPLES = 24
_TEXTS = 4


def sums(terms: int) -> float:
    """The bound for two float64 sums of this many terms of one sign, in any order; relative.

    Each is off by at most (terms - 1) DOUBLE (Higham, 4.2). A term that is a product or a logarithm
    has three more roundings, and a mean one more.
    """
    return 2 * (terms + 4) * DOUBLE


def row_sum(positions: int) -> float:
    """The bound for the sum of a float32 softmax over this many positions, from 1; absolute.

    The divisor is a sum with one term per position, each of which adds at most SINGLE. Each
    exponential is good to two roundings (vectorised ones err by less than 1 in the last place), and
    each weight is rounded once more by the division, and once if pieces were merged.
    """
    return (positions + 4) * SINGLE


def slope(step: float, value: float, terms: int, third: float) -> float:
    """The absolute bound for a central difference (f(x + step) - f(x - step)) / (2 step).

    It is computed in float64. Its truncation error is step**2 / 6 times the third derivative, which
    is at most `third`; and f, which is of size `value` and has this many terms, is off by
    terms * DOUBLE * value on either side.
    """
    return step**2 / 6 * third + terms * DOUBLE * value / step


def passes(module: Any, result: Callable[[Any], np.ndarray]) -> float:
    """The bound for the largest difference of `result` between two float32 passes; absolute.

    A product of n terms in float32 is the exact product of slightly changed operands: changed by at
    most n SINGLE, and, as roundings go both ways, by about sqrt(n) SINGLE (Higham and Mary). So a
    model in float32 gives what a model with weights changed by that much gives exactly. How far
    this changes the result is the condition of the model on the text, and it is measured: in
    float64, every weight is multiplied by 1 + e, with e uniform in +-sqrt(n) SINGLE and n the
    longest product of the model. The shorter products (queries and keys, weights and values),
    softmax and LayerNorm round less than that. The result itself is rounded too, in proportion to
    its size. Two passes differ by at most twice as much.

    `result(module)` is called with float64 copies of the module. Weights are drawn at least twice,
    and more often if the result has few entries, since one of these may stay the same by chance.
    """
    exact = copy.deepcopy(module).double()
    tables = {
        id(module.weight) for module in exact.modules() if isinstance(module, torch.nn.Embedding)
    }
    factors = [parameter for parameter in exact.parameters() if id(parameter) not in tables]
    kept = [factor.detach().clone() for factor in factors]
    terms = max(max(factor.shape) for factor in factors if factor.ndim == 2)
    middle = result(exact)
    furthest = 0.0
    for draw in range(max(2, math.ceil(_SAMPLES / middle.size))):
        rng = torch.Generator().manual_seed(draw)
        with torch.no_grad():
            for each, own in zip(factors, kept, strict=True):
                even = torch.rand(each.shape, generator=rng, dtype=torch.float64)
                each.copy_(own * (1 + (2 * even - 1) * math.sqrt(terms) * SINGLE))
        furthest = max(furthest, float(np.abs(result(exact) - middle).max()))
    assert furthest > 0  # otherwise `result` does not use the module that it is given
    return 2 * (furthest + SINGLE * float(np.abs(middle).max()))


def attention(module: Any, inputs: Sequence[dict[str, torch.Tensor]]) -> float:
    """The bound for attention weights of two float32 passes over such inputs; absolute.

    See `passes`. Each input has the arguments of the module for one text, without padding. A few of
    them are enough, since from text to text the bound differs only by a factor of 2.
    """
    inputs = inputs[:: max(1, len(inputs) // _TEXTS)]

    def maps(model: Any) -> np.ndarray:
        with torch.no_grad():
            result = [model(**each, output_attentions=True).attentions for each in inputs]
        return np.concatenate([layer.numpy().ravel() for maps in result for layer in maps])

    return passes(module, maps)
