"""Ingests of other measures compared with one of weights, whole commands that take turns.

    python benchmarks/bench_measures.py CORPUS [--model minilm] [--rounds 3]
        [--measures norms]

Rollout is of tokens, and so is what it is compared with. Value zeroing takes a pass for each word:
give it a small corpus.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measures", nargs="+", default=["norms"])
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    for measure in arguments.measures:
        unit = "token" if measure == "rollout" else "word"
        ratios = []
        for number in range(arguments.rounds + 1):
            (wall, cpu), (other_wall, other_cpu) = (
                _ingest(arguments.corpus, arguments.model, each, unit)
                for each in ("weights", measure)
            )
            if number:  # the first round warms up
                ratios.append(other_cpu / cpu)
                print(
                    f"weights {wall:.2f} s, {measure} {other_wall:.2f} s, ratio"
                    f" {other_wall / wall:.2f} (processor seconds {cpu:.2f}, {other_cpu:.2f}, ratio"
                    f" {ratios[-1]:.2f})"
                )
        print(f"{measure}: median ratio of processor seconds {statistics.median(ratios):.2f}")


def _ingest(corpus: str, model: str, measure: str, unit: str) -> tuple[float, float]:
    """The wall and the processor seconds of an ingest into a new bank."""
    with tempfile.TemporaryDirectory() as folder:
        before, start = os.times(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "attnbank", "-b", str(Path(folder, "bench.duckdb")), "ingest",
             corpus, "--model", model, "-q", "--measure", measure, "--unit", unit],
            check=True,
        )  # fmt: skip
        wall, after = time.perf_counter() - start, os.times()
    return wall, sum(after[2:4]) - sum(before[2:4])


if __name__ == "__main__":
    main()
