"""Durations, sizes and counts in the form in which people read them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """A duration, given in seconds: 42 s, 3 min 5 s, 2 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: float) -> str:
    """A number of bytes, in decimal units: 512 bytes, 9.6 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def number(count: int) -> str:
    """A count with thousands separators: 2,124,864."""
    return f"{count:,}"
