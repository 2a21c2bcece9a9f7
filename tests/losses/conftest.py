"""Texts of a few sentences, and banks of runs over them, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from loaded import loaded_once
from once import Once

__all__ = ["loaded_once"]


@pytest.fixture(scope="session")
def few(once: Once, sample: Path) -> Path:
    """The folder of the first sentences of two files of the sample, a document each."""

    def write(folder: Path) -> None:
        for name in ("press", "stories"):
            blocks = (sample / f"{name}.conllu").read_text(encoding="utf-8").split("\n\n")
            (folder / f"{name}.conllu").write_text("\n\n".join(blocks[:2]) + "\n\n", "utf-8")

    return once("few-sentences", write)
