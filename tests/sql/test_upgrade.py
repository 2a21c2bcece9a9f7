"""Banks of other formats are refused, and analyses of other versions are brought up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
import several_runs
from bank_rows import change_bank, query_bank
from case_bank import make_bank
from command_line import Cli, run_python
from crashes import killed_at
from forked import Forked
from polars.testing import assert_frame_equal

from attnbank.queries import open_bank
from attnbank.sql import registry
from attnbank.sql.bank.opening import open_to_write, upgrade
from attnbank.sql.provenance import version


@pytest.mark.parametrize(
    "change",
    ["alter table sequence drop column document", "drop table attention_map"],
    ids=["column", "table"],
)
def test_a_bank_of_this_format_that_lacks_something_is_refused(
    change: str, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "new.duckdb"
    open_to_write(path, version()).close()
    change_bank(path, change, "update bank set analyses = 'another version'")
    before = path.read_bytes()
    for args in (["info"], ["upgrade"]):
        error = cli("-b", path, *args, status=1).err
        assert f"does not have the tables of format {registry.FORMAT}" in error
        assert "ingest again into a new file" in error and len(error.splitlines()) == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize("format_", [0, 7])
def test_a_bank_of_another_format_is_refused(format_: int, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "other.duckdb"
    open_to_write(path, version()).close()
    change_bank(path, f"update bank set format = {format_}")
    before = path.read_bytes()
    for args in (["info"], ["upgrade"], ["compute", "head_distance"], ["delete", "1"]):
        assert cli("-b", path, *args, status=1).err == (
            f"Error: {path} has format {format_}, written by attnbank {version()}; this version"
            " reads format 1.\n"
            "Use the version that wrote it, or ingest again into a new file (-b FILE).\n"
        )
    assert path.read_bytes() == before
    assert "There is no bank" in cli("-b", path.with_name("none"), "upgrade", status=1).err


@pytest.mark.slow
def test_other_analyses_alone_are_brought_up_to_date(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "bank.duckdb"
    open_to_write(path, version()).close()
    change_bank(
        path,
        "create or replace macro best_head() as table select 'old' as told",
        "create macro _gone(p) as table select p as told",
        "comment on macro table _gone is 'The statement of gone, with every parameter given.'",
        "create macro gone(p := 1) as table from _gone(p)",
        "create macro my_own() as table select 1 as told",
        "update bank set analyses = 'another version'",
    )
    assert "analyses of" in cli("-b", path, "upgrade").err
    before = path.read_bytes()
    assert "is already up to date" in cli("-b", path, "upgrade").err
    assert cli("-b", path, "upgrade", "-q").err == "" and path.read_bytes() == before
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("select analyses from bank").fetchall() == [
            (registry.fingerprint(),)
        ]
        assert connection.execute("from best_head(run := '')").fetchall() == []
        assert connection.execute("from my_own()").fetchall() == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            connection.execute("from gone()")


@pytest.fixture
def other_version(tmp_path: Path) -> Path:
    """A bank whose best_head and table_1 are another version's, and say so."""
    words = "id,sentence,index,form,head_index\n1,1,1,Rain,0\n"
    path = make_bank(tmp_path / "other.duckdb", {"word": words})
    change_bank(
        path,
        "create or replace macro best_head() as table select 'old' as relation",
        "create or replace view paper.table_1 as select 'old' as relation",
        "update bank set analyses = 'another version'",
    )
    return path


STATEMENTS = 200
"""An upgrade runs more statements than that."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "at",
    [
        *(1, STATEMENTS // 4, STATEMENTS // 2, STATEMENTS),
        *(pytest.param(at, marks=pytest.mark.soak) for at in range(2, STATEMENTS, 3)),
    ],
)
def test_killed_anywhere_it_is_one_or_the_other(
    at: int, other_version: Path, forked: Forked, tmp_path: Path
) -> None:
    of = several_runs.columns(other_version)
    rows = several_runs.rows(other_version, of)
    killed_at(forked, at, ["-b", str(other_version), "upgrade"], tmp_path)
    assert several_runs.rows(other_version, of) == rows
    assert query_bank(other_version, "from best_head()") == [("old",)]
    assert upgrade(other_version) and not upgrade(other_version)
    del of["bank"]
    assert several_runs.rows(other_version, of) == {name: rows[name] for name in of}
    assert [path.name for path in tmp_path.iterdir()] == [other_version.name]


@pytest.mark.slow
def test_query_answers_with_the_analyses_of_this_version(
    other_version: Path, tmp_path: Path
) -> None:
    words = "id,sentence,index,form,head_index\n1,1,1,Rain,0\n"
    usual = make_bank(tmp_path / "usual.duckdb", {"word": words})
    options: dict[str, dict[str, Any]] = {"best_head": {"min_count": 1}, "table_1": {"run": "1"}}
    with duckdb.connect(str(other_version)) as connection:  # macros that take what people give
        for name, relation in (("best_head", "best_head"), ("table_1", "paper.table_1")):
            (parameter,) = options[name]
            connection.execute(
                f"create or replace macro {relation}({parameter} := null) as table"
                " select 'old' as relation"
            )
    with open_bank(other_version) as bank, open_bank(usual) as new:
        for name, given in options.items():
            assert new.query(name).width > 1
            assert_frame_equal(bank.query(name), new.query(name))
            assert_frame_equal(bank.query(name, **given), new.query(name, **given))
        assert_frame_equal(bank.table("table_1").collect(), new.query("table_1"))


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    [
        ["shell", "-csv", "-c", "select relation from paper.table_1"],
        ["sql", "select relation from paper.table_1"],
        ["sql", "with t as (select * from paper.table_1) select relation from t"],
    ],
)
def test_another_versions_analyses_never_answer_in_silence(
    args: list[str], other_version: Path, cli: Cli
) -> None:
    printed = cli("-b", other_version, *args, status=1)
    assert "old" not in printed.out
    assert "contains the analyses of another version" in printed.err
    assert f"attnbank -b {other_version} upgrade" in printed.err
    assert (
        "old" not in cli("-b", other_version, "sql", "from best_head()", "-f", "csv").out
    )  # this version's, in memory
    with open_bank(other_version) as bank:
        assert_frame_equal(bank.table("table_1").collect(), bank.query("table_1"))
    cli("-b", other_version, "upgrade")
    done = run_python("-m", "attnbank", "-b", other_version, *args)
    assert done.returncode == 0 and "old" not in done.stdout
