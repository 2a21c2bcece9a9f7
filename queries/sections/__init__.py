"""The sections of a report: which analyses stand in it, in which order, and how to read them.

    from attnbank.queries.sections import answer, chapters, subject

    of = subject(bank)
    for chapter in chapters():
        for section in chapter.sections:
            found = answer(bank, section, of)

An answer is data: rows, a specification of a picture, published figures beside ours. There is no
HTML here; the report and the pages of the explorer lay the same sections out.
"""

from __future__ import annotations

from attnbank.queries.sections.answering import answer
from attnbank.queries.sections.choosing import Subject, subject
from attnbank.queries.sections.kinds import Answer, Chapter, Missing, Section
from attnbank.queries.sections.plan import chapters

__all__ = ["Answer", "Chapter", "Missing", "Section", "Subject", "answer", "chapters", "subject"]
