"""`attnbank upgrade`: banks of earlier formats and versions, brought up to date."""

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
from attnbank.sql.bank import upgrading
from attnbank.sql.bank.opening import Upgrade, open_to_read, open_to_write, upgrade
from attnbank.sql.errors import BankError
from attnbank.sql.provenance import version

FIGURES = {
    "two words": ("from entropy(run := 'r')",),
    "five runs": (
        "from head_accuracy(run := 'test/tiny')",
        "from head_distance(run := '4')",
        "from probe_score",
        "from entropy(run := '4')",
    ),
}
"""What is asked of each bank."""
TWO_WORDS = {
    "word": "id,sentence,index,form,head_index,deprel\n1,1,1,It,2,nsubj\n2,1,2,rains,0,root\n",
    "run": "id,name\n1,r\n",
    "sequence": "id,run,sentence,positions\n1,1,1,2\n",
    "position": "sequence,position,word\n1,0,1\n1,1,2\n",
    "attention": "sequence;layer;head;from_position;weights\n"
    "1;1;1;0;[0.9, 0.1]\n1;1;1;1;[0.6, 0.4]\n",
    "peak": "sequence,layer,head,position,most_attended,most_attended_weight\n"
    "1,1,1,0,1,0.1\n1,1,1,1,0,0.6\n",
    "saved_relation": "name,request\na,pattern { A =[1-1]=> B }\nb,pattern { A -> B }\n",
}


@pytest.fixture
def small_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank of two words, of format 0."""
    monkeypatch.setitem(upgrading.MIGRATIONS, 1, several_runs.MIGRATION)
    path = make_bank(tmp_path / "old.duckdb", TWO_WORDS)
    change_bank(path, *several_runs.BEFORE)
    return path


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank of format 0, from which there is a migration."""
    monkeypatch.setitem(upgrading.MIGRATIONS, 1, several_runs.MIGRATION)
    return several_runs.format_0(tmp_path / "old.duckdb")


def _figures(path: Path, what: str) -> list[list[str]]:
    """What the analyses in the file say, asked without attnbank; the order of sums is not fixed."""
    return [
        sorted(
            repr([round(each, 9) if isinstance(each, float) else each for each in row])
            for row in query_bank(path, each)
        )
        for each in FIGURES[what]
    ]


def _schema(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The tables of a file with their comments, and their columns with all that is said of them."""
    return {
        what: query_bank(path, f"{select} where not internal order by all")
        for what, select in {
            "tables": "select table_name, comment from duckdb_tables()",
            "columns": "select table_name, column_name, data_type, is_nullable, column_default,"
            " comment from duckdb_columns()",
        }.items()
    }


def _installed(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The views and macros of a file, with their texts and comments."""
    return {
        kind: query_bank(path, f"{select} order by all")
        for kind, select in {
            "views": "select schema_name, view_name, comment, sql from duckdb_views()"
            " where not internal",
            "macros": "select schema_name, function_name, comment, macro_definition"
            " from duckdb_functions() where not internal and database_name = 'old'",
        }.items()
    }


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    "args",
    [
        ["info"],
        ["query", "best_head"],
        ["shell", "-c", "select 1"],
        ["schema"],
        ["export", "elsewhere"],
        ["compute", "head_distance"],
        ["probe", "right_branching", "--test-run", "2"],
        ["ingest", "CORPUS", "-m", "minilm"],
        ["delete", "1"],
    ],
    ids=lambda args: args[0],
)
def test_every_command_says_what_to_type(
    args: list[str],
    small_old: Path,
    sample: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = small_old
    monkeypatch.chdir(old.parent)
    before = old.read_bytes()
    given = [str(sample) if arg == "CORPUS" else arg for arg in args]
    error = cli("-b", old, *given, status=1).err
    assert f"{old} has format 0" in error and f"attnbank -b {old} upgrade" in error
    assert old.read_bytes() == before
    assert not list(old.parent.glob("old.duckdb?*"))


def test_an_upgraded_bank_is_like_a_new_one(small_old: Path, tmp_path: Path) -> None:
    usual = make_bank(tmp_path / "usual.duckdb", TWO_WORDS)
    done = _check_upgrade(small_old, tmp_path, usual, "two words")
    assert {"run.heads", "preferred_run", "saved_relation.is_circular"} <= {*done.added}
    saved = "select name, is_circular from saved_relation order by name"
    assert query_bank(small_old, saved) == [("a", True), ("b", False)]


@pytest.mark.slow
def test_an_upgraded_bank_of_five_runs_is_like_a_new_one(old: Path, tmp_path: Path) -> None:
    usual = several_runs.five_runs(tmp_path / "five.duckdb")
    _check_upgrade(old, tmp_path, usual, "five runs")
    with open_bank(old) as bank:
        request = bank.query("head_accuracy", run="test/tiny").sort(by=["layer"]).height
        assert request == len(_figures(old, "five runs")[0])
        assert bank.info().format == registry.FORMAT
    assert open_to_read(old).execute("select count(*) from run").fetchone() == (5,)


def _check_upgrade(old: Path, tmp_path: Path, usual: Path, what: str) -> Upgrade:
    """Upgrade a bank, and check that it has its rows, and what a new bank has."""
    (tmp_path / "new").mkdir()
    new = tmp_path / "new" / "old.duckdb"
    open_to_write(new, version()).close()
    of = several_runs.columns(old)
    rows = several_runs.rows(old, of)
    done = upgrade(old)
    assert (done.before, done.after) == (0, registry.FORMAT)
    assert _schema(old) == _schema(new)
    assert _installed(old) == _installed(new)
    assert several_runs.rows(old, of, without=("bank",)) == {
        table: each for table, each in rows.items() if table != "bank"
    }
    figures = _figures(old, what)
    assert all(figures) and figures == _figures(usual, what)
    return done


@pytest.mark.slow
def test_it_says_what_it_did(old: Path, cli: Cli) -> None:
    error = cli("-b", old, "upgrade").err
    assert f"Upgraded {old} from format 0 to {registry.FORMAT}" in error
    before = old.read_bytes()
    assert "is already up to date" in cli("-b", old, "upgrade").err
    assert old.read_bytes() == before
    assert cli("-b", old, "upgrade", "-q").err == ""
    assert "There is no bank" in cli("-b", old.with_name("none.duckdb"), "upgrade", status=1).err
    assert not old.with_name("none.duckdb").exists()


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("update bank set format = 7",
         "{} has format 7, written by attnbank {}; this version reads format 1.\n"
         "Use the version that wrote it.\n"),
        ("alter table bank drop column changes; update bank set format = 2",
         "{} was made by an unreleased version of attnbank.\n"
         "Ingest it again into a new file (-b FILE).\n"),
        ("update bank set format = 0",
         "{} was made by an unreleased version of attnbank.\n"
         "Ingest it again into a new file (-b FILE).\n"),
    ],
    ids=["newer", "unreleased", "no migration"],
)  # fmt: skip
def test_a_bank_of_another_format_is_refused(
    change: str, message: str, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "other.duckdb"
    open_to_write(path, version()).close()
    change_bank(path, change)
    before = path.read_bytes()
    for args in (["info"], ["upgrade"]):
        assert cli("-b", path, *args, status=1).err == f"Error: {message.format(path, version())}"
    assert path.read_bytes() == before


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
    assert "Its views and analyses are now those of this version" in cli("-b", path, "upgrade").err
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("select analyses from bank").fetchall() == [
            (registry.fingerprint(),)
        ]
        assert connection.execute("from best_head(run := '')").fetchall() == []
        assert connection.execute("from my_own()").fetchall() == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            connection.execute("from gone()")


@pytest.mark.slow
def test_what_cannot_be_upgraded_stays_as_it_was(old: Path) -> None:
    change_bank(old, "alter table sentence alter index type varchar")
    of = several_runs.columns(old)
    rows, schema, installed = several_runs.rows(old, of), _schema(old), _installed(old)
    with pytest.raises(BankError, match=r"sentence\.index is VARCHAR, not INTEGER"):
        upgrade(old)
    assert (_schema(old), _installed(old)) == (schema, installed)
    assert several_runs.rows(old, of) == rows


STATEMENTS = 300
"""An upgrade from format 0 runs more statements than that."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "at",
    [
        *(1, STATEMENTS // 4, STATEMENTS // 2, STATEMENTS),
        *(
            pytest.param(at, marks=pytest.mark.soak)
            for at in range(2, STATEMENTS, STATEMENTS // 100)
        ),
    ],
)
def test_killed_anywhere_it_is_one_or_the_other(
    at: int, old: Path, forked: Forked, tmp_path: Path
) -> None:
    of = several_runs.columns(old)
    del of["bank"]
    rows, schema = several_runs.rows(old, of), _schema(old)
    killed_at(forked, at, ["-b", str(old), "upgrade"], tmp_path, several_runs.INSTALL)
    assert query_bank(old, "select format from bank") == [(0,)]
    assert (several_runs.rows(old, of), _schema(old)) == (rows, schema)
    assert upgrade(old).after == registry.FORMAT
    assert several_runs.rows(old, of) == rows
    assert [path.name for path in tmp_path.iterdir()] == ["old.duckdb"]


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


@pytest.mark.slow
def test_an_old_export_is_loaded_and_upgraded(old: Path, tmp_path: Path) -> None:
    """What an earlier export wrote: its own schema, and a load of each table by column."""
    folder, new = tmp_path / "parquet", tmp_path / "loaded.duckdb"
    folder.mkdir()
    of = several_runs.columns(old)
    with duckdb.connect(str(old), read_only=True) as connection:
        for table in of:
            connection.execute(f"copy {table} to '{folder}/{table}.parquet' (format parquet)")
    open_to_write(new, version()).close()
    with duckdb.connect(str(new)) as connection:
        connection.execute("delete from bank")  # which the export brings
        for table, names in of.items():
            columns = ", ".join(f'"{name}"' for name in names)
            connection.execute(
                f"insert into {table} ({columns})"
                f" select {columns} from read_parquet('{folder}/{table}.parquet')"
            )
    upgrade(new)
    del of["bank"]
    assert several_runs.rows(new, of) == several_runs.rows(old, of)
    with open_bank(new) as bank:
        assert bank.info().format == registry.FORMAT and bank.runs().height == 5
