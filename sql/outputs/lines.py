"""Foreign text as one line that people can be shown."""

from __future__ import annotations


def shown(text: str) -> str:
    """A text in one line, as a terminal can show it: control characters are written out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
