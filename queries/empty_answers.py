"""Why a SELECT that calls analyses may have no rows, which their macros cannot tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlglot
from sqlglot import exp

from attnbank.queries import parameters
from attnbank.queries.backend import Backend
from attnbank.sql.errors import AttnbankError
from attnbank.sql.registry import analyses, find_analysis
from attnbank.sql.run_choice import check_relation


def reasons(bank: Backend, statement: str) -> Iterator[str]:
    """For each analysis that a statement calls, what is wrong with its arguments, or `empty`."""
    for name, literals in calls(statement):
        analysis = find_analysis(name)
        try:
            values = parameters.bind_values(analysis, literals)
            run = bank.run_of(name, **values)
            if run is not None:
                with bank.answering():
                    check_relation(bank.connection, analysis, values, run)
        except AttnbankError as error:
            yield f"{name}: {error.fact} {error.remedy}".strip()
        else:
            if analysis.empty:
                yield f"{name} may have no rows: {analysis.empty}."


def calls(statement: str) -> list[tuple[str, dict[str, Any]]]:
    """The analyses that a statement calls, each with those of its arguments that are literals."""
    try:
        tree = sqlglot.parse_one(statement, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return []
    analyses_called = []
    for call in tree.find_all(exp.Anonymous):
        if call.name not in analyses():
            continue
        literals = {}
        declared = {parameter.name: parameter for parameter in find_analysis(call.name).parameters}
        for name, value in zip(declared, call.expressions, strict=False):
            if isinstance(value, exp.PropertyEQ | exp.Kwarg):
                name, value = value.this.name, value.expression
            if isinstance(value, exp.Literal) and name in declared:
                literals[name] = parameters.from_text(declared[name], value.this)
        analyses_called.append((call.name, literals))
    return analyses_called
