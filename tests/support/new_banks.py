"""Banks without rows, for tests that are not about how a bank is made."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from attnbank.sql.bank.opening import open_to_write


def put(path: Path) -> Path:
    """Put a bank without rows at a path: a copy, since making one takes a third of a second."""
    path.write_bytes(_empty())
    return path


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "empty.duckdb")
        open_to_write(path, "test").close()
        return path.read_bytes()
