"""A model to be damaged, and a corpus to run it on."""

from __future__ import annotations

import shutil
from pathlib import Path

import hostile
import pytest
from fixture_types import Models


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of one sentence, in the folder that everything runs in."""
    path = tmp_path / "rain.conllu"
    path.write_text(hostile.RAIN * 2, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def folder(tmp_path: Path, tiny_model: Models) -> Path:
    """A copy of a tiny BERT, to be damaged."""
    return Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))
