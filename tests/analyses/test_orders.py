"""Every analysis orders its rows, and in full: no two of them could change places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from attnbank.queries import Bank, analyses, open_bank
from attnbank.sql.header import Analysis

every = pytest.mark.parametrize("analysis", analyses().values(), ids=lambda each: each.name)


@pytest.fixture(scope="module")
def bank(full_bank: Path) -> Iterator[Bank]:
    with open_bank(full_bank) as opened:
        yield opened


def _with_keys(text: str) -> tuple[str, int]:
    """The statement with what it orders by as columns key_0, ..., and how many these are."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    order = tree.args["order"]
    tree.set("order", None)
    keys = [expression.this for expression in order.expressions]
    if isinstance(tree, exp.SetOperation):  # orders by its columns alone
        named = ", ".join(f"{key.sql()} as key_{at}" for at, key in enumerate(keys))
        return f"select {named} from ({tree.sql(dialect='duckdb')})", len(keys)
    assert isinstance(tree, exp.Select)
    projections = {each.alias_or_name: each.unalias() for each in tree.expressions}
    for at, key in enumerate(keys):
        is_alias = isinstance(key, exp.Column) and not key.table and key.name in projections
        tree.select(
            exp.alias_((projections[key.name] if is_alias else key).copy(), f"key_{at}"), copy=False
        )
    return tree.sql(dialect="duckdb"), len(keys)


@pytest.mark.usual(8)
@pytest.mark.few(2)
@every
def test_no_two_rows_are_equal_in_what_it_orders_by(analysis: Analysis, bank: Bank) -> None:
    defaults = {parameter.name: parameter.default for parameter in analysis.parameters}
    if "p_below" in defaults:  # the bank is of random weights
        defaults["p_below"] = "2"
    statement = analysis.with_parameters(defaults.__getitem__)
    assert sqlglot.parse_one(statement, dialect="duckdb").args.get("order") is not None
    text, number = _with_keys(statement)
    keys = ", ".join(f"key_{at}" for at in range(number))
    rows, distinct = bank.connection.execute(
        f"with keyed as ({text}) select count(*), (select count(*) from"
        f" (select distinct {keys} from keyed)) from keyed"
    ).fetchall()[0]
    assert rows == distinct > 0


def test_a_possessor_and_its_clitic_have_their_order(bank: Bank) -> None:
    """The two are judged at one position."""
    rows = bank.connection.execute(
        "select sequence, position, dependent from gold_dependency(possessive := true)"
    ).fetchall()
    assert rows == sorted(rows)
    assert len({row[:2] for row in rows}) < len(rows)
