"""The types of fixtures that are functions (see tests/conftest.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attnbank.ingest import IngestOptions

Models = Callable[[str], Path]
"""From the kind of a tiny model to its folder."""

Options = Callable[..., IngestOptions]
"""From a bank to the options of an ingest into it."""
