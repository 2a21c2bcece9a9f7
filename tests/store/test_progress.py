"""What is told of the progress of an ingest is true, never falls, and ends at its total."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import new_banks
import pytest
from bank_rows import query_bank

from attnbank.cli.app import run_command_line
from attnbank.ingest import IngestOptions, estimate, ingest
from attnbank.ingest.progress import Progress
from attnbank.ingest.store import pipeline

# Of the first two the progress is that of the whole corpus; the others take a part of it.
OPTIONS: dict[str, dict[str, Any]] = {
    "sentences": {"max_tokens": 20},
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


def _held(bank: Path) -> int:
    """How many sentences the inputs of the only run hold something of."""
    ((held,),) = query_bank(
        bank,
        "select count(distinct word.sentence) from position"
        " inner join word on word.id = position.word",
    )
    return int(held)


def _check(told: list[Progress], stage: str, before: int, total: int) -> None:
    found = [each for each in told if each.stage == stage]
    assert [each.total for each in found] == [total] * len(found)
    assert (found[0].done, found[-1].done) == (before, total)
    assert all(one.done <= other.done for one, other in pairwise(found))


@pytest.mark.usual("sentences")
@pytest.mark.parametrize("name", OPTIONS)
def test_progress(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], name: str
) -> None:
    """Of the run, of its estimate, and of the same run taken up in the middle."""
    given = OPTIONS[name] | {"batch_tokens": 32}
    corpus, model = (str(sample / "stories.conllu"), str(sample / "press.conllu")), "bert"
    options = IngestOptions(
        corpus, new_banks.put(tmp_path / "bank.duckdb"), str(tiny_model(model)), **given
    )
    told: list[Progress] = []
    report = ingest(options, told.append)
    total = _held(options.bank)
    if name in ("sentences", "pairs"):
        ((total,),) = query_bank(options.bank, "select count(*) from sentence")
    assert report.batches > 1
    _check(told, "running", 0, total)
    shares = [each.share for each in told if each.stage == "running" and each.share is not None]
    assert shares == sorted(shares) and shares[-1] == 1
    if name == "sentences":  # the long ones come last, and take longer
        running = [each for each in told if each.stage == "running" and each.total]
        half = next(each for each in running if 2 * each.done >= (each.total or 0))
        assert half.share is not None and half.share < 0.9 * half.done / total

    told = []
    expected = estimate(options, told.append)
    assert expected.sentences == report.sentences
    _check(told, "counting", 0, total)

    other = IngestOptions(
        corpus, new_banks.put(tmp_path / "other.duckdb"), str(tiny_model(model)), **given
    )
    _stop_after_a_batch(other)
    before = _held(other.bank)
    if name in ("sentences", "pairs"):  # what was left out counts there
        ((left_out,),) = query_bank(other.bank, "select count(*) from skipped")
        before += left_out
    assert 0 < before < total
    told = []
    assert ingest(other, told.append).state == "resumed"
    _check(told, "running", before, total)


def _stop_after_a_batch(options: IngestOptions) -> None:
    class Stopped(Exception):
        pass

    def tell(progress: Progress) -> None:
        if progress.stage == "running" and progress.done:
            raise Stopped

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(pipeline, "WEIGHTS_AT_ONCE", 1)
        ingest(options, tell)


@pytest.mark.slow
def test_the_command_tells_the_sample(
    tmp_path: Path,
    sample: Path,
    tiny_model: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [
        "-b", str(tmp_path / "bank.duckdb"), "ingest", str(sample), "-m", str(tiny_model("bert")),
        "--limit", "9",
    ]  # fmt: skip
    assert run_command_line(words) == 0
    text = capsys.readouterr().err
    assert "Running: 9 sentences" in text and "9 of 9 sentences" in text
    assert run_command_line([*words, "--dry-run"]) == 0
    found = capsys.readouterr()
    assert "9 of 9 sentences" in found.err and "sentences  9\n" in found.out
