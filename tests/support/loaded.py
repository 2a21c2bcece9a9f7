"""Models that are loaded once for many ingests, since to load one takes longer than the rest.

A conftest.py that imports the fixture has it for all tests of its folder. That a model is loaded as
its files say is for tests/models, where this is not used.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from attnbank.ingest.models.loading import Model

_LOADED: dict[tuple[Any, ...], Model] = {}
"""By name, what its files are, and options."""


@pytest.fixture(scope="module", autouse=True)
def loaded_once() -> Iterator[None]:
    """Let ingests of this process share models; each has its own facts of them."""
    from attnbank.ingest.models import loading  # with torch

    load = loading.load

    def load_once(name: str, **options: Any) -> Model:
        files = sorted(Path(name).iterdir()) if Path(name).is_dir() else []
        states = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files]
        key = name, *states, *sorted(options.items())
        if key not in _LOADED:
            _LOADED[key] = load(name, **options)
        return copy.copy(_LOADED[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "load", load_once)
        yield
