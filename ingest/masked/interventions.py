"""An attention function for transformers that replaces the output of some heads.

It stays in a registry of transformers until the interpreter ends, and keeps this module alive. So
this module must not import anything that fails when it lives that long, as DuckDB's bindings do.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

Replacement = Literal["uniform", "zero"]

IMPLEMENTATION = "attnbank_ablation"


@dataclass(frozen=True)
class Variant:
    """What is disabled: nothing, a head or a layer; layers and heads are 1-based."""

    disabled: str  # none, head or layer
    layer: int | None = None
    head: int | None = None


@dataclass
class Intervention:
    """What the attention function does in one pass of the model."""

    variant: Variant
    replacement: Replacement
    real: Tensor  # [B, T] float, 1 for a token and 0 for padding
    layer: int  # 0-based layer whose attention is computed next
    seen: list[Any] = field(default_factory=list)  # attention modules, in the order of their calls
    heads: int = 0

    def on(self, output: Tensor, value: Tensor) -> Tensor:
        """The outputs of a layer's heads, [B, T, H, D], with those of disabled heads replaced.

        `value` is [B, H, T, D], or has fewer heads if several heads share their values.
        """
        heads = self.heads = output.shape[2]
        self.layer += 1
        if self.layer != self.variant.layer:
            return output
        head = self.variant.head
        chosen = slice(None) if head is None else slice(head - 1, head)
        output = output.clone()
        if self.replacement == "zero":
            output[:, :, chosen] = 0
        else:
            value = value.repeat_interleave(heads // value.shape[1], dim=1)[:, chosen]
            weights = self.real / self.real.sum(1, keepdim=True)
            output[:, :, chosen] = torch.einsum("bt,bhtd->bhd", weights, value)[:, None]
        return output


intervention_of_pass: ContextVar[Intervention] = ContextVar("intervention")


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, *others: Any, **named: Any
) -> Any:
    """The model's own eager attention, with the heads disabled that `intervention_of_pass` says."""
    eager = sys.modules[type(module).forward.__module__].eager_attention_forward
    output, weights = eager(module, query, key, value, *others, **named)
    intervention = intervention_of_pass.get()
    intervention.seen.append(module)
    return intervention.on(output, value), weights


AttentionInterface.register(IMPLEMENTATION, _attend)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)
