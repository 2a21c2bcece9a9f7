"""BERT's masking: which tokens are predicted, what the model reads in their place, and its loss.

As in BERT's pre-training (Devlin et al. 2019, section 3.1), 15 % of the tokens of an input are
predicted: the nearest whole number, but at least one. Special tokens count towards the length but
are never chosen. Of the chosen tokens, 80 % are replaced by the mask token and 10 % by a random
token of the vocabulary; 10 % stay.

The masks depend only on the seed and on the tokens of the input, so that neither the order of the
batches, nor an interruption, nor other content of the bank changes them.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnbank.ingest.models.tokenizer import Encoded

SHARE = 0.15
_TO_MASK, _TO_MASK_OR_RANDOM = 0.8, 0.9


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
    mask: int
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
                input_ids.append(self.mask)
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
        """Return the cross-entropy of each masked token, [M] float32 in nats, and the output.

        `mask` and `segments` are [B, T] int64; `settings` are passed to the model.
        """
        inputs = {"input_ids": batch.ids.to(self.device), "attention_mask": mask.to(self.device)}
        if self.takes_segments:
            inputs["token_type_ids"] = segments.to(self.device)
        position = batch.input.to(self.device), batch.token.to(self.device)
        logits, output = logits_at(self.module, inputs | settings, *position)
        target = batch.target.to(self.device)
        return torch.nn.functional.cross_entropy(logits, target, reduction="none"), output


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
    ids = torch.full((1, 3), model.mask)
    ones = torch.ones(1, dtype=torch.int64)
    batch = MaskedBatch(ids, ones - 1, ones, ones * model.vocabulary[0])
    return batch, torch.ones_like(ids), torch.zeros_like(ids)
