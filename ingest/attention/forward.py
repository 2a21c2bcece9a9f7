"""One batch through the model."""

from __future__ import annotations

from torch import Tensor

from attnbank.ingest.attention.rows import padded
from attnbank.ingest.inputs.plan import Batch
from attnbank.ingest.masked.passes import MaskedPasses, Measured
from attnbank.ingest.models.loading import Model


def run_model(
    model: Model, batch: Batch, masked: MaskedPasses | None
) -> tuple[list[Tensor], Measured | None]:
    """What the heads look at in a batch, and what `masked` measures there, if it is given.

    The first is one tensor [inputs, heads, tokens, tokens] per layer, and none for a batch that
    only has sentences that were left out.
    """
    if not batch.inputs:
        return [], None
    inputs = padded(batch, model.input_tokenizer.padding)
    attentions = list(model.attentions(*inputs))
    return attentions, None if masked is None else masked.measure(batch, *inputs)
