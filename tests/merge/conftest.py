"""A bank of the sample corpus, and one of each of its shards, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Models
from once import Once

from attnbank.ingest import IngestOptions, ingest

RUNS: tuple[dict[str, Any], ...] = (
    {},
    {"context": "document", "decimals": 5},
    {"keep": "peaks"},
    {"context": "pair", "unit": "token", "gradients": True, "ablate": "heads"},
)


@dataclass(frozen=True)
class Shards:
    """A bank of everything, the banks of its shards in order, and how more are made."""

    whole: Path
    shards: list[Path]
    fill: Callable[..., Path]


def _filler(model: str, *corpora: Path) -> Callable[..., Path]:
    def fill(bank: Path, **options: Any) -> Path:
        """Ingest the text, each input a batch of its own, so that rounding is always the same."""
        ingest(
            IngestOptions(
                tuple(map(str, corpora)),
                bank,
                model,
                name="sample",
                **{"batch_tokens": 1, **options},
            )
        )
        return bank

    return fill


def _make(
    once: Once, name: str, count: int, fill: Callable[..., Path], runs: tuple[dict[str, Any], ...]
) -> Shards:
    def make(folder: Path) -> None:
        for options in runs:
            fill(folder / "whole.duckdb", **options)
            for number in range(1, count + 1):
                fill(folder / f"{number}.duckdb", shard=f"{number}/{count}", **options)

    folder = once(name, make)
    banks = [folder / f"{number}.duckdb" for number in range(1, count + 1)]
    return Shards(folder / "whole.duckdb", banks, fill)


@pytest.fixture(scope="session")
def shards(once: Once, sample: Path, tiny_model: Models) -> Shards:
    """Three of a run over single sentences of four documents. Not to be written to."""
    fill = _filler(str(tiny_model("bert")), sample / "press.conllu", sample / "stories.conllu")
    return _make(once, "shards", 3, fill, RUNS[:1])


@pytest.fixture(scope="session")
def full_shards(once: Once, sample: Path, tiny_masked_lm: Models) -> Shards:
    """Five of runs over sentences (once of peaks alone), documents and pairs, which have all."""
    fill = _filler(str(tiny_masked_lm("bert")), sample)
    return _make(once, "full-shards", 5, fill, RUNS)
