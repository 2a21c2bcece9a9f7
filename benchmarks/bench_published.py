"""How long a published bank takes in Chromium, through a host that answers 40 ms late.

    python benchmarks/bench_published.py PUBLICATION [NAME] [--rounds 5] [--milliseconds 40]

PUBLICATION is a folder that `attnbank publish` wrote, NAME a bank in it. Every round is a visitor
who has seen nothing yet: medians of seconds, and requests and bytes, which are the same each time.
A busy machine tells nothing, so the load is printed first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browsers
from counting_host import Counted, served
from published_pages import Page

_WAYS: tuple[tuple[tuple[str, dict[str, Any]], ...], ...] = (
    (
        ("/", {}),
        ("/", {"relation": "obj"}),
        ("/", {"by": "entropy"}),
    ),
    (
        ("/sentence", {"sentence": "fifth", "head": "2-2", "relation": "all", "tree": 1}),
        ("/sentence", {"sentence": "fifth", "head": "2-2", "relation": "nsubj", "tree": 1}),
        ("/sentence", {"sentence": "sixth", "head": "2-2", "relation": "nsubj", "tree": 1}),
    ),
    (
        ("/head/2-2", {"relation": "obj", "direction": "dependent_to_head"}),
        ("/head/2-2", {"relation": "nsubj", "direction": "dependent_to_head"}),
    ),
    (("/sentences", {"pattern": "pattern { V -[obl]-> O }"}),),
    (("/tables/best_head", {"min_count": 50}), ("/tables/best_head", {"min_count": 20})),
)
"""What visitors do, one after the other; the first of each opens the page with it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("publication", type=Path)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--milliseconds", type=float, default=40)
    given = parser.parse_args()
    name = given.name or next(given.publication.glob("*/bank.json")).parent.name
    host = Counted(given.publication, given.milliseconds / 1000)
    numbers = _sentences(given.publication / name)
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {name},", end=" ")
    print(f"{given.milliseconds:g} ms before each answer")
    with served(host) as address, browsers.launched() as browser:
        for way in _WAYS:
            took: list[list[float]] = [[] for _ in way]
            asked: list[str] = [""] * len(way)
            for _ in range(given.rounds):
                visitor = None
                for at, (path, asking) in enumerate(way):
                    values = {key: numbers.get(value, value) for key, value in asking.items()}
                    host.asked.clear()
                    start = time.perf_counter()
                    if visitor is None:
                        visitor = Page(browser, f"{address}/{name}/", path=path, **values)
                    else:
                        visitor.see(path, **values)
                    took[at].append(time.perf_counter() - start)
                    asked[at] = _asked(host)
                assert visitor is not None
                visitor.context.close()
            for (path, values), seconds, told in zip(way, took, asked, strict=True):
                shown = " ".join(f"{key}={value}" for key, value in values.items())
                print(f"{statistics.median(seconds):6.2f} s  {told}  {path} {shown}")


def _sentences(folder: Path) -> dict[Any, int]:
    """Two sentences that the bank has, one after the other."""
    shown = json.loads((folder / "bank.json").read_text(encoding="utf-8"))["shown"]
    names = json.loads((folder / "sheets" / str(shown) / "names.json").read_text(encoding="utf-8"))
    return {"fifth": names[4][0], "sixth": names[5][0]}


def _asked(host: Counted) -> str:
    bank = host.taken(lambda path: path.endswith(".duckdb"))
    programs = host.taken(lambda path: "/page/" in path)
    every = host.taken(lambda path: True)
    files = every[0] - bank[0] - programs[0], every[1] - bank[1] - programs[1]
    return ", ".join(
        f"{what} {count:3} {size / 1e6:5.2f} MB"
        for what, (count, size) in (("bank", bank), ("files", files), ("programs", programs))
    )


if __name__ == "__main__":
    main()
