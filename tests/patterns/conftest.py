from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from judged import Judged, judged_bank
from once import Once
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
def text_bank(once: Once, corpora: Path) -> Callable[[str], Path]:
    """A function from the name of a real corpus to a bank of it alone, without a run."""

    def make(name: str) -> Path:
        text = corpora / f"{name}.conllu"
        folder = once(f"text-{name}", lambda folder: make_text_bank(folder / "bank.duckdb", text))
        return folder / "bank.duckdb"

    return make


@pytest.fixture(scope="session")
def judged_sample(sample_bank: Path) -> Iterator[Judged]:
    """The sample, whose sentences a model of six layers of twelve heads has read one by one."""
    yield from judged_bank(sample_bank)


@pytest.fixture(scope="session")
def sample_text_bank(once: Once, sample: Path) -> Path:
    """A bank of the sample corpus, each of its files a corpus, without a run."""
    files = sorted(sample.glob("*.conllu"))
    return (
        once("sample-text", lambda to: make_text_bank(to / "bank.duckdb", *files)) / "bank.duckdb"
    )
