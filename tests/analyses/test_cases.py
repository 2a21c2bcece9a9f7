"""Every analysis on rows small enough to check by hand: `tests/cases/<name>[.<what>].toml`.

Each case is asked by the Python call; of each analysis the one with the most values also, in the
slow suite, by the macro, and as the statement with its macros inlined.
"""

from __future__ import annotations

import math
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from case_bank import delete_rows, insert_rows, make_bank, read_rows
from polars.testing import assert_frame_equal

from attnbank.queries import Bank, analyses, backend, open_bank, to_dialect
from attnbank.sql.bank.new_banks import fill
from attnbank.sql.header import Analysis
from attnbank.sql.names import sql_literal as literal

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.toml"))


def _values(case: Path) -> int:
    return len(tomllib.loads(case.read_text(encoding="utf-8")).get("params", {}))


FULLEST = {case.name.split(".")[0]: case for case in sorted(CASES, key=_values)}
"""The case of each analysis with the most values: it is asked in every way."""


def _analysis(case: Path) -> Analysis:
    return analyses()[case.name.split(".")[0]]


@pytest.fixture(scope="module")
def memory() -> duckdb.DuckDBPyConnection:
    """A bank in memory, without rows.

    To write a file for each case, and open it, would take as long as the analyses.
    """
    connection = duckdb.connect()
    fill(connection, "test")
    return connection


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            each,
            id=each.name.removesuffix(".toml"),
            marks=[] if each in FULLEST.values() else pytest.mark.slow,
        )
        for each in CASES
    ],
)
def test_gives_the_expected_rows(
    case: Path, memory: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tomllib.loads(case.read_text(encoding="utf-8"))
    assert told.keys() <= {"about", "expect", "params", "given"}, "expect stands above [given]"
    assert told["about"]
    analysis, params = _analysis(case), told.get("params", {})
    monkeypatch.setattr(backend, "open_connection", lambda *_: (memory.cursor(), False))
    insert_rows(memory, told["given"])
    try:
        with open_bank("memory.duckdb") as bank:
            rows = bank.query(analysis.name, **params)
            assert rows.schema == _rows(bank, _of_header(analysis)).schema
    finally:
        delete_rows(memory, told["given"])
    _check(rows, read_rows(told["expect"]), is_ordered=_is_ordered(analysis))


@pytest.mark.usual("head_distance", "figure_2")
@pytest.mark.few(3)
@pytest.mark.parametrize("name", FULLEST)
def test_every_door_gives_these_rows(name: str, tmp_path: Path) -> None:
    case = tomllib.loads(FULLEST[name].read_text(encoding="utf-8"))
    analysis, params = analyses()[name], case.get("params", {})
    with open_bank(make_bank(tmp_path / "case.duckdb", case["given"])) as bank:
        rows = bank.query(name, **params)
        for door in (_by_macro, _inlined):
            assert_frame_equal(
                door(bank, analysis, params), rows, check_row_order=_is_ordered(analysis)
            )


def test_every_analysis_has_a_case() -> None:
    without = set(analyses()) - {_analysis(case).name for case in CASES}
    assert not without


def _by_macro(bank: Bank, analysis: Analysis, params: dict[str, Any]) -> pl.DataFrame:
    if analysis.is_view:
        return _rows(bank, f"from {analysis.relation}")
    values = ", ".join(f"{name} := {literal(value)}" for name, value in params.items())
    return _rows(bank, f"from {analysis.name}({values})")


def _inlined(bank: Bank, analysis: Analysis, params: dict[str, Any]) -> pl.DataFrame:
    text = to_dialect(analysis.name, "duckdb", **params)
    assert not any(f"{name}(" in text for name in analyses())
    return _rows(bank, text)


def _rows(bank: Bank, statement: str) -> pl.DataFrame:
    """On the connection that is open; `bank.sql` would open the file once more for each case."""
    found: pl.DataFrame = bank.connection.sql(statement).pl()
    return found


def _of_header(analysis: Analysis) -> str:
    """A select of columns as the header names them, of these types."""
    columns = ", ".join(f'cast(null as {each.type}) as "{each.name}"' for each in analysis.columns)
    return f"select {columns}"


def _is_ordered(analysis: Analysis) -> bool:
    return "order by" in analysis.statement.rsplit("\nfrom ", 1)[-1]


def _check(found: pl.DataFrame, expected: list[dict[str, str]], *, is_ordered: bool) -> None:
    columns = list(expected[0]) if expected else []
    assert set(columns) <= set(found.columns)
    rows = [[_text(value) for value in row] for row in found.select(columns).iter_rows()]
    wanted = [list(row.values()) for row in expected]
    if not is_ordered:
        rows, wanted = sorted(rows), sorted(wanted)
    assert len(rows) == len(wanted), (rows, wanted)
    for row, want in zip(rows, wanted, strict=True):
        for column, cell, asked in zip(columns, row, want, strict=True):
            assert _same(cell, asked), f"{column} is {cell}, not {asked}, in {row}"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def _same(cell: str, asked: str) -> bool:
    if cell == asked:
        return True
    try:
        return math.isclose(Decimal(cell), Decimal(asked), rel_tol=0, abs_tol=1e-9)
    except ArithmeticError:
        return False
