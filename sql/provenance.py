"""With which versions, and when, a row of a bank was made."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib import metadata


def version() -> str:
    """The version of attnbank that is installed."""
    return metadata.version("attnbank")


def libraries(*names: str) -> dict[str, str]:
    """The version of Python (key "python") and of each named package that is installed."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def now() -> datetime:
    """The time in UTC, to the second, as a naive datetime: the form that a bank stores."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)
