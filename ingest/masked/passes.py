"""The passes of a run over its masked inputs: gradients, and the loss without single heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from duckdb import DuckDBPyConnection
from torch import Tensor

from attnbank.ingest.inputs.planning import Batch
from attnbank.ingest.masked.ablation import Ablation, Variant
from attnbank.ingest.masked.masking import (
    InputMask,
    MaskedBatch,
    MaskedLM,
    Masking,
    apply_masks,
    tiny_batch,
)
from attnbank.ingest.options import IngestOptions, Replacement
from attnbank.ingest.store.arrow import insert
from attnbank.sql.errors import AttnbankError

# Padded tokens of one backward pass, which holds the outputs of all layers: in BERT 0.6 MB a token.
TOKENS_AT_ONCE = 512


class Gradients:
    """Differentiates the loss of a model by its attention weights (section 3.2 of the paper).

    Each weight is an independent variable (the constraint that they sum to 1 is ignored), without
    dropout. The loss of an input is the mean over its own masked tokens, in nats, so its gradients
    do not depend on the rest of its batch. Raises AttnbankError for a model that returns other
    weights than those it computes with.
    """

    def __init__(self, model: MaskedLM) -> None:
        self._model = model
        try:
            self._gradients(*tiny_batch(model))
        except (RuntimeError, NotImplementedError) as error:
            raise AttnbankError(
                f"The attention weights that {type(model.module).__name__} returns are not the"
                f" ones that it computes with: {str(error).splitlines()[0]}",
                "Leave --gradients out, or use BERT, RoBERTa, ELECTRA, ...",
            ) from error

    def compute(
        self, ids: Tensor, mask: Tensor, segments: Tensor, masked: list[InputMask]
    ) -> list[np.ndarray]:
        """Return signed gradients, in nats per unit of attention: [B, H, T, T] float32 per layer.

        `ids`, `mask` and `segments` are [B, T] int64; `masked` has one entry per input. Rows and
        columns of padding have no meaning; an input without masked tokens has zeros.
        """
        size = max(1, TOKENS_AT_ONCE // ids.shape[1])
        parts = []
        for start in range(0, len(ids), size):
            cut = slice(start, start + size)
            batch = apply_masks(ids[cut], masked[cut])
            parts.append(self._gradients(batch, mask[cut], segments[cut]))
        return [np.concatenate(layer) for layer in zip(*parts, strict=True)]

    def _gradients(self, batch: MaskedBatch, mask: Tensor, segments: Tensor) -> list[np.ndarray]:
        embeddings = self._model.module.get_input_embeddings()
        # The parameters are frozen: gradients must begin somewhere below the first layer.
        hook = embeddings.register_forward_hook(lambda module, _, output: output.requires_grad_())
        with torch.enable_grad(), hook:
            losses, output = self._model.losses(batch, mask, segments, output_attentions=True)
            counts = torch.bincount(batch.input, minlength=len(mask)).to(losses.device)
            total = (losses / counts[batch.input.to(losses.device)]).sum()
            gradients = torch.autograd.grad(total, output.attentions)
        return [gradient.float().cpu().numpy() for gradient in gradients]


@dataclass(frozen=True)
class MaskedLoss:
    """The results for the B masked inputs of a batch."""

    masked: np.ndarray  # [B] numbers of masked tokens
    gradients: list[np.ndarray] | None  # [B, H, T, T] float32 per layer
    losses: np.ndarray | None  # [variants, B] float64, in nats, summed over the masked tokens


@dataclass(frozen=True)
class MaskedPasses:
    """Masks batches and computes gradients and ablation losses, as far as the options say."""

    masking: Masking
    gradients: Gradients | None
    ablation: Ablation | None

    def measure_batch(
        self, batch: Batch, ids: Tensor, mask: Tensor, segments: Tensor
    ) -> MaskedLoss:
        """Return the results for a batch with padded `ids`, `mask`, `segments`, [B, T] int64."""
        masked = [self.masking.draw_mask(model_input.encoded) for model_input in batch.inputs]
        arguments = ids, mask, segments, masked
        return MaskedLoss(
            masked=np.array([len(input_mask.tokens) for input_mask in masked]),
            gradients=None if self.gradients is None else self.gradients.compute(*arguments),
            losses=None if self.ablation is None else self.ablation.losses(*arguments),
        )


def masked_passes(model: MaskedLM | None, options: IngestOptions) -> MaskedPasses | None:
    """Return the masked passes of the options; None if `model` is None.

    Raises AttnbankError if the model's attention cannot be differentiated or replaced.
    """
    if model is None:
        return None
    return MaskedPasses(
        masking=Masking(options.mask_seed, model.mask, model.special, model.vocabulary),
        gradients=Gradients(model) if options.gradients else None,
        ablation=Ablation(model, options.ablate, options.replacement) if options.ablate else None,
    )


class Tally:
    """The mean losses of a run, updated batch by batch.

    A run that was interrupted and resumed ends with the same bits as one that was not.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        run: int,
        variants: Sequence[Variant],
        replacement: Replacement,
    ) -> None:
        self._run, self._variants, self._replacement = run, variants, replacement
        stored = connection.execute(
            "select disabled, layer, head, loss, tokens from ablation where run = ?", [run]
        ).fetchall()
        means = {Variant(*row[:3]): row[3] for row in stored}
        self._means = np.array([means.get(variant, 0.0) for variant in variants])
        self._tokens: int = stored[0][4] if stored else 0

    def add_losses(self, sums: np.ndarray, tokens: int) -> None:
        """Add a batch: the loss of each variant, [variants] in nats, summed over its tokens."""
        if tokens:
            self._tokens += tokens
            self._means += (sums - tokens * self._means) / self._tokens

    def write_losses(self, connection: DuckDBPyConnection) -> None:
        """Replace the means of the run in the bank; the caller commits."""
        connection.execute("delete from ablation where run = ?", [self._run])
        if not self._tokens:
            return
        count = len(self._variants)
        rows = {
            "run": [self._run] * count,
            "disabled": [variant.disabled for variant in self._variants],
            "layer": [variant.layer for variant in self._variants],
            "head": [variant.head for variant in self._variants],
            "replacement": [
                self._replacement if variant.layer else None for variant in self._variants
            ],
            "loss": self._means,
            "tokens": [self._tokens] * count,
        }
        insert(connection, "ablation", pa.table(rows))
