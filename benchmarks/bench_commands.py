"""How long commands that read a bank take, as processes, beside the imports they cannot avoid.

    python benchmarks/bench_commands.py BANK [--rounds 9]

Each command takes turns with a Python that imports DuckDB and Polars and does nothing else: seconds
of wall clock and of processor, medians. A busy machine tells nothing, so the load is printed first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

COMMANDS = (
    ("info",),
    ("sql", "select 1"),
    ("find", "pattern { V -[obj]-> O }", "--limit", "10"),
    ("query", "best_head"),
)
_IMPORTS = (sys.executable, "-c", "import duckdb, polars")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bank")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    for words in COMMANDS:
        command = (sys.executable, "-m", "attnbank", "-b", arguments.bank, *words)
        took: dict[tuple[str, ...], list[tuple[float, float]]] = {command: [], _IMPORTS: []}
        for number in range(arguments.rounds + 1):
            for each, times in took.items():
                measured = _seconds(each)
                if number:  # the first round only warms the disk's cache
                    times.append(measured)
        (wall, cpu), (least, _) = (
            [statistics.median(values) for values in zip(*times, strict=True)]
            for times in took.values()
        )
        print(
            f"{wall:.2f} s ({cpu:.2f} of processor), imports alone {least:.2f} s,"
            f" ratio {wall / least:.1f}  {words[0]}"
        )


def _seconds(command: tuple[str, ...]) -> tuple[float, float]:
    """The wall and the processor seconds of a process and of those that it started."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return wall, cpu


if __name__ == "__main__":
    main()
