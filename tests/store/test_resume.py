"""A stopped ingest leaves whole batches, resumes, and ends as if nothing had happened.

Kills at any moment, of this and the other commands: tests/hostile/test_interrupts.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from bank_rows import change_bank, query_bank
from crashes import ingest_part, run_on_disk
from fixture_types import Models, Options

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.attention.rows import BatchRows
from attnbank.ingest.progress import Progress
from attnbank.ingest.store import pipeline
from attnbank.sql.errors import BankError

TEXT = ("corpus", "document", "sentence", "word", "mention", "model")
OF_RUN = ("sequence", "position", "attention", "peak", "skipped")
TABLES_OF_A_WRITER = """
create table run_part as
select 1 as run, 0 as batches, 0 as unknown_words, 0 as joined_words, 0 as misspelled_words;
create table bank as select 0 as changes;
"""


def _content(bank: Path) -> dict[str, list[tuple[Any, ...]]]:
    selects = {table: f"from {table}" for table in TEXT + OF_RUN}
    selects["run"] = "select * exclude (started, finished, options) from run"
    return {table: query_bank(bank, each) for table, each in selects.items()}


def _count_whole_batches(bank: Path) -> int:
    """The number of committed batches of an unfinished run, all of whose rows must be there."""
    ((batches, finished),) = query_bank(bank, "select batches, finished from run_part")
    assert finished is None
    assert query_bank(bank, "select coalesce(max(batch), 0) from sequence") == [(batches,)]
    torn = (
        "select sequence.id from sequence left join attention on attention.sequence = sequence.id"
        " group by sequence.id, sequence.positions"
        " having count(attention.sequence) <> sequence.positions * 12"  # 3 layers of 4 heads
    )
    assert query_bank(bank, torn) == []
    return int(batches)


@pytest.fixture(scope="module")
def whole(few: Path, options_for: Options, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank that was filled without interruption."""
    bank = tmp_path_factory.mktemp("whole") / "bank.duckdb"
    assert ingest(options_for(bank, few, batch_tokens=64)).state == "new"
    return bank


@pytest.fixture
def options(few: Path, options_for: Options, tmp_path: Path) -> IngestOptions:
    """The same for another bank."""
    return options_for(tmp_path / "bank.duckdb", few, batch_tokens=64)


@pytest.mark.usual("SIGINT")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupt_within_a_transaction_keeps_whole_batches(
    options: IngestOptions, whole: Path, number: signal.Signals
) -> None:
    """All of this run fits into one transaction, which the third batch interrupts (twice)."""
    written: list[int] = []

    def interrupt(progress: Progress) -> None:
        if progress.stage == "running" and progress.done > sum(written):
            written.append(progress.done - sum(written))
            if len(written) == 3:
                os.kill(os.getpid(), number)
                os.kill(os.getpid(), number)

    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for each in handlers:
            signal.signal(each, signal.default_int_handler)  # as in the command
        with pytest.raises(KeyboardInterrupt) as caught:
            ingest(options, interrupt)
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
    batches = _count_whole_batches(options.bank)
    assert batches >= 3
    assert str(caught.value).startswith(f"{batches} batches (")
    assert ingest(options).state == "resumed"
    assert _content(options.bank) == _content(whole)


def test_a_batch_that_cannot_be_written_whole_is_rolled_back(tmp_path: Path) -> None:
    """With the batches of its transaction, also after an error that DuckDB knows nothing of."""

    class Full(pipeline.Writer):
        def add_sums(self, rows: BatchRows) -> None:
            if rows.batch == 3:
                raise MemoryError

    rows = {"sequence": pa.table({"id": [1]})}
    with duckdb.connect(str(tmp_path / "bank.duckdb")) as connection:
        connection.execute(f"{TABLES_OF_A_WRITER} create table sequence (id bigint)")
        with (
            pytest.raises(MemoryError),
            Full(connection, 1) as writer,
        ):
            for batch in (1, 2, 3):
                writer.add(BatchRows(batch, 1, rows))
                if batch == 1:
                    writer.commit()
                    assert not (tmp_path / "bank.duckdb.wal").exists(), "it is in the bank itself"
        assert connection.execute("select batches from run_part").fetchall() == [(1,)]
        assert connection.execute("select count(*) from sequence").fetchall() == [(1,)]


def test_a_transaction_ends_after_so_many_seconds(tmp_path: Path) -> None:
    """Batches come 10 seconds after each other; the fourth is committed while nothing comes."""
    now = [0.0]
    with duckdb.connect(str(tmp_path / "bank.duckdb")) as connection:
        connection.execute(TABLES_OF_A_WRITER)
        committed = []

        def look() -> None:
            committed.extend(connection.cursor().execute("select batches from run_part").fetchall())

        with pipeline.Writer(connection, 1, clock=lambda: now[0]) as writer:
            for batch in range(1, 5):
                now[0] += 10
                writer.add(BatchRows(batch, 1, {}, 0))
                look()
            for seconds in (19, 1):
                now[0] += seconds
                writer.commit_if_due()
                look()
    assert committed == [(0,), (0,), (3,), (3,), (3,), (4,)]


@pytest.mark.slow
def test_a_finished_ingest_adds_nothing_and_replace_starts_over(options: IngestOptions) -> None:
    ingest(options)
    before = _content(options.bank)
    assert ingest(options).state == "unchanged"
    assert _content(options.bank) == before
    change_bank(options.bank, "update attention set weights = []")
    assert ingest(replace(options, replace=True)).state == "new"
    after = _content(options.bank)
    assert [row[1:] for row in after["attention"]] == [row[1:] for row in before["attention"]]
    for table in TEXT:
        assert after[table] == before[table]
    for table in ("run", "sequence", "position", "peak"):
        assert len(after[table]) == len(before[table])
    change_bank(options.bank, "update model set kv_heads = null, max_positions = null")
    assert ingest(options).state == "unchanged", "older banks describe the same model by less"
    assert query_bank(options.bank, "select count(*) from model") == [(1,)]


@pytest.mark.slow
def test_the_process_that_holds_a_bank_is_named(options: IngestOptions) -> None:
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(options.bank)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(BankError, match=rf"process {holder.pid}") as caught:
            ingest(options)
        assert f"kill {holder.pid}" in caught.value.remedy
        holder.communicate("\n")


@pytest.mark.slow
def test_a_run_that_resumes_after_another_was_added_keeps_its_ids(
    options: IngestOptions, whole: Path, tiny_model: Models
) -> None:
    ingest_part(options, 5)
    assert _count_whole_batches(options.bank) > 1
    ingest(replace(options, model=str(tiny_model("electra"))))
    assert ingest(options).state == "resumed"
    twice = "select id from sequence group by id having count(*) > 1"
    assert query_bank(options.bank, twice) == []
    first = query_bank(
        options.bank,
        "select attention.* from attention inner join sequence"
        " on sequence.id = attention.sequence where sequence.run = 1",
    )
    assert first == _content(whole)["attention"]


INGEST = """
from pathlib import Path
from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.store import pipeline
pipeline.WEIGHTS_AT_ONCE = 1
corpus, bank, model = sys.argv[1:]
ingest(IngestOptions((corpus,), Path(bank), model, batch_tokens=256))
"""


@pytest.mark.slow
def test_a_disk_that_is_full_in_the_middle_loses_nothing(
    options_for: Options, tmp_path: Path
) -> None:
    whole, options = (
        options_for(tmp_path / f"{name}.duckdb", "sample", batch_tokens=256)
        for name in ("whole", "bank")
    )
    ingest(whole)
    limit = whole.bank.stat().st_size * 2 // 3
    done = run_on_disk(limit, *options.corpora, options.bank, options.model, program=INGEST)
    assert done.returncode and "BankError" in done.stderr
    assert _count_whole_batches(options.bank) > 0
    assert ingest(options).state == "resumed"
    assert _content(options.bank) == _content(whole.bank)
