"""Foreign text as one line that people can be shown."""

from __future__ import annotations

_JOINERS = "\u200c\u200d"
"""Characters without a picture of their own that Persian, Hindi and others spell words with."""


def shown(text: str) -> str:
    """A text as one line that a terminal can show safely: control characters are escaped."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in _JOINERS else repr(each)[1:-1] for each in text
    )
