"""BERT's masking: which tokens of an input are predicted, and what the model sees in their place.

As in BERT's pre-training (Devlin et al. 2019, section 3.1), 15 % of the tokens of an input are
predicted: the nearest whole number, but at least one. Special tokens count towards the length but
are never chosen. Of the chosen tokens, 80 % are replaced by the mask token and 10 % by a random
token of the vocabulary; 10 % stay.

The draw depends only on the seed and on the input's own tokens. So neither the order of the
batches, nor an interruption, nor what else is in the bank changes it, and runs of two models with
the same tokenizer mask the same tokens. Inputs with the same tokens get the same mask.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attnbank.ingest.models.tokenizer import Encoded

SHARE = 0.15
_TO_MASK, _TO_MASK_OR_RANDOM = 0.8, 0.9


@dataclass(frozen=True)
class Masked:
    """What is masked in one input: indices of tokens, ascending, and two token ids for each."""

    tokens: tuple[int, ...]
    seen: tuple[int, ...]  # the id that the model is given there
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
    never: frozenset[int]  # ids of special tokens, which may also occur in the text as words
    vocabulary: tuple[int, ...]  # ids that a random token is drawn from

    def of(self, encoded: Encoded) -> Masked:
        """Draw the mask of an input; it is empty if the input has only special tokens."""
        places = [
            token
            for position in encoded.positions
            if position.kind in ("word", "token")
            for token in range(position.start, position.end)
            if encoded.ids[token] not in self.never
        ]
        # random() is the only method whose numbers Python promises not to change.
        draw = random.Random(self._seed_of(encoded.ids)).random
        count = min(len(places), max(1, round(SHARE * len(encoded.ids))))
        shuffled = sorted((draw(), place) for place in places)
        tokens = sorted(place for _, place in shuffled[:count])
        seen = []
        for token in tokens:
            kind, which = draw(), draw()
            if kind < _TO_MASK:
                seen.append(self.mask)
            elif kind < _TO_MASK_OR_RANDOM:
                seen.append(self.vocabulary[int(which * len(self.vocabulary))])
            else:
                seen.append(encoded.ids[token])
        return Masked(tuple(tokens), tuple(seen), tuple(encoded.ids[token] for token in tokens))

    def _seed_of(self, ids: Sequence[int]) -> int:
        text = f"{self.seed}:{','.join(map(str, ids))}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def together(ids: Tensor, masked: Sequence[Masked]) -> MaskedBatch:
    """Put the masks of a batch into a copy of its padded token ids, [B, T] int64."""
    counts = [len(each.tokens) for each in masked]
    row = torch.from_numpy(np.repeat(np.arange(len(masked)), counts).astype(np.int64))
    token = _flat([each.tokens for each in masked])
    seen = ids.clone()
    seen[row, token] = _flat([each.seen for each in masked])
    return MaskedBatch(seen, row, token, _flat([each.target for each in masked]))


def _flat(parts: Sequence[Sequence[int]]) -> Tensor:
    return torch.tensor([each for part in parts for each in part], dtype=torch.int64)
