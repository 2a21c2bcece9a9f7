"""What is told of the progress of an ingest is true, never falls, and ends at its total."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bank_rows import query_bank
from command_line import Cli
from crashes import ingest_part
from fixture_types import Options

from attnbank.ingest import estimate, ingest
from attnbank.ingest.progress import Progress

# Of the first two the progress is that of the whole corpus; the others take a part of it.
OPTIONS: dict[str, dict[str, Any]] = {
    "sentences": {"max_tokens": 29},
    "pairs": {"context": "pair", "unit": "token", "max_tokens": 40},
    "a sample of sentences": {"limit": 7},
    "a sample of documents": {"context": "document", "max_tokens": 40, "limit": 3},
    "a sample of pairs": {"context": "pair", "unit": "token", "max_tokens": 40, "limit": 3},
    "a sample of more than there are": {"limit": 10_000},
    "truncated documents": {"context": "document", "max_tokens": 40, "truncate": True},
    "a sample of truncated documents": {
        "context": "document", "max_tokens": 40, "truncate": True, "limit": 2
    },
}  # fmt: skip


def _count_sentences(bank: Path) -> int:
    """How many sentences the inputs of the only run have words of."""
    ((sentences,),) = query_bank(
        bank,
        "select count(distinct word.sentence) from position"
        " inner join word on word.id = position.word",
    )
    return int(sentences)


def _check(progress: list[Progress], stage: str, before: int, total: int) -> None:
    steps = [step for step in progress if step.stage == stage]
    assert {step.total for step in steps} == {total}
    assert (steps[0].done, steps[-1].done) == (before, total)
    assert all(step.done <= later.done for step, later in pairwise(steps))


@pytest.mark.usual("sentences")
@pytest.mark.parametrize("name", OPTIONS)
def test_progress(tmp_path: Path, few: Path, options_for: Options, name: str) -> None:
    """Of the run, of its estimate, and of the same run that resumes in the middle."""
    options = options_for(tmp_path / "bank.duckdb", few, batch_tokens=32, **OPTIONS[name])
    progress: list[Progress] = []
    report = ingest(options, progress.append)
    total = _count_sentences(options.bank)
    if name in ("sentences", "pairs"):
        ((total,),) = query_bank(options.bank, "select count(*) from sentence")
    assert report.batches > 1
    _check(progress, "running", 0, total)
    running = [step for step in progress if step.stage == "running"]
    shares = [step.share for step in running if step.share is not None]
    assert shares == sorted(shares) and shares[-1] == 1
    if name == "sentences":  # the long ones come last, and take longer
        half = next(step for step in running if step.total and 2 * step.done >= step.total)
        assert half.share is not None and half.share < 0.9 * half.done / total

    progress.clear()
    assert estimate(options, progress.append).sentences == report.sentences
    _check(progress, "counting", 0, total)

    other = replace(options, bank=tmp_path / "other.duckdb")
    ingest_part(other)
    before = _count_sentences(other.bank)
    if name in ("sentences", "pairs"):  # what was left out counts there
        before += query_bank(other.bank, "select count(*) from skipped")[0][0]
    assert 0 < before < total
    progress.clear()
    assert ingest(other, progress.append).state == "resumed"
    _check(progress, "running", before, total)


@pytest.mark.slow
def test_the_command_prints_the_size_of_a_sample(
    tmp_path: Path, options_for: Options, cli: Cli
) -> None:
    options = options_for(tmp_path / "bank.duckdb", "sample")
    command = ["-b", str(options.bank), "ingest", *options.corpora, "-m", options.model]
    command += ["--limit", "9"]
    error = cli(*command).err
    assert "Running: 9 sentences" in error and "9 of 9 sentences" in error
    printed = cli(*command, "--dry-run")
    assert "9 of 9 sentences" in printed.err and "sentences  9\n" in printed.out
