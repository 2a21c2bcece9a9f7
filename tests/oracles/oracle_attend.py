"""Attention pair by pair in float64: an edge that is cut is left out of the softmax.

It replaces the attention of a model whose module of transformers has an `eager_attention_forward`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

Edge = tuple[int, int, int, int, int]
"""A 0-based call, an input, a head, and the tokens that attends and that is attended to."""


@contextmanager
def attention(
    model: Any,
    *,
    cut: Collection[Edge] = (),
    even: Mapping[int, Collection[int]] | None = None,
) -> Iterator[None]:
    """Context manager for one pass without some edges, and with even weights in some heads.

    `even` has heads by call.
    """
    calls = 0

    def attend(
        module: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        scaling: float | None = None,
        softcap: float | None = None,
        position_bias: Tensor | None = None,
        **_: Any,
    ) -> tuple[Tensor, None]:
        nonlocal calls
        now, calls = calls, calls + 1
        inputs, heads, length, size = query.shape
        shape = inputs, heads, length, length
        masked = torch.zeros(shape) if mask is None else mask.expand(shape)
        bias = torch.zeros(shape) if position_bias is None else position_bias.expand(shape)
        sinks = getattr(module, "sinks", None)
        group = heads // key.shape[1]
        result = torch.zeros(inputs, length, heads, value.shape[-1], dtype=torch.float64)
        for at in range(inputs):
            for head in range(heads):
                is_even = head in (even or {}).get(now, ())
                for one in range(length):
                    scores = {}
                    for other in range(length):
                        added = float(masked[at, head, one, other])
                        if added <= -1e4 or (now, at, head, one, other) in cut:
                            continue
                        pair = (
                            query[at, head, one].double() @ key[at, head // group, other].double()
                        )
                        score = float(pair) * (size**-0.5 if scaling is None else scaling)
                        score += float(bias[at, head, one, other])
                        if softcap is not None:
                            score = softcap * math.tanh(score / softcap)
                        scores[other] = 0.0 if is_even else score + added
                    total = sum(math.exp(score) for score in scores.values())
                    if sinks is not None and not is_even:
                        total += math.exp(float(sinks[head]))
                    for other, score in scores.items():
                        weight = math.exp(score) / total
                        result[at, one, head] += weight * value[at, head // group, other].double()
        return result.to(query.dtype), None

    file: Any = sys.modules[type(model).__module__]
    own = file.eager_attention_forward
    file.eager_attention_forward = attend
    try:
        yield
    finally:
        file.eager_attention_forward = own
