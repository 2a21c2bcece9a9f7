"""A full disk: what was committed is said to be, and the same command never makes it twice."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import pytest
import toy_attention as toy
from bank_rows import change_bank, query_bank
from case_bank import make_bank
from command_line import Cli
from crashes import run_on_disk
from fixture_types import Models
from two_runs import TWO_RUNS

from attnbank.ingest import IngestOptions, add_text
from attnbank.ingest.store import corpus
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankError, bank_error, is_full_disk

COMMANDS = {
    "probe": ["probe", "right_branching", "--test-run", "test"],
    "compute": ["compute", "head_distance", "--run", "test"],
}
COUNTS = {
    "probe": "select (select count(*) from probe), (select count(*) from probe_score)",
    "compute": "select (select count(*) from computation), (select count(*) from head_distance)",
}


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return toy.make_bank(tmp_path / "toy.duckdb", {"train": 12, "test": 10})


def _reset(bank: Path, content: bytes) -> None:
    bank.write_bytes(content)
    Path(f"{bank}.wal").unlink(missing_ok=True)


def _counts(bank: Path, command: str) -> tuple[int, int]:
    """How many results a command made, and how many rows they have; a log is read too."""
    ((results, rows),) = query_bank(bank, COUNTS[command])
    return results, rows


@pytest.mark.usual("compute")
@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_committed_is_said_and_made_once(bank: Path, command: str, cli: Cli) -> None:
    """The log has room, the file does not grow: committed, and not folded in."""
    done = run_on_disk(bank.stat().st_size, "-b", bank, *COMMANDS[command])
    assert done.returncode == 0, done.stderr
    assert "Warning: Everything is committed" in done.stderr and "the disk is full" in done.stderr
    assert "type the same" not in done.stderr
    committed = _counts(bank, command)
    assert committed[0] == 1 and committed[1] > 0
    assert "already" in cli("-b", bank, *COMMANDS[command]).err
    assert _counts(bank, command) == committed


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_at_any_size_all_or_nothing_is_committed(bank: Path, command: str, cli: Cli) -> None:
    content = bank.read_bytes()
    statuses = set()
    for limit in (0, 3000, len(content) + 65_536):
        _reset(bank, content)
        done = run_on_disk(limit, "-b", bank, *COMMANDS[command])
        committed = _counts(bank, command)
        assert "Traceback" not in done.stderr
        if done.returncode:
            assert "is full" in done.stderr and "type the same command again" in done.stderr
            assert committed == (0, 0), limit
        else:
            assert committed[0] == 1, limit
        statuses.add(done.returncode)
        cli("-b", bank, *COMMANDS[command])
        assert _counts(bank, command)[0] == 1, limit
    assert statuses == {0, 1}


@pytest.mark.slow
def test_an_upgrade_changes_nothing_or_all(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "old.duckdb", TWO_RUNS)
    change_bank(bank, "update bank set analyses = 'another version'")
    content = bank.read_bytes()
    for limit in (5000, len(content)):
        _reset(bank, content)
        done = run_on_disk(limit, "-b", bank, "upgrade")
        ((analyses,),) = query_bank(bank, "select analyses from bank")
        expected = "another version" if done.returncode else registry.fingerprint()
        assert analyses == expected, (limit, done.stderr)
        if done.returncode:
            assert "is full; the bank was left unchanged" in done.stderr
        assert not list(tmp_path.glob(".*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 5000, 700_000])
def test_a_merge_leaves_nothing(limit: int, tmp_path: Path, cli: Cli) -> None:
    banks = [str(make_bank(tmp_path / f"{name}.duckdb", TWO_RUNS)) for name in ("one", "two")]
    merged = tmp_path / "out" / "merged.duckdb"
    merged.parent.mkdir()
    done = run_on_disk(limit, "merge", merged, *banks)
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: The disk of {merged} is full; nothing was merged.\n"
        "Free some space, then type the same command.\n"
    )
    assert [*merged.parent.iterdir()] == []
    assert f"Next: attnbank -b {merged} info" in cli("merge", merged, *banks).err


@pytest.mark.slow
@pytest.mark.parametrize("limit", [400_000, 1000, 20_000])
def test_a_dry_run_says_which_disk_is_full(
    tmp_path: Path, sample: Path, tiny_model: Models, limit: int
) -> None:
    args = ["-b", tmp_path / "never.duckdb", "ingest", sample, "--dry-run", "-q"]
    done = run_on_disk(limit, *args, "-m", tiny_model("bert"), TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert f"The disk of {tmp_path} is full; a dry run writes" in done.stderr
    assert "TMPDIR" in done.stderr and done.stderr.count("\n") == 2
    assert [*tmp_path.glob("*")] == []


@pytest.mark.slow
def test_a_default_run_that_cannot_be_set(bank: Path) -> None:
    content = bank.read_bytes()
    statuses = set()
    for limit in (0, 500, 4096):
        _reset(bank, content)
        done = run_on_disk(limit, "-b", bank, "use", "train")
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
def test_errors_that_follow_a_full_disk_are_known_by_their_cause(text: str) -> None:
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
