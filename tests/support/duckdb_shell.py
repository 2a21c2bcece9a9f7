"""The DuckDB shell that people have, of the 1.5 line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]


def find_shell() -> str:
    """The duckdb program; the test is skipped where there is none."""
    beside = Path(sys.executable).parent / "duckdb"
    program = str(beside) if beside.exists() else shutil.which("duckdb")
    if program is None:
        pytest.skip("the DuckDB shell (pip install duckdb-cli) is not installed")
    return program


def print_in_shell(bank: Path, *options: str, script: str = "") -> str:
    """What the shell prints of a bank, as JSON."""
    done = subprocess.run(
        [find_shell(), "-readonly", str(bank), "-json", *options],
        input=script, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def query_in_shell(bank: Path, statement: str) -> list[Row]:
    """The rows of a statement."""
    rows: list[Row] = json.loads(print_in_shell(bank, "-c", statement) or "[]")
    return rows
