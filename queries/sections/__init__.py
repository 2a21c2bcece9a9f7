"""The sections of a report: which analyses stand in it, in which order, and how to read them.

An answer is data: rows, a specification of a picture, published figures beside ours. There is no
HTML here: the report lays the sections out.
"""

from __future__ import annotations

from attnbank.queries.sections.answering import Subject, answer, subject
from attnbank.queries.sections.plan import Answer, Chapter, Missing, Section, chapters

__all__ = ["Answer", "Chapter", "Missing", "Section", "Subject", "answer", "chapters", "subject"]
