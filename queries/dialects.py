"""An analysis as one statement for another engine, over tables of the same names.

Other engines do not have a bank's macros and views. So each call of one is replaced by its
definition in sqlglot's syntax tree, parameters become literals, and the dialect writes the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import sqlglot
from sqlglot import exp

from attnbank.queries import parameters
from attnbank.sql import registry
from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis
from attnbank.sql.messages import did_you_mean
from attnbank.sql.names import sql_literal
from attnbank.sql.registry import DIALECTS


def to_dialect(name: str, dialect: str, /, **values: Any) -> str:
    """The statement of an analysis for another engine, with its parameters filled in.

    It reads the tables of an export and calls no macro. Raises CallError for an unknown analysis,
    parameter or dialect, and for a value of the wrong type.
    """
    _check_dialect(dialect)
    analysis = registry.find_analysis(name)
    bound = _literal_expressions(parameters.bind_values(analysis, values))
    return _generate_sql(_Inliner().inline(analysis, bound), dialect)


def spark_statement(statement: str, values: Mapping[str, Any]) -> str:
    """A SELECT of the package's own, which may call macros and read views, as Spark runs it."""
    return _generate_sql(_Inliner().filled(statement, _literal_expressions(values)), "spark")


def indented_sql(statement: str, dialect: str = "duckdb") -> str:
    """Indent the statement of a request, which calls no macro, in one of the dialects.

    Raises CallError for an unknown dialect.
    """
    _check_dialect(dialect)
    tree = sqlglot.parse_one(statement, dialect="duckdb")
    if dialect == "spark":
        tree = tree.transform(_for_spark)
    return tree.sql(dialect=dialect, pretty=True, normalize_functions="lower")


def _check_dialect(dialect: str) -> None:
    if dialect not in DIALECTS:
        raise CallError(
            f"Dialect {dialect} is not supported.",
            f"{did_you_mean(dialect, DIALECTS)} Choose from: {', '.join(DIALECTS)}.".strip(),
        )


def _literal_expressions(values: Mapping[str, Any]) -> dict[str, exp.Expr]:
    return {name: _expression(sql_literal(values[name])) for name in values}


def _generate_sql(tree: exp.Expr, dialect: str) -> str:
    if dialect == "spark":
        tree = tree.transform(_for_spark, copy=False)
    return tree.sql(dialect=dialect, pretty=True, copy=False)


# How Spark writes those functions of DuckDB that sqlglot does not translate.
_SPARK = {
    "error": "raise_error({0})",
    "list_inner_product": (
        "aggregate(zip_with({0}, {1}, (one, other) -> one * other),"
        " cast(0 as double), (total, each) -> total + each)"
    ),
    "list_extract": "try_element_at({0}, cast({1} as int))",
    "list_position": "nullif(array_position({0}, {1}), 0)",
    "list_reduce": "aggregate({0}, {2}, {1})",
    "list_select": "transform({1}, place -> try_element_at({0}, cast(place as int)))",
    "map_extract_value": "try_element_at({0}, {1})",
    "list_sum": "aggregate({0}, cast(0 as double), (total, each) -> total + each)",
}


def _for_spark(node: exp.Expr) -> exp.Expr:
    """Rewrite a node of a syntax tree for Spark."""
    if isinstance(node, exp.Length):
        # sqlglot parses `len`, which the SQL here uses for lists only, as it does `length`, but
        # keeps where the word stood in the text.
        is_len = int(node.meta.get("end", 0)) - int(node.meta.get("start", 0)) + 1 == len("len")
        return exp.func("size", node.this.transform(_for_spark)) if is_len else node
    if isinstance(node, exp.CTE):
        node.set("materialized", None)  # a hint for DuckDB, which Spark's syntax does not have
        return node
    if not isinstance(node, exp.Anonymous) or node.name.lower() not in _SPARK:
        return node
    arguments = [
        expression.transform(_for_spark).sql(dialect="spark") for expression in node.expressions
    ]
    return sqlglot.parse_one(_SPARK[node.name.lower()].format(*arguments), dialect="spark")


class _Inliner:
    """Replaces calls of macros and views by their definitions, so that only tables are read."""

    def __init__(self) -> None:
        self._calls = 0

    def inline(
        self, analysis: Analysis, arguments: Mapping[str, exp.Expr], prefix: str = ""
    ) -> exp.Expr:
        defaults = {
            parameter.name: _expression(parameter.default) for parameter in analysis.parameters
        }
        return self.filled(analysis.statement, {**defaults, **arguments}, prefix)

    def filled(
        self, statement: str, arguments: Mapping[str, exp.Expr], prefix: str = ""
    ) -> exp.Expr:
        def fill_parameter(node: exp.Expr) -> exp.Expr:
            return arguments[node.name].copy() if isinstance(node, exp.Placeholder) else node

        # Renamed first: an argument may read a table expression of the caller with an equal name.
        renamed = _with_own_names(_expression(statement).copy(), prefix)
        return self._without_macros(renamed.transform(fill_parameter))

    def _without_macros(self, tree: exp.Expr) -> exp.Expr:
        """The tree with its macros and views replaced; the tree that is given is changed."""
        cte_names = {cte.alias for cte in tree.find_all(exp.CTE)}

        def expand_macro(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Anonymous) and node.name in _functions():
                return self._function(node)
            if isinstance(node, exp.Table):
                return self._relation(node, cte_names) or node
            plain = node
            while isinstance(plain, exp.Cast) and plain.to == plain.this.args.get("to"):
                plain = plain.this
            # `transform` does not descend into a node that replaces another one, so do it here.
            return node if plain is node else plain.transform(expand_macro)

        return tree.transform(expand_macro, copy=False)

    def _relation(self, table: exp.Table, cte_names: set[str]) -> exp.Expr | None:
        """The definition of a table macro or a view as a subquery; None for a table."""
        self._calls += 1
        name = table.this.name
        prefix = f"{name}_{self._calls}"
        if isinstance(table.this, exp.Anonymous):
            called = (registry.analyses() | registry.shared())[name]
            arguments = {
                argument.this.name: argument.expression for argument in table.this.expressions
            }
            inner = self.inline(called, arguments, prefix)
        elif table.db == "paper":
            inner = self.inline(registry.analyses()[name], {}, prefix)
        elif name in _views() and name not in cte_names:
            inner = self._without_macros(_with_own_names(_views()[name].copy(), prefix))
        else:
            return None
        if not inner.args.get("limit"):
            inner.set("order", None)
        return exp.Subquery(
            this=inner, alias=exp.TableAlias(this=exp.to_identifier(table.alias or name))
        )

    def _function(self, call: exp.Anonymous) -> exp.Expr:
        names, body = _functions()[call.name]
        values = dict(zip(names, call.expressions, strict=True))

        def fill_argument(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table and node.name in values:
                value: exp.Expr = values[node.name].copy()
                return value if isinstance(value, exp.Column | exp.Literal) else exp.paren(value)
            return node

        return exp.paren(self._without_macros(body.transform(fill_argument)))


def _with_own_names(tree: exp.Expr, prefix: str) -> exp.Expr:
    """The statement with a prefix, unless it is empty, before the names of its common tables.

    Some engines have these only at the top level of a statement, where equal names would clash.
    """
    with_ = tree.args.get("with_") or tree.args.get("with")
    if with_ is None or not prefix:
        return tree
    names = {cte.alias: f"{prefix}_{cte.alias}" for cte in with_.expressions}
    for cte in with_.expressions:
        cte.set("alias", exp.TableAlias(this=exp.to_identifier(names[cte.alias])))
    for table in list(tree.find_all(exp.Table)):
        if table.name in names and not table.db and isinstance(table.this, exp.Identifier):
            alias = table.alias or table.name
            table.set("this", exp.to_identifier(names[table.name]))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return tree


@cache
def _functions() -> dict[str, tuple[list[str], exp.Expr]]:
    """The scalar macros of the schema by name: the names of their parameters, and their body."""
    return {
        macro.this.this.name: ([name.name for name in macro.this.expressions], macro.expression)
        for macro in _created("MACRO")
        if isinstance(macro.expression, exp.Subquery) or not isinstance(macro.expression, exp.Query)
    }


@cache
def _views() -> dict[str, exp.Expr]:
    return {view.this.name: view.expression for view in _created("VIEW")}


def _created(kind: str) -> list[exp.Create]:
    return [
        statement
        for script in registry.schema_scripts()
        for statement in sqlglot.parse(script, dialect="duckdb")
        if isinstance(statement, exp.Create) and statement.kind == kind
    ]


@lru_cache(maxsize=1024)
def _expression(text: str) -> exp.Expr:
    """The syntax tree of a statement or a part of one, which is cached: copy it to change it."""
    return sqlglot.parse_one(text, dialect="duckdb")
