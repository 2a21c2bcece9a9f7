"""Kept answers compared with computed ones, in one open bank: milliseconds and ratios.

    python benchmarks/bench_kept.py BANK [--rounds 5]

The bank is copied, and the answers are kept in the copy.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from attnbank.cli.commands.compute import compute_and_cache_all
from attnbank.ingest.progress import ignore_progress
from attnbank.queries import Bank, open_bank


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bank = Path(shutil.copy(arguments.bank, folder))
        start = time.perf_counter()
        done = compute_and_cache_all(bank, None, ignore_progress, replace=True)
        print(f"{len(done.cached)} answers kept in {time.perf_counter() - start:.1f} s")
        with open_bank(bank) as opened:
            ratios = [_compare(opened, name, arguments.rounds) for name in done.cached]
    print(f"median ratio {statistics.median(ratios):.1f}")


def _compare(bank: Bank, name: str, rounds: int) -> float:
    """How many times longer computing an answer takes than reading it; both are run in turn."""
    took: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for is_kept, times in took.items():
            bank.reads_cache = is_kept
            start = time.perf_counter()
            bank.query(name)
            times.append(1e3 * (time.perf_counter() - start))
    kept, computed = min(took[True]), min(took[False])
    print(f"{kept:8.1f} ms kept, {computed:9.1f} ms computed, ratio {computed / kept:6.1f}  {name}")
    return computed / kept


if __name__ == "__main__":
    main()
