"""A text that is small enough for slow implementations."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def few_stories(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first five sentences of each of the two documents of the sample's stories."""
    path = tmp_path_factory.mktemp("stories") / "stories.conllu"
    blocks = (sample / "stories.conllu").read_text(encoding="utf-8").strip().split("\n\n")
    path.write_text("\n\n".join([*blocks[:5], *blocks[13:18]]) + "\n\n", encoding="utf-8")
    return path
