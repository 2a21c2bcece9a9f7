"""The weight that a probe gives each head, as a mean over the gold dependencies of a test run."""

from __future__ import annotations

import polars as pl
import torch
from torch import Tensor

from attnbank.ingest.derived.probes.data.batches import Batch
from attnbank.ingest.derived.probes.data.runs import ProbeRun
from attnbank.ingest.derived.probes.data.sentences import ROOT
from attnbank.ingest.derived.probes.scorers import AttentionScorer, HeadScorer

DIRECTIONS = ("dependent_to_head", "head_to_dependent")


class HeadWeights:
    """Collects weights and contributions batch by batch.

    Weights that are the same for every pair are taken as they were learnt: their mean over pairs
    would be the same except for rounding, and would not exist if there are no pairs.
    """

    def __init__(self, run: ProbeRun) -> None:
        self._run = run
        self._weight = torch.zeros(2, run.maps, dtype=torch.float64)
        self._contribution = torch.zeros(2, run.maps, dtype=torch.float64)
        self._count = 0
        self._learnt: Tensor | None = None

    def add(self, scorer: HeadScorer, batch: Batch, is_counted: Tensor) -> None:
        """Add the dependencies of a batch; `is_counted` [K, B, P] says which of them count.

        They are those whose two words are not punctuation. ROOT is no word, so roots do not count.
        """
        assert batch.attention is not None
        if isinstance(scorer, AttentionScorer):
            self._learnt = scorer.weights.detach().cpu().double()
        counts = is_counted & (batch.gold > ROOT)
        word, at, dependent = counts.nonzero(as_tuple=True)
        gold = batch.gold[word, at, dependent] - 1
        itself = torch.arange(batch.is_word.shape[1], device=at.device) == dependent[:, None]
        others = batch.is_word[at] & ~itself  # [D, P]
        number = (others.sum(1) - 1).clamp(min=1)
        maps = (batch.attention, batch.attention.transpose(1, 2))
        for direction, (weights, attention) in enumerate(
            zip(scorer.coefficients(batch), maps, strict=True)
        ):
            shape = (*attention.shape[:3], weights.shape[3])
            rows = weights.expand(shape)[at, dependent]  # [D, P, K]
            terms = rows * attention[at, dependent]
            each = torch.arange(len(at), device=at.device)
            of_gold = terms[each, gold]
            of_others = (terms * others[..., None]).sum(1) - of_gold
            self._weight[direction] += rows[each, gold].sum(0).cpu().double()
            self._contribution[direction] += (
                (of_gold - of_others / number[:, None]).sum(0).cpu().double()
            )
        self._count += len(at)

    def rows(self) -> pl.DataFrame:
        """The rows of `probe_weight`, without the column `probe`: one per direction and head."""
        maps = self._run.maps
        number = torch.arange(maps)
        count = max(self._count, 1)
        weight = self._weight / count if self._learnt is None else self._learnt
        return pl.DataFrame(
            {
                "layer": (number // self._run.heads + 1).repeat(2).numpy(),
                "head": (number % self._run.heads + 1).repeat(2).numpy(),
                "direction": [name for name in DIRECTIONS for _ in range(maps)],
                "weight": weight.flatten().numpy(),
                "contribution": (self._contribution / count).flatten().numpy(),
            },
        )
