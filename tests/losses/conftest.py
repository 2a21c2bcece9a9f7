"""Texts of a few sentences, and banks of runs over them, for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from loaded import loaded_once
from once import Once

from attnbank.cli.app import run_command_line

__all__ = ["loaded_once"]

Ingested = Callable[..., Path]


@pytest.fixture(scope="session")
def few(once: Once, sample: Path) -> Path:
    """The folder of the first sentences of two files of the sample, a document each."""

    def write(folder: Path) -> None:
        for name in ("press", "stories"):
            blocks = (sample / f"{name}.conllu").read_text(encoding="utf-8").split("\n\n")
            (folder / f"{name}.conllu").write_text("\n\n".join(blocks[:2]) + "\n\n", "utf-8")

    return once("few-sentences", write)


@pytest.fixture(scope="session")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Ingested:
    """A function from a corpus, a model and options to a new copy of a bank of that run."""
    made: dict[tuple[Path, Path, tuple[str, ...]], Path] = {}

    def make(corpus: Path, model: Path, *options: str) -> Path:
        key = corpus, model, options
        if key not in made:
            made[key] = tmp_path_factory.mktemp("ingested") / "bank.duckdb"
            args = ["-b", str(made[key]), "ingest", str(corpus), "-m", str(model), "-q", *options]
            assert run_command_line(args) == 0
        return Path(shutil.copy(made[key], tmp_path_factory.mktemp("bank")))

    return make
