"""Durations, sizes, counts and shares in the form in which people read them."""

from __future__ import annotations

WARN_FROM = 0.05
"""Share of words with an unknown piece, in [0, 1], from which a warning is given: the figures then
say little of the language."""


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


def unknown_lines(words: int, unknown: int | None) -> list[str]:
    """Lines that say how many words have a piece that the vocabulary lacks, and warn if many do.

    `unknown` is None if that was not counted.
    """
    if unknown is None:
        return ["unknown words were not counted: the run is of an older attnbank"]
    share = unknown / words if words else 0.0
    lines = [
        f"{number(unknown)} of {number(words)} words ({100 * share:.1f} %) have a piece that the"
        " tokenizer does not know"
    ]
    if share >= WARN_FROM:
        lines.append(
            "warning: the model reads the unknown token in their place; use a model of this"
            " language and script"
        )
    return lines
