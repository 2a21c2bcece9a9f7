"""Distances between heads: the step compared with a loop over heads, on the same attention.

    python benchmarks/bench_head_distance.py BANK [--weights 20000000] [--rounds 3]

The loop is written from the definition, in the way of the published code: input by input, each head
against all heads at once, with two logarithms per weight and pair. Both get the same float32 maps
in memory, and each round runs them in turn, so that a drift of the machine's speed does not change
the ratio. Their results are compared before anything is printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np

from attnbank.ingest.derived.head_distances import Distances, maps_of_run
from attnbank.sql import registry
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.run_choice import choose_analysis_run

SMOOTHING = 0.001
"""The share of a uniform distribution that is mixed into every distribution (published code)."""


def loop(found: list[np.ndarray], heads: int) -> np.ndarray:
    """Distances [heads, heads] of maps [heads, n, n]."""
    distances = np.zeros((heads, heads))
    for weights in found:
        smoothed = (1 - SMOOTHING) * weights + SMOOTHING / weights.shape[-1]
        for head in range(heads):
            one = smoothed[head][None]
            middle = (one + smoothed) / 2
            divergence = -one * np.log(middle / one) - smoothed * np.log(middle / smoothed)
            distances[head] += (divergence / 2).sum(axis=(1, 2))
    return distances


def step(found: list[np.ndarray], heads: int, threads: int | None) -> np.ndarray:
    """The same distances, computed by the package; `threads` None for all."""
    distances = Distances(heads, SMOOTHING, threads)
    distances.add_maps(found)
    return distances.matrix()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bank")
    parser.add_argument("--weights", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with open_to_read(arguments.bank) as connection:
        run = choose_analysis_run(
            connection, Path(arguments.bank), registry.find_analysis("head_distance"), {}
        )
        assert run is not None
        heads = run.layers * run.heads
        found: list[np.ndarray] = []
        for one in chain.from_iterable(each.values() for each in maps_of_run(connection, run)):
            found.append(one.copy())
            if sum(weights.size for weights in found) >= arguments.weights:
                break
    weights = sum(each.size for each in found)
    print(f"{run.name}: {weights:,} weights, {heads} heads, {len(found)} inputs")
    ways: dict[str, Callable[[], np.ndarray]] = {
        "loop over heads": lambda: loop(found, heads),
        "step, one thread": lambda: step(found, heads, 1),
        "step, all threads": lambda: step(found, heads, None),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(arguments.rounds + 1):
        results = {}
        for name, way in ways.items():
            start = time.perf_counter()
            results[name] = way()
            if number:  # the first round warms up
                times[name].append(time.perf_counter() - start)
        expected = results["loop over heads"]
        for result in results.values():
            # In float32 a row of one token is off by a few 2**-24, and there are thousands of rows.
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-2)
    for name, each in times.items():
        ratios = [base / own for base, own in zip(times["loop over heads"], each, strict=True)]
        print(
            f"{name:18} {min(each):6.2f} s at best, "
            f"{statistics.median(ratios):.1f} times the loop's speed"
        )


if __name__ == "__main__":
    main()
