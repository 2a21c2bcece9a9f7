"""A killed ingest leaves whole batches, goes on, and ends as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import new_banks
import pytest
from bank_rows import change_bank, query_bank

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.attention.pieces_and_peaks import RunFacts
from attnbank.ingest.attention.rows import BatchRows
from attnbank.ingest.progress import Progress
from attnbank.ingest.store import pipeline
from attnbank.sql.errors import BankError

# Small batches and small transactions, so that there are many places to be killed at.
CHILD = """
import sys
from pathlib import Path
from attnbank.ingest import IngestOptions, ingest; from attnbank.ingest.store import pipeline
pipeline.WEIGHTS_AT_ONCE = 1
def tell(progress):
    print(progress.stage, progress.done, flush=True)
corpus, bank, model = sys.argv[1:4]
report = ingest(
    IngestOptions((corpus,), Path(bank), model, batch_tokens=256, replace="replace" in sys.argv),
    tell,
)
print("state", report.state, flush=True)
"""

TABLES = {
    "corpus": "*",
    "document": "*",
    "sentence": "*",
    "word": "*",
    "mention": "*",
    "model": "*",
    "run": "* exclude (started, finished, options)",
    "sequence": "*",
    "position": "*",
    "attention": "*",
    "peak": "*",
    "skipped": "*",
}


def _child(corpus: Path, bank: Path, model: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(corpus), str(bank), str(model), *more],
        stdout=subprocess.PIPE,
        text=True,
    )


def _options(corpus: Path, bank: Path, model: Path) -> IngestOptions:
    """What the child is asked for, to be done in this process, which need not start first."""
    return IngestOptions((str(corpus),), bank, str(model), batch_tokens=256)


def _kill_after(process: subprocess.Popen[str], lines: int) -> bool:
    """Kill the child when it has said so many lines; whether it was still at work."""
    assert process.stdout is not None
    for _ in range(lines):
        if not process.stdout.readline():
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def _content(bank: Path) -> dict[str, list[tuple[object, ...]]]:
    return {
        table: query_bank(bank, f"select {columns} from {table}")
        for table, columns in TABLES.items()
    }


def _holds_only_whole_batches(bank: Path) -> int:
    """Check it; the number of committed batches."""
    runs = query_bank(bank, "select run, batches, finished from run_part")
    if not runs:
        return 0
    (_, batches, finished) = runs[0]
    assert finished is None
    found = query_bank(bank, "select coalesce(max(batch), 0) from sequence")[0]
    assert found == (batches,)
    torn = query_bank(
        bank,
        "select sequence.id from sequence"
        " left join (select sequence, count(*) as n from attention group by sequence) as rows"
        " on rows.sequence = sequence.id"
        " where rows.n is distinct from sequence.positions * 12",
    )
    assert torn == []
    return int(batches)


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, sample: Path, tiny_model: Callable[[str], Path]
) -> Path:
    """A bank that was filled without interruption."""
    options = _options(
        sample, new_banks.put(tmp_path_factory.mktemp("whole") / "bank.duckdb"), tiny_model("bert")
    )
    assert ingest(options).state == "new"
    return options.bank


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 2, 4, 9])
@pytest.mark.few("1", "4")
def test_goes_on_after_a_kill(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], whole: Path, lines: int
) -> None:
    bank = new_banks.put(tmp_path / "bank.duckdb")
    assert _kill_after(_child(sample, bank, tiny_model("bert")), lines)
    batches = _holds_only_whole_batches(bank)
    if lines == 9:
        assert batches > 0
    report = ingest(_options(sample, bank, tiny_model("bert")))
    if batches:
        assert report.state == "resumed"
    assert _content(bank) == _content(whole)


@pytest.mark.soak
def test_is_killed_again_and_again(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], whole: Path
) -> None:
    bank = new_banks.put(tmp_path / "bank.duckdb")
    batches = [0]
    while _kill_after(_child(sample, bank, tiny_model("bert")), 5):
        batches.append(_holds_only_whole_batches(bank))
        assert batches[-1] >= batches[-2]
        if len(batches) > 4:
            break
    process = _child(sample, bank, tiny_model("bert"))
    process.communicate()
    assert process.returncode == 0
    assert _content(bank) == _content(whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_an_interrupt_within_a_transaction_keeps_whole_batches(
    tmp_path: Path, sample: Path, whole: Path, tiny_model: Callable[[str], Path],
    number: signal.Signals,
) -> None:  # fmt: skip
    """All of this run fits into one transaction, which the third batch interrupts (twice)."""
    options = _options(sample, new_banks.put(tmp_path / "bank.duckdb"), tiny_model("bert"))
    written: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.stage == "running" and progress.done > sum(written):
            written.append(progress.done - sum(written))
            if len(written) == 3:
                os.kill(os.getpid(), number)
                os.kill(os.getpid(), number)

    usual = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for each in usual:
            signal.signal(each, signal.default_int_handler)  # as in the command
        with pytest.raises(KeyboardInterrupt) as caught:
            ingest(options, tell)
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)
    kept = _holds_only_whole_batches(options.bank)
    assert kept >= 3
    assert str(caught.value).startswith(f"{kept} batches (")
    assert ingest(options).state == "resumed"
    assert _content(options.bank) == _content(whole)


@pytest.mark.slow
def test_an_error_keeps_the_whole_batches_of_a_transaction(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    """Rows that cannot be written are rolled back, and with them those of their transaction."""
    options = _options(sample, new_banks.put(tmp_path / "bank.duckdb"), tiny_model("bert"))

    class Stopped(Exception):
        pass

    def tell(progress: Progress) -> None:
        if progress.stage == "running" and progress.done:
            raise Stopped

    with pytest.raises(Stopped):
        ingest(options, tell)
    assert _holds_only_whole_batches(options.bank) == 1


def test_a_transaction_ends_after_so_many_seconds(tmp_path: Path) -> None:
    """Batches come 10 seconds after each other; the fourth is committed while nothing comes."""
    now = [0.0]
    with duckdb.connect(str(tmp_path / "bank.duckdb")) as connection:
        connection.execute(
            "create table run_part as"
            " select 1 as run, 0 as batches, 0 as unknown_words, 0 as joined_words,"
            " 0 as misspelled_words"
        )
        connection.execute("create table bank as select 0 as changes")
        facts = RunFacts(1, 1, "mean", None)
        committed = []

        def look() -> None:
            found = connection.cursor().execute("select batches from run_part").fetchone()
            assert found is not None
            committed.append(found[0])

        with pipeline.Writer(connection, facts, clock=lambda: now[0]) as writer:
            for batch in range(1, 5):
                now[0] += 10
                writer.add(BatchRows(batch, 1, {}, 0))
                look()
            now[0] += 19
            writer.commit_if_due()
            look()
            now[0] += 1
            writer.commit_if_due()
            look()
    assert committed == [0, 0, 3, 3, 3, 4]


@pytest.mark.slow
def test_a_finished_ingest_adds_nothing(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    options = IngestOptions(
        (str(sample),), new_banks.put(tmp_path / "bank.duckdb"), str(tiny_model("bert"))
    )
    assert ingest(options).state == "new"
    before = _content(options.bank)
    assert ingest(options).state == "unchanged"
    assert _content(options.bank) == before


@pytest.mark.slow
def test_replace_starts_the_run_over(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    options = IngestOptions(
        (str(sample),), new_banks.put(tmp_path / "bank.duckdb"), str(tiny_model("bert"))
    )
    ingest(options)
    before = _content(options.bank)
    change_bank(options.bank, "update attention set weights = []")
    assert ingest(replace(options, replace=True)).state == "new"
    after = _content(options.bank)
    assert [row[1:] for row in after["attention"]] == [row[1:] for row in before["attention"]]
    for table in ("corpus", "document", "sentence", "word", "mention", "model"):
        assert after[table] == before[table]
    for table in ("run", "sequence", "position", "peak"):
        assert len(after[table]) == len(before[table])


@pytest.mark.slow
def test_a_bank_held_by_another_process_is_said_so(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    bank = new_banks.put(tmp_path / "bank.duckdb")
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import duckdb; c = duckdb.connect({str(bank)!r}); print('held', flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        with pytest.raises(BankError, match=rf"process {holder.pid}") as caught:
            ingest(IngestOptions((str(sample),), bank, str(tiny_model("bert"))))
        assert f"kill {holder.pid}" in caught.value.remedy
    finally:
        holder.communicate("\n")


@pytest.mark.slow
def test_two_runs_and_an_interrupted_one_share_a_bank(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], whole: Path
) -> None:
    """A run that is taken up after another was added keeps to its own ids."""
    bank = new_banks.put(tmp_path / "bank.duckdb")
    assert _kill_after(_child(sample, bank, tiny_model("bert")), 6)
    assert _holds_only_whole_batches(bank) > 0
    ingest(IngestOptions((str(sample),), bank, str(tiny_model("electra"))))
    process = _child(sample, bank, tiny_model("bert"))
    output, _ = process.communicate()
    assert "state resumed" in output
    mixed = query_bank(bank, "select id, count(*) from sequence group by id having count(*) > 1")
    assert mixed == []
    first = query_bank(
        bank,
        "select attention.* from attention inner join sequence"
        " on sequence.id = attention.sequence where sequence.run = 1",
    )
    assert first == _content(whole)["attention"]


@pytest.mark.slow
def test_a_full_disk_is_said_and_loses_nothing(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], whole: Path
) -> None:
    """A file-size limit stands for a full disk: writing fails in the middle of a run."""
    bank = new_banks.put(tmp_path / "bank.duckdb")
    limited = CHILD.replace(
        "import sys\n",
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))\n",
        1,
    )
    process = subprocess.run(
        [sys.executable, "-c", limited, str(sample), str(bank), str(tiny_model("bert"))],
        capture_output=True,
        text=True,
        env={**os.environ},
    )
    assert process.returncode != 0
    assert "BankError" in process.stderr
    batches = _holds_only_whole_batches(bank)
    finished = _child(sample, bank, tiny_model("bert"))
    output, _ = finished.communicate()
    assert finished.returncode == 0
    assert ("state resumed" in output) == (batches > 0)
    assert _content(bank) == _content(whole)
