"""A model with its masked-language-model head, and its loss on masked tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnbank.ingest.masked.masking import MaskedBatch


@dataclass(frozen=True)
class MaskedLM:
    """A model with its masked-language-model head. Its parameters are frozen."""

    module: Any  # transformers.PreTrainedModel
    device: torch.device
    takes_segments: bool
    mask: int  # id of the mask token
    special: frozenset[int]  # ids of special tokens, the unknown token left out
    vocabulary: tuple[int, ...]  # ids of all tokens that are neither special nor unknown

    def losses(
        self, batch: MaskedBatch, mask: Tensor, segments: Tensor, **settings: Any
    ) -> tuple[Tensor, Any]:
        """Cross-entropy of every masked token, in nats, [M] float32, and the model's output.

        `mask` (1 for a token, 0 for padding) and `segments` are [B, T] int64; `settings` are
        arguments of the model. Where possible the head computes logits only for the masked tokens,
        since a tensor [B, T, vocabulary] would be large and slow.
        """
        inputs = {
            "input_ids": batch.ids.to(self.device),
            "attention_mask": mask.to(self.device),
        }
        if self.takes_segments:
            inputs["token_type_ids"] = segments.to(self.device)
        row, token = batch.input.to(self.device), batch.token.to(self.device)
        with self._only(row, token, batch.ids.shape):
            output = self.module(**inputs, **settings)
        logits = output.logits
        if logits.ndim == 3:  # the head does not end in its output embeddings (MobileBERT)
            logits = logits[row, token]
        target = batch.target.to(self.device)
        return torch.nn.functional.cross_entropy(logits, target, reduction="none"), output

    @contextmanager
    def _only(self, row: Tensor, token: Tensor, shape: torch.Size) -> Iterator[None]:
        """Within, the output embeddings, the head's largest product, see only masked tokens."""
        last = self.module.get_output_embeddings()
        if last is None:
            yield
            return

        def choose(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            hidden, *others = arguments
            return (hidden[row, token] if hidden.shape[:2] == shape else hidden, *others)

        hook = last.register_forward_pre_hook(choose)
        try:
            yield
        finally:
            hook.remove()


def tiny_batch(model: MaskedLM) -> tuple[MaskedBatch, Tensor, Tensor]:
    """An input of three mask tokens, the middle one to be predicted, to try a model on.

    Returns the batch, the attention mask and the segment ids.
    """
    ids = torch.full((1, 3), model.mask)
    one = torch.ones(1, dtype=torch.int64)
    batch = MaskedBatch(ids, one - 1, one, one * model.vocabulary[0])
    return batch, torch.ones_like(ids), torch.zeros_like(ids)
