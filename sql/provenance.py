"""With which versions, and when, a row of a bank was made."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from functools import cache
from importlib import metadata


@cache  # each look parses all that the package says of itself, and a run looks several times
def version() -> str:
    """The version of attnbank that is installed."""
    return metadata.version("attnbank")


def libraries(*names: str) -> dict[str, str]:
    """The version of Python (key "python") and of each named package that is installed."""
    found = {name: _installed(name) for name in names}
    versions = {name: each for name, each in found.items() if each is not None}
    return {"python": platform.python_version()} | versions


@cache
def _installed(name: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def now() -> datetime:
    """The time in UTC, to the second, as a naive datetime: the form that a bank stores."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)
