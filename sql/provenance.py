"""What a row of the bank was made with, and when."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib import metadata


def version() -> str:
    """The version of attnbank that is installed."""
    return metadata.version("attnbank")


def libraries(*names: str) -> dict[str, str]:
    """The versions of Python and of those of the named packages that are installed."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def now() -> datetime:
    """The time in UTC, to the second, without a time zone, as the bank keeps it."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)
