"""There is one way to open a bank, to quote a name, to print and to write: nobody has another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A bank of this format is made in memory, to see its tables.
ONE_WAY = {
    "duckdb.connect": {"sql/bank/connections.py", "sql/bank/bank_format.py"},
    "click.echo": {"cli/safe_echo.py"},
    "print": set(),
    "warnings.showwarning": set(),
    "AttentionInterface.register": {"ingest/models/attend.py"},
}


@cache
def _sources() -> dict[str, str]:
    """The text of each module of the package, by its path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for part in ("sql", "queries", "ingest", "cli")
        for path in sorted((ROOT / part).rglob("*.py"))
    }


def _calls(name: str) -> Iterator[tuple[str, str, ast.Call]]:
    """Each call in the modules that contain a name: its file, what is called, and the call."""
    for place, text in _sources().items():
        for node in ast.walk(ast.parse(text)) if f"{name}(" in text else ():
            if isinstance(node, ast.Call):
                yield place, ast.unparse(node.func), node


@pytest.mark.parametrize("call", ONE_WAY)
def test_what_is_called_in_one_place(call: str) -> None:
    assert {place for place, called, _ in _calls(call) if called == call} == ONE_WAY[call]


@pytest.mark.slow
def test_quotes_are_doubled_in_one_place() -> None:
    found = {
        place
        for place, called, node in _calls(".replace")
        if called.endswith(".replace")
        and [ast.unparse(each) for each in node.args] in (['"\'"', "\"''\""], ["'\"'", "'\"\"'"])
    }
    assert found == {"sql/names.py"}
