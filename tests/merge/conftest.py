"""A bank of the sample corpus, and one of each of its shards, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bank_rows import change_bank
from fixture_types import Models
from loaded import loaded_once
from once import Once

from attnbank.ingest import IngestOptions, ingest

__all__ = ["loaded_once"]

RUNS: tuple[dict[str, Any], ...] = (
    {},
    {"context": "document", "decimals": 5},
    {"keep": "peaks"},
    {"context": "pair", "unit": "token", "gradients": True, "ablate": "heads"},
)

LOSSES = {"whole": "3, 3", "1": "1, 1", "2": "4, 2", "3": "0, 0"}
"""The mean loss without head 1-1 and its tokens, as of a run with masks that has no such words."""


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
    once: Once,
    name: str,
    count: int,
    fill: Callable[..., Path],
    runs: tuple[dict[str, Any], ...],
    *,
    losses: bool = False,
) -> Shards:
    def make(folder: Path) -> None:
        for options in runs:
            fill(folder / "whole.duckdb", **options)
            for number in range(1, count + 1):
                fill(folder / f"{number}.duckdb", shard=f"{number}/{count}", **options)
        for bank, values in LOSSES.items() if losses else ():
            change_bank(
                folder / f"{bank}.duckdb",
                "insert into ablation values (1, 'none', null, null, null, 0, 0),"
                f" (1, 'head', 1, 1, 'zero', {values})",
            )

    folder = once(name, make)
    banks = [folder / f"{number}.duckdb" for number in range(1, count + 1)]
    return Shards(folder / "whole.duckdb", banks, fill)


@pytest.fixture(scope="session")
def shards(once: Once, few: Path, tiny_model: Models) -> Shards:
    """Three of a run over single sentences of four documents. Not to be written to."""
    fill = _filler(str(tiny_model("bert")), few / "press.conllu", few / "stories.conllu")
    return _make(once, "shards", 3, fill, RUNS[:1], losses=True)


@pytest.fixture(scope="session")
def full_shards(once: Once, few: Path, tiny_masked_lm: Models) -> Shards:
    """Five of runs over sentences (once of peaks alone), documents and pairs, which have all."""
    fill = _filler(str(tiny_masked_lm("bert")), few)
    return _make(once, "full-shards", 5, fill, RUNS)
