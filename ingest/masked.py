"""Masks words as BERT's training does; the gradients and the loss of the masked words.

As in BERT's pre-training (Devlin et al. 2019, section 3.1), 15 % of the tokens of an input are
predicted: the nearest whole number, but at least one. Special tokens count towards the length but
are never chosen. Of the chosen tokens, 80 % are replaced by the mask token and 10 % by a random
token of the vocabulary; 10 % stay. The masks depend only on the seed and on the tokens of the
input, so that neither the order of the batches, nor an interruption, nor other content of the bank
changes them.

Kovaleva et al. (2019, section 4.6) disable a head by giving every token of the input the same
weight, 1/L for L tokens (special tokens included, padding not), so that its output is the mean of
its values, and a layer by disabling all its heads. The other replacement makes the output zero.
The same seeded masks are used for the whole model and every variant. The layers below the disabled
one have the same output as in the whole model, which is cached.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attnbank.ingest.models.attend import Call, find_attention, replace_heads
from attnbank.ingest.models.tokenizer import Encoded
from attnbank.ingest.options import Ablate, IngestOptions, Replacement
from attnbank.sql.errors import AttnbankError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from attnbank.ingest.planning import Batch

SHARE = 0.15
_TO_MASK, _TO_MASK_OR_RANDOM = 0.8, 0.9
# Padded tokens of one backward pass, which holds the outputs of all layers: in BERT 0.6 MB a token.
TOKENS_AT_ONCE = 512
_TRIED_TOKENS = 8  # the length of an input to try a model with


@dataclass(frozen=True)
class InputMask:
    """The masked tokens of one input: their indices, ascending, and two token ids for each."""

    tokens: tuple[int, ...]
    input_ids: tuple[int, ...]  # what the model reads there
    target: tuple[int, ...]  # what it should predict: the id in the text


@dataclass(frozen=True)
class MaskedBatch:
    """Masked inputs padded together, with M masked tokens in all, input by input."""

    ids: Tensor  # [B, T] int64, after masking
    input: Tensor  # [M] int64, index of the input in the batch
    token: Tensor  # [M] int64, index of the token in the input
    target: Tensor  # [M] int64, the id to be predicted


@dataclass(frozen=True)
class Masking:
    """How inputs are masked: the seed, and token ids of the vocabulary."""

    seed: int
    mask_token: int
    never_masked: frozenset[int]  # special tokens, which may also occur in the text as words
    vocabulary: tuple[int, ...]  # the tokens that a random token is drawn from

    def draw_mask(self, encoded: Encoded) -> InputMask:
        """Return the mask of an input; it is empty if all its tokens are special."""
        candidates = [
            token
            for position in encoded.positions
            if position.is_candidate
            for token in range(position.start, position.end)
            if encoded.ids[token] not in self.never_masked
        ]
        # random() is the only method whose numbers Python promises not to change. Its seed is a
        # digest because hash() of a text differs from process to process.
        text = f"{self.seed}:{','.join(map(str, encoded.ids))}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        draw = random.Random(seed).random
        count = min(len(candidates), max(1, round(SHARE * len(encoded.ids))))
        shuffled = sorted((draw(), token) for token in candidates)
        tokens = sorted(token for _, token in shuffled[:count])
        input_ids = []
        for token in tokens:
            # Always two draws, so that one token's outcome does not shift those of the next.
            kind, pick = draw(), draw()
            if kind < _TO_MASK:
                input_ids.append(self.mask_token)
            elif kind < _TO_MASK_OR_RANDOM:
                input_ids.append(self.vocabulary[int(pick * len(self.vocabulary))])
            else:
                input_ids.append(encoded.ids[token])
        return InputMask(
            tuple(tokens), tuple(input_ids), tuple(encoded.ids[token] for token in tokens)
        )


def apply_masks(ids: Tensor, masked: Sequence[InputMask]) -> MaskedBatch:
    """Return a batch with its masks applied to a copy of its padded token ids, [B, T] int64."""
    row = _flat([[at] * len(input_mask.tokens) for at, input_mask in enumerate(masked)])
    token = _flat([input_mask.tokens for input_mask in masked])
    masked_ids = ids.clone()
    masked_ids[row, token] = _flat([input_mask.input_ids for input_mask in masked])
    return MaskedBatch(masked_ids, row, token, _flat([input_mask.target for input_mask in masked]))


def _flat(parts: Sequence[Sequence[int]]) -> Tensor:
    return torch.tensor([value for part in parts for value in part], dtype=torch.int64)


@dataclass(frozen=True)
class MaskedLM:
    """A model with its masked-language-model head; tokens are ids. Its parameters are frozen."""

    module: Any  # transformers.PreTrainedModel
    device: torch.device
    takes_segments: bool
    mask_token: int
    special: frozenset[int]  # without the unknown token
    vocabulary: tuple[int, ...]  # all tokens that are neither special nor unknown

    def losses(
        self, batch: MaskedBatch, attention_mask: Tensor, segments: Tensor, **settings: Any
    ) -> tuple[Tensor, Any]:
        """Return the cross-entropy of each masked token, [M] float32 in nats, and the output.

        `attention_mask` and `segments` are [B, T] int64; `settings` are passed to the model.
        """
        own_segments = segments if self.takes_segments else None
        inputs = inputs_on(self.device, batch.ids, attention_mask, own_segments)
        position = batch.input.to(self.device), batch.token.to(self.device)
        logits, output = logits_at(self.module, inputs | settings, *position)
        target = batch.target.to(self.device)
        return torch.nn.functional.cross_entropy(logits, target, reduction="none"), output


def inputs_on(
    device: torch.device, ids: Tensor, attention_mask: Tensor, segments: Tensor | None
) -> dict[str, Any]:
    """Name the padded inputs of a forward pass, and move them to a device.

    `segments` is None for a model that takes none.
    """
    inputs = {"input_ids": ids, "attention_mask": attention_mask, "token_type_ids": segments}
    return {name: tensor.to(device) for name, tensor in inputs.items() if tensor is not None}


def logits_at(
    module: Any, inputs: dict[str, Any], row: Tensor, token: Tensor
) -> tuple[Tensor, Any]:
    """Run a model; return its logits at N tokens, [N, vocabulary], and the output.

    `row` and `token` are the indices of each token in the inputs, [N] int64.
    """

    def select(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden, *remaining = arguments
        is_whole = hidden.shape[:2] == inputs["input_ids"].shape
        return (hidden[row, token] if is_whole else hidden, *remaining)

    # Logits of all tokens would be large and slow: the output embeddings get these only.
    last = module.get_output_embeddings()
    with nullcontext() if last is None else last.register_forward_pre_hook(select):
        output = module(**inputs)
    logits = output.logits
    if logits.ndim == 3:  # the head does not end in its output embeddings (MobileBERT)
        logits = logits[row, token]
    return logits, output


def tiny_batch(model: MaskedLM) -> tuple[MaskedBatch, Tensor, Tensor]:
    """Return a batch of one input of three mask tokens to test a model with.

    With it come its attention mask and its segments.
    """
    ids = torch.full((1, 3), model.mask_token)
    ones = torch.ones(1, dtype=torch.int64)
    batch = MaskedBatch(ids, ones - 1, ones, ones * model.vocabulary[0])
    return batch, torch.ones_like(ids), torch.zeros_like(ids)


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
        self, batch: Batch, ids: Tensor, attention_mask: Tensor, segments: Tensor
    ) -> MaskedLoss:
        """Return the results for a batch; the padded inputs are [B, T] int64."""
        masked = [self.masking.draw_mask(model_input.encoded) for model_input in batch.inputs]
        arguments = ids, attention_mask, segments, masked
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
        masking=Masking(options.mask_seed, model.mask_token, model.special, model.vocabulary),
        gradients=Gradients(model) if options.gradients else None,
        ablation=Ablation(model, options.ablate, options.replacement) if options.ablate else None,
    )


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
        self, ids: Tensor, attention_mask: Tensor, segments: Tensor, masked: list[InputMask]
    ) -> list[np.ndarray]:
        """Return signed gradients, in nats per unit of attention: [B, H, T, T] float32 per layer.

        The padded inputs are [B, T] int64; `masked` has one entry per input. Rows and columns of
        padding have no meaning; an input without masked tokens has zeros.
        """
        size = max(1, TOKENS_AT_ONCE // ids.shape[1])
        parts = []
        for start in range(0, len(ids), size):
            cut = slice(start, start + size)
            batch = apply_masks(ids[cut], masked[cut])
            parts.append(self._gradients(batch, attention_mask[cut], segments[cut]))
        return [np.concatenate(layer) for layer in zip(*parts, strict=True)]

    def _gradients(
        self, batch: MaskedBatch, attention_mask: Tensor, segments: Tensor
    ) -> list[np.ndarray]:
        embeddings = self._model.module.get_input_embeddings()
        # The parameters are frozen: gradients must begin somewhere below the first layer.
        hook = embeddings.register_forward_hook(lambda module, _, output: output.requires_grad_())
        with torch.enable_grad(), hook:
            losses, output = self._model.losses(
                batch, attention_mask, segments, output_attentions=True
            )
            counts = torch.bincount(batch.input, minlength=len(attention_mask)).to(losses.device)
            total = (losses / counts[batch.input.to(losses.device)]).sum()
            gradients = torch.autograd.grad(total, output.attentions)
        return [gradient.float().cpu().numpy() for gradient in gradients]


@dataclass(frozen=True)
class Variant:
    """What is disabled: nothing, a head, or all heads of a layer; numbers are 1-based."""

    disabled: str  # none, head or layer
    layer: int | None = None
    head: int | None = None


def list_variants(ablate: Ablate, layers: int, heads: int) -> list[Variant]:
    """Return the variants in the order they are run: the whole model, then each head or layer."""
    layer_numbers = range(1, layers + 1)
    if ablate == "layers":
        return [Variant("none"), *(Variant("layer", layer) for layer in layer_numbers)]
    head_variants = (
        Variant("head", layer, head) for layer in layer_numbers for head in range(1, heads + 1)
    )
    return [Variant("none"), *head_variants]


class Ablation:
    """Measures the loss of a model with each of its heads or layers disabled in turn.

    Raises ModelError for a model whose heads cannot be replaced.
    """

    def __init__(self, model: MaskedLM, ablate: Ablate, replacement: Replacement) -> None:
        self.replacement: Replacement = replacement
        self._model = model
        ids = torch.tensor([model.vocabulary[:_TRIED_TOKENS]])
        segments = torch.zeros_like(ids) if model.takes_segments else None
        inputs = inputs_on(model.device, ids, torch.ones_like(ids), segments)
        with torch.inference_mode():
            maps = model.module(**inputs, output_attentions=True).attentions
        self._attention = find_attention(model.module, inputs, maps)
        self.variants = list_variants(ablate, len(maps), self._attention.heads)

    def losses(
        self, ids: Tensor, attention_mask: Tensor, segments: Tensor, masked: list[InputMask]
    ) -> np.ndarray:
        """Return the loss in nats, summed over the masked tokens: [variants, B] float64."""
        batch = apply_masks(ids, masked)
        totals = np.zeros((len(self.variants), len(masked)))
        outputs: list[Any] = []  # of each layer of the whole model
        for sums, variant in zip(totals, self.variants, strict=True):
            below = 0 if variant.layer is None else variant.layer - 1
            disable = partial(self._disable, variant)
            with (
                self._attention.watch(after=disable, outputs=outputs, below=below),
                torch.inference_mode(),
            ):
                losses, _ = self._model.losses(batch, attention_mask, segments)
            np.add.at(sums, batch.input.numpy(), losses.double().cpu().numpy())
        return totals

    def _disable(self, variant: Variant, call: Call) -> None:
        if variant.layer == call.number + 1:
            heads = range(call.heads) if variant.head is None else [variant.head - 1]
            replace_heads(call, heads, self.replacement)


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
        if self._tokens:
            connection.executemany(
                "insert into ablation (run, disabled, layer, head, replacement, loss, tokens)"
                " values (?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        self._run, variant.disabled, variant.layer, variant.head,
                        self._replacement if variant.layer else None, loss, self._tokens,
                    )
                    for variant, loss in zip(self._variants, self._means.tolist(), strict=True)
                ],
            )  # fmt: skip
