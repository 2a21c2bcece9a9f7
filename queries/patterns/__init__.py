"""Compiles requests in Grew's language, with edges of attention and coreference, to SQL."""

from attnbank.queries.patterns.compiler.select import HitOptions
from attnbank.queries.patterns.language.syntax import RequestError
from attnbank.queries.patterns.run_request import (
    CompiledRequest,
    asks_about_attention,
    check_ends,
    compile_to_sql,
    head_keys,
    listing,
    question,
    reads_run,
)

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
