"""Compiles requests in Grew's language, with edges of attention and coreference, to SQL."""

from attnbank.queries.patterns.finding import (
    CompiledRequest,
    asks_about_attention,
    check_ends,
    compile_to_sql,
    head_keys,
    listing,
    question,
    reads_run,
)
from attnbank.queries.patterns.language.tree import RequestError
from attnbank.queries.patterns.select.building import HitOptions

__all__ = [
    "CompiledRequest",
    "HitOptions",
    "RequestError",
    "asks_about_attention",
    "check_ends",
    "compile_to_sql",
    "head_keys",
    "listing",
    "question",
    "reads_run",
]  # fmt: skip
