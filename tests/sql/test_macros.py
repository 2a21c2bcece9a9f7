"""A bank speaks for itself: in DuckDB 2.0 and in the 1.5 shell, with a comment on everything."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bank_rows import query_bank
from duckdb_shell import query_in_shell

from attnbank.queries import analyses, open_bank
from attnbank.sql.header import Analysis
from attnbank.sql.names import DIRECTIONS


def in_python(bank: Path, statement: str) -> list[dict[str, Any]]:
    """What it gives in Python."""
    with duckdb.connect(str(bank), read_only=True) as connection:
        return rows_of(connection, statement)


def rows_of(connection: duckdb.DuckDBPyConnection, statement: str) -> list[dict[str, Any]]:
    rows = connection.query(f"select to_json(t) as row from ({statement}) as t").fetchall()
    return [json.loads(row[0]) for row in rows]


@pytest.fixture(scope="module")
def connection(full_bank: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(full_bank), read_only=True) as connection:
        yield connection


@pytest.mark.usual("best_head", "gold_dependency")
@pytest.mark.few(4)
@pytest.mark.parametrize("analysis", analyses().values(), ids=lambda each: each.name)
def test_an_analysis_answers_the_same_in_both(
    analysis: Analysis, full_bank: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    everything = f"select * from {analysis.relation} order by all"
    new, old = rows_of(connection, everything), query_in_shell(full_bank, everything)
    assert new or analysis.name == "figure_5"  # nothing that chance does not explain, here
    assert [list(row) for row in old] == [list(row) for row in new]
    assert _equal(old, new)


def test_every_view_answers_the_same_in_both(
    full_bank: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    views = [
        name
        for (name,) in connection.execute(
            "select view_name from duckdb_views() where not internal and schema_name = 'main'"
        ).fetchall()
    ]
    assert {"dependency", "head", "attention_weight"} <= {*views}
    selects = []
    for name in views:
        rows = f"from {name} order by all limit 30"
        if name in ("attention_weight", "distribution"):
            rows = rows.replace("order", "where sequence = 1 and layer = 2 and head = 3 order")
        selects.append(f"select '{name}' as view, to_json(t)::varchar as cells from ({rows}) as t")
    everything = " union all ".join(selects)
    new, old = rows_of(connection, everything), query_in_shell(full_bank, everything)
    for row in (*new, *old):
        row |= json.loads(row.pop("cells"))
    # English tokens are what their words spell, so that no dependency is inside one; no run of
    # the bank is one of --keep top:K (tests/store/test_keep_largest.py).
    numbers = Counter(row["view"] for row in new)
    assert {name for name in views if not numbers[name]} == {"inner_dependency", "top_run"}
    assert _equal(old, new)


def test_weights_are_counted_without_reading_them(full_bank: Path) -> None:
    counts = query_bank(
        full_bank,
        "select (select count(*) from attention_weight), (select sum(len(weights)) from attention)",
    )
    assert counts[0][0] == counts[0][1] > 0
    plan = query_bank(full_bank, "explain select count(*) from attention_weight")
    assert "attention" in plan[0][1] and "weights" not in plan[0][1]


def test_parameters_go_by_name_in_the_shell(full_bank: Path) -> None:
    statement = (
        "select * from best_head(relation := 'nmod:poss', subtypes := true,"
        " possessive := true, offsets := [2, 1], run := 'sample/tiny')"
    )
    new, old = in_python(full_bank, statement), query_in_shell(full_bank, statement)
    assert len(new) == 1 and _equal(old, new)


def test_the_scalar_functions_answer_the_same_in_both(full_bank: Path) -> None:
    statement = "select wilson_low(7, 10) as low, wilson_high(7, 10) as high"
    new, old = in_python(full_bank, statement), query_in_shell(full_bank, statement)
    assert _equal(old, new)
    assert new == [pytest.approx({"low": 0.3967781, "high": 0.8922087}, abs=0.5e-7)]  # as typed


def test_python_and_the_headers_name_the_directions_as_a_bank_does(full_bank: Path) -> None:
    with open_bank(full_bank) as bank:
        (directions,) = bank.sql("select directions() as directions")["directions"].to_list()
    assert tuple(directions) == DIRECTIONS
    for analysis in analyses().values():
        for parameter in analysis.parameters:
            if parameter.name == "direction" and parameter.choices:
                assert {*parameter.choices} - {"both"} == {*DIRECTIONS}


def test_everything_has_a_comment(full_bank: Path) -> None:
    without = query_bank(
        full_bank,
        """
        select 'table' as kind, table_name from duckdb_tables() where comment is null
        union all
        select 'view', view_name from duckdb_views() where comment is null and not internal
        union all
        select 'column', concat(table_name, '.', column_name) from duckdb_columns()
        where comment is null and not internal
        union all
        select 'macro', function_name from duckdb_functions()
        where comment is null and not internal
        """,
    )
    assert without == []


def _equal(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> bool:
    """Equal, numbers to 12 digits (the shell prints them its own way, decimals as text)."""
    assert len(old) == len(new)
    for one, other in zip(old, new, strict=True):
        for name, value in other.items():
            if isinstance(value, float):
                assert float(one[name]) == pytest.approx(value, rel=1e-12), (name, one, other)
            else:
                assert one[name] == value, (name, one, other)
    return True
