"""The write-ahead log beside a bank: what DuckDB does not read of it is told."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from pathlib import Path

import duckdb
import pytest
from bank_rows import change_bank
from case_bank import make_bank
from command_line import Cli

from attnbank.sql.bank.opening import UnreadLogWarning, open_to_read, open_to_write
from attnbank.sql.errors import BankError

# Two transactions that are in the log alone when the process ends at once, as a killed one does.
Interrupted = tuple[bytes, bytes]

CHILD = """
import os, sys
from attnbank.sql.bank.opening import open_to_write
connection = open_to_write(sys.argv[1], "test")
for form in ("one", "two"):
    connection.execute("insert into word_frequency values (?, 1)", [form])
os._exit(0)
"""


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Interrupted:
    """A bank and its log, as a killed process leaves them."""
    path = make_bank(tmp_path_factory.mktemp("log") / "bank.duckdb", {})
    subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True)
    log = Path(f"{path}.wal").read_bytes()
    assert len(log) > 100
    return path.read_bytes(), log


@pytest.fixture
def bank(interrupted: Interrupted, tmp_path: Path) -> Path:
    path = tmp_path / "bank.duckdb"
    path.write_bytes(interrupted[0])
    return path


def _forms(connection: duckdb.DuckDBPyConnection) -> list[str]:
    with connection:
        rows = connection.execute("select form from word_frequency order by form").fetchall()
    return [form for (form,) in rows]


def test_a_log_of_a_killed_process_is_used(bank: Path, interrupted: Interrupted) -> None:
    log = Path(f"{bank}.wal")
    log.write_bytes(interrupted[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _forms(open_to_read(bank)) == ["one", "two"]
        assert log.read_bytes() == interrupted[1]
        assert _forms(open_to_write(bank, "test")) == ["one", "two"]
        assert not log.exists()
        log.write_bytes(b"")
        assert _forms(open_to_read(bank)) == ["one", "two"]


@pytest.mark.usual(4)
@pytest.mark.parametrize("reads", [True, False], ids=["read", "write"])
@pytest.mark.parametrize(
    "garbage",
    [b"this is no log\n", bytes(5000), random.Random(0).randbytes(10_000), b"d\0be\0\2garbage"],
    ids=["text", "zeros", "random", "a log's beginning"],
)
def test_garbage_is_told(bank: Path, garbage: bytes, reads: bool) -> None:
    log = Path(f"{bank}.wal")
    log.write_bytes(garbage)
    before = bank.read_bytes()
    with pytest.warns(UnreadLogWarning, match=f"DuckDB ignored the log {log}"):
        connection = open_to_read(bank) if reads else open_to_write(bank, "test")
    assert _forms(connection) == []
    if reads:
        assert (bank.read_bytes(), log.read_bytes()) == (before, garbage)


def test_what_is_written_after_garbage_is_there(bank: Path) -> None:
    Path(f"{bank}.wal").write_bytes(random.Random(1).randbytes(10_000))
    subprocess.run([sys.executable, "-W", "ignore", "-c", CHILD, str(bank)], check=True)
    assert _forms(open_to_read(bank)) == ["one", "two"]


def test_the_log_of_another_bank_is_refused(
    bank: Path, interrupted: Interrupted, tmp_path: Path, cli: Cli
) -> None:
    other = make_bank(tmp_path / "other.duckdb", {})
    (tmp_path / "other.duckdb").write_bytes(_with_another_identifier(other, tmp_path))
    Path(f"{other}.wal").write_bytes(interrupted[1])
    for args in (["info"], ["upgrade"], ["delete", "1"], ["compute", "head_distance"]):
        error = cli("-b", other, *args, status=1).err
        assert "log beside the bank" in error and f"mv {other}.wal" in error, error
        assert len(error.splitlines()) == 2


def _with_another_identifier(path: Path, folder: Path) -> bytes:
    """`make_bank` copies one empty file, identifier and all; a copy by DuckDB has its own."""
    copy = folder / "copy.duckdb"
    change_bank(path, f"attach '{copy}' as fresh", "copy from database other to fresh")
    return copy.read_bytes()


@pytest.mark.parametrize(
    ("reads", "step"),
    [
        pytest.param(True, 29, marks=pytest.mark.slow),
        pytest.param(False, 61, marks=pytest.mark.slow),
        pytest.param(True, 5, marks=pytest.mark.soak),
        pytest.param(False, 29, marks=pytest.mark.soak),
    ],
)
def test_any_damaged_byte_is_told(
    bank: Path, interrupted: Interrupted, reads: bool, step: int
) -> None:
    """Places all over the log: what is lost is never lost in silence."""
    content, log = interrupted
    for at in range(0, len(log), step):
        bank.write_bytes(content)
        damaged = bytearray(log)
        damaged[at] ^= 0x55
        Path(f"{bank}.wal").write_bytes(damaged)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                forms = _forms(open_to_read(bank) if reads else open_to_write(bank, "test"))
            except BankError as error:
                assert "log" in error.fact, at
                continue
        if forms != ["one", "two"]:
            assert [warning.category for warning in warned] == [UnreadLogWarning], at


@pytest.mark.slow
@pytest.mark.parametrize("reads", [True, False], ids=["read", "write"])
def test_a_log_that_ends_early_is_told(bank: Path, interrupted: Interrupted, reads: bool) -> None:
    content, log = interrupted
    for length in range(1, len(log), 37):
        bank.write_bytes(content)
        Path(f"{bank}.wal").write_bytes(log[:length])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            forms = _forms(open_to_read(bank) if reads else open_to_write(bank, "test"))
        assert forms in ([], ["one"]), length
        if not warned:  # it ends where a transaction does
            assert forms == ["one"], length
        else:
            assert [warning.category for warning in warned] == [UnreadLogWarning]
            assert f"DuckDB ignored the log {bank}.wal, or the end" in str(warned[0].message)
