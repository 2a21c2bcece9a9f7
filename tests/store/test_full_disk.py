"""A full disk: what was committed is said to be, and the same command never makes it twice.

A limit on the size of files stands for the disk: writing fails where the bank would grow.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
import toy_attention as toy
from bank_rows import query_bank

from attnbank.cli.app import run_command_line
from attnbank.ingest import IngestOptions, add_text
from attnbank.ingest.store import corpus
from attnbank.sql import registry
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import AttnbankError, bank_error, is_full_disk

LIMITED = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
from attnbank.cli.app import run_command_line
sys.exit(run_command_line(sys.argv[2:]))
"""

COMMANDS = {
    "probe": ["probe", "right_branching", "--test-run", "test"],
    "compute": ["compute", "head_distance", "--run", "test"],
}
COUNTED = {
    "probe": "select (select count(*) from probe), (select count(*) from probe_score)",
    "compute": "select (select count(*) from computation), (select count(*) from head_distance)",
}


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return toy.make_bank(tmp_path / "toy.duckdb", {"train": 12, "test": 10})


def _run(bank: Path, command: str, limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), "-b", str(bank), *COMMANDS[command]],
        capture_output=True,
        text=True,
        check=False,
    )


def _counted(bank: Path, command: str) -> tuple[int, int]:
    with open_to_read(bank) as connection:
        found: tuple[int, int] = connection.execute(COUNTED[command]).fetchall()[0]
        return found


@pytest.mark.usual("compute")
@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_committed_is_said_and_made_once(
    bank: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log has room, the file does not grow: committed, and not folded in."""
    done = _run(bank, command, bank.stat().st_size)
    assert done.returncode == 0, done.stderr
    assert "Warning: Everything is committed" in done.stderr and "the disk is full" in done.stderr
    assert "type the same" not in done.stderr
    kept = _counted(bank, command)
    assert kept[0] == 1 and kept[1] > 0
    assert run_command_line(["-b", str(bank), *COMMANDS[command]]) == 0
    assert "already" in capsys.readouterr().err
    assert _counted(bank, command) == kept


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_at_whatever_size_the_word_is_true(bank: Path, command: str) -> None:
    content = bank.read_bytes()
    outcomes = set()
    for limit in (0, 3000, len(content) + 65_536):
        bank.write_bytes(content)
        Path(f"{bank}.wal").unlink(missing_ok=True)
        done = _run(bank, command, limit)
        kept = _counted(bank, command)
        assert "Traceback" not in done.stderr
        if done.returncode:
            assert "is full" in done.stderr and "type the same command again" in done.stderr
            assert kept == (0, 0), limit
        else:
            assert kept[0] == 1, limit
        outcomes.add(done.returncode)
        assert run_command_line(["-b", str(bank), *COMMANDS[command]]) == 0
        assert _counted(bank, command)[0] == 1, limit
    assert outcomes == {0, 1}


@pytest.mark.slow
def test_an_upgrade_on_a_full_disk_changes_nothing_or_all(tmp_path: Path) -> None:
    import old_banks

    bank = tmp_path / "old.duckdb"
    of = old_banks.columns(old_banks.format_0(bank))
    del of["bank"]
    rows = old_banks.rows(bank, of)
    content = bank.read_bytes()
    for limit in (5000, len(content)):
        bank.write_bytes(content)
        Path(f"{bank}.wal").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", f"{old_banks.INSTALL}\n{LIMITED}", str(limit),
             "-b", str(bank), "upgrade"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        (format_,) = query_bank(bank, "select format from bank")[0]
        assert format_ == (0 if done.returncode else registry.FORMAT), (limit, done.stderr)
        if done.returncode:
            assert "is full; the bank was left unchanged" in done.stderr
        assert old_banks.rows(bank, of) == rows
        assert not list(tmp_path.glob(".*.part"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "limit", [400_000, *(pytest.param(each, marks=pytest.mark.slow) for each in (1000, 20_000))]
)
def test_a_dry_run_says_which_disk_is_full(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], limit: int
) -> None:
    args = ["-b", str(tmp_path / "never.duckdb"), "ingest", str(sample), "--dry-run", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *args, "-m", str(tiny_model("bert"))],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 1
    assert f"The disk of {tmp_path} is full; a dry run writes" in done.stderr
    assert "TMPDIR" in done.stderr and done.stderr.count("\n") == 2
    assert [*tmp_path.glob("*")] == []


@pytest.mark.slow
def test_choosing_a_run_on_a_full_disk_is_said_too(bank: Path) -> None:
    content = bank.read_bytes()
    statuses = set()
    for limit in (0, 500, 4096):
        bank.write_bytes(content)
        Path(f"{bank}.wal").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, str(limit), "-b", str(bank), "use", "train"],
            capture_output=True,
            text=True,
            check=False,
        )
        statuses.add(done.returncode)
        assert "unexpected" not in done.stderr and done.stderr.count("\n") <= 2, done.stderr
        if done.returncode:
            assert "is full; the default run is unchanged" in done.stderr
    assert 1 in statuses


@pytest.mark.parametrize(
    "text",
    [
        "TransactionContext Error: Current transaction is aborted (please ROLLBACK)",
        "TransactionContext Error: Cannot rollback - no transaction is active",
    ],
)
def test_what_follows_on_a_full_disk_is_known_by_what_was_before(text: str) -> None:
    later: Exception = duckdb.TransactionException(text)
    assert not is_full_disk(later)
    try:
        try:
            raise duckdb.IOException("Could not write file: No space left on device")
        except duckdb.Error:
            raise later  # noqa: B904
    except duckdb.Error as error:
        later = error
    assert is_full_disk(later)
    assert "is full; all stays" in str(bank_error(later, Path("b.duckdb"), "all stays"))


def test_a_corpus_that_fits_nowhere_makes_no_bank(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(corpus, "MEMORY", "1MB")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    options = IngestOptions((str(sample),), tmp_path / "bank.duckdb", "none")
    with pytest.raises(AttnbankError, match="text of sample does not fit into memory") as caught:
        add_text(options)
    assert "TMPDIR" in caught.value.remedy
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
