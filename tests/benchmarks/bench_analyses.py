"""The time and the memory of each analysis on a bank of 100 million weights.

    python tests/benchmarks/bench_analyses.py --bank BANK [NAME...]
    python tests/benchmarks/bench_analyses.py --corpus TEXT [--weights 100000000] [NAME...]

With --corpus, a bank of that many weights is made first: pairs of at most 128 tokens of the text,
packaged model. Every analysis runs in a process of its own under DuckDB's memory_limit of 2 GB;
its peak memory is that of the whole process, Python and pages of the file that were read included.
Steps are computed first, into a copy of the bank where --bank is given. The packaged model has no
masked-LM head: the weights themselves stand in for gradients.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from attnbank.ingest.derived.steps import STEPS, compute
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.registry import analyses

SECTIONS = ("surface", "clusters", "kovaleva", "voita")
LIMIT = "2GB"


def measure(work: str, bank: str, name: str) -> None:
    """Print seconds, seconds of the processor, peak memory in GB and rows."""
    start, used = time.perf_counter(), time.process_time()
    if work == "step":
        rows = sum(compute(bank, name).rows.values())
    else:
        with open_to_read(bank) as connection:
            connection.execute(f"set memory_limit = '{LIMIT}'")
            rows = len(connection.execute(f"from {name}()").fetchall())
    seconds, used = time.perf_counter() - start, time.process_time() - used
    print(f"{seconds:7.2f} {used:7.2f} {peak_memory():6.2f} {rows:7}")


def peak_memory() -> float:
    """Peak memory of this process in GB; getrusage would count its parent's too."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1e6
    return float("nan")


def stand_in(bank: Path) -> None:
    """Fill the tables that the packaged model, which has no masked-LM head, leaves empty."""
    with duckdb.connect(str(bank)) as connection:
        if connection.execute("select count(*) from gradient").fetchone() == (0,):
            connection.execute("insert into gradient select * from attention")
        if connection.execute("select count(*) from ablation").fetchone() == (0,):
            connection.execute(
                "insert into ablation select id, 'none', null, null, null, 1, 1 from run"
                " union all select id, 'head', layer, head, 'uniform', 1, 1"
                " from run, (select distinct layer, head from attention)"
            )


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
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(*arguments.measure)
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
        stand_in(bank)
        print(f"{'':26} {'s':>7} {'cpu s':>7} {'GB':>6} {'rows':>7}", flush=True)
        work = [("step", name) for name in STEPS] + [("analysis", name) for name in names]
        for kind, name in work:
            label = f"compute {name}" if kind == "step" else name
            print(f"{label:26}", end=" ", flush=True)
            call = [sys.executable, __file__, "--measure", kind, str(bank), name]
            subprocess.run(call, check=True)


if __name__ == "__main__":
    main()
