"""The gradient of the masked-language-model loss with respect to every attention weight.

Section 3.2 of the paper measures by its magnitude how much changing the attention to a token would
change the model's outputs. The loss of a masked input is differentiated by each weight as a
variable of its own (the constraint that weights sum to 1 is ignored), in evaluation mode, so
without dropout.

The loss is computed for each input by itself: the mean of the cross-entropy over its masked tokens,
in nats. So the gradients of an input do not depend on the batch that it is in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnbank.ingest.masked.masking import Masked, MaskedBatch, together
from attnbank.ingest.masked.model import MaskedLM, tiny_batch
from attnbank.sql.errors import AttnbankError

TOKENS_AT_ONCE = 512
"""Padded tokens of one backward pass, which keeps the outputs of all layers in memory: in BERT
0.6 MB per token."""


class Gradients:
    """Differentiates the loss of a model by its attention weights.

    Raises AttnbankError for a model that returns other weights than those it computes with.
    """

    def __init__(self, model: MaskedLM) -> None:
        self._model = model
        batch, mask, segments = tiny_batch(model)
        try:
            self._gradients(batch, mask, segments)
        except (RuntimeError, NotImplementedError) as error:
            raise AttnbankError(
                f"The attention weights that {type(model.module).__name__} returns are not the"
                f" ones that it computes with: {str(error).splitlines()[0]}",
                "Leave --gradients out, or use BERT, RoBERTa, ELECTRA, ...",
            ) from error

    def of(
        self, ids: Tensor, mask: Tensor, segments: Tensor, masked: list[Masked]
    ) -> list[np.ndarray]:
        """Signed gradients, an array [B, H, T, T] float32 per layer, from queries to keys.

        They are in nats per unit of attention. `ids`, `mask` and `segments` are [B, T] int64;
        `masked` has one entry per input. The rows and columns of padding have no meaning; an input
        with nothing masked has zeros.
        """
        size = max(1, TOKENS_AT_ONCE // ids.shape[1])
        parts = [
            self._gradients(
                together(ids[start : start + size], masked[start : start + size]),
                mask[start : start + size],
                segments[start : start + size],
            )
            for start in range(0, len(ids), size)
        ]
        return [np.concatenate(layer) for layer in zip(*parts, strict=True)]

    def _gradients(self, batch: MaskedBatch, mask: Tensor, segments: Tensor) -> list[np.ndarray]:
        with torch.enable_grad(), _differentiable(self._model.module):
            losses, output = self._model.losses(batch, mask, segments, output_attentions=True)
            counts = torch.bincount(batch.input, minlength=len(mask)).to(losses.device)
            total = (losses / counts[batch.input.to(losses.device)]).sum()
            found = torch.autograd.grad(total, output.attentions)
        return [each.float().cpu().numpy() for each in found]


@contextmanager
def _differentiable(module: Any) -> Iterator[None]:
    """Within, gradients reach the first layer although the parameters are frozen."""

    def require(_: Any, arguments: Any, output: Tensor) -> None:
        output.requires_grad_(True)

    hook = module.get_input_embeddings().register_forward_hook(require)
    try:
        yield
    finally:
        hook.remove()
