"""Requests in Grew's language, with edges of attention and coreference, as SELECTs over a bank."""

from attnbank.queries.patterns.finding import (
    SECONDS,
    Question,
    asks_about_attention,
    head_keys,
    listing,
    question,
    statement,
)
from attnbank.queries.patterns.language.faults import RequestError
from attnbank.queries.patterns.select.attention import RunFacts
from attnbank.queries.patterns.select.building import Choice

__all__ = [
    "SECONDS", "Choice", "Question", "RequestError", "RunFacts", "asks_about_attention",
    "head_keys", "listing",
    "question", "statement",
]  # fmt: skip
