"""Banks that probes are trained on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import toy_attention as toy
from fixture_types import Models

from attnbank.ingest import IngestOptions, ingest
from attnbank.sql.bank.opening import open_to_read


@pytest.fixture(scope="session")
def probe_bank(tmp_path_factory: pytest.TempPathFactory, sample: Path, tiny_model: Models) -> Path:
    """Two runs of a tiny model over two files of ten sentences; not to be written to."""
    folder = tmp_path_factory.mktemp("probes")
    model = folder / "model"
    model.symlink_to(tiny_model("bert"))
    for name in ("stories", "press"):
        blocks = (sample / f"{name}.conllu").read_text(encoding="utf-8").strip().split("\n\n")
        second = max(at for at, block in enumerate(blocks) if "# newdoc" in block)
        path = folder / f"{name}.conllu"
        path.write_text(
            "\n\n".join([*blocks[:5], *blocks[second : second + 5]]) + "\n\n", encoding="utf-8"
        )
        ingest(IngestOptions((str(path),), folder / "bank.duckdb", str(model)))
    return folder / "bank.duckdb"


@pytest.fixture
def reading(probe_bank: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_to_read(probe_bank) as connection, connection.cursor() as cursor:
        yield cursor


@pytest.fixture(scope="session")
def made_toy_bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy") / "toy.duckdb"
    return toy.make_bank(path, {"train": 120, "test": 30}, toy.follow_heads)


@pytest.fixture
def toy_bank(tmp_path: Path, made_toy_bank: Path) -> Path:
    """A bank of made-up sentences in which one head knows the tree."""
    return Path(shutil.copy(made_toy_bank, tmp_path))
