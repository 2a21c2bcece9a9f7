"""With --multiword parts a run is what every run was before tokens were read as written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import new_banks
import pytest

from attnbank.cli.app import run_command_line
from attnbank.queries import Bank, open_bank

pytestmark = pytest.mark.slow

Parts = Callable[[str], Bank]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, mentions: Path) -> Parts:
    """A function from a context to a bank of a run of parts."""
    made: dict[str, Path] = {}

    def make(context: str) -> Bank:
        if context not in made:
            path = tmp_path_factory.mktemp("parts") / "bank.duckdb"
            new_banks.put(path)
            options = ["--model", "minilm", "--multiword", "parts", "--context", context]
            assert run_command_line(["-b", str(path), "ingest", str(mentions), *options]) == 0
            made[context] = path
        return open_bank(made[context])

    return make


@pytest.fixture(scope="module")
def before(mentions: Path) -> dict[str, Any]:
    """The numbers of a version of the program that knew nothing else."""
    text = mentions.with_name("parts.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def test_heads(parts: Parts, before: dict[str, Any]) -> None:
    found: dict[str, list[Any]] = {}
    offsets: dict[str, list[int]] = {}
    with parts("sentence") as bank:
        rows = bank.query("head_accuracy").sort("relation", "layer", "head", "direction")
        for row in rows.iter_rows(named=True):
            assert row["run"] == "mentions/minilm/parts"
            found.setdefault(row["relation"], [row["n"], []])[1].append(row["correct"])
        for row in bank.query("offset_baseline").iter_rows(named=True):
            offsets.setdefault(row["relation"], []).append(row["correct"])
        assert bank.sql("select count(*) from position where last_word is not null").item() == 0
        assert bank.sql("select sum(positions) from sequence").item() == 188 + 2 * 18
    assert found == before["head_accuracy"]
    assert offsets == before["offset_baseline"]


def test_coreference(parts: Parts, before: dict[str, Any]) -> None:
    found: dict[str, list[Any]] = {}
    with parts("document") as bank:
        rows = bank.query("coreference_accuracy").sort("kind", "layer", "head")
        for row in rows.iter_rows(named=True):
            assert row["run"] == "mentions/minilm/document/parts"
            found.setdefault(row["kind"], [row["n"], []])[1].append(row["correct"])
        baselines = bank.query("coreference_baseline")
    assert found == before["coreference_accuracy"]
    assert {
        f"{row['baseline']} {row['kind']}": [row["correct"], row["n"]]
        for row in baselines.iter_rows(named=True)
    } == before["coreference_baseline"]
