"""Reading the text and writing the rows of a run take turns, as DuckDB's checkpoints ask."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank_rows import query_bank
from fixture_types import Options

from attnbank.ingest import candidate_inputs, ingest, planning
from attnbank.ingest.store import pipeline

RAIN = "1\train\train\tNOUN\t_\t_\t0\troot\t_\t_\n2\tfell\tfell\tNOUN\t_\t_\t1\tdep\t_\t_\n\n"


@pytest.mark.slow
def test_a_checkpoint_never_meets_a_statement_that_began_before_it(
    tmp_path: Path, options_for: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four sentences are read at a time and every batch is committed, so that both happen often.

    Without turns, each of ten such ingests failed: "Cannot CHECKPOINT: there are other write
    transactions active".
    """
    monkeypatch.setattr(pipeline, "WEIGHTS_AT_ONCE", 1)
    monkeypatch.setattr(candidate_inputs, "WINDOW", 4)
    monkeypatch.setattr(planning, "WINDOW", 4)
    corpus = tmp_path / "rain.conllu"
    corpus.write_text(RAIN * 160, encoding="utf-8")
    options = options_for(tmp_path / "bank.duckdb", corpus)
    assert ingest(options).state == "new"
    assert query_bank(options.bank, "select count(*), max(batch) from sequence") == [(160, 40)]
