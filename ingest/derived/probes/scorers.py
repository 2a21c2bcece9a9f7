"""The probes of section 5 of the paper: how each scores the candidate heads of every word.

p(head | dependent) is the softmax of the scores over the candidates: ROOT, which comes first, and
the words of the sentence except the dependent itself (one too in the published code).

In shapes, B is the number of sentences, P of positions, K of maps (layers times heads) and D of
numbers in a word vector.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from attnbank.ingest.derived.probes.probe_options import HIDDEN
from attnbank.ingest.derived.probes.tasks import ProbeBatch, Task

_DISTANCES = 6  # numbers that describe the distance of a pair; see DistanceWordsScorer


def make_scorer(task: Task) -> nn.Module:
    """Return an untrained probe of the task's kind."""
    maps = task.test.run.maps_per_sentence
    if task.vectors is None:
        return AttentionScorer(maps)
    vectors = torch.from_numpy(task.vectors)
    if task.kind == "attention_words":
        return AttentionWordsScorer(maps, vectors, task.options.root_at)
    generator = torch.Generator().manual_seed(task.options.seed)
    return DistanceWordsScorer(vectors, task.options.root_at, generator)


class HeadScorer(nn.Module, ABC):
    """A probe that weighs attention heads.

    The score of a pair is the sum over heads of weight times attention, from the dependent to the
    candidate and from the candidate to the dependent. The score of ROOT is that sum for the special
    tokens, times `opens` for [CLS] and `closes` for all others ([SEP] in the published code).
    """

    def __init__(self) -> None:
        super().__init__()
        self.opens = nn.Parameter(torch.ones(()))
        self.closes = nn.Parameter(torch.ones(()))

    @abstractmethod
    def pair_scores(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, P] of (dependent, candidate), special tokens included."""

    @abstractmethod
    def coefficients(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """Weights of attention from and to the dependent, [B, P, P, K] or broadcastable to it."""

    def forward(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, 1 + P] of each dependent's candidates, ROOT first; -inf for the others."""
        pairs = self.pair_scores(batch)
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

    def pair_scores(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, P]; see HeadScorer."""
        first, second = linear(batch.required_attention, self.weights).unbind(-1)
        return first + second.transpose(1, 2)

    def coefficients(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """The same weights for every pair, [1, 1, 1, K] each."""
        from_dependent, to_dependent = self.weights
        return from_dependent[None, None, None], to_dependent[None, None, None]


class AttentionWordsScorer(HeadScorer):
    """The attention-and-words probe: w_k = b_k + W_k (v(dependent), v(candidate)), u_k likewise.

    This is linear, so the sum over the D numbers of a vector is computed once per word, not pair.
    """

    vectors: Tensor

    def __init__(self, maps: int, vectors: Tensor, root_at: str) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.root_at = root_at
        size = vectors.shape[1]
        self.bias = nn.Parameter(torch.zeros(2, maps))
        self.dependent = nn.Parameter(torch.zeros(size, 2 * maps))
        self.candidate = nn.Parameter(torch.zeros(size, 2 * maps))

    def _terms(self, batch: ProbeBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the terms of dependents and of candidates (plus bias), and `is_paired`.

        Terms are [2, B, P, K], `is_paired` is [B, P].
        """
        rows, _, is_paired = _candidate_rows(batch, self.root_at)
        shape = (*batch.is_word.shape, 2, -1)
        dependent = (self.vectors[batch.vector] @ self.dependent).view(shape).permute(2, 0, 1, 3)
        candidate = (self.vectors[rows] @ self.candidate).view(shape).permute(2, 0, 1, 3)
        return dependent, candidate + self.bias[:, None, None], is_paired

    def pair_scores(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, P]; see HeadScorer."""
        attention = batch.required_attention
        dependent, candidate, is_paired = self._terms(batch)
        # The dependent's position is the first index of the attention from it, and the second index
        # of the attention to it. Both terms of a position are summed in one product over the maps.
        first = _weighted(attention, dependent[0], candidate[1])
        second = _weighted(attention.transpose(1, 2), candidate[0], dependent[1])
        by_dependent = first[:, :, 0] + second[:, :, 1]
        by_candidate = (second[:, :, 0] + first[:, :, 1]).transpose(1, 2)
        return by_dependent * is_paired[:, None, :] + by_candidate

    def coefficients(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """Weights [B, P, P, K] of each pair, from and to the dependent."""
        dependent, candidate, is_paired = self._terms(batch)
        pairs = dependent[:, :, :, None] * is_paired[:, None, :, None] + candidate[:, :, None]
        return pairs[0], pairs[1]


class DistanceWordsScorer(nn.Module):
    """The baseline without attention: 256 tanh units over distance and the two words' vectors.

    For a pair at offset d = candidate - dependent in a sentence of n words, the distance is six
    numbers: d / n if d is positive, -d / n if it is negative (else 0), and whether d is 1, -1, 2
    and -2. ROOT has no distance, but weights of its own.
    """

    vectors: Tensor

    def __init__(self, vectors: Tensor, root_at: str, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.root_at = root_at
        size = vectors.shape[1]
        spread = math.sqrt(6 / (2 * size + _DISTANCES + 1 + HIDDEN))
        self.dependent = _uniform(size, HIDDEN, spread, generator)
        self.candidate = _uniform(size, HIDDEN, spread, generator)
        self.distance = _uniform(_DISTANCES, HIDDEN, spread, generator)
        self.root = _uniform(1, HIDDEN, spread, generator)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.out = _uniform(1, HIDDEN, math.sqrt(6 / (HIDDEN + 1)), generator)

    def forward(self, batch: ProbeBatch) -> Tensor:
        """Scores [B, P, 1 + P] of each dependent's candidates, ROOT first; -inf for the others."""
        rows, root_rows, is_paired = _candidate_rows(batch, self.root_at)
        dependent = self.vectors[batch.vector] @ self.dependent
        candidate = self.vectors[rows] @ self.candidate + self.bias
        offset = batch.position[:, None, :] - batch.position[:, :, None]
        share = offset / batch.words[:, None, None]
        near = [(offset == at).float() for at in (1, -1, 2, -2)]
        distances = torch.stack([share.clamp(min=0), (-share).clamp(min=0), *near], -1)
        # [B, P, P, 256] is by far the largest tensor, so it is filled in place.
        hidden = (distances @ self.distance).add_(candidate[:, None])
        if self.root_at == "published":
            hidden.add_(dependent[:, :, None] * is_paired[:, None, :, None])
        else:
            hidden.add_(dependent[:, :, None])
        # As ROOT, a candidate has no distance, but the weights `root`.
        of_root = self.vectors[root_rows] @ self.candidate + self.bias + self.root
        root = self._sum_of_tanh(dependent + of_root[:, None])
        return _candidates(root, self._sum_of_tanh(hidden)[..., 0], batch)

    def _sum_of_tanh(self, hidden: Tensor) -> Tensor:
        """Return tanh(hidden) times `out`, [..., 1]; overwrites `hidden` [..., 256]."""
        # tanh(x) = 2 sigmoid(2 x) - 1
        units = hidden.mul_(2).sigmoid_()
        return 2 * linear(units, self.out) - self.out.sum()


def _candidate_rows(batch: ProbeBatch, root_at: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of the vectors of candidates [B, P] and of ROOT [B], and `is_paired` [B, P].

    As a candidate, a special token has the vector of ROOT, which is zero. With root_at `published`
    the candidates are shifted by one, as in the published code: ROOT has the vector of the first
    word, each word that of the next one, and a pair whose candidate is the last word has no vectors
    at all, not even the dependent's: its `is_paired` is 0, that of all others 1.
    """
    if root_at != "published":
        return batch.vector, torch.zeros_like(batch.vector[:, 0]), torch.ones_like(batch.opens)
    root = batch.vector.gather(1, batch.is_word.float().argmax(1, keepdim=True))[:, 0]
    has_next = batch.is_word.roll(-1, 1) & (batch.position + 1 == batch.position.roll(-1, 1))
    rows = torch.where(batch.is_word & has_next, batch.vector.roll(-1, 1), 0)
    is_special = (batch.opens + batch.closes) > 0
    rows = torch.where(is_special, root[:, None], rows)
    return rows, root, (has_next | ~batch.is_word).float()


def _candidates(root: Tensor, pairs: Tensor, batch: ProbeBatch) -> Tensor:
    """Concatenate the scores of ROOT [B, P, 1] and of pairs [B, P, P]; -inf if no candidate.

    The dependent itself and special tokens are not candidates.
    """
    itself = torch.eye(pairs.shape[1], dtype=torch.bool, device=pairs.device)
    barred = ~batch.is_word[:, None, :] | itself
    return torch.cat([root, pairs.masked_fill(barred, -math.inf)], 2)


def _weighted(attention: Tensor, *terms: Tensor) -> Tensor:
    """Sum attention [B, X, Y, K] times each of some terms [B, X, K] over K: [B, X, terms, Y]."""
    count, first, second, maps = attention.shape
    stacked = torch.stack(terms, 2).view(count * first, len(terms), maps)
    product = stacked @ attention.reshape(count * first, second, maps).transpose(1, 2)
    return product.view(count, first, len(terms), second)


def _uniform(rows: int, columns: int, spread: float, generator: torch.Generator) -> nn.Parameter:
    return nn.Parameter((torch.rand(rows, columns, generator=generator) * 2 - 1) * spread)
