"""The time and the memory of each analysis, in seconds per billion weights that it reads.

    python benchmarks/bench_analyses.py --corpus TEXT [--weights 1e9] [NAME...]
    python benchmarks/bench_analyses.py --bank BANK [NAME...]

With --corpus, the text becomes up to three banks of about --weights weights each (big_bank.py), one
after the other: pairs of tokens, sentences of words, documents of words. Each analysis reads the
kind that it chooses by default. With --bank, all analyses run that can read a run of the bank.

Each runs in a separate process with two threads, under DuckDB's memory_limit of 1.5 GB; its peak
memory is that of the whole process. Half of the processor seconds is the time on two idle cores.
Steps are computed first; with --bank everything happens in a copy of the bank. The packaged model
has no masked-LM head, so where a bank has no gradients and losses, attention stands in for the
gradients, and losses of 1 for the losses.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import duckdb

from attnbank.ingest.derived.computations import STEPS, compute
from attnbank.queries import open_bank
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.header import Analysis
from attnbank.sql.registry import analyses
from attnbank.sql.run_choice import resolve_weights, run_candidates

SETTINGS = ("set memory_limit = '1500MB'", "set threads = 2")
UNITS = {"pair": "token", "sentence": "word", "document": "word"}


def usual_context(analysis: Analysis) -> str | None:
    """The context of the run that an analysis chooses by default; None if it chooses none."""
    choice = analysis.run
    if choice is None:
        return None
    return choice.usual or (choice.favours or "pair/token").partition("/")[0]


def measure(bank: str, kind: str, name: str, weights: int) -> None:
    """Print seconds, processor seconds, both per billion weights, memory in GB, and rows."""
    opening, before = time.perf_counter(), time.process_time()
    if kind == "step":
        rows = sum(compute(bank, name).rows.values())
        seconds, used = time.perf_counter() - opening, time.process_time() - before
    else:
        with open_to_read(bank, SETTINGS) as connection:
            opening, before = time.perf_counter(), time.process_time()
            answer = connection.execute(f"from {analyses()[name].relation}")
            # Fetched in parts, since a million rows as Python objects would count as its memory.
            rows = sum(len(part) for part in iter(lambda: answer.fetchmany(10_000), []))
            seconds, used = time.perf_counter() - opening, time.process_time() - before
    rates = f"{seconds / weights * 1e9:7.1f} {used / weights * 1e9:7.1f}"
    print(f"{seconds:7.2f} {used:7.2f} {rates} {peak_memory():6.2f} {rows:7}")


def peak_memory() -> float:
    """The peak memory of this process in GB; getrusage would include that of its parent."""
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


def make(corpus: str, bank: Path, weights: float, context: str, unit: str) -> None:
    """Make a bank in a separate process: see big_bank.py."""
    maker = str(Path(__file__).with_name("big_bank.py"))
    options = ["--weights", str(weights), "--context", context, "--unit", unit]
    subprocess.run([sys.executable, maker, corpus, str(bank), *options], check=True)


def readable(bank: Path) -> list[str]:
    """The analyses that can choose a run of the bank by default."""
    with open_to_read(bank) as connection:
        return [name for name, each in analyses().items() if each.run and _fits(connection, each)]


def _fits(connection: duckdb.DuckDBPyConnection, analysis: Analysis) -> bool:
    candidates = run_candidates(connection, resolve_weights(connection, analysis))
    return any(candidate.may_be_default for candidate in candidates)


def measure_all(bank: Path, names: Iterable[str]) -> None:
    """Measure every step that is needed, then the analyses, each in a separate process."""
    with open_bank(bank) as opened:
        weights = max(opened.runs()["weights"].to_list())
    print(f"{weights:,} weights, {bank.stat().st_size / 1e9:.2f} GB")
    columns = f"{'s':>7} {'cpu s':>7} {'s/1e9':>7} {'cpu/1e9':>7} {'GB':>6} {'rows':>7}"
    print(f"{'':31} {columns}", flush=True)
    needed = list(names)
    is_kept = any(analyses()[each].section == "clusters" or each == "figure_6" for each in needed)
    work = [("step", name) for name in STEPS if is_kept]
    work += [("analysis", name) for name in needed]
    for kind, name in work:
        label = f"compute {name}" if kind == "step" else name
        print(f"{label:31}", end=" ", flush=True)
        call = [sys.executable, __file__, "--measure", str(bank), kind, name, str(weights)]
        subprocess.run(call, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--bank", type=Path)
    parser.add_argument("--corpus")
    parser.add_argument("--weights", type=float, default=1e9)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        bank, kind, name, weights = arguments.measure
        return measure(bank, kind, name, int(weights))
    if (arguments.bank is None) == (arguments.corpus is None):
        parser.error("give --corpus or --bank")
    with tempfile.TemporaryDirectory() as folder:
        bank = Path(folder, "bench.duckdb")
        if arguments.bank:
            shutil.copy(arguments.bank, bank)
            stand_in(bank)
            measure_all(bank, arguments.names or readable(bank))
            return None
        for context, unit in UNITS.items():
            wanted = arguments.names or list(analyses())
            names = [each for each in wanted if usual_context(analyses()[each]) == context]
            if names:
                print(f"\n{context}s of {unit}s", flush=True)
                make(arguments.corpus, bank, arguments.weights, context, unit)
                if context == "pair":
                    stand_in(bank)
                measure_all(bank, names)
                bank.unlink()
    return None


if __name__ == "__main__":
    main()
