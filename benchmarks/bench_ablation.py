"""An ablated set of heads compared with a bare forward pass, and --each with as many of them.

    python benchmarks/bench_ablation.py CORPUS --model MODEL [--inputs 48] [--rounds 3]

The model reads a sample of the sentences. The bare pass ends in the logits of all tokens that are
asked for, and nothing is done with them. What one set adds is the whole work with it less that
without it: probabilities and boundaries are included, writing the rows is not. A set of the first
layer shares nothing with the whole model; one of the last shares all layers but one. --each is
shown by one head of every layer. Each round runs all of them in turn, so that a drift of the
machine's speed does not change the ratios.
"""

# ruff: noqa: E402 (wait_passively must be called before torch is imported)

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attnbank.ingest import wait_passively

wait_passively()

import torch

from attnbank.ingest.candidate_inputs import Input, cursor_query
from attnbank.ingest.corpora.corpus import find_corpus_files
from attnbank.ingest.losses.language_model import Heads, Scorer, Text
from attnbank.ingest.models.loading import Model, load
from attnbank.ingest.models.runtime import gc_frozen, malloc_tuned
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.planning import Planner
from attnbank.ingest.progress import ignore_progress
from attnbank.ingest.store import corpus as corpora
from attnbank.ingest.store.corpus import CheckedCorpus
from attnbank.ingest.store.writer import WRITER
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.provenance import version

Took = tuple[float, float]
"""Seconds by the clock, and of the processor."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--model", required=True)
    parser.add_argument("--inputs", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cut", choices=["zero", "uniform"], default="zero")
    arguments = parser.parse_args()
    print(f"load of the machine: {', '.join(f'{each:.1f}' for each in os.getloadavg())}")
    model = load(arguments.model, head="own")
    batches = _batches(model, arguments.corpus, arguments.inputs)
    layers = model.facts.layers
    tokens = sum(len(each.ids) for texts in batches for each in texts)
    print(
        f"{arguments.model}: {layers} layers of {model.facts.heads} heads;"
        f" {sum(map(len, batches)):,} inputs, {tokens:,} tokens; cut: {arguments.cut}"
    )
    scorer = Scorer(model)
    middle = layers // 2
    sets: dict[str, list[Heads]] = {
        "a set from the first layer on": [{0: [0], middle: [0, 1]}],
        "a set from the middle on": [{middle: [0], layers - 1: [0, 1]}],
        "a head of every layer by itself": [{layer: [0]} for layer in range(layers)],
    }

    def score(own: Sequence[Heads]) -> Callable[[], None]:
        def work() -> None:
            for texts in batches:
                scorer.score(texts, [{}, *own], arguments.cut)

        return work

    found: dict[str, list[Took]] = {}
    with gc_frozen(), malloc_tuned():
        for number in range(arguments.rounds + 1):
            bare = _timed(lambda: _bare(model, batches))
            whole = _timed(score([]))
            ratios = {"the whole model, with probabilities": _ratio(whole, bare)}
            for name, own in sets.items():
                took = _timed(score(own))
                added = (took[0] - whole[0], took[1] - whole[1])
                ratios[name] = _ratio(added, bare, len(own))
            if not number:
                continue  # the first round warms up
            print(f"round {number}: bare pass {bare[0]:.2f} s (processor {bare[1]:.2f})")
            for name, each in ratios.items():
                found.setdefault(name, []).append(each)
    for name, rounds in found.items():
        wall, cpu = (statistics.median(each) for each in zip(*rounds, strict=True))
        print(f"{name}: {wall:.2f} of a bare pass each (processor {cpu:.2f})")


def _batches(model: Model, corpus: str, inputs: int) -> list[list[Text]]:
    """The texts of a sample, in the batches of an ablation."""
    options = IngestOptions((corpus,), Path("unused"), model.facts.name)
    with tempfile.TemporaryDirectory() as folder:
        connection = open_to_write(Path(folder, "bench.duckdb"), version(), WRITER)
        source = find_corpus_files(options)
        corpora.write_corpus_once(connection, CheckedCorpus(source), ignore_progress)
        planner = Planner(model.input_tokenizer, "word", 512, 1024, limit=inputs)
        plan = planner.plan(cursor_query(connection), 1)
        found = [[_text(each) for each in batch.inputs] for batch in plan.batches if batch.inputs]
        connection.close()
    return found


def _text(read: Input) -> Text:
    encoded = read.encoded
    spans = [(each.start, each.end) for each in encoded.positions if each.word is not None]
    return Text(encoded.ids, encoded.segments, tuple(spans))


def _bare(model: Model, batches: Sequence[Sequence[Text]]) -> None:
    """A forward pass of a causal model over the batches, with the logits of all tokens."""
    assert model.head == "causal", "masked models read each input once for every piece"
    for texts in batches:
        longest = max(len(each.ids) for each in texts)
        padding = [longest - len(each.ids) for each in texts]
        ids = [[*each.ids, *[0] * more] for each, more in zip(texts, padding, strict=True)]
        mask = torch.tensor([[1] * (longest - more) + [0] * more for more in padding])

        def choose(_: Any, given: tuple[Any, ...], mask: torch.Tensor = mask) -> tuple[Any, ...]:
            return (given[0][mask.bool()], *given[1:])

        last = model.module_with_head.get_output_embeddings()
        with torch.inference_mode(), last.register_forward_pre_hook(choose):
            model.module_with_head(
                input_ids=torch.tensor(ids), attention_mask=mask, use_cache=False
            )


def _timed(work: Callable[[], None]) -> Took:
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def _ratio(took: Took, bare: Took, count: int = 1) -> Took:
    return took[0] / bare[0] / count, took[1] / bare[1] / count


if __name__ == "__main__":
    main()
