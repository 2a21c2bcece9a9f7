"""A statement for Spark in stages, so that what it names once is computed once.

Spark writes out a common table expression at each place that reads it. The statements of analyses
build on each other, so that a plan would grow exponentially.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import sqlglot
from sqlglot import exp


@dataclass(frozen=True)
class Stage:
    """A common table expression: the name of its view, its SELECT, and how often it is read."""

    view: str
    statement: str
    reads: int


@dataclass(frozen=True)
class Stages:
    """The stages of a statement in the order to run them, its last SELECT, and what all read."""

    stages: tuple[Stage, ...]
    last: str
    tables: frozenset[str]


def stages_of(statement: str) -> Stages:
    """A statement in Spark's dialect as stages, whose views are named by their text."""
    tree = sqlglot.parse_one(statement, dialect="spark")
    stages: dict[str, tuple[str, exp.Expr]] = {}
    _extract_ctes(tree, {}, stages)
    every = [*(stage for _, stage in stages.values()), tree]
    names = Counter(
        table.name for stage in every for table in stage.find_all(exp.Table) if not table.db
    )
    views = {view for view, _ in stages.values()}
    return Stages(
        tuple(Stage(view, text, names[view]) for text, (view, _) in stages.items()),
        tree.sql(dialect="spark"),
        frozenset(names) - views,
    )


def _extract_ctes(
    node: exp.Expr, known: Mapping[str, str], stages: dict[str, tuple[str, exp.Expr]]
) -> None:
    """Replace every common table expression in a tree by a view.

    `known` are the views by the names that are visible here. Each extracted query is added to
    `stages` by its text, with its view, after those that it reads.
    """
    with_ = node.args.get("with_") or node.args.get("with")
    if with_ is not None:
        known = dict(known)
        for cte in with_.expressions:
            # What reads itself keeps its name, and is a stage as a whole.
            is_own = with_.recursive and cte.alias in {
                table.name for table in cte.this.find_all(exp.Table) if not table.db
            }
            visible = {**known, cte.alias: cte.alias} if is_own else known
            _extract_ctes(cte.this, visible, stages)
            query = cte.this
            if is_own:
                query = exp.select("*").from_(cte.alias)
                query.set("with_", exp.With(expressions=[cte.copy()], recursive=True))
            text = query.sql(dialect="spark")
            new = f"attnbank_stage_{sha256(text.encode()).hexdigest()[:16]}_{cte.alias}"
            known[cte.alias], _ = stages.setdefault(text, (new, query))
        with_.pop()
    if isinstance(node, exp.Table) and not node.db and node.name in known:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(node.alias or node.name)))
        node.set("this", exp.to_identifier(known[node.name]))
    for child in list(node.iter_expressions()):
        _extract_ctes(child, known, stages)
