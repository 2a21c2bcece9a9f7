"""Reading the text and writing the rows of a run take turns, as DuckDB's checkpoints ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import new_banks
import pytest
from bank_rows import query_bank

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.inputs import candidate_inputs, planning
from attnbank.ingest.store import pipeline


def _corpus(path: Path, sentences: int) -> str:
    line = "{}\t{}\t{}\tNOUN\t_\t_\t{}\t{}\t_\t_\n"
    words = ("rain", "fell", "here")
    tree = "".join(
        line.format(at, word, word, 0 if at == 1 else 1, "root" if at == 1 else "dep")
        for at, word in enumerate(words, start=1)
    )
    text = "".join(f"# text = {' '.join(words)}\n{tree}\n" for _ in range(sentences))
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_a_checkpoint_never_meets_a_statement_that_began_before_it(
    tmp_path: Path, tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four sentences are read at a time and every batch is committed, so that both happen often.

    Without turns, each of ten such ingests failed: "Cannot CHECKPOINT: there are other write
    transactions active".
    """
    monkeypatch.setattr(pipeline, "WEIGHTS_AT_ONCE", 1)
    monkeypatch.setattr(candidate_inputs, "WINDOW", 4)
    monkeypatch.setattr(planning, "WINDOW", 4)
    corpus = _corpus(tmp_path / "rain.conllu", 160)
    bank = new_banks.put(tmp_path / "bank.duckdb")
    report = ingest(IngestOptions((corpus,), bank, str(tiny_model("bert"))))
    assert report.state == "new"
    found = query_bank(bank, "select count(*), max(batch) from sequence")[0]
    assert found == (160, 40)
