"""Two banks in one connection of DuckDB: an analysis reads the bank that is asked, or refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from case_bank import make_bank

from attnbank.queries import analyses


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Bank one, with run one, and beside it bank two, which has run two."""
    for name in ("one", "two"):
        make_bank(tmp_path / f"{name}.duckdb", {"run": f"id,name\n1,{name}\n"})
    with duckdb.connect(str(tmp_path / "one.duckdb"), read_only=True) as connection:
        connection.execute(f"attach '{tmp_path / 'two.duckdb'}' as two (read_only)")
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "from two.offset_profile()",
        "from two.main.offset_profile()",
        'from "TWO" . "offset_profile" ()',
        "select layer from offset_profile() union all select layer from two.offset_profile()",
        "from two.paper.figure_1",
    ],
)
def test_an_analysis_of_another_bank_is_refused(
    connection: duckdb.DuckDBPyConnection, statement: str
) -> None:
    with pytest.raises(duckdb.Error, match=r"would read the bank one\. Type first: use two"):
        connection.execute(statement)


def test_a_bank_that_is_in_use_answers(connection: duckdb.DuckDBPyConnection) -> None:
    chosen = "select name from chosen_run(requested := '1')"
    for statement in ("from offset_profile()", "from one.offset_profile()", "from paper.figure_1"):
        connection.execute(statement)
    assert connection.execute(chosen).fetchall() == [("one",)]
    connection.execute("use two")
    for statement in ("from offset_profile()", "from two.offset_profile()", "from paper.figure_1"):
        connection.execute(statement)
    assert connection.execute(chosen).fetchall() == [("two",)]
    with pytest.raises(duckdb.Error, match="Type first: use one"):
        connection.execute("from one.offset_profile()")


def test_every_analysis_is_guarded(connection: duckdb.DuckDBPyConnection) -> None:
    definitions = connection.execute(
        "select function_name, macro_definition from duckdb_functions()"
        " where database_name = 'one' and contains(macro_definition, 'is_asked_of_its_bank(''')"
    ).fetchall()
    guarded = {name for name, text in definitions if f"is_asked_of_its_bank('{name}')" in text}
    assert guarded == {*analyses()}
