"""The masked-language-model loss with a head, or a layer of heads, disabled.

Kovaleva et al. (2019, section 4.6) disable a head by giving every token of the input the same
weight, 1/L for L tokens (special tokens included, padding not), and a layer by doing so to all its
heads; the output of the head is then the mean of its values. The other replacement is 0: the output
of the head is zero. The same seeded masks are used for the whole model and every variant.

The layers below the disabled one give the same as in the pass of the whole model, and are not
computed again, which saves half of the arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from duckdb import DuckDBPyConnection
from torch import Tensor

from attnbank.ingest.masked.interventions import (
    IMPLEMENTATION,
    Intervention,
    Replacement,
    Variant,
    intervention_of_pass,
)
from attnbank.ingest.masked.masking import Masked, MaskedBatch, together
from attnbank.ingest.masked.model import MaskedLM, tiny_batch
from attnbank.ingest.store.arrow import INT, SMALL, TEXT, insert, schema
from attnbank.sql.errors import AttnbankError

Ablate = Literal["heads", "layers"]

_ABLATION = schema(
    run=INT, disabled=TEXT, layer=SMALL, head=SMALL, replacement=TEXT,
    loss=pa.float64(), tokens=INT,
)  # fmt: skip


def variants(ablate: Ablate, layers: int, heads: int) -> list[Variant]:
    """What is disabled in turn: nothing first (the whole model), then every head or layer."""
    if ablate == "layers":
        return [Variant("none"), *(Variant("layer", layer) for layer in range(1, layers + 1))]
    return [
        Variant("none"),
        *(
            Variant("head", layer, head)
            for layer in range(1, layers + 1)
            for head in range(1, heads + 1)
        ),
    ]


class Ablation:
    """Measures the loss of a model with its heads or layers disabled, one at a time.

    Raises AttnbankError for a model whose attention cannot be replaced, because it does not
    compute that of every layer through transformers' attention functions.
    """

    def __init__(self, model: MaskedLM, ablate: Ablate, replacement: Replacement) -> None:
        self.replacement: Replacement = replacement
        self._model = model
        batch, mask, segments = tiny_batch(model)
        probe = self._intervention(Variant("none"), mask, 0)
        with torch.inference_mode(), self._own_attention():
            output = self._run(probe, batch, mask, segments, output_attentions=True)[1]
        names = {module: name for name, module in model.module.named_modules()}
        if not probe.seen or len(probe.seen) != len(output.attentions):
            raise AttnbankError(
                f"The attention of {type(model.module).__name__} cannot be replaced: it does not"
                " go through transformers' attention functions.",
                "Leave --ablate out, or use BERT, RoBERTa, ELECTRA, DistilBERT, ALBERT, ...",
            )
        self.variants = variants(ablate, len(probe.seen), probe.heads)
        self._layers = [model.module.get_submodule(_numbered(names[each])) for each in probe.seen]

    def losses(
        self, ids: Tensor, mask: Tensor, segments: Tensor, masked: list[Masked]
    ) -> np.ndarray:
        """The loss in nats, summed over the masked tokens of each input: [variants, B] float64.

        `ids`, `mask` and `segments` are [B, T] int64; `masked` has one entry per input.
        """
        batch = together(ids, masked)
        found = np.zeros((len(self.variants), len(masked)))
        outputs: list[Any] = []  # what each layer of the whole model gave
        with torch.inference_mode(), self._own_attention():
            for sums, variant in zip(found, self.variants, strict=True):
                below = 0 if variant.layer is None else variant.layer - 1
                with _replaying(self._layers, outputs, below):
                    intervention = self._intervention(variant, mask, below)
                    losses, _ = self._run(intervention, batch, mask, segments)
                np.add.at(sums, batch.input.numpy(), losses.double().cpu().numpy())
        return found

    def _intervention(self, variant: Variant, mask: Tensor, layer: int) -> Intervention:
        return Intervention(variant, self.replacement, mask.float().to(self._model.device), layer)

    def _run(
        self,
        intervention: Intervention,
        batch: MaskedBatch,
        mask: Tensor,
        segments: Tensor,
        **settings: Any,
    ) -> tuple[Tensor, Any]:
        """One pass of the model in which the attention functions follow `intervention`.

        Returns the loss of each masked token and the model's output.
        """
        token = intervention_of_pass.set(intervention)
        try:
            return self._model.losses(batch, mask, segments, **settings)
        finally:
            intervention_of_pass.reset(token)

    @contextmanager
    def _own_attention(self) -> Iterator[None]:
        config = self._model.module.config
        before = config._attn_implementation
        config._attn_implementation = IMPLEMENTATION
        try:
            yield
        finally:
            config._attn_implementation = before


def _numbered(name: str) -> str:
    """The name of the layer that an attention module is in: up to the last number in its name.

    Raises AttnbankError if there is no number in it.
    """
    found = re.match(r"(.*\.\d+)(\.|$)", name)
    if found is None:
        raise AttnbankError(f"The layer of {name} cannot be told.", "Leave --ablate out.")
    return found[1]


@contextmanager
def _replaying(layers: Sequence[Any], outputs: list[Any], below: int) -> Iterator[None]:
    """Within, the first `below` calls of the layers return `outputs`, which the first pass fills.

    Calls are counted, not layers, because some models (ALBERT) call one layer several times.
    """
    calls = 0

    def replace(layer: Any) -> None:
        forward = layer.forward

        def replay(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            at, calls = calls, calls + 1
            if at < below:
                return outputs[at]
            found = forward(*arguments, **named)
            if at == len(outputs):
                outputs.append(found)
            return found

        layer.forward = replay

    own = list(dict.fromkeys(layers))
    for each in own:
        replace(each)
    try:
        yield
    finally:
        for each in own:
            del each.forward


class Tally:
    """The mean losses of a run so far, as in table `ablation`.

    The means are updated batch by batch, so that they do not depend on how many batches a
    transaction has: a run that was interrupted and resumed ends with exactly the same bits.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        run: int,
        variants: Sequence[Variant],
        replacement: Replacement,
    ) -> None:
        self._run = run
        self._variants = variants
        self._replacement = replacement
        stored = connection.execute(
            "select disabled, layer, head, loss, tokens from ablation where run = ?", [run]
        ).fetchall()
        means = {Variant(*row[:3]): row[3] for row in stored}
        self._means = np.array([means.get(each, 0.0) for each in variants])
        self._tokens: int = stored[0][4] if stored else 0

    def add(self, sums: np.ndarray, tokens: int) -> None:
        """Add a batch: the summed loss of each variant, [variants], in nats, over its tokens."""
        if tokens:
            self._tokens += tokens
            self._means += (sums - tokens * self._means) / self._tokens

    def write(self, connection: DuckDBPyConnection) -> None:
        """Replace the earlier means of the run in the bank; the caller commits."""
        connection.execute("delete from ablation where run = ?", [self._run])
        if not self._tokens:
            return
        count = len(self._variants)
        rows = pa.table(
            [
                [self._run] * count,
                [each.disabled for each in self._variants],
                [each.layer for each in self._variants],
                [each.head for each in self._variants],
                [self._replacement if each.layer else None for each in self._variants],
                self._means,
                [self._tokens] * count,
            ],
            schema=_ABLATION,
        )
        insert(connection, "ablation", rows)
