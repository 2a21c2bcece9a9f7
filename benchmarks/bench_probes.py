"""An epoch of each probe compared with the same probe trained one sentence at a time in torch.

    python benchmarks/bench_probes.py CORPUS [--model minilm] [--sentences 600] [--rounds 3]

The sentence-at-a-time trainer works like the published code: maps and transposes are concatenated,
the two vectors of every word pair are side by side, and Adam makes one step per sentence. A second
comparison is this package's scorers with batches of one sentence. All have their data in memory;
each round runs the three in turn, so that a drift of the machine's speed does not change the
ratios. First the losses are compared, to be sure that all are the same probe.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.derived.probes import KINDS, ProbeOptions
from attnbank.ingest.derived.probes.tasks import Batches, ProbeBatch, read_task
from attnbank.ingest.derived.probes.training import (
    AttentionScorer,
    AttentionWordsScorer,
    DistanceWordsScorer,
    loss_of,
    make_scorer,
    run_epoch,
)
from attnbank.sql.bank.opening import open_to_read

Example = tuple[Tensor, Tensor, Tensor]
"""The attention [K, n + 2, n + 2], the vectors of the words [n, D], and their heads [n]."""


class SentenceProbe(nn.Module):
    """One sentence at a time, with the parameters of a scorer of the package."""

    def __init__(self, scorer: nn.Module) -> None:
        super().__init__()
        self.kind = type(scorer)
        p = {name: value.detach().clone() for name, value in scorer.named_parameters()}
        if not isinstance(scorer, DistanceWordsScorer):
            self.opens, self.closes = nn.Parameter(p["opens"]), nn.Parameter(p["closes"])
        if isinstance(scorer, AttentionScorer):
            self.weights = nn.Parameter(p["weights"].reshape(-1))
        elif isinstance(scorer, AttentionWordsScorer):
            linear = nn.Linear(2 * len(p["dependent"]), p["bias"].numel())
            linear.weight.data = torch.cat([p["dependent"], p["candidate"]]).T.contiguous()
            linear.bias.data = p["bias"].reshape(-1)
            self.linear = linear
        else:
            first = torch.cat([p["distance"], p["root"], p["dependent"], p["candidate"]])
            self.layer = nn.Linear(len(first), len(p["bias"]))
            self.layer.weight.data = first.T.contiguous()
            self.layer.bias.data = p["bias"]
            self.out = nn.Linear(len(p["bias"]), 1, bias=False)
            self.out.weight.data = p["out"]

    def forward(self, attention: Tensor, vectors: Tensor) -> Tensor:
        n = attention.shape[1] - 2
        if self.kind is not AttentionScorer:
            padded = torch.cat([torch.zeros(1, vectors.shape[1]), vectors])
            pairs = torch.cat(
                [vectors[:, None].expand(-1, n + 1, -1), padded[None].expand(n, -1, -1)], -1
            )
        if self.kind is DistanceWordsScorer:
            scores = self.out(torch.tanh(self.layer(torch.cat([_distances(n), pairs], -1))))[..., 0]
        else:
            maps = torch.cat([attention, attention.transpose(1, 2)])
            root = self.opens * maps[:, 1:-1, 0] + self.closes * maps[:, 1:-1, -1]
            seen = torch.cat([root[..., None], maps[:, 1:-1, 1:-1]], -1).permute(1, 2, 0)
            weights = self.weights if self.kind is AttentionScorer else self.linear(pairs)
            scores = (weights * seen).sum(-1)
        itself = torch.cat([torch.zeros(n, 1), torch.eye(n)], 1).bool()
        masked: Tensor = scores.masked_fill(itself, -torch.inf)
        return masked


def _distances(n: int) -> Tensor:
    offset = torch.arange(n)[None] - torch.arange(n)[:, None]
    near = [(offset == at).float() for at in (1, -1, 2, -2)]
    words = torch.stack([(offset / n).clamp(min=0), (-offset / n).clamp(min=0), *near], -1)
    root = torch.zeros(n, 1, 7)
    root[..., 6] = 1
    return torch.cat([root, torch.cat([words, torch.zeros(n, n, 1)], -1)], 1)


def _sentence_loss(probe: SentenceProbe, example: Example) -> Tensor:
    attention, vectors, heads = example
    return nn.functional.cross_entropy(probe(attention, vectors), heads, reduction="sum")


def _sentence_epoch(
    probe: SentenceProbe, optimiser: torch.optim.Optimizer, examples: list[Example]
) -> None:
    for example in examples:
        optimiser.zero_grad()
        _sentence_loss(probe, example).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _shuffled(batches: Batches, order: np.random.Generator) -> Iterator[ProbeBatch]:
    return (batches[at] for at in order.permutation(len(batches)).tolist())


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--sentences", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-sentences", type=int, default=ProbeOptions().batch_sentences)
    arguments = parser.parse_args()
    print(f"{torch.get_num_threads()} threads, {arguments.sentences} sentences an epoch")
    with tempfile.TemporaryDirectory() as folder:
        bank = Path(folder, "bench.duckdb")
        run = ingest(IngestOptions((arguments.corpus,), bank, arguments.model)).run
        for kind in KINDS[1:]:
            _measure(bank, run, kind, arguments)


def _measure(bank: Path, run: str, kind: str, arguments: argparse.Namespace) -> None:
    options = ProbeOptions(batch_sentences=arguments.batch_sentences)
    with open_to_read(bank) as connection, connection.cursor() as cursor:
        task = read_task(cursor, bank, kind, run, run, options)
        part = task.test
        every = np.arange(len(part.sentences.sequence))
        chosen = every[np.linspace(0, len(every) - 1, arguments.sentences).astype(int)]
        device = torch.device("cpu")
        batches = Batches(cursor, task, part, chosen, device)
        reading = _timed(lambda: list(batches))
        alone = replace(task, options=replace(options, batch_sentences=1))
        single = Batches(cursor, alone, part, chosen, device)
        vectors = torch.zeros(1, 1) if task.vectors is None else torch.from_numpy(task.vectors)
        examples = []
        for batch in single:
            n = int(batch.is_word.sum())
            maps = (
                torch.zeros(1, n + 2, n + 2)
                if batch.attention is None
                else batch.attention[0].permute(2, 0, 1).contiguous()
            )
            gold = batch.gold[0, 1:-1]
            heads = torch.where(gold > 0, gold - 1, 0)  # without the position of [CLS]
            examples.append((maps, vectors[batch.vector[0, 1:-1]], heads))
        scorer = make_scorer(task)
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in scorer.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator) / 100)
        slow = SentenceProbe(scorer)
        with torch.no_grad():
            losses = (
                sum(float(loss_of(scorer, batch)[0]) for batch in batches),
                sum(float(_sentence_loss(slow, example)) for example in examples),
            )
        assert abs(losses[0] / losses[1] - 1) < 1e-4, losses
        one = make_scorer(task)
        adam = [torch.optim.Adam(each.parameters(), lr=0.002) for each in (scorer, slow, one)]
        order = np.random.default_rng(0)
        seconds: list[tuple[float, float, float]] = []
        for _ in range(arguments.rounds):
            seconds.append(
                (
                    _timed(lambda: run_epoch(scorer, _shuffled(batches, order), adam[0])),
                    _timed(lambda: _sentence_epoch(slow, adam[1], examples)),
                    _timed(lambda: run_epoch(one, _shuffled(single, order), adam[2])),
                )
            )
    ours, published, ones = (statistics.median(column) for column in zip(*seconds, strict=True))
    ratios = sorted(each[1] / each[0] for each in seconds)
    one_ratios = sorted(each[2] / each[0] for each in seconds)
    print(
        f"{kind:16} {ours:7.3f} s an epoch; a sentence at a time {published:7.3f} s,"
        f" {statistics.median(ratios):5.1f} times as long ({ratios[0]:.1f} to {ratios[-1]:.1f});"
        f" batches of one {ones:7.3f} s, {statistics.median(one_ratios):4.1f} times;"
        f" reading {reading:.3f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
