"""Numbers and texts on a published page are written as on the command line."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from attnbank.cli.viewer.records import frame_record
from attnbank.queries.table_formats import columns_as_text, csv_text

PAGE = Path(__file__).resolve().parents[2] / "cli" / "viewer" / "page"
_SCRIPT = """
import { readFileSync } from "node:fs";
const { columnsAsText, csv } = await import(process.argv[1]);
const frames = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(frames.map((each) => [columnsAsText(each), csv(each)])));
"""


def _on_the_page(frames: list[pl.DataFrame]) -> list[tuple[list[tuple[str, list[str], bool]], str]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        [node, "--input-type=module", "-e", _SCRIPT, str(PAGE / "cells.js")],
        input=json.dumps([frame_record(each) for each in frames]),
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        ([(each["name"], each["cells"], each["is_number"]) for each in columns], text)
        for columns, text in json.loads(done.stdout)
    ]


def test_numbers_are_rounded_alike() -> None:
    draw = random.Random(7)
    halves = [each / 2**power for power in (1, 2, 3, 4, 11) for each in range(1, 60, 2)]
    columns = [
        halves,
        [1.005, 4.35, 0.285, 8.345, 1.115, -0.0005, -0.0004, 0.0],
        [draw.random() for _ in range(500)],
        [draw.random() * 10 ** draw.uniform(-9, -3) for _ in range(500)],
        [draw.random() * 10 ** draw.uniform(0, 5) for _ in range(500)],
        [draw.uniform(-1, 1) * 10 ** draw.uniform(0, 12) for _ in range(500)],
        [1e16, 1.5e16, 123456.0, 1e6, 999999.5],
        [1e-5, 0.00125, 0.0049, 9.995e-4, 9.9949e-4, 0.0],
        [math.nan, math.inf, -math.inf, 0.5],
        [None, 0.25, None],
    ]
    frames = [pl.DataFrame({name: each}) for each in columns for name in ("x", "p_value")]
    for frame, (shown, _) in zip(frames, _on_the_page(frames), strict=True):
        own = [(each.name, each.cells, each.is_number) for each in columns_as_text(frame)]
        assert shown == own


def test_texts_and_the_rest_are_written_alike() -> None:
    frame = pl.DataFrame(
        {
            "text": ["a", "tab\there", "line\nend", "\u202eturned", "nb\u00a0sp", "שלום", None],
            "number": [1, -2, None, 2**40, 0, 5, 6],
            "truth": [True, False, None, True, True, True, True],
            "list": [[0.5, None], [1.0], None, [], [0.001], [1e9], [2.5]],
        }
    )
    ((shown, _),) = _on_the_page([frame])
    own = [(each.name, each.cells, each.is_number) for each in columns_as_text(frame)]
    assert shown == own
    texts = pl.Series(["a,b", '"', "", "x", "y", "z", None])
    plain = frame.drop("list", "text").with_columns(text=texts)
    assert _on_the_page([plain])[0][1] == csv_text(plain)
