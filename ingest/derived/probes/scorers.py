"""The probes of section 5 of the paper: how each scores the candidate heads of every word.

p(head | dependent) is the softmax of the scores over the candidates. The candidates are ROOT, which
comes first, and the words of the sentence except the dependent itself; special tokens are none. In
the published code the dependent itself is a candidate too.

In shapes, B is the number of sentences, P of positions, K of maps (layers times heads) and D of
numbers in a word vector.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from attnbank.ingest.derived.probes.data.batches import Batch

HIDDEN = 256
"""Units of the hidden layer of DistanceWordsScorer, as in the published code."""
_DISTANCES = 6
"""Numbers that describe the distance of a pair; see _distances."""


class Scorer(nn.Module, ABC):
    """A probe that learns; the base class of all kinds except right_branching."""

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Scores [B, P, 1 + P] of each dependent's candidates, ROOT first; -inf for the others."""


class HeadScorer(Scorer):
    """A probe that weighs attention heads.

    The score of a pair is the sum over heads of weight times attention, from the dependent to
    the candidate and from the candidate to the dependent. The score of ROOT is the same sum for
    each special token, times `opens` for [CLS] and `closes` for all others, added up. In the
    published code these are [CLS] and [SEP].
    """

    def __init__(self) -> None:
        super().__init__()
        self.opens = nn.Parameter(torch.ones(()))
        self.closes = nn.Parameter(torch.ones(()))

    @abstractmethod
    def pairs(self, batch: Batch) -> Tensor:
        """Scores [B, P, P] of (dependent, candidate), special tokens included."""

    @abstractmethod
    def coefficients(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Weights of the attention from and to the dependent, [B, P, P, K] each.

        A dimension is 1 if the weights do not depend on it.
        """

    def forward(self, batch: Batch) -> Tensor:
        """Scores [B, P, 1 + P], as in Scorer."""
        pairs = self.pairs(batch)
        special = self.opens * batch.opens + self.closes * batch.closes
        return _candidates(pairs @ special[..., None], pairs, batch)


class AttentionScorer(HeadScorer):
    """The attention-only probe: one weight per head and direction.

    p(candidate | dependent) is proportional to
    exp(sum over heads k of w_k a^k(dependent, candidate) + u_k a^k(candidate, dependent)).
    """

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(2, maps))

    def pairs(self, batch: Batch) -> Tensor:
        """Scores [B, P, P] of (dependent, candidate)."""
        first, second = linear(_attention(batch), self.weights).unbind(-1)
        return first + second.transpose(1, 2)

    def coefficients(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The same weights for every pair, [1, 1, 1, K] each."""
        from_dependent, to_dependent = self.weights
        return from_dependent[None, None, None], to_dependent[None, None, None]


class AttentionWordsScorer(HeadScorer):
    """The attention-and-words probe: w_k and u_k are linear in the vectors of the two words.

    w_k = b_k + W_k (v(dependent), v(candidate)). Because this is linear, the sum over the D numbers
    of a vector is computed once per word and not once per pair, so that memory and time are hardly
    more than for attention only. The vector of ROOT is zero.
    """

    def __init__(self, maps: int, vectors: Tensor, root_at: str) -> None:
        super().__init__()
        self.vectors = _Vectors(vectors, root_at)
        size = vectors.shape[1]
        self.bias = nn.Parameter(torch.zeros(2, maps))
        self.dependent = nn.Parameter(torch.zeros(size, 2 * maps))
        self.candidate = nn.Parameter(torch.zeros(size, 2 * maps))

    def _terms(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """The terms of each word as dependent and as candidate, [2, B, P, K] each; `is_paired`.

        The first dimension is the direction; the candidate's terms include the bias. `is_paired`
        is the third value of _Vectors.
        """
        dependents, candidates, is_paired = self.vectors(batch)
        shape = (*batch.is_word.shape, 2, -1)
        dependent = (dependents @ self.dependent).view(shape).permute(2, 0, 1, 3)
        candidate = (candidates @ self.candidate).view(shape).permute(2, 0, 1, 3)
        return dependent, candidate + self.bias[:, None, None], is_paired

    def pairs(self, batch: Batch) -> Tensor:
        """Scores [B, P, P] of (dependent, candidate)."""
        attention = _attention(batch)
        dependent, candidate, is_paired = self._terms(batch)
        # In attention from the dependent, its position is the first index, and in attention to it
        # the second. The two terms of each position are summed in one product over the maps.
        first = _weighted(attention, dependent[0], candidate[1])
        second = _weighted(attention.transpose(1, 2), candidate[0], dependent[1])
        by_dependent = first[:, :, 0] + second[:, :, 1]
        by_candidate = (second[:, :, 0] + first[:, :, 1]).transpose(1, 2)
        return by_dependent * is_paired[:, None, :] + by_candidate

    def coefficients(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Weights [B, P, P, K] of each pair, from and to the dependent."""
        dependent, candidate, is_paired = self._terms(batch)
        pairs = dependent[:, :, :, None] * is_paired[:, None, :, None] + candidate[:, :, None]
        return pairs[0], pairs[1]


class DistanceWordsScorer(Scorer):
    """The baseline without attention: 256 tanh units over distance and the two words' vectors.

    For a pair at offset d = candidate - dependent in a sentence of n words, the distance is six
    numbers: d / n if d is positive, -d / n if it is negative (else 0), and whether d is 1, -1, 2
    and -2. ROOT has no distance, but weights of its own.
    """

    def __init__(self, vectors: Tensor, root_at: str, generator: torch.Generator) -> None:
        super().__init__()
        self.vectors = _Vectors(vectors, root_at)
        size = vectors.shape[1]
        spread = math.sqrt(6 / (2 * size + _DISTANCES + 1 + HIDDEN))
        self.dependent = _uniform(size, HIDDEN, spread, generator)
        self.candidate = _uniform(size, HIDDEN, spread, generator)
        self.distance = _uniform(_DISTANCES, HIDDEN, spread, generator)
        self.root = _uniform(1, HIDDEN, spread, generator)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.out = _uniform(1, HIDDEN, math.sqrt(6 / (HIDDEN + 1)), generator)

    def forward(self, batch: Batch) -> Tensor:
        """Scores [B, P, 1 + P], as in Scorer."""
        dependents, candidates, is_paired = self.vectors(batch)
        dependent = dependents @ self.dependent
        candidate = candidates @ self.candidate + self.bias
        # [B, P, P, 256] is the largest tensor of all, so it is filled in place.
        hidden = (_distances(batch) @ self.distance).add_(candidate[:, None])
        if self.vectors.is_published:
            hidden.add_(dependent[:, :, None] * is_paired[:, None, :, None])
        else:
            hidden.add_(dependent[:, :, None])
        # The candidates' vectors have that of ROOT at the positions of special tokens.
        of_root = self.vectors.of_root(batch) @ self.candidate + self.bias + self.root
        root = self._sum_of_tanh(dependent + of_root[:, None])
        return _candidates(root, self._sum_of_tanh(hidden)[..., 0], batch)

    def _sum_of_tanh(self, hidden: Tensor) -> Tensor:
        """The tanh of `hidden` [..., 256], which is overwritten, times `out`, as [..., 1].

        tanh x is 2 sigmoid 2x - 1, which torch computes ten times as fast on a CPU.
        """
        units = hidden.mul_(2).sigmoid_()
        return 2 * linear(units, self.out) - self.out.sum()


class _Vectors(nn.Module):
    """Fixed vectors of dependents and candidates; that of ROOT is zero.

    With root_at `published` the vectors of the candidates are shifted by one, as in the published
    code: ROOT has that of the first word, each word that of the next one, and a pair whose
    candidate is the last word has no vectors at all, not even the dependent's.
    """

    vectors: Tensor

    def __init__(self, vectors: Tensor, root_at: str) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.is_published = root_at == "published"

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors of dependents and candidates, [B, P, D] each, and `is_paired`, [B, P].

        `is_paired` is 0 for a candidate whose pairs have no vectors, else 1. As a candidate, a
        special token has the vector of ROOT.
        """
        dependents = self.vectors[batch.vector]
        if not self.is_published:
            return dependents, dependents, torch.ones_like(batch.opens)
        following = batch.vector.roll(-1, 1) * batch.is_word
        is_last = batch.is_word & ~(
            batch.is_word.roll(-1, 1) & (batch.position + 1 == batch.position.roll(-1, 1))
        )
        following = torch.where(is_last, 0, following)
        is_special = (batch.opens + batch.closes) > 0
        candidates = torch.where(
            is_special[..., None], self.of_root(batch)[:, None], self.vectors[following]
        )
        return dependents, candidates, (~is_last).float()

    def of_root(self, batch: Batch) -> Tensor:
        """The vector of ROOT in each sentence, [B, D]."""
        if not self.is_published:
            return self.vectors[torch.zeros_like(batch.vector[:, 0])]
        first = batch.is_word.float().argmax(1, keepdim=True)
        return self.vectors[batch.vector.gather(1, first)[:, 0]]


def _candidates(root: Tensor, pairs: Tensor, batch: Batch) -> Tensor:
    """The scores of ROOT [B, P, 1] followed by those of the pairs [B, P, P]; -inf if barred."""
    return torch.cat([root, pairs.masked_fill(batch.is_barred, -math.inf)], 2)


def _weighted(attention: Tensor, *terms: Tensor) -> Tensor:
    """Sums over maps of attention [B, X, Y, K] times terms [B, X, K], as [B, X, terms, Y].

    The few terms are on the left of the product, since the other order takes four times as long.
    """
    count, first, second, maps = attention.shape
    stacked = torch.stack(terms, 2).view(count * first, len(terms), maps)
    product = stacked @ attention.reshape(count * first, second, maps).transpose(1, 2)
    return product.view(count, first, len(terms), second)


def _attention(batch: Batch) -> Tensor:
    assert batch.attention is not None, "the batch was read without attention"
    return batch.attention


def _distances(batch: Batch) -> Tensor:
    """The distance of every pair as six numbers, [B, P, P, 6]."""
    offset = batch.position[:, None, :] - batch.position[:, :, None]
    share = offset / batch.words[:, None, None]
    near = [(offset == at).float() for at in (1, -1, 2, -2)]
    return torch.stack([share.clamp(min=0), (-share).clamp(min=0), *near], -1)


def _uniform(rows: int, columns: int, spread: float, generator: torch.Generator) -> nn.Parameter:
    return nn.Parameter((torch.rand(rows, columns, generator=generator) * 2 - 1) * spread)
