"""The fourth door: the statement for another engine, with no macro, no view, no parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from polars.testing import assert_frame_equal
from sqlglot import exp

from attnbank.queries import Bank, analyses, open_bank, to_dialect
from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis
from attnbank.sql.registry import schema_scripts

every = pytest.mark.parametrize("analysis", analyses().values(), ids=lambda each: each.name)


@pytest.fixture(scope="module")
def bank(full_bank: Path) -> Iterator[Bank]:
    with open_bank(full_bank) as opened:
        yield opened


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    "given",
    [
        {"relation": "nmod:poss", "subtypes": True, "possessive": True},
        {"offsets": [4, -4], "min_count": 100},
        {"run": "1", "relation": None},
    ],
)
def test_parameters_become_literals(given: dict[str, Any], bank: Bank) -> None:
    inlined = to_dialect("best_head", "duckdb", **given)
    assert not re.search(r"\$[a-z_]", inlined)
    assert_frame_equal(bank.sql(inlined), bank.query("best_head", **given))


def test_a_quote_in_a_value_stays_one(bank: Bank) -> None:
    evil = "x'y\\'; drop table word"
    for dialect, escape in (("duckdb", "x''y"), ("spark", "x\\'y")):
        text = to_dialect("head_accuracy", dialect, relation=evil)
        assert escape in text
        strings = [
            each.this for each in sqlglot.parse_one(text, dialect=dialect).find_all(exp.Literal)
        ]
        assert evil in strings


@pytest.mark.usual("coreference_accuracy", "head_function")
@pytest.mark.few(3)
@every
def test_the_statement_for_spark_calls_nothing_of_the_bank(analysis: Analysis) -> None:
    text = to_dialect(analysis.name, "spark")
    tree = sqlglot.parse_one(text, dialect="spark")
    tables = {
        table.name for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)
    }
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    assert tables - own <= set(
        re.findall(r"^create table (\w+)", "".join(schema_scripts()), re.MULTILINE)
    )
    macros = set(
        re.findall(r"^create or replace macro (\w+)", "".join(schema_scripts()), re.MULTILINE)
    )
    assert "saved_relation_name" in macros
    assert not macros & {each.name.lower() for each in tree.find_all(exp.Anonymous)}
    assert "qualify" not in text.lower() and ":=" not in text
    assert "materialized" not in text.lower()
    names = [cte.alias for cte in tree.find_all(exp.CTE)]
    assert len(names) == len(set(names))


def test_unknown_names_are_told() -> None:
    with pytest.raises(CallError, match=r"Dialect sprak is not supported\.\nDid you mean spark"):
        to_dialect("best_head", "sprak")
    with pytest.raises(CallError, match="no parameter relaton"):
        to_dialect("best_head", "spark", relaton="x")
