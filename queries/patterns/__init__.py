"""Compiles requests in Grew's language, with edges of attention and coreference, to SQL."""

from attnbank.queries.patterns.finding import (
    Question,
    asks_about_attention,
    check_ends,
    head_keys,
    listing,
    question,
    reads_run,
    statement,
)
from attnbank.queries.patterns.language.tree import RequestError
from attnbank.queries.patterns.select.building import HitOptions

__all__ = [
    "HitOptions", "Question", "RequestError", "asks_about_attention",
    "check_ends", "head_keys", "listing", "question", "reads_run", "statement",
]  # fmt: skip
