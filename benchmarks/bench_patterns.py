"""The time of requests in an open bank, some compared with a SELECT that is written by hand.

    python benchmarks/bench_patterns.py BANK [--requests grew.jsonl] [--rounds 5]

What is timed is `bank.find`: reading the request, building its SELECT, planning and running it, and
making the frame. Only the open bank is kept from one round to the next. Without --requests the
requests of docs/patterns.md are run; those about attention only if the bank has a run. For such a
bank there are also requests over all of its attention, each compared with counting the weights of
one head. At the end comes the memory of a command for more and more hits.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from attnbank.queries import Bank, open_bank
from attnbank.queries.patterns import compile_request
from attnbank.queries.patterns.parser import parse_request
from attnbank.sql.errors import CallError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "patterns.md"
BY_HAND = {
    "pattern { V -[obj]-> O }": (
        "select sentence.name as sent_id, o.head_index as V, o.index as O from word as o"
        " inner join sentence on sentence.id = o.sentence where o.deprel = 'obj'"
        " order by o.sentence, V, O"
    ),
    "pattern { D [upos=DET]; N [upos=NOUN]; D < N }": (
        "select sentence.name as sent_id, d.index as D, n.index as N from word as d"
        " inner join word as n on n.sentence = d.sentence and n.index = d.index + 1"
        " inner join sentence on sentence.id = d.sentence"
        " where d.upos = 'DET' and n.upos = 'NOUN' order by d.sentence, d.index, n.index"
    ),
    "pattern { V [upos=VERB] } without { V -[obj]-> O }": (
        "select sentence.name as sent_id, v.index as V from word as v"
        " anti join word as o on o.sentence = v.sentence and o.head_index = v.index"
        " and o.deprel = 'obj' inner join sentence on sentence.id = v.sentence"
        " where v.upos = 'VERB' order by v.sentence, v.index"
    ),
    "pattern { X -[nsubj]-> S; X -[obj]-> O }": (
        "select sentence.name as sent_id, s.head_index as X, s.index as S, o.index as O"
        " from word as s inner join word as o on o.sentence = s.sentence"
        " and o.head_index = s.head_index inner join sentence on sentence.id = s.sentence"
        " where s.deprel = 'nsubj' and o.deprel = 'obj' order by s.sentence, X, S, O"
    ),
}


ATTENTION = {
    "find, at most": ("find", "pattern { V -[obj]-> O; O =[3-1]=> V }"),
    "find, a weight": ("find", "pattern { V -[obj]-> O; O =[3-1 > 0.3]=> V }"),
    "count, at most": ("count", "pattern { V -[obj]-> O; O =[3-1]=> V }"),
    "score": ("score", "pattern { V -[obj]-> O }"),
    "find, some head": ("find", "pattern { V -[obj]-> O; O =[*]=> V }"),
    "count, each head": ("count", "pattern { e: A =[*]=> B; A [upos=NOUN]; B [upos=VERB] }"),
}
LIMITS = (10, 1_000, 100_000)
MANY = "pattern { A []; B [] }"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bank")
    parser.add_argument("--requests", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with open_bank(arguments.bank) as bank:
        _against_hand(bank, arguments.rounds)
        _each(bank, _requests(arguments.requests), arguments.rounds)
        if bank.runs().height:
            _attention(bank, arguments.rounds)
    _memory(arguments.bank)


def _against_hand(bank: Bank, rounds: int) -> None:
    ratios = []
    for request, statement in BY_HAND.items():
        assert bank.find(request, context=False).rows() == bank.sql(statement).rows(), request
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(_seconds(partial(_find, bank, request)))
            theirs.append(_seconds(partial(bank.sql, statement)))
        ratios.append(min(ours) / min(theirs))
        print(
            f"{1e3 * min(ours):6.1f} ms, by hand {1e3 * min(theirs):6.1f} ms,"
            f" ratio {ratios[-1]:.2f}  {request}"
        )
    print(f"median ratio {statistics.median(ratios):.2f}")


def _each(bank: Bank, requests: list[str], rounds: int) -> None:
    took: list[tuple[float, str]] = []
    for request in requests:
        try:
            _find(bank, request)
        except CallError:  # refused, as in Grew, or asks for a run that the bank does not have
            continue
        took.append((min(_seconds(partial(_find, bank, request)) for _ in range(rounds)), request))
    took.sort()
    times = [1e3 * seconds for seconds, _ in took]
    print(
        f"{len(took)} requests: median {statistics.median(times):.1f} ms, nine in ten below"
        f" {times[int(0.9 * len(times))]:.1f} ms, all {sum(times) / 1e3:.2f} s; the slowest:"
    )
    for seconds, request in took[-5:]:
        print(f"{1e3 * seconds:8.1f} ms  {request[:120]}")


def _attention(bank: Bank, rounds: int) -> None:
    run = bank.runs()["name"][0]
    weights = bank.runs()["weights"][0]
    one = (
        "select count(*) from attention inner join sequence on sequence.id = attention.sequence"
        " where layer = 3 and head = 1 and list_max(weights) > 0.3"
    )
    base = min(_seconds(partial(bank.sql, one)) for _ in range(rounds))
    print(f"{run}, {weights:,} weights; the largest weights of one head: {1e3 * base:.1f} ms")
    for name, (kind, request) in ATTENTION.items():
        ask: Callable[[], object]
        if kind == "score":
            ask = partial(bank.score, request, dependent="O", head="V", run=run)
        elif kind == "count":
            ask = partial(bank.count, request, "e.label" if "e:" in request else "", run=run)
        else:
            ask = partial(bank.find, request, run=run)
        took = min(_seconds(ask) for _ in range(rounds))
        print(f"{1e3 * took:8.1f} ms, ratio {took / base:6.2f}  {name}: {request}")


def _memory(path: str) -> None:
    """Print the peak memory of a command for several numbers of hits."""
    first = 0
    for limit in LIMITS:
        call = [sys.executable, "-m", "attnbank", "-b", path, "find", MANY, "-f", "csv"]
        done = subprocess.run(
            [sys.executable, "-c", _PEAK, *call, "--limit", str(limit)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peak = int(done.stdout)
        first = first or peak
        print(f"{peak / 1e3:6.0f} MB, ratio {peak / first:.2f}  {MANY} --limit {limit}")


_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A program that runs a command and prints its peak memory in kB. It is a separate process, because
the peak of all children so far is kept."""


def _find(bank: Bank, request: str) -> None:
    compile_request.cache_clear()
    parse_request.cache_clear()
    bank.find(request)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _requests(path: Path | None) -> list[str]:
    if path is not None:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [each["request"] for each in map(json.loads, lines) if each["kind"] == "use"]
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```grew\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


if __name__ == "__main__":
    main()
