"""The sections of a report: which analyses stand in it, in which order, and how to read them.

An answer is data: rows, a picture, published figures beside ours. There is no
HTML here: the report lays the sections out.
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
