"""Ingest compared with the bare forward pass over the same batches, and the size that it writes.

    python benchmarks/bench_ingest.py CORPUS [--model minilm] [--rounds 3] [--beforehand]

Each round runs the two in turn, so that a drift of the machine's speed does not change the ratio.
The bare pass includes the padding and the model, with attention returned. Ingest adds reading the
corpus, merging pieces, finding peaks, and writing a bank until it is closed and safe on the disk.

With --beforehand every map is computed before the clock starts. This shows how fast merging and
writing are, for models that run faster than on this machine: both at once as in an ingest, then
apart.
"""

# ruff: noqa: E402 (wait_passively must be called before torch is imported)

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, cast

import duckdb

from attnbank.ingest import wait_passively

wait_passively()

import torch

from attnbank.ingest.attention.merged_maps import Maps, RunFacts
from attnbank.ingest.attention.rows import pad_batch, rows_of_batch
from attnbank.ingest.candidate_inputs import cursor_query
from attnbank.ingest.corpora.corpus import find_corpus_files
from attnbank.ingest.model_setup import longest_input
from attnbank.ingest.models import loading
from attnbank.ingest.models.runtime import gc_frozen, malloc_tuned
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.planning import Batch, Planner
from attnbank.ingest.progress import ProgressCounter, ignore_progress
from attnbank.ingest.store.corpus import CheckedCorpus, write_corpus_once
from attnbank.ingest.store.pipeline import PendingRun, Writer, run_batches
from attnbank.ingest.store.runs import RunSpec, find_or_insert_model, finish_run, start_run
from attnbank.ingest.store.writer import WRITER
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.provenance import version


class Remembered:
    """A model that computes its attention for a batch only once, and then remembers it."""

    def __init__(self, model: loading.Model) -> None:
        self._model = model
        self._maps: dict[bytes, tuple[torch.Tensor, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def attentions(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        """The attention for a batch: computed at the first call, then remembered."""
        key = inputs[0].numpy().tobytes()
        if key not in self._maps:
            self._maps[key] = self._model.attentions(*inputs)
        return self._maps[key]

    def hand_over(self, ids: Any, mask: Any, segments: Any, take: Any) -> None:
        """The same, a layer at a time."""
        for each in self.attentions(ids, mask, segments):
            take(each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--decimals", type=int)
    parser.add_argument("--beforehand", action="store_true")
    arguments = parser.parse_args()
    options = IngestOptions(
        (arguments.corpus,), Path("unused"), arguments.model, decimals=arguments.decimals
    )
    model = loading.load(arguments.model)
    max_tokens = longest_input(options, model.input_tokenizer, model.facts.max_positions)
    ratios = []
    if arguments.beforehand:
        model = cast(loading.Model, Remembered(model))
    for number in range(arguments.rounds + 1):
        with gc_frozen(), tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "bench.duckdb")
            start, cpu = time.perf_counter(), time.process_time()
            connection = open_to_write(path, version(), WRITER)
            corpus = find_corpus_files(options)
            write_corpus_once(connection, CheckedCorpus(corpus), ignore_progress)
            planner = Planner(model.input_tokenizer, options, max_tokens)
            of_model = find_or_insert_model(connection, model.facts)
            run = start_run(
                connection,
                RunSpec(1, of_model, model.facts, options, max_tokens, str(model.device)),
            )
            facts = RunFacts(run.id, 1, options)
            began, began_cpu = time.perf_counter(), time.process_time()
            with malloc_tuned():
                run_batches(
                    PendingRun(
                        connection, model, planner, facts, 0, ProgressCounter(ignore_progress)
                    )
                )
            if arguments.beforehand and number:
                took = time.perf_counter() - began, time.process_time() - began_cpu
                rows = connection.execute("select sum(len(weights)) from attention").fetchall()
                rates = [rows[0][0] / each / 1e6 for each in took]
                print(
                    f"merged and written: {rates[0]:.1f} million weights a second,"
                    f" {rates[1]:.1f} a second and core"
                )
            finish_run(connection, run.id)
            connection.close()
            whole, whole_cpu = time.perf_counter() - start, time.process_time() - cpu

            with duckdb.connect(str(path), read_only=True) as reading:
                batches = list(planner.plan(cursor_query(reading), 1).batches)
            if arguments.beforehand:
                if number:
                    _apart(model, batches, facts, Path(folder, "apart.duckdb"))
                continue
            start, cpu = time.perf_counter(), time.process_time()
            with malloc_tuned():
                for batch in batches:
                    if batch.inputs:
                        model.attentions(*pad_batch(batch, model.input_tokenizer.padding))
            bare, bare_cpu = time.perf_counter() - start, time.process_time() - cpu
            if number == 0:
                _sizes(path)
                continue  # the first round warms up
            ratios.append(whole / bare)
            print(
                f"ingest {whole:.2f} s, forward pass {bare:.2f} s, ratio {whole / bare:.2f}"
                f" (processor seconds {whole_cpu:.2f}, {bare_cpu:.2f}, ratio"
                f" {whole_cpu / bare_cpu:.2f})"
            )
    if ratios:
        print(f"median ratio {statistics.median(ratios):.2f}")


def _apart(model: loading.Model, batches: list[Batch], facts: RunFacts, path: Path) -> None:
    """Print what merging and writing take one after the other, each with a core to itself."""
    connection = open_to_write(path, version(), WRITER)
    merging = writing = 0.0
    weights = 0
    with malloc_tuned(), Writer(connection, facts.run) as writer:
        for batch in batches:
            attentions = model.attentions(*pad_batch(batch, model.input_tokenizer.padding))
            start = time.process_time()
            rows = rows_of_batch(batch, Maps.from_list([*attentions]), facts)
            merging += time.process_time() - start
            weights += rows.weights
            start = time.process_time()
            writer.add(rows)
            writing += time.process_time() - start
        start = time.process_time()
        writer.commit()
        writing += time.process_time() - start
    connection.close()
    rates = [weights / each / 1e6 for each in (merging, writing)]
    print(
        f"apart: merged {rates[0]:.1f} million weights a second and core, written {rates[1]:.1f}"
        f" (processor seconds {merging:.2f}, {writing:.2f})"
    )


def _sizes(path: Path) -> None:
    connection = duckdb.connect(str(path), read_only=True)
    found = connection.execute(
        "select (select sum(len(weights)) from attention),"
        " (select count(distinct block_id) from pragma_storage_info('attention')),"
        " (select block_size from pragma_database_size())"
    ).fetchone()
    assert found is not None
    weights, blocks, block_size = found
    print(
        f"{weights:,} weights; table attention {blocks * block_size / weights:.2f} bytes a weight,"
        f" the whole bank {path.stat().st_size / weights:.2f}"
    )


if __name__ == "__main__":
    main()
