"""What a run measures on its masked inputs, besides the plain pass over its text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from attnbank.ingest.inputs.plan import Batch
from attnbank.ingest.masked.ablation import Ablation
from attnbank.ingest.masked.gradients import Gradients
from attnbank.ingest.masked.masking import Masking
from attnbank.ingest.masked.model import MaskedLM
from attnbank.ingest.options import IngestOptions


@dataclass(frozen=True)
class Measured:
    """What was measured on the B masked inputs of a batch."""

    masked: np.ndarray  # [B] number of masked tokens
    gradients: list[np.ndarray] | None  # [B, H, T, T] float32 per layer
    losses: np.ndarray | None  # [variants, B] float64, in nats, summed over the masked tokens


@dataclass(frozen=True)
class MaskedPasses:
    """Masks a batch and computes the gradients and the ablation that were asked for."""

    masking: Masking
    gradients: Gradients | None
    ablation: Ablation | None

    def measure(self, batch: Batch, ids: Tensor, mask: Tensor, segments: Tensor) -> Measured:
        """Measure a batch, padded as `ids`, `mask` and `segments`, [B, T] int64 each."""
        masked = [self.masking.of(each.encoded) for each in batch.inputs]
        given = ids, mask, segments, masked
        return Measured(
            masked=np.array([len(each.tokens) for each in masked]),
            gradients=None if self.gradients is None else self.gradients.of(*given),
            losses=None if self.ablation is None else self.ablation.losses(*given),
        )


def masked_passes(model: MaskedLM | None, options: IngestOptions) -> MaskedPasses | None:
    """The masked passes that the options ask for; None if `model` is None.

    Raises AttnbankError if the model's attention cannot be differentiated or replaced, as asked.
    """
    if model is None:
        return None
    return MaskedPasses(
        masking=Masking(options.mask_seed, model.mask, model.special, model.vocabulary),
        gradients=Gradients(model) if options.gradients else None,
        ablation=Ablation(model, options.ablate, options.replacement) if options.ablate else None,
    )
