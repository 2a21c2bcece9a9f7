"""The sections of a report, with published figures beside those of the bank.

An answer is data: rows, a picture, published figures. There is no HTML here: `report` lays it out.
"""

from __future__ import annotations

from attnbank.queries.sections.answering import (
    Subject,
    answer,
    plain_model,
    side_by_side,
    subject,
)
from attnbank.queries.sections.plan import Answer, Chapter, Missing, Section, chapters, sides

__all__ = [
    "Answer",
    "Chapter",
    "Missing",
    "Section",
    "Subject",
    "answer",
    "chapters",
    "plain_model",
    "side_by_side",
    "sides",
    "subject",
]
