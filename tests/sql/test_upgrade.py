"""`attnbank upgrade`: banks of earlier formats and versions, brought up to date."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bounds
import duckdb
import old_banks
import pytest
from case_bank import make_bank
from polars.testing import assert_frame_equal

from attnbank.cli.app import run
from attnbank.ingest import IngestOptions, ingest
from attnbank.queries import open_bank
from attnbank.sql import registry
from attnbank.sql.bank import formats
from attnbank.sql.bank.opening import open_to_read, open_to_write
from attnbank.sql.bank.upgrading import upgrade
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.provenance import version

FIGURES = (
    "from head_accuracy(run := 'test/tiny')",
    "from head_distance(run := '4')",
    "from probe_score",
    "from entropy(run := '4')",
)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return old_banks.format_1(tmp_path / "old.duckdb")


def _figures(path: Path) -> list[list[tuple[object, ...]]]:
    """What the analyses in the file say, asked without attnbank."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return [
            connection.execute(
                f"select columns(lambda name: name <> 'run') from ({each}) order by all"
            ).fetchall()
            for each in FIGURES
        ]


def _check_same(
    path: Path, found: list[list[tuple[object, ...]]], expected: list[list[tuple[object, ...]]]
) -> None:
    """Check that figures are equal: to the last bit, but for entropies.

    Their statement has changed since format 1 and adds in another order. Their terms, -p ln p, are
    never negative.
    """
    *exact, entropies = found
    *as_they_were, entropies_then = expected
    assert exact == as_they_were
    with duckdb.connect(str(path), read_only=True) as connection:
        (terms,) = connection.execute(
            "select max(n) from (select sum(len(weights)) as n from attention join sequence"
            " on sequence.id = sequence where run = 4 group by layer, head)"
        ).fetchall()[0]
    most = bounds.sums(terms)
    for row, other in zip(entropies, entropies_then, strict=True):
        for value, wanted in zip(row, other, strict=True):
            is_sum = isinstance(wanted, float)
            assert value == (pytest.approx(wanted, rel=most) if is_sum else wanted)


def _schema(path: Path) -> dict[str, tuple[str | None, dict[str, formats.Column]]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            name: (table.comment, table.columns)
            for name, table in formats.tables(connection).items()
        }


def _installed(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The views and macros of a file, with their texts and comments."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            kind: connection.execute(f"{select} order by all").fetchall()
            for kind, select in {
                "views": "select schema_name, view_name, comment, sql from duckdb_views()"
                " where not internal",
                "macros": "select schema_name, function_name, comment, macro_definition"
                " from duckdb_functions() where not internal and database_name = 'old'",
            }.items()
        }


def _format(path: Path) -> int:
    with duckdb.connect(str(path), read_only=True) as connection:
        return int(connection.execute("select format from bank").fetchall()[0][0])


@pytest.mark.parametrize(
    "args",
    [
        ["info"],
        ["query", "best_head"],
        ["sql", "select 1"],
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
    old: Path,
    sample: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(old.parent)
    before = old.read_bytes()
    given = [str(sample) if each == "CORPUS" else each for each in args]
    assert run(["-b", str(old), *given]) == 1
    told = capfd.readouterr().err
    assert f"{old} is of format 1" in told and f"attnbank -b {old} upgrade" in told
    assert old.read_bytes() == before
    assert not list(old.parent.glob("old.duckdb?*"))


def test_an_upgraded_bank_is_like_a_new_one(old: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    new = tmp_path / "new" / "old.duckdb"
    open_to_write(new, version()).close()
    of = old_banks.columns(old)
    rows, figures = old_banks.rows(old, of), _figures(old)
    done = upgrade(old)
    assert (done.before, done.after) == (1, registry.FORMAT)
    assert _schema(old) == _schema(new)
    assert _installed(old) == _installed(new)
    assert old_banks.rows(old, of, without=("bank",)) == {
        table: each for table, each in rows.items() if table != "bank"
    }
    assert all(figures)
    _check_same(old, _figures(old), figures)
    with open_bank(old) as bank:
        asked = bank.query("head_accuracy", run="test/tiny").sort(by=["layer"]).height
        assert asked == len(figures[0])
        assert bank.info().format == registry.FORMAT
    assert open_to_read(old).execute("select count(*) from run").fetchone() == (5,)


def test_it_says_what_it_did(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-b", str(old), "upgrade"]) == 0
    told = capsys.readouterr().err
    assert f"{old} is of format {registry.FORMAT} now; it was of format 1" in told
    before = old.read_bytes()
    assert run(["-b", str(old), "upgrade"]) == 0
    assert "is up to date" in capsys.readouterr().err
    assert old.read_bytes() == before
    assert run(["-b", str(old), "upgrade", "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["-b", str(old.with_name("none.duckdb")), "upgrade"]) == 1
    assert "There is no bank" in capsys.readouterr().err
    assert not old.with_name("none.duckdb").exists()


def test_a_bank_older_than_its_number_is_completed(old: Path, tmp_path: Path) -> None:
    """Columns and tables came into format 1 over time, without a new number."""
    new = tmp_path / "new.duckdb"
    open_to_write(new, version()).close()
    with duckdb.connect(str(old)) as connection:
        connection.execute("drop view paper.figure_6")
        for statement in (
            "alter table sentence drop column paragraph",
            "alter table document drop column split",
            "drop table gradient",
            "drop table word_frequency",
            "create table mine as select 1 as run",
            "comment on column word.lemma is 'Something else.'",
        ):
            connection.execute(statement)
    done = upgrade(old)
    assert {"sentence.paragraph", "document.split", "gradient", "word_frequency"} <= {*done.added}
    assert "mine" not in done.added
    upgraded = _schema(old)
    del upgraded["mine"]  # a table of the user's own stays
    assert upgraded == _schema(new)
    with open_bank(old) as bank:
        with pytest.raises(CallError, match="without --gradients"):  # they were in the table
            bank.query("gradient_importance", run="4")
        assert bank.query("figure_6") is not None


def test_a_bank_of_this_format_that_lacks_a_column_is_completed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.duckdb"
    open_to_write(path, version()).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("alter table sequence drop column document")
        connection.execute("update bank set analyses = 'another version'")
    assert run(["-b", str(path), "info"]) == 1
    told = capsys.readouterr().err
    assert "fault of attnbank" not in told and f"attnbank -b {path} upgrade" in told
    assert upgrade(path).added == ("sequence.document",)
    assert run(["-b", str(path), "info"]) == 0


@pytest.mark.slow
def test_a_bank_made_before_metadata_was_kept(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    """Its sentences have none after an upgrade, and another run reads them as they are."""
    path = tmp_path / "before.duckdb"
    text, model = (str(sample / "conversations.conllu"),), str(tiny_model("bert"))
    ingest(IngestOptions(text, path, model, limit=4))
    with duckdb.connect(str(path)) as connection:
        connection.execute("alter table sentence drop column metadata")
        connection.execute("update bank set format = 2")
    done = upgrade(path)
    assert (done.before, done.added) == (2, ("sentence.metadata",))
    ingest(IngestOptions(text, path, model, limit=4, decimals=3))
    with duckdb.connect(str(path), read_only=True) as connection:
        said = connection.execute("select distinct metadata from sentence").fetchall()
        runs = connection.execute("select count(*) from run").fetchall()
    assert (said, runs) == ([(None,)], [(2,)])


def test_a_newer_format_is_told_from_an_older_one(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(old)) as connection:
        connection.execute("update bank set format = ?", [registry.FORMAT + 1])
    before = old.read_bytes()
    for args in (["info"], ["upgrade"]):
        assert run(["-b", str(old), *args]) == 1
        told = capsys.readouterr().err
        assert "newer attnbank" in told and " upgrade" not in told
    assert old.read_bytes() == before


def test_other_analyses_alone_are_brought_up_to_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bank.duckdb"
    open_to_write(path, version()).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("create or replace macro best_head() as table select 'old' as told")
        connection.execute("create macro _gone(p) as table select p as told")
        connection.execute(
            "comment on macro table _gone is 'The statement of gone, with every parameter given.'"
        )
        connection.execute("create macro gone(p := 1) as table from _gone(p)")
        connection.execute("create macro my_own() as table select 1 as told")
        connection.execute("update bank set analyses = 'another version'")
    assert run(["-b", str(path), "upgrade"]) == 0
    assert "Its views and analyses are this version's now" in capsys.readouterr().err
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("select analyses from bank").fetchall() == [
            (formats.fingerprint(),)
        ]
        assert connection.execute("from best_head(run := '')").fetchall() == []
        assert connection.execute("from my_own()").fetchall() == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            connection.execute("from gone()")


def test_what_cannot_be_upgraded_stays_as_it_was(old: Path) -> None:
    with duckdb.connect(str(old)) as connection:
        connection.execute("alter table sentence alter index type varchar")
    of = old_banks.columns(old)
    rows, schema, installed = old_banks.rows(old, of), _schema(old), _installed(old)
    with pytest.raises(BankError, match=r"sentence\.index is VARCHAR, and INTEGER"):
        upgrade(old)
    assert (_schema(old), _installed(old)) == (schema, installed)
    assert old_banks.rows(old, of) == rows


CHILD = """
import sys
from attnbank.sql.bank import upgrading
print("begun", flush=True)
upgrading.upgrade(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6])
def test_a_killed_upgrade_leaves_one_or_the_other(seconds: float, old: Path) -> None:
    of = old_banks.columns(old)
    del of["bank"]
    rows, schema = old_banks.rows(old, of), _schema(old)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(old)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    if _format(old) == 1:
        assert _schema(old) == schema
    assert old_banks.rows(old, of) == rows
    upgrade(old)
    assert old_banks.rows(old, of) == rows
    assert sorted(each.name for each in old.parent.iterdir()) == ["old.duckdb"]


def test_a_step_runs_on_banks_older_than_their_number() -> None:
    """A table may be missing, a column there already: a step says `if exists`, `if not exists`."""
    import sqlglot
    from sqlglot import expressions

    for step in range(2, registry.FORMAT + 1):
        for statement in sqlglot.parse(registry.migration(step), dialect="duckdb"):
            if isinstance(statement, expressions.Alter):
                assert statement.args["exists"], f"alter table if exists ...: {statement.sql()}"
                for action in statement.args["actions"]:
                    if isinstance(action, expressions.ColumnDef):
                        assert action.args["exists"], f"add column if not exists: {action.sql()}"


@pytest.fixture
def other_version(tmp_path: Path) -> Path:
    """A bank whose best_head and table_1 are another version's, and say so."""
    words = "id,sentence,index,form,head_index\n1,1,1,Rain,0\n"
    path = make_bank(tmp_path / "other.duckdb", {"word": words})
    with duckdb.connect(str(path)) as connection:
        connection.execute("create or replace macro best_head() as table select 'old' as relation")
        connection.execute("create or replace view paper.table_1 as select 'old' as relation")
        connection.execute("update bank set analyses = 'another version'")
    return path


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
    args: list[str], other_version: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["-b", str(other_version), *args]) == 1
    told = capfd.readouterr()
    assert "old" not in told.out
    assert "carries the analyses of another version" in told.err
    assert f"attnbank -b {other_version} upgrade" in told.err
    assert run(["-b", str(other_version), "sql", "from best_head()", "-f", "csv"]) == 0
    assert "old" not in capfd.readouterr().out  # this version's, in memory
    with open_bank(other_version) as bank:
        assert_frame_equal(bank.table("table_1").collect(), bank.query("table_1"))
    assert run(["-b", str(other_version), "upgrade"]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "attnbank.cli", "-b", str(other_version), *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0 and "old" not in done.stdout


@pytest.mark.slow
def test_an_old_export_is_loaded_and_upgraded(old: Path, tmp_path: Path) -> None:
    """What format 1's export wrote: its own schema, and a load of each table by column."""
    folder, new = tmp_path / "parquet", tmp_path / "loaded.duckdb"
    folder.mkdir()
    of = old_banks.columns(old)
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
    assert old_banks.rows(new, of) == old_banks.rows(old, of)
    with open_bank(new) as bank:
        assert bank.info().format == registry.FORMAT and bank.runs().height == 5
