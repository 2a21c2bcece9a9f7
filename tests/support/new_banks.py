"""New banks, without rows."""

from __future__ import annotations

from pathlib import Path

from attnbank.sql.bank.new_banks import create_bank
from attnbank.sql.provenance import version


def put(path: Path) -> Path:
    """Put a bank without rows at a path."""
    create_bank(path.resolve(), path, version())
    return path
