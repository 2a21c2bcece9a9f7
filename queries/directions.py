"""Which way a text runs: from left to right, or from right to left as Hebrew and Arabic do."""

from __future__ import annotations

import unicodedata

# Between these two characters a text runs its own way, and does not turn its neighbours around.
ISOLATE, END = "\u2068", "\u2069"
_RIGHT_TO_LEFT = ("R", "AL")


def is_right_to_left(text: str) -> bool:
    """Whether a text runs from right to left: its first letter that has a direction says so."""
    directions = map(unicodedata.bidirectional, text)
    return (
        next((direction for direction in directions if direction in ("L", *_RIGHT_TO_LEFT)), "L")
        != "L"
    )


def isolated(text: str) -> str:
    """The text, set apart from its neighbours where a part of it runs from right to left."""
    ways = set() if text.isascii() else {*map(unicodedata.bidirectional, text)}
    return text if ways.isdisjoint((*_RIGHT_TO_LEFT, "AN")) else f"{ISOLATE}{text}{END}"
