"""One bank asked by several threads, and closed while they ask."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from bank_rows import change_bank
from polars.testing import assert_frame_equal

from attnbank.queries import Bank, open_bank
from attnbank.sql.errors import BankError, QueryError

LONG = "select count(*) as n from range(10000000) a, range(10000000) b where hash(a, b) = 3"
ASKS: dict[str, Callable[[Bank], Any]] = {
    "query": lambda bank: bank.query("best_head"),
    "run_of": lambda bank: bank.run_of("best_head"),
    "sql": lambda bank: bank.sql("from paper.table_1"),
    "table": lambda bank: bank.table("word"),
    "runs": lambda bank: bank.runs(),
    "info": lambda bank: bank.info(),
    "schema": lambda bank: bank.schema(),
    "connection": lambda bank: bank.connection,
}


@pytest.fixture
def old_bank(sample_bank: Path, tmp_path: Path) -> Path:
    """A bank that another version wrote: its own analyses are not this version's."""
    path = tmp_path / "old.duckdb"
    shutil.copy(sample_bank, path)
    change_bank(
        path,
        "update bank set analyses = 'of another version'",
        "create or replace macro best_head(relation := null, min_count := 10, run := null,"
        " subtypes := false, possessive := false, offsets := [1]) as table select 1 as old",
        "create or replace view paper.table_1 as select 1 as old",
    )
    return path


@pytest.mark.slow
def test_threads_get_the_answers_that_one_gets(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank:
        expected = bank.query("best_head")
        word = bank.table("word")
        asks: list[Callable[[], pl.DataFrame]] = [
            lambda: bank.query("best_head"),
            lambda: bank.sql("from best_head()"),
            lambda: bank.sql("from best_head()", seconds=20),
            lambda: bank.table("peak").select(pl.col("most_attended").sum()).collect(),
            lambda: word.select(pl.len()).collect(),
            bank.runs,
        ]
        alone = [ask() for ask in asks]
        with ThreadPoolExecutor(8) as pool:
            many = [pool.submit(asks[at % len(asks)]) for at in range(36)]
            for at, each in enumerate(many):
                assert_frame_equal(each.result(), alone[at % len(asks)])
        assert_frame_equal(alone[0], expected)


def test_a_thread_has_one_connection_that_is_its_own(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank:
        own = bank.connection
        assert bank.connection is own
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(lambda: bank.connection).result()
            assert other is not own and pool.submit(lambda: bank.connection).result() is other


@pytest.mark.slow
def test_every_thread_reads_the_analyses_of_this_version(old_bank: Path, sample_bank: Path) -> None:
    with open_bank(sample_bank) as new:
        expected = new.query("best_head")
        table = new.query("table_1")
    with open_bank(old_bank) as bank, ThreadPoolExecutor(1) as pool:
        asks: list[Callable[[Callable[[], pl.DataFrame]], pl.DataFrame]] = [
            lambda work: work(),
            lambda work: pool.submit(work).result(),
        ]
        for ask in asks:
            assert_frame_equal(ask(lambda: bank.query("best_head")), expected)
            assert_frame_equal(ask(lambda: bank.sql("from best_head()")), expected)
            assert_frame_equal(ask(lambda: bank.table("paper.table_1").collect()), table)


@pytest.mark.usual(4)
@pytest.mark.parametrize("name", ASKS)
def test_a_closed_bank_says_so(name: str, sample_bank: Path) -> None:
    bank = open_bank(sample_bank)
    bank.sql("select 1")
    bank.close()
    bank.close()
    with pytest.raises(BankError) as error:
        ASKS[name](bank)
    assert error.value.fact == f"The bank {sample_bank} is closed."
    assert "open_bank(" in error.value.remedy


def test_a_lazy_table_of_a_closed_bank_says_so(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank:
        word = bank.table("word")
        peak = bank.table("peak", run=1).filter(pl.col("layer") == 1)
    for lazy in (word, peak):
        with pytest.raises(BankError, match="is closed"):
            lazy.collect()


@pytest.mark.slow
@pytest.mark.parametrize("door", ["sql", "connection"])
def test_closing_stops_the_other_threads(door: str, sample_bank: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.duckdb"
    shutil.copy(sample_bank, path)
    bank = open_bank(path)
    started = threading.Event()

    def ask() -> Any:
        started.set()
        return bank.sql(LONG) if door == "sql" else bank.connection.execute(LONG).fetchall()

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        started.wait()
        time.sleep(0.5)
        begin = time.monotonic()
        bank.close()
        error = asked.exception(timeout=60)
        assert time.monotonic() - begin < 10
    if door == "sql":
        assert isinstance(error, BankError) and "is closed" in error.fact
    else:
        assert isinstance(error, duckdb.Error)
    with duckdb.connect(str(path)) as writer:  # the file is let go of
        writer.execute("create table t as select 1")


@pytest.mark.slow
def test_the_time_limit_holds_in_every_thread(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank, ThreadPoolExecutor(2) as pool:
        for work in [pool.submit(bank.sql, LONG, seconds=0.5) for _ in range(2)]:
            with pytest.raises(QueryError, match="took longer than"):
                work.result(timeout=60)


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    "statement",
    ["copy word to 'stolen.csv'", "from read_text('/etc/hostname')", "attach ':memory:' as m",
     "set memory_limit = '1TB'", "create temp table x as select 1"],
)  # fmt: skip
def test_the_sandbox_holds_in_every_thread(statement: str, sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank, ThreadPoolExecutor(1) as pool:
        bank.sql("select 1")
        with pytest.raises(QueryError):
            pool.submit(bank.sql, statement).result()
