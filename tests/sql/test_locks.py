"""How long a command waits for a bank that another process has open."""

from __future__ import annotations

import time

import duckdb
import pytest

from attnbank.sql.bank.connections import connected, once_unlocked

HELD = 'IO Error: Could not set lock on file "x.duckdb": Conflicting lock is held in {} (PID 77).'
"""What DuckDB says; of a process that is being ended the system names no program any more."""


def _opened(program: str, seconds: float) -> float:
    """Seconds until a file is open that a program has for so long."""
    began = time.monotonic()

    def open_file() -> duckdb.DuckDBPyConnection:
        if time.monotonic() - began < seconds:
            raise duckdb.IOException(HELD.format(program))
        return connected()

    once_unlocked(open_file).close()
    return time.monotonic() - began


def test_a_lock_of_a_process_that_is_being_ended_is_waited_for() -> None:
    assert _opened("", 0.9) >= 0.9
    assert _opened("/usr/bin/python3", 0.2) >= 0.2


def test_a_lock_of_another_program_is_told_soon() -> None:
    with pytest.raises(duckdb.IOException, match="lock is held"):
        _opened("/usr/bin/python3", 60)
