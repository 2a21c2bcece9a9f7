"""A bank that is open for reading, as in a notebook, and what writes it meanwhile."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import duckdb
import pytest
from case_bank import make_bank
from command_line import run_python
from two_runs import TWO_RUNS

import attnbank
from attnbank.ingest import save_relation
from attnbank.ingest.derived.computations import compute
from attnbank.queries import Bank, open_bank
from attnbank.sql.errors import BankError, CallError, QueryError

REQUEST = "pattern { V -[obj]-> O }"
WRITES = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('update run set name = name')"


@pytest.fixture
def bank(sample_bank: Path, tmp_path: Path) -> Bank:
    return open_bank(shutil.copy(sample_bank, tmp_path / "bank.duckdb"))


@pytest.mark.slow
def test_what_is_written_in_this_process_is_read_from_then_on(bank: Bank) -> None:
    words = bank.sql("select count(*) from word").item()
    lazy = bank.table("word")
    with pytest.raises(CallError, match=r"attnbank\.open_bank"):
        bank.save("objects", REQUEST, dependent="O", head="V")
    with attnbank.open_bank(bank.path) as other:
        assert other.save("objects", REQUEST, dependent="O", head="V") > 0
    assert save_relation(bank, "objects", REQUEST, dependent="O", head="V") > 0
    assert set(bank.query("best_head", relation="objects")["relation"]) == {"objects"}
    with pytest.raises(QueryError, match="not computed yet"):
        bank.query("head_distance")
    compute(bank.path, "head_distance", None)
    assert bank.query("head_distance").height > 0
    assert bank.sql("select count(*) from word").item() == words == lazy.collect().height
    with pytest.raises(CallError, match="already saved, for another request"):
        save_relation(bank, "objects", REQUEST, dependent="V", head="O")
    bank.close()
    with pytest.raises(BankError, match="is closed"):
        bank.query("best_head")


@pytest.mark.slow
def test_another_process_can_write_what_is_released(bank: Bank) -> None:
    before = bank.query("best_head")
    assert "lock" in run_python("-c", WRITES, bank.path).stderr
    bank.release()
    assert not run_python("-c", WRITES, bank.path).stderr
    assert bank.query("best_head").equals(before)
    assert "lock" in run_python("-c", WRITES, bank.path).stderr
    bank.close()


@pytest.mark.slow
def test_the_words_for_a_bank_that_a_notebook_reads(bank: Bank) -> None:
    done = run_python("-m", "attnbank", "-b", bank.path, "compute", "best_head")
    assert done.returncode == 1
    assert "bank.release()" in done.stderr
    bank.close()


def test_every_thread_reads_on_after_it_was_released(tmp_path: Path) -> None:
    bank = open_bank(make_bank(tmp_path / "bank.duckdb", TWO_RUNS))
    results: list[int] = []

    def ask() -> None:
        results.append(bank.query("entropy").height)

    for _ in range(2):
        for thread in [threading.Thread(target=ask) for _ in range(3)]:
            thread.start()
            thread.join()
        bank.release()
    assert len(results) == 6 and {*results} == {1}
    with duckdb.connect(str(bank.path)):
        pass
    bank.close()
