"""With --multiword parts a run is what every run was before tokens were read as written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attnbank.cli.app import run
from attnbank.queries import Bank, open_bank

SENTENCES, DOCUMENTS = "mentions/minilm/parts", "mentions/minilm/document/parts"


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory, mentions: Path) -> Iterator[Bank]:
    path = tmp_path_factory.mktemp("parts") / "bank.duckdb"
    for context in ("sentence", "document"):
        options = ["--model", "minilm", "--multiword", "parts", "--context", context]
        assert run(["-b", str(path), "ingest", str(mentions), *options]) == 0
    with open_bank(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def before(mentions: Path) -> dict[str, Any]:
    """The numbers of a version of the program that knew nothing else."""
    text = mentions.with_name("parts.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def test_heads(bank: Bank, before: dict[str, Any]) -> None:
    found: dict[str, list[Any]] = {}
    rows = bank.query("head_accuracy", run=SENTENCES).sort("relation", "layer", "head", "direction")
    for row in rows.iter_rows(named=True):
        found.setdefault(row["relation"], [row["n"], []])[1].append(row["correct"])
    assert found == before["head_accuracy"]


def test_offsets(bank: Bank, before: dict[str, Any]) -> None:
    found: dict[str, list[int]] = {}
    for row in bank.query("offset_baseline", run=SENTENCES).iter_rows(named=True):
        found.setdefault(row["relation"], []).append(row["correct"])
    assert found == before["offset_baseline"]


def test_coreference(bank: Bank, before: dict[str, Any]) -> None:
    found: dict[str, list[Any]] = {}
    rows = bank.query("coreference_accuracy", run=DOCUMENTS).sort("kind", "layer", "head")
    for row in rows.iter_rows(named=True):
        found.setdefault(row["kind"], [row["n"], []])[1].append(row["correct"])
    assert found == before["coreference_accuracy"]
    baselines = bank.query("coreference_baseline", run=DOCUMENTS)
    assert {
        f"{row['baseline']} {row['kind']}": [row["correct"], row["n"]]
        for row in baselines.iter_rows(named=True)
    } == before["coreference_baseline"]


def test_positions(bank: Bank, before: dict[str, Any]) -> None:
    rows = bank.sql("select sum(positions), count(*) from sequence").rows()
    assert rows == [(before["positions"], 22)]
    assert bank.sql("select count(*) from position where last_word is not null").item() == 0
