"""The sections of a report, with published figures beside those of the bank.

An answer is data: rows, a picture, published figures. There is no HTML here: `report` lays it out.
"""

from __future__ import annotations

from attnbank.queries.sections.outline import (
    Chapter,
    Missing,
    Section,
    SectionAnswer,
    chapters,
    sides,
)
from attnbank.queries.sections.runner import (
    Subject,
    answer_section,
    plain_model,
    side_by_side,
    subject,
)

__all__ = [
    "Chapter",
    "Missing",
    "Section",
    "SectionAnswer",
    "Subject",
    "answer_section",
    "chapters",
    "plain_model",
    "side_by_side",
    "sides",
    "subject",
]
