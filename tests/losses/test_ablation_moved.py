"""What was measured of words and pairs goes with its run: deleted, exported, merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from bank_rows import change_bank, query_bank
from fixture_types import Models

from attnbank.ingest import (
    AblateOptions,
    HeadSet,
    LossOptions,
    ablate,
    import_export,
    merge_banks,
    surprisal,
)
from attnbank.ingest.store.deleting import delete
from attnbank.queries import open_bank
from attnbank.sql.export_format import export

TABLES = (
    "surprisal", "ablation_set", "ablated_head", "ablated_surprisal", "minimal_pair",
    "ablated_pair",
)  # fmt: skip


@pytest.fixture(scope="module")
def model(tiny_model: Models) -> str:
    """A tiny causal model."""
    return str(tiny_model("gpt2"))


@pytest.fixture(scope="module")
def measured(model: str, tmp_path_factory: pytest.TempPathFactory, bank_of: BankFactory) -> Path:
    """A bank with one run, an ablation of it, and pairs of a file and of the trees."""
    folder = tmp_path_factory.mktemp("measured")
    pairs = folder / "pairs.tsv"
    pairs.write_text("good\tbad\nThe cat sleeps.\tThe cat sleep.\n", encoding="utf-8")
    bank = bank_of("press", Path(model), to=folder)
    options = AblateOptions(controls=1, agreement=True, pairs=(str(pairs),), model=model)
    ablate(bank, "a", [HeadSet("s", ((2, 2),), "hand")], options=options)
    assert all(_told(bank).values())
    assert {row[2] for row in _told(bank)["minimal_pair"]} == {"agreement", "pairs.tsv"}
    return bank


def _told(bank: Path, run: str = "press/tiny-gpt2") -> dict[str, list[tuple[Any, ...]]]:
    """All that was measured of a run, its words by their sentences and places."""
    result = {}
    for table in TABLES:
        columns = "each.* exclude (run"
        rest = f" from {table} as each inner join run on run.id = each.run and run.name = '{run}'"
        if table in ("surprisal", "ablated_surprisal", "minimal_pair"):
            columns = "sentence.name, word.index, each.* exclude (run, word"
            rest += " left join word on word.id = each.word"
            rest += " left join sentence on sentence.id = word.sentence"
        result[table] = query_bank(bank, f"select {columns}){rest} order by all")
    return result


@pytest.mark.slow
def test_deleted_with_their_run(measured: Path, tmp_path: Path) -> None:
    bank = tmp_path / "bank.duckdb"
    bank.write_bytes(measured.read_bytes())
    counts = {table: len(rows) for table, rows in _told(bank).items()}
    done = delete(bank, ["press/tiny-gpt2"])
    assert {table: done.rows[table] for table in TABLES} == counts
    assert not any(query_bank(bank, f"select 1 from {table}") for table in TABLES)


@pytest.mark.slow
def test_exported_and_imported(measured: Path, tmp_path: Path) -> None:
    with open_bank(measured) as bank:
        export(bank.path, tmp_path / "out")
    import_export(tmp_path / "out", tmp_path / "again.duckdb")
    assert _told(tmp_path / "again.duckdb") == _told(measured)


@pytest.mark.slow
def test_merged(measured: Path, model: str, tmp_path: Path, bank_of: BankFactory) -> None:
    """Words get other ids, since another corpus comes first; what two banks have is taken once."""
    out = tmp_path / "out.duckdb"
    first = bank_of("stories", Path(model), limit=3, to=tmp_path / "first.duckdb")
    surprisal(first, options=LossOptions(model=model))
    same = tmp_path / "same.duckdb"
    same.write_bytes(measured.read_bytes())
    merge_banks(out, [first, measured, same])
    assert _told(out) == _told(measured)
    assert (
        _told(out, "stories/tiny-gpt2/limit3")["surprisal"]
        == (_told(first, "stories/tiny-gpt2/limit3")["surprisal"])
    )
    with open_bank(out) as merged, open_bank(measured) as own:
        one, other = (
            each.query("ablation_effect", run="press/tiny-gpt2") for each in (merged, own)
        )
        assert one.equals(other)
    change_bank(same, "update ablation_set set replacement = 'mean'")
    (note,) = merge_banks(tmp_path / "again.duckdb", [measured, same]).notes
    assert "The ablation a of press/tiny-gpt2" in note and "another one of that name" in note


@pytest.mark.slow
def test_what_was_measured_of_a_part_is_not_merged(
    model: str, tmp_path: Path, bank_of: BankFactory
) -> None:
    shards = [
        bank_of("sample", Path(model), shard=f"{number}/2", to=tmp_path / f"{number}.duckdb")
        for number in (1, 2)
    ]
    surprisal(shards[0], options=LossOptions(model=model))
    done = merge_banks(tmp_path / "out.duckdb", shards)
    assert any("(surprisal) was not copied" in note for note in done.notes)
    assert query_bank(tmp_path / "out.duckdb", "select count(*) from surprisal") == [(0,)]
