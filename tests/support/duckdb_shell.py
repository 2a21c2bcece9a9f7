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


def query_in_shell(bank: Path, statement: str) -> list[Row]:
    """The rows of a statement."""
    done = subprocess.run(
        [find_shell(), "-readonly", str(bank), "-json", "-c", statement],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    rows: list[Row] = json.loads(done.stdout or "[]")
    return rows
