"""BERT's masking: which tokens are predicted, what the model sees in their place, and its loss.

As in BERT's pre-training (Devlin et al. 2019, section 3.1), 15 % of the tokens of an input are
predicted: the nearest whole number, but at least one. Special tokens count towards the length but
are never chosen. Of the chosen tokens, 80 % are replaced by the mask token and 10 % by a random
token of the vocabulary; 10 % stay.

The draw depends only on the seed and on the input's own tokens, so that neither the order of the
batches, nor an interruption, nor what else is in the bank changes it.
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
    """What is masked in one input: indices of tokens, ascending, and two token ids for each."""

    tokens: tuple[int, ...]
    input_ids: tuple[int, ...]  # the id that the model is given there
    target: tuple[int, ...]  # the id of the text, which is to be predicted


@dataclass(frozen=True)
class MaskedBatch:
    """Masked inputs padded together; M masked tokens in all, input by input."""

    ids: Tensor  # [B, T] int64, after masking
    input: Tensor  # [M] int64, which input of the batch
    token: Tensor  # [M] int64, which token of it
    target: Tensor  # [M] int64, the id to be predicted


@dataclass(frozen=True)
class Masking:
    """How a tokenizer's inputs are masked under a seed."""

    seed: int
    mask: int
    never_masked: frozenset[int]  # ids of special tokens, which may also occur in the text as words
    vocabulary: tuple[int, ...]  # ids that a random token is drawn from

    def draw_mask(self, encoded: Encoded) -> InputMask:
        """Draw the mask of an input; it is empty if the input has only special tokens."""
        candidates = [
            token
            for position in encoded.positions
            if position.is_candidate
            for token in range(position.start, position.end)
            if encoded.ids[token] not in self.never_masked
        ]
        # random() is the only method whose numbers Python promises not to change.
        text = f"{self.seed}:{','.join(map(str, encoded.ids))}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        draw = random.Random(seed).random
        count = min(len(candidates), max(1, round(SHARE * len(encoded.ids))))
        shuffled = sorted((draw(), token) for token in candidates)
        tokens = sorted(token for _, token in shuffled[:count])
        input_ids = []
        for token in tokens:
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
    """Put the masks of a batch into a copy of its padded token ids, [B, T] int64."""
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
        """Cross-entropy of every masked token, in nats, [M] float32, and the model's output.

        `mask` and `segments` are [B, T] int64. Logits of all tokens would be large and slow.
        """
        inputs = {"input_ids": batch.ids.to(self.device), "attention_mask": mask.to(self.device)}
        if self.takes_segments:
            inputs["token_type_ids"] = segments.to(self.device)
        row, token = batch.input.to(self.device), batch.token.to(self.device)

        def select_masked(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            hidden, *remaining = arguments
            is_whole = hidden.shape[:2] == batch.ids.shape
            return (hidden[row, token] if is_whole else hidden, *remaining)

        last = self.module.get_output_embeddings()  # the largest product of the head
        with nullcontext() if last is None else last.register_forward_pre_hook(select_masked):
            output = self.module(**inputs, **settings)
        logits = output.logits
        if logits.ndim == 3:  # the head does not end in its output embeddings (MobileBERT)
            logits = logits[row, token]
        target = batch.target.to(self.device)
        return torch.nn.functional.cross_entropy(logits, target, reduction="none"), output


def tiny_batch(model: MaskedLM) -> tuple[MaskedBatch, Tensor, Tensor]:
    """An input of three mask tokens, to try a model on: the batch, its mask and its segments."""
    ids = torch.full((1, 3), model.mask)
    ones = torch.ones(1, dtype=torch.int64)
    batch = MaskedBatch(ids, ones - 1, ones, ones * model.vocabulary[0])
    return batch, torch.ones_like(ids), torch.zeros_like(ids)
