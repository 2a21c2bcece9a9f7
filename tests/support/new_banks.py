"""New banks, without rows or with those of an ingest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql.bank.new_banks import create_bank
from attnbank.sql.provenance import version

if TYPE_CHECKING:
    from attnbank.ingest.options import Report


def put(path: Path) -> Path:
    """Put a bank without rows at a path."""
    create_bank(path.resolve(), path, version())
    return path


def ingest_into(bank: Path, corpus: Path | str, model: Path | str, **options: Any) -> Report:
    """Ingest a corpus into a bank, which is made if it is not there."""
    from attnbank.ingest import IngestOptions, ingest  # with torch

    if not bank.exists():
        put(bank)
    return ingest(IngestOptions((str(corpus),), bank, str(model), **options))
