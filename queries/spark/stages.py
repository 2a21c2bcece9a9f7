"""A statement for Spark in stages, so that what it names once is computed once.

Spark writes out a common table expression at each place that reads it. The statements of analyses
build on each other, so that a plan would grow exponentially: some need more memory to be planned
than a machine has. As stages they stay as small as they are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

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
    """A statement in Spark's dialect as stages; the views get names that no table has."""
    tree = sqlglot.parse_one(statement, dialect="spark")
    found: list[tuple[str, exp.Expr]] = []
    _take_out(tree, {}, found)
    every = [*(each for _, each in found), tree]
    names = Counter(
        table.name for each in every for table in each.find_all(exp.Table) if not table.db
    )
    views = {view for view, _ in found}
    return Stages(
        tuple(Stage(view, each.sql(dialect="spark"), names[view]) for view, each in found),
        tree.sql(dialect="spark"),
        frozenset(names) - views,
    )


def _take_out(node: exp.Expr, known: Mapping[str, str], found: list[tuple[str, exp.Expr]]) -> None:
    """Take every common table expression out of a tree, and let what reads one read its view.

    `known` are the views by the names that are visible here. What is taken out is appended to
    `found`, each after those that it reads.
    """
    with_ = node.args.get("with_") or node.args.get("with")
    if with_ is not None:
        known = dict(known)
        for each in with_.expressions:
            _take_out(each.this, known, found)
            view = f"attnbank_stage_{len(found)}_{each.alias}"
            found.append((view, each.this))
            known[each.alias] = view
        with_.pop()
    if isinstance(node, exp.Table) and not node.db and node.name in known:
        alias = node.alias or node.name
        node.set("this", exp.to_identifier(known[node.name]))
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    for child in list(node.iter_expressions()):
        _take_out(child, known, found)
