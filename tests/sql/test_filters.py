"""Every macro and view takes the filters that people write in a DuckDB shell."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

TEXT = (
    "split_part({}, ':', 1) = 'obj'", "{} like '%ob_'", "{} ilike 'OBJ%'", "{} not like 'obj:%'",
    "regexp_matches({}, '^obj')", "{} ~ 'obj.*'", "{} glob 'obj*'", "starts_with({}, 'obj')",
    "contains({}, 'ob')", "ends_with({}, 'j')", "lower({}) = 'obj'", "length({}) > 2",
    "{} in ('obj', 'nsubj')", "{} not in ('obj', 'nsubj')", "{} between 'a' and 'z'",
    "{}[1] = 'o'", "substr({}, 1, 3) = 'obj'", "left({}, 3) = 'obj'", "{} || ':' = 'obj:'",
    "concat({}, ':') = 'obj:'", "coalesce({}, '') <> ''", "nullif({}, 'obj') is null",
    "string_split({}, ':')[1] = 'obj'", "list_contains(['obj', 'nsubj'], {})",
    "regexp_replace({}, ':.*', '') = 'obj'", "regexp_extract({}, '^[^:]*') = 'obj'",
    "replace({}, ':', '-') = 'obj'", "trim({}) = 'obj'", "{} is distinct from 'obj'",
    "without_subtype({}) = 'obj'", "case when {} = 'obj' then true else false end",
)  # fmt: skip
NUMBER = (
    "{} + 1 > 2", "{} * 2 = 4", "{} / 2 > 1", "{} // 2 > 1", "{} % 2 = 0", "-{} < 0",
    "abs({}) > 1", "{} between 1 and 3", "{} in (1, 2)", "{} not in (1, 2)", "round({}, 1) > 1",
    "greatest({}, 1) = 1", "cast({} as varchar) = '1'", "list_contains([1, 2], {})",
    "{} is not null", "coalesce({}, 0) > 0", "power({}, 2) > 1",
)  # fmt: skip
LIST = ("len({}) > 1", "{}[1] is not null", "array_to_string({}, ' ') <> 'a'", "{} is not null")
BOOLEAN = ("{}", "not {}", "{} is not true", "{} = true")
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE")


def _filters(column: str, type_: str) -> list[str]:
    of_type = (
        LIST if type_.endswith("]")
        else TEXT if type_ == "VARCHAR"
        else NUMBER if type_ in NUMBERS
        else BOOLEAN if type_ == "BOOLEAN"
        else ()
    )  # fmt: skip
    return [each.format(f'"{column}"') for each in of_type]


@pytest.mark.slow
def test_every_macro_and_view_takes_the_usual_filters(full_bank: Path, tmp_path: Path) -> None:
    bank = shutil.copy(full_bank, tmp_path / "bank.duckdb")
    with duckdb.connect(bank, read_only=True) as connection:
        macros = connection.execute(
            "select distinct schema_name || '.' || function_name || '()' from duckdb_functions()"
            " where not internal and function_type = 'table_macro'"
            " and function_name not like '\\_%' escape '\\'"
        ).fetchall()
        views = connection.execute(
            "select schema_name || '.' || view_name from duckdb_views() where not internal"
        ).fetchall()
        assert len(macros) >= 66 and len(views) >= 20
        filtered = 0
        for (source,) in sorted(macros + views):
            try:
                columns = connection.execute(f"describe from {source}").fetchall()
            except duckdb.Error as error:  # a run that fits, or a value, is missing
                assert "Type" in str(error) or "run" in str(error), f"{source}: {error}"
                continue
            filters = [each for name, type_, *_ in columns for each in _filters(name, type_)]
            try:
                connection.execute(f"explain from {source} where {' and '.join(filters)}")
            except duckdb.Error as error:
                pytest.fail(f"{source}: {error}: {_first(connection, source, filters)}")
            filtered += 1
        assert filtered > 60


def _first(connection: duckdb.DuckDBPyConnection, source: str, filters: list[str]) -> str:
    for each in filters:
        try:
            connection.execute(f"explain from {source} where {each}")
        except duckdb.Error:
            return each
    return "all of them together"
