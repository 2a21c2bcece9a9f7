"""What DuckDB draws of its progress is in nobody's way: not in a child's answer, nor a result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bank_factory import BankFactory
from command_line import run_python

DRAWS = Path(__file__).resolve().parents[1] / "support" / "progress"
REQUEST = "pattern { V -[obj]-> O }"
ASKING = (
    ["export", "parquet"],
    ["sql", "select count(*) from attention_weight", "-f", "csv"],
    ["query", "best_head", "-f", "csv"],
    ["find", REQUEST, "-f", "csv"],
    ["count", REQUEST, "-f", "csv"],
    ["score", REQUEST, "--from", "O", "--to", "V", "-f", "csv"],
    ["show", REQUEST, "--head", "1-1"],
    ["plot", "best_head", "-o", "x.json"],
    ["info", "-f", "json"],
    ["schema"],
    ["compute", "head_distance"],
    ["compute", "best_head"],
    ["save", "object", REQUEST, "--from", "O", "--to", "V"],
    ["probe", "right_branching", "--test-run", "1", "-f", "csv"],
    ["report", "-o", "x.html"],
    ["merge", "merged.duckdb", "bank.duckdb", "other.duckdb"],
    ["import", "parquet", "-b", "again.duckdb"],
)


@pytest.mark.usual("export*")
@pytest.mark.parametrize("command", ASKING, ids=" ".join)
@pytest.mark.few("report*", "import*", "compute head*")
def test_no_bar_is_drawn(command: list[str], tmp_path: Path, bank_of: BankFactory) -> None:
    """Python runs no file here. A connection draws until it is told not to, and that once."""
    for name in ("bank", "other"):
        bank_of("press", to=tmp_path / f"{name}.duckdb")
    if command[0] == "import":
        assert _run(["export", "parquet"], tmp_path, draws=False).returncode == 0
    done = _run(command, tmp_path, draws=True)
    assert done.returncode == 0, done.stderr
    connections = (tmp_path / "connections").read_text().count("one")
    assert done.stdout.count("elapsed)") <= connections
    plain = _run(command, tmp_path, draws=False) if command[0] in QUIET else None
    assert plain is None or done.stdout.endswith(plain.stdout)


QUIET = ("sql", "query", "find", "count", "score", "info", "schema")
"""Commands whose result goes to standard output, the same each time."""


def _run(command: list[str], folder: Path, *, draws: bool) -> subprocess.CompletedProcess[str]:
    path = [*([str(DRAWS)] if draws else []), *sys.path]
    named = [] if {"merge", "-b"} & {*command} else ["-b", "bank.duckdb"]
    return run_python(
        "-c", "from attnbank.cli import main; main()", *named, *command, cwd=folder,
        env={"PYTHONPATH": os.pathsep.join(path), "CONNECTIONS": "connections"},
    )  # fmt: skip
