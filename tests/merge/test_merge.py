"""`attnbank merge`: shards of a run become the run, and what is the same is there once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import bank_rows
import pytest
from bank_rows import change_bank, query_bank
from case_bank import make_bank
from command_line import Cli
from polars.testing import assert_frame_equal
from two_runs import TWO_RUNS

from attnbank.ingest import merge_banks
from attnbank.queries import open_bank


@pytest.fixture(scope="session")
def merged(shards: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shards put together again, named in another order; of the first a surprisal is known."""
    folder = tmp_path_factory.mktemp("merged")
    first = Path(shutil.copy(shards.shards[0], folder / "1.duckdb"))
    change_bank(first, "insert into surprisal select 1, min(id), 1, 1, 1 from word")
    done = merge_banks(folder / "merged.duckdb", [shards.shards[2], first, shards.shards[1]])
    (note,) = done.notes  # of the whole there are none
    assert "(surprisal) was not copied" in note
    assert query_bank(folder / "merged.duckdb", "from surprisal") == []
    return folder / "merged.duckdb"


def _check_same(found: Path, expected: Path) -> None:
    own, wanted = bank_rows.rows(found), bank_rows.rows(expected)
    for table, each in wanted.items():
        assert own[table] == each, table


def test_shards_merged_are_the_whole_table_by_table(shards: Any, merged: Path) -> None:
    _check_same(merged, shards.whole)
    (corpus,) = query_bank(merged, "select shard from corpus")
    ((name, options),) = query_bank(merged, "select name, options from run")
    assert corpus == (None,) and name == "sample/" + name.split("/")[1] and "shard" not in options


def test_an_ingest_of_the_whole_finds_its_run_there(
    shards: Any, merged: Path, tmp_path: Path
) -> None:
    bank = Path(shutil.copy(merged, tmp_path / "copy.duckdb"))
    before = bank_rows.rows(bank)
    shards.fill(bank)
    assert bank_rows.rows(bank) == before and query_bank(bank, "select count(*) from run") == [(1,)]


def test_how_each_shard_was_made_is_kept(shards: Any, merged: Path) -> None:
    parts = "select * from run_part order by shard"
    own = [query_bank(bank, parts)[0] for bank in shards.shards]
    assert query_bank(merged, parts) == own and [row[1] for row in own] == ["1/3", "2/3", "3/3"]
    times = "select min(started), max(finished) from run_part"
    assert query_bank(merged, "select started, finished from run") == query_bank(merged, times)


@pytest.mark.slow
def test_best_head_is_the_same_cell_by_cell(shards: Any, merged: Path) -> None:
    with open_bank(merged) as own, open_bank(shards.whole) as whole:
        assert_frame_equal(own.query("best_head"), whole.query("best_head"), check_exact=True)


def test_what_two_banks_have_is_there_once(tmp_path: Path) -> None:
    """Each says of one corpus in which language it is."""
    one = make_bank(tmp_path / "one.duckdb", TWO_RUNS | {"surprisal": "run,word\n1,1\n"})
    other = Path(shutil.copy(one, tmp_path / "other.duckdb"))
    change_bank(one, "update corpus set language = 'fr' where id = 2")
    change_bank(other, "update corpus set language = 'en' where id = 1")
    merge_banks(tmp_path / "both.duckdb", [one, other])
    change_bank(one, "update corpus set language = 'en' where id = 1")
    _check_same(tmp_path / "both.duckdb", one)
    assert query_bank(tmp_path / "both.duckdb", "select run, word from surprisal") == [(1, 1)]


@pytest.mark.slow
def test_the_new_bank_is_named_by_b_or_comes_first(shards: Any, tmp_path: Path, cli: Cli) -> None:
    """That it comes first, test_a_missing_shard_is_named_and_partial_goes_on shows, too."""
    one, *others = map(str, shards.shards)
    cli("merge", one, *others, "-b", tmp_path / "by b.duckdb", "-q")
    assert [path.name for path in tmp_path.iterdir()] == ["by b.duckdb"]
    for first in (one, str(tmp_path)):  # it was meant as a source, not as the new bank
        error = cli("merge", first, *others, status=2).err
        assert f"Without -b the first argument is the new bank, and {first} already exists" in error
        assert error.endswith(
            f"Name the new bank: attnbank merge {first} {' '.join(others)} -b OUT\n"
        )
    assert "No bank to merge was named" in cli("merge", tmp_path / "alone.duckdb", status=2).err


@pytest.mark.slow
def test_runs_of_every_kind_merged_are_the_whole(full_shards: Any, tmp_path: Path) -> None:
    merge_banks(tmp_path / "merged.duckdb", full_shards.shards)
    _check_same(tmp_path / "merged.duckdb", full_shards.whole)
