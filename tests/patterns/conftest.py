from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from judged import Judged, judged_bank


@pytest.fixture(scope="session")
def grew(corpora: Path) -> dict[str, dict[str, Any]]:
    """Requests by id, with what Grew 1.20 finds; skips where they are not beside the corpora."""
    path = Path(corpora).parent / "patterns" / "grew.jsonl"
    if not path.exists():
        pytest.skip("patterns/grew.jsonl is not beside the real corpora")
    lines = path.read_text(encoding="utf-8").splitlines()
    return {each["id"]: each for each in map(json.loads, lines)}


@pytest.fixture(scope="session")
def text_bank(corpora: Path, bank_of: BankFactory) -> Callable[[str], Path]:
    """A function from the name of a real corpus to a bank of it alone, without a run."""

    return lambda name: bank_of(corpora / f"{name}.conllu", "none")


@pytest.fixture(scope="session")
def judged_sample(sample_bank: Path) -> Iterator[Judged]:
    """The sample, whose sentences a model of six layers of twelve heads has read one by one."""
    yield from judged_bank(sample_bank)


@pytest.fixture(scope="session")
def sample_text_bank(sample: Path, bank_of: BankFactory) -> Path:
    """A bank of the sample corpus, each of its files a corpus, without a run."""
    return bank_of.in_turn(*((path, "none", {}) for path in sorted(sample.glob("*.conllu"))))
