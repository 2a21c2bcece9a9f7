"""Decide by the name of its licence whether the text of a corpus may be published."""

from __future__ import annotations

import re

# Licences that permit redistribution, whatever their other conditions.
_OPEN = re.compile(
    r"\b(cc[- ]?0|cc[- ]by\b|creative commons|public domain|pddl|odc[- ]by|odbl|l?gpl|lgpllr|"
    r"gnu (lesser )?general public|mit\b|bsd\b|apache|unlicen[sc]e)",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    r"\b(ldc|proprietary|all rights reserved|not? (be )?(re)?distribut\w*|research only|"
    r"no redistribution|without text|restricted)\b",
    re.IGNORECASE,
)


def why_forbidden(licence: str | None) -> str | None:
    """Why the text of a corpus with this licence may not be published; None if it may."""
    if licence is None:
        return "its licence is unknown"
    if _CLOSED.search(licence) or not _OPEN.search(licence):
        return f"its licence is {licence}"
    return None
