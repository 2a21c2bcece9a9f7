"""What a big corpus costs: rates, sizes and times measured here, and what follows from them.

    python benchmarks/bench_scale.py CORPUS [--model FOLDER...] [--largest 1e9] [--spark]

CORPUS has trees and coreference, such as gum-dev.conllu. It prints the tables of docs/scale.md:

1. ingests of CORPUS, one after the other: words, weights and bytes by model, context and --keep;
2. every analysis over banks of 10 million weights, ten times as many, and so on up to --largest
   (big_bank.py), with the exponent of its growth over the last step;
3. two shards, one after the other, and their merge, against one ingest; export and import;
4. with --spark: three analyses on Spark over exports, after the session was started;
5. hours, bytes and money for three corpora: an extrapolation, by the rates of 1.

Processor seconds are those of the whole process, and hours are hours of one core. Look at the load
of the machine first: beside other work the figures tell nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import bench_analyses
import duckdb

from attnbank.queries import open_bank
from attnbank.sql.registry import analyses

CORPORA = {  # words; mean words of a sentence
    "Penn Treebank (WSJ)": (1_173_766, 23.9),
    "OntoNotes 5 (English)": (1_631_995, 17.2),
    "English Wikipedia": (2_500_000_000, 22.0),
}
"""Sizes as published: Marcus et al. 1993 (LDC99T42), CoNLL-2012, Devlin et al. 2019."""
SHAPES = {  # parameters, layers, heads
    "BERT-base": (110e6, 12, 12),
    "decoder of 7 billion": (7e9, 32, 32),
}
PACE = {"mpnet": 110e6, "minilm": 22.7e6}
"""The parameters of the models whose pace is taken for that of others, in proportion."""
LINE = 128
"""The tokens of an input of documents, as in the paper."""


@dataclass(frozen=True)
class Ingested:
    """What one ingest took and wrote."""

    model: str
    context: str
    keep: str
    words: int
    weights: int  # all that were computed, kept or not
    places: int  # positions of all maps
    seconds: float  # from the first batch to the last
    processor: float  # of the whole command, without that of starting and loading the model
    bytes: int
    text: int  # bytes that are neither weights nor sums

    @property
    def per_weight(self) -> float:
        """Bytes of the bank beyond the text, by weight that was computed."""
        return (self.bytes - self.text) / self.weights

    @property
    def per_place(self) -> float:
        """The same by position of a map."""
        return (self.bytes - self.text) / self.places


def run(*arguments: str) -> tuple[float, float]:
    """Run an attnbank command; wall-clock and processor seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "attnbank", *arguments], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


def ingested(folder: Path, corpus: str, model: str, context: str, keep: str) -> Ingested:
    """Ingest a corpus into a bank of its own, and measure that."""
    bank = folder / f"{Path(model).name}-{context}-{keep}.duckdb"
    options = ["--model", model, "--context", context, "--keep", keep]
    _, starting = run("-b", str(folder / "one"), "ingest", corpus, *options, "-q", "--limit", "1")
    (folder / "one").unlink()
    _, used = run("-b", str(bank), "ingest", corpus, *options, "-q")
    with duckdb.connect(str(bank), read_only=True) as connection:
        ((weights, places, seconds),) = connection.execute(
            "select sum(cast(positions as bigint) * positions * layers * heads),"
            " sum(cast(positions as bigint) * layers * heads),"
            " any_value(date_diff('millisecond', started, finished)) / 1000"
            " from sequence inner join run on run.id = sequence.run"
            " inner join model on model.id = run.model"
        ).fetchall()
        ((words,),) = connection.execute("select count(*) from word").fetchall()
        ((block,),) = connection.execute("select block_size from pragma_database_size()").fetchall()
        own = sum(
            connection.execute(
                f"select count(distinct block_id) from pragma_storage_info('{table}')"
            ).fetchall()[0][0]
            for table in ("attention", "attention_map", "peak")
        )
    size = bank.stat().st_size
    found = Ingested(
        Path(model).name, context, keep, words, weights, places, seconds, used - starting, size,
        size - own * block,
    )  # fmt: skip
    bank.unlink()
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table in Markdown."""
    print(f"\n| {' | '.join(head)} |")
    print(f"|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def ingests(folder: Path, corpus: str, models: Sequence[str]) -> list[Ingested]:
    """Measure every model with both contexts, and peaks with the first model; and print it."""
    wanted = [(model, context, "weights") for model in models for context in _CONTEXTS]
    wanted += [(models[0], context, "peaks") for context in _CONTEXTS]
    found = [ingested(folder, corpus, *each) for each in wanted]
    table(
        ("model", "inputs", "kept", "words/s", "million weights/s", "core s per 1,000 words",
         "bytes/weight", "bytes/position of a map", "MB"),
        (
            (each.model, each.context, each.keep, f"{each.words / each.seconds:,.0f}",
             f"{each.weights / each.seconds / 1e6:.1f}",
             f"{each.processor / each.words * 1000:.2f}", f"{each.per_weight:.2f}",
             f"{each.per_place:.1f}", f"{each.bytes / 1e6:.1f}")
            for each in found
        ),
    )  # fmt: skip
    return found


_CONTEXTS = ("sentence", "document")


def growth(folder: Path, corpus: str, largest: float) -> None:
    """Measure the analyses over larger and larger banks, and print seconds and exponents."""
    sizes = [10.0**power for power in range(7, round(math.log10(largest)) + 1)]
    taken: dict[str, list[float]] = {}
    for context, unit in (("sentence", "word"), ("document", "word")):
        for size in sizes:
            bank = folder / "growing.duckdb"
            bench_analyses.make(corpus, bank, size, context, unit)
            with open_bank(bank) as opened:
                weights = int(opened.runs()["weights"][0])
            for name in _asked(bank, context):
                taken.setdefault(name, []).append(_seconds(bank, name, weights))
            bank.unlink()
    table(
        ("analysis", *(f"{size:.0e} weights, core s" for size in sizes), "exponent"),
        (
            (name, *(f"{each:.2f}" for each in seconds), _exponent(seconds))
            for name, seconds in sorted(taken.items())
        ),
    )


def _asked(bank: Path, context: str) -> Iterator[str]:
    """The analyses that read a bank by default, those of coreference over documents alone."""
    for name in bench_analyses.readable(bank):
        each = analyses()[name]
        is_of_mentions = each.run is not None and each.run.needs == "mentions"
        needs_a_step = each.section == "clusters" or name == "figure_6"
        if is_of_mentions == (context == "document") and not needs_a_step:
            yield name


def _seconds(bank: Path, name: str, weights: int) -> float:
    """Processor seconds of one analysis, in a process of its own."""
    call = [sys.executable, bench_analyses.__file__, "--measure"]
    done = subprocess.run(
        [*call, str(bank), "analysis", name, str(weights)], capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return float(done.stdout.split()[1])


def _exponent(seconds: Sequence[float]) -> str:
    """The power of the size that the time grows by in the last step of ten."""
    if len(seconds) < 2 or min(seconds[-2:]) < 0.05:
        return "under 0.05 s"
    return f"{math.log10(seconds[-1] / seconds[-2]):.2f}"


def apart(folder: Path, corpus: str) -> None:
    """Measure two shards and their merge against one ingest, export and import; and print it."""
    bank = [str(folder / f"{each}.duckdb") for each in ("whole", "1", "2", "merged", "again")]
    export = str(folder / "export")
    minilm = ["--model", "minilm", "-q"]
    steps = {
        "one ingest": ("-b", bank[0], "ingest", corpus, *minilm),
        "shard 1/2": ("-b", bank[1], "ingest", corpus, *minilm, "--shard", "1/2"),
        "shard 2/2": ("-b", bank[2], "ingest", corpus, *minilm, "--shard", "2/2"),
        "merge of the two": ("merge", bank[3], bank[1], bank[2], "-q"),
        "export": ("-b", bank[0], "export", export, "-q"),
        "import": ("-b", bank[4], "import", export, "-q"),
    }
    rows = []
    for name, arguments in steps.items():
        seconds, used = run(*arguments)
        rows.append((name, f"{seconds:.1f}", f"{used:.1f}"))
    size = Path(bank[3]).stat().st_size
    table((f"{size / 1e6:.0f} MB", "wall s", "core s"), rows)


def on_spark(folder: Path, corpus: str, largest: float) -> None:
    """Measure three analyses on Spark over exports of two sizes, and print seconds."""
    from attnbank.queries.spark import open_export
    from attnbank.queries.spark_sessions import LOCAL, session_of

    names = ("special_tokens", "best_head", "head_pattern")
    rows = []
    for size in (largest / 100, largest / 10):
        bank, export = folder / "spark.duckdb", folder / "spark"
        bench_analyses.make(corpus, bank, size, "sentence", "word")
        run("-b", str(bank), "export", str(export), "-q", "--force")
        with session_of(LOCAL) as session:
            exported = open_export(session, export)
            exported.query("gold_dependency")  # what is read first also starts the session
            for name in names:
                start = time.perf_counter()
                exported.query(name)
                local = time.perf_counter()
                with open_bank(bank) as opened:
                    opened.query(name)
                here = time.perf_counter() - local
                rows.append((name, f"{size:.0e}", f"{local - start:.1f}", f"{here:.2f}"))
        bank.unlink()
    table(("analysis", "weights", "Spark local[2], s", "DuckDB, s"), rows)


def costs(found: Sequence[Ingested], price: float, storage: float) -> None:
    """Print hours, bytes and money for large corpora, by the rates of the ingests."""
    by = {(each.model, each.context, each.keep): each for each in found}
    pace = "mpnet" if ("mpnet", "sentence", "weights") in by else "minilm"
    rows = []
    for corpus, (words, length) in CORPORA.items():
        for model, (parameters, layers, heads) in SHAPES.items():
            for context in _CONTEXTS:
                positions = length + 2 if context == "sentence" else LINE * 0.85
                places = words * (1 + 2 / (positions - 2)) * layers * heads
                measured = by[pace, context, "weights"]
                slower = parameters / PACE[pace]
                hours = words * measured.processor / measured.words * slower / 3600
                for keep in ("weights", "peaks"):
                    like = by["minilm", context, keep]
                    is_whole = keep == "weights"
                    size = (
                        places * positions * like.per_weight
                        if is_whole
                        else (places * like.per_place)
                    )
                    rows.append(
                        (corpus, model, context, keep, _number(hours), _size(size),
                         _money(hours * price), _money(size / 1e9 * storage))
                    )  # fmt: skip
    table(
        (
            "corpus",
            "model",
            "inputs",
            "kept",
            "core hours",
            "bank",
            "computing",
            "a month of storage",
        ),
        rows,
    )


def _money(dollars: float) -> str:
    return f"{dollars:.2f} $" if dollars < 10 else f"{_number(dollars)} $"


def _number(count: float) -> str:
    return f"{count:,.1f}" if count < 100 else f"{float(f'{count:.2g}'):,.0f}"


def _size(count: float) -> str:
    for unit in ("MB", "GB", "TB", "PB"):
        count /= 1000 if unit != "MB" else 1e6
        if count < 1000 or unit == "PB":
            return f"{count:.3g} {unit}"
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--model", action="append", default=[], help="folders of further models")
    parser.add_argument("--largest", type=float, default=1e9)
    parser.add_argument("--price", type=float, default=0.05, help="dollars for an hour of a core")
    parser.add_argument("--storage", type=float, default=0.02, help="dollars for a GB and month")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--only", choices=["ingests", "growth", "apart", "spark"])
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    print(json.dumps({"cores": os.cpu_count(), "load": load, "price": arguments.price}), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder, corpus, only = Path(name), arguments.corpus, arguments.only
        if only in (None, "ingests"):
            found = ingests(folder, corpus, ["minilm", *arguments.model])
            costs(found, arguments.price, arguments.storage)
        if only in (None, "growth"):
            growth(folder, corpus, arguments.largest)
        if only in (None, "apart"):
            apart(folder, corpus)
        if only == "spark" or (only is None and arguments.spark):
            on_spark(folder, corpus, arguments.largest)


if __name__ == "__main__":
    main()
