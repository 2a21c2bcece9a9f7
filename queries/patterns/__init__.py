"""Compiles requests in Grew's language, with edges of attention and coreference, to SQL.

`parser` reads a request into the objects of `syntax`, and `resolver` finds what its names stand
for. `select` builds one SELECT of that: `scopes` joins the nodes, `clauses` has what ties them and
the keys, `expressions` the tests of their values. `run_request` does all of that for a bank.
"""

from attnbank.queries.patterns.run_request import (
    CompiledRequest,
    check_dependent_and_head,
    compile_request,
    head_keys,
    pair_to_score,
    reads_attention,
    reads_run,
    request_for_count_row,
)
from attnbank.queries.patterns.select import HitOptions
from attnbank.queries.patterns.syntax import RequestError

__all__ = [
    "CompiledRequest",
    "HitOptions",
    "RequestError",
    "check_dependent_and_head",
    "compile_request",
    "head_keys",
    "pair_to_score",
    "reads_attention",
    "reads_run",
    "request_for_count_row",
]  # fmt: skip
