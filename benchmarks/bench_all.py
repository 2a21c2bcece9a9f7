"""Every benchmark, one after the other, on one corpus.

    python benchmarks/bench_all.py [CORPUS]

Without CORPUS they run on the sample that comes with the package. It is small, so this takes only
minutes, but the ratios say less than those on real text (make corpora; make bench
CORPUS=corpora/gum-dev.conllu).
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "ingest" / "corpora" / "sample"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    corpus = arguments.corpus or SAMPLE
    if not corpus.exists():
        print(f"There is no corpus {corpus}. Give a file: make bench CORPUS=FILE", file=sys.stderr)
        return 2
    if arguments.corpus is None:
        print("On the sample, which is small. On real text: make bench CORPUS=FILE", flush=True)
    rounds = ["--rounds", str(arguments.rounds)]
    with tempfile.TemporaryDirectory() as folder:
        words, pairs = Path(folder, "words.duckdb"), Path(folder, "pairs.duckdb")
        pages = Path(folder, "pages")
        _ingest(words, corpus)
        _attnbank("-b", str(words), "publish", str(pages), "--i-may", "-q")
        _ingest(pairs, corpus, "--context", "pair", "--unit", "token")
        failed = [
            name
            for name, *options in (
                ["bench_ingest", str(corpus), *rounds],
                ["bench_published", str(pages), *rounds],
                ["bench_analyses", "--bank", str(pairs)],
            )
            if not _bench(name, *options)
        ]
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _ingest(bank: Path, corpus: Path, *options: str) -> None:
    _attnbank("-b", str(bank), "ingest", str(corpus), "--model", "minilm", "-q", *options)


def _attnbank(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "attnbank", *words], check=True)


def _bench(name: str, *options: str) -> bool:
    print(f"\n{name} {shlex.join(options)}", flush=True)
    return not subprocess.run([sys.executable, str(HERE / f"{name}.py"), *options]).returncode


if __name__ == "__main__":
    sys.exit(main())
