from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from text_banks import make_text_bank


@pytest.fixture(scope="session")
def grew(corpora: Path) -> dict[str, dict[str, Any]]:
    """Requests by id, with what Grew 1.20 finds; skips where they are not beside the corpora."""
    path = Path(corpora).parent / "patterns" / "grew.jsonl"
    if not path.exists():
        pytest.skip("patterns/grew.jsonl is not beside the real corpora")
    lines = path.read_text(encoding="utf-8").splitlines()
    return {each["id"]: each for each in map(json.loads, lines)}


@pytest.fixture(scope="session")
def text_bank(tmp_path_factory: pytest.TempPathFactory, corpora: Path) -> Callable[[str], Path]:
    """A function from the name of a real corpus to a bank of it alone, without a run."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp("text-bank")
            made[name] = make_text_bank(folder / "bank.duckdb", corpora / f"{name}.conllu")
        return made[name]

    return make


@pytest.fixture(scope="session")
def sample_text_bank(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """A bank of the sample corpus, each of its files a corpus, without a run."""
    folder = tmp_path_factory.mktemp("sample-text")
    return make_text_bank(folder / "bank.duckdb", *sorted(sample.glob("*.conllu")))
