"""The time and the memory of each analysis on a bank of 100 million weights.

    python tests/benchmarks/bench_analyses.py --bank BANK [NAME...]
    python tests/benchmarks/bench_analyses.py --corpus TEXT [--weights 100000000] [NAME...]

With --corpus, a bank of that many weights is made first: pairs of at most 128 tokens of the text,
packaged model. Every analysis runs in a process of its own under DuckDB's memory_limit of 2 GB;
its peak memory is that of the whole process, Python and pages of the file that were read included.
Steps are computed first, into a copy of the bank where --bank is given.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from attnbank.queries.steps import STEPS, compute
from attnbank.sql import analyses
from attnbank.sql.opening import open_to_read

SECTIONS = ("surface", "clusters", "kovaleva", "voita")
LIMIT = "2GB"


def measured(work: str, bank: str, name: str) -> tuple[float, float, float, int, str]:
    """Seconds, seconds of the processor, peak memory in GB, rows, and what went wrong."""
    start, used = time.perf_counter(), time.process_time()
    rows, fault = 0, ""
    try:
        if work == "step":
            rows = sum(compute(bank, name).rows.values())
        else:
            with open_to_read(bank) as connection:
                connection.execute(f"set memory_limit = '{LIMIT}'")
                rows = len(connection.execute(f"from {name}()").fetchall())
    except Exception as error:
        fault = str(error).splitlines()[0]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return time.perf_counter() - start, time.process_time() - used, memory, rows, fault


def make_bank(path: Path, corpus: str, weights: int) -> None:
    """Ingest about as many weights: pairs of 128 tokens make 1.18 million each."""
    from attnbank.ingest import IngestOptions, ingest

    options: dict[str, Any] = {"context": "pair", "unit": "token", "max_tokens": 128}
    limit = max(1, round(weights / (72 * 125**2)))
    ingest(IngestOptions((corpus,), path, "minilm", limit=limit, **options))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--bank")
    parser.add_argument("--corpus")
    parser.add_argument("--weights", type=int, default=100_000_000)
    arguments = parser.parse_args()
    known = [each.name for each in analyses().values() if each.section in SECTIONS]
    names = arguments.names or known
    with tempfile.TemporaryDirectory() as folder:
        bank = Path(folder, "bench.duckdb")
        if arguments.bank:
            shutil.copy(arguments.bank, bank)
        else:
            make_bank(bank, arguments.corpus, arguments.weights)
        with open_to_read(bank) as connection:
            found = connection.execute("select count(*), sum(len(weights)) from attention")
            rows, weights = found.fetchone() or (0, 0)
        print(f"{weights:,} weights in {rows:,} distributions, {bank.stat().st_size / 1e9:.2f} GB")
        print(f"{'':26} {'s':>7} {'cpu s':>7} {'GB':>6} {'rows':>7}")
        work = [("step", name) for name in STEPS] + [("analysis", name) for name in names]
        processes = multiprocessing.get_context("spawn")
        for kind, name in work:
            with processes.Pool(1) as pool:
                seconds, used, memory, rows, fault = pool.apply(measured, (kind, str(bank), name))
            label = f"compute {name}" if kind == "step" else name
            print(f"{label:26} {seconds:7.2f} {used:7.2f} {memory:6.2f} {rows:7} {fault}")


if __name__ == "__main__":
    main()
