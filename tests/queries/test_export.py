"""A bank as Parquet, and back into a bank with nothing but a DuckDB shell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest
from bank_rows import change_bank, query_bank
from case_bank import make_bank
from command_line import Cli
from polars.testing import assert_frame_equal
from two_runs import SECOND, TWO_RUNS

from attnbank.queries import Bank, open_bank
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.export_format import export
from attnbank.sql.names import literal, quoted
from attnbank.sql.run_choice import find_run


@pytest.fixture
def two_runs(tmp_path: Path) -> Iterator[Bank]:
    with open_bank(make_bank(tmp_path / "two.duckdb", TWO_RUNS)) as opened:
        yield opened


def _shells() -> list[object]:
    beside = Path(sys.executable).parent / "duckdb"
    found = str(beside) if beside.exists() else shutil.which("duckdb")
    missing = pytest.mark.skip(reason="the DuckDB shell (pip install duckdb-cli) is not installed")
    return [
        pytest.param("", id="python"),
        pytest.param(found, id="shell", marks=[] if found else [missing]),
    ]


def _load(folder: Path, new: Path, shell: str) -> None:
    """Make a bank of an export, as load.sql says."""
    if shell:
        done = subprocess.run(
            [shell, str(new), "-c", ".read schema.sql", "-c", ".read load.sql"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 and not done.stderr, done.stderr
        return
    with duckdb.connect(str(new)) as connection:
        connection.execute(f"set file_search_path = '{folder}'")
        for name in ("schema.sql", "load.sql"):
            connection.execute((folder / name).read_text())


def _rows(bank: Bank, table: str) -> pl.DataFrame:
    return bank.sql(f"select * from {table} order by all")


@pytest.mark.slow
@pytest.mark.parametrize("shell", _shells())
def test_an_export_makes_the_same_bank_again(shell: str, full_bank: Path, tmp_path: Path) -> None:
    folder, new = tmp_path / "parquet", tmp_path / "new.duckdb"
    with open_bank(full_bank) as old:
        export(old.path, folder)
        _load(folder, new, shell)
        with open_bank(new) as made:
            assert made.info().tables.equals(old.info().tables)
            for table in old.info().tables["table"]:
                assert_frame_equal(_rows(made, table), _rows(old, table))
            said = made.sql("select metadata['speaker'] as speaker from sentence").drop_nulls()
            assert {"Mira", "Clerk"} <= {*said["speaker"]}
            assert made.query("best_head").equals(old.query("best_head"))
            assert made.query("table_1").equals(old.query("table_1"))
            assert made.schema().equals(old.schema())
            assert made.schema("attention").equals(old.schema("attention"))


@pytest.mark.slow
def test_big_tables_are_divided_by_run(two_runs: Bank, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    written = export(two_runs.path, folder)
    assert sorted(written) == sorted(path for path in folder.rglob("*") if path.is_file())
    for table in ("attention", "gradient", "peak", "position"):
        for number, sequence in ((1, 1), (2, SECOND)):
            rows = pl.read_parquet(folder / table / f"run={number}" / "rows.parquet")
            assert rows["sequence"].unique().to_list() in ([sequence], [])
    parts = f"{folder}/attention/*/*.parquet"
    with duckdb.connect() as connection:
        by_hive = connection.execute(f"select run, count(*) from '{parts}' group by run").fetchall()
        encodings = connection.execute(
            f"select distinct file_name, encodings from parquet_metadata('{parts}')"
            " where path_in_schema like 'weights%'"
        ).fetchall()
    assert sorted(by_hive) == [(1, 2), (2, 1)]
    assert len(encodings) == 2
    assert not any("BYTE_STREAM" in each for name, each in encodings if "run=2" in name)


def test_a_run_that_is_named_like_the_id_of_another(tmp_path: Path) -> None:
    runs = TWO_RUNS["run"].replace("1,one/m", "1,2")
    path = make_bank(tmp_path / "two.duckdb", TWO_RUNS | {"run": runs})
    with open_bank(path) as bank:
        assert find_run(bank.connection, path, "2") == (1, "2")
        assert find_run(bank.connection, path, 1) == (1, "2")


def test_one_run_goes_with_its_corpus_and_model(two_runs: Bank, tmp_path: Path) -> None:
    folder, new = tmp_path / "parquet", tmp_path / "one.duckdb"
    export(two_runs.path, folder, run="two/n")
    _load(folder, new, "")
    with open_bank(new) as made:
        for table in ("corpus", "model", "run"):
            assert _rows(made, table)["id"].to_list() == [2], table
        for table in ("document", "sentence", "word", "sequence"):
            assert _rows(made, table)["id"].to_list() == [SECOND], table
        assert _rows(made, "attention")["sequence"].to_list() == [SECOND]
        assert _rows(made, "skipped")["reason"].to_list() == ["too-long"]
        assert _rows(made, "head_embedding")["run"].to_list() == [2]
    with pytest.raises(CallError, match=r"no run two .*\nDid you mean two/n"):
        export(two_runs.path, tmp_path / "other", run="two")


@pytest.mark.slow
def test_a_bank_without_runs_is_exported_too(tmp_path: Path) -> None:
    path = make_bank(tmp_path / "bare.duckdb", {"run": "id,name\n"})
    with open_bank(path) as bare:
        export(bare.path, tmp_path / "parquet")
    _load(tmp_path / "parquet", tmp_path / "again.duckdb", "")
    with open_bank(tmp_path / "again.duckdb") as again:
        assert again.runs().height == 0 and again.info().corpora.height == 1


@pytest.mark.slow
def test_a_folder_with_files_is_refused_unless_forced(
    two_runs: Bank, tmp_path: Path, cli: Cli
) -> None:
    folder = tmp_path / "it's here"  # a quote in the path
    args = ["-b", str(two_runs.path), "export", str(folder)]
    assert "Wrote " in cli(*args).err
    (folder / "mine.txt").write_text("mine")
    assert "is not empty" in cli(*args, status=2).err
    assert cli(*args, "--force", "--run", "1", "--quiet").err == ""
    assert not list(folder.glob("*/run=2/*"))  # nothing of the earlier export is left to be loaded
    assert (folder / "mine.txt").read_text() == "mine"
    cli(*args[:-1], two_runs.path, status=2)  # a file


@pytest.mark.slow
@pytest.mark.parametrize("shell", _shells())
@pytest.mark.parametrize("what", ["schema and load", "load"])
def test_a_bank_that_is_not_empty_is_left_as_it_is(
    shell: str, what: str, two_runs: Bank, tmp_path: Path
) -> None:
    folder = tmp_path / "parquet"
    export(two_runs.path, folder)
    new = make_bank(tmp_path / "mine.duckdb", {"word": "id,form\n1,mine\n"})
    scripts = ["schema.sql", "load.sql"] if what != "load" else ["load.sql"]
    with open_bank(new) as bank:
        before = {table: _rows(bank, table) for table in bank.info().tables["table"]}
    with duckdb.connect(str(new)) as connection:  # an analysis that load must not replace either
        connection.execute("create or replace macro best_head() as table select 'mine' as told")
    if shell:
        reads = [part for script in scripts for part in ("-c", f".read {script}")]
        for _ in range(2):
            done = subprocess.run(
                [shell, str(new), *reads], cwd=folder, capture_output=True, text=True
            )
            assert done.returncode != 0 and done.stderr
            assert what != "load" or "holds rows already, and nothing was loaded" in done.stderr
        typed = "".join(f".read {script}\n" for script in scripts)  # goes on after an error
        subprocess.run(
            [shell, str(new)], cwd=folder, input=typed, capture_output=True, text=True, check=False
        )
    else:
        with duckdb.connect(str(new)) as connection:
            connection.execute(f"set file_search_path = '{folder}'")
            for name in scripts:
                with pytest.raises(duckdb.Error):
                    connection.execute((folder / name).read_text())
    with open_bank(new) as bank:
        for table, rows in before.items():
            assert_frame_equal(_rows(bank, table), rows)
    assert query_bank(new, "from best_head()") == [("mine",)]


@pytest.mark.slow
def test_a_load_that_fails_loads_nothing(two_runs: Bank, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    export(two_runs.path, folder)
    (folder / "word.parquet").write_bytes(b"no Parquet")
    with duckdb.connect(str(tmp_path / "new.duckdb")) as connection:
        connection.execute(f"set file_search_path = '{folder}'")
        connection.execute((folder / "schema.sql").read_text())
        with pytest.raises(duckdb.Error, match=r"word\.parquet"):
            connection.execute((folder / "load.sql").read_text())
        connection.execute("rollback")
        for table in ("bank", "corpus", "document", "run", "attention"):
            assert connection.execute(f"select count(*) from {table}").fetchone() == (0,), table


@pytest.mark.slow
def test_probes_of_other_runs_stay_behind(full_bank: Path, tmp_path: Path) -> None:
    with open_bank(full_bank) as bank:
        probe = bank.sql("select train_run, test_run from probe").row(0)
        assert probe == (1, 3)
        export(bank.path, tmp_path / "one", run="3")
        export(bank.path, tmp_path / "all")
    for table in ("probe", "probe_score", "probe_weight"):
        assert pl.read_parquet(tmp_path / "one" / f"{table}.parquet").height == 0, table
        assert pl.read_parquet(tmp_path / "all" / f"{table}.parquet").height > 0, table


HOSTILE = "bank limit 0; copy (select 1) to 'stolen.csv'; select * from bank"


@pytest.mark.few(4)
@pytest.mark.slow
@pytest.mark.parametrize("shell", _shells())
@pytest.mark.parametrize(
    "name", ["my table", HOSTILE, 'a"b', "it's", "..", "../up", "x/y", "*", "ß" * 200, "CON"]
)
def test_a_table_of_any_name_is_exported_and_loaded(
    shell: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is data: in statements, in the names of files and in load.sql."""
    monkeypatch.chdir(tmp_path)
    path = make_bank(tmp_path / "two.duckdb", TWO_RUNS)
    columns = f"sequence bigint, {quoted(name + ' column')} decimal(4, 1)[]"
    change_bank(
        path,
        f"create table {quoted(name)} ({columns})",
        f"insert into {quoted(name)} values (1, [1.5]), ({SECOND}, null)",
        "create schema mine",
        f"create table mine.{quoted(name)} as select {literal(name)} as x",
        f"alter table word add column {quoted(name)} varchar",
        f"update word set {quoted(name)} = 'own'",
    )
    with open_bank(path) as bank:
        export(bank.path, tmp_path / "parquet")
    _load(tmp_path / "parquet", tmp_path / "new.duckdb", shell)
    found, types = [], []
    for each in (path, tmp_path / "new.duckdb"):
        with duckdb.connect(str(each), read_only=True) as connection:
            found.append(
                [
                    connection.query(f"from {place} order by all").fetchall()
                    for place in (quoted(name), f"mine.{quoted(name)}", "word")
                ]
            )
            types.append(connection.query(f"from {quoted(name)}").types)
    assert types[0] == types[1] and found[0] == found[1] and found[0][0]
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "new.duckdb", "parquet", "two.duckdb",
    ]  # fmt: skip


@pytest.mark.slow
def test_cells_that_no_export_has_room_for_are_told(tmp_path: Path) -> None:
    path = make_bank(tmp_path / "wide.duckdb", TWO_RUNS)
    change_bank(
        path,
        "create table wide as select repeat(md5(cast(number as varchar)), 31250) as text"
        " from range(2048) as made(number)",
    )
    with open_bank(path) as bank, pytest.raises(BankError, match="need more memory than an export"):
        export(bank.path, tmp_path / "parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["wide.duckdb"]
