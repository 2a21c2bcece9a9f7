"""Compiles requests in Grew's language, with edges of attention and coreference, to SQL."""

from attnbank.queries.patterns.compiler.select import HitOptions
from attnbank.queries.patterns.run_request import (
    CompiledRequest,
    check_dependent_and_head,
    compile_request,
    head_keys,
    reads_attention,
    reads_run,
    request_for_count_row,
)
from attnbank.queries.patterns.syntax import RequestError

__all__ = [
    "CompiledRequest",
    "HitOptions",
    "RequestError",
    "check_dependent_and_head",
    "compile_request",
    "head_keys",
    "reads_attention",
    "reads_run",
    "request_for_count_row",
]  # fmt: skip
