"""Answers that `attnbank compute` keeps: the same rows, given again only while they hold."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from bank_factory import BankFactory
from bank_rows import change_bank, query_bank
from command_line import Cli, run_python
from polars.testing import assert_frame_equal

from attnbank.cli.app import run_command_line
from attnbank.ingest.derived.cached_answers import cache_answers, compute_and_cache
from attnbank.ingest.derived.computations import STEPS
from attnbank.ingest.store.deleting import delete, unset_default_runs
from attnbank.ingest.store.saved import SavedRelation, save_pairs
from attnbank.queries import open_bank
from attnbank.sql import answer_cache, registry
from attnbank.sql.errors import CallError
from attnbank.sql.export_format import export
from attnbank.sql.registry import all_analyses, analyses


@pytest.fixture(scope="module")
def read(few: Path, bank_of: BankFactory) -> Path:
    """A bank of two runs, over sentences and over documents, without an answer."""
    return bank_of(few, after=bank_of(few), context="document")


@pytest.fixture
def bank(read: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(read, tmp_path / "bank.duckdb"))


@pytest.fixture(scope="module")
def whole(full_bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank in which every answer that can be had is kept (do not write into it)."""
    bank = tmp_path_factory.mktemp("kept") / "bank.duckdb"
    shutil.copy(full_bank, bank)
    assert run_command_line(["-b", str(bank), "compute", "--all", "-q"]) == 0
    return bank


@pytest.fixture
def own(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "bank.duckdb"))


ROOT = Path(__file__).resolve().parents[2]
ASK = """
import sys
from attnbank.queries import open_bank
with open_bank(sys.argv[1]) as bank:
    print(*bank.query("best_head")["n"], "" if bank.cached("best_head") is None else "kept")
"""


def test_they_hold_for_this_version_and_this_text(
    bank: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """Forged rows are given while they hold: not to a version with another statement, nor run."""
    cli("-b", bank, "compute", "best_head", "-q")
    with open_bank(bank) as opened:
        rows = opened.query("best_head")
        other = next(run for run in opened.runs()["name"] if "document" in run)
    _forge(bank, rows.with_columns(n=pl.lit(77, pl.Int64)))
    with open_bank(bank) as opened:
        assert opened.cached("entropy") is None
        assert opened.query("best_head")["n"].unique().to_list() == [77]
        assert (
            opened.cached("best_head", min_count=1) is opened.cached("best_head", run=other) is None
        )
        run = opened.run_of("best_head")
        assert run is not None  # the same run by its id, and a default that is written out
        assert opened.query("best_head", run=run.id)["n"].unique().to_list() == [77]
        assert opened.query("best_head", subtypes=False)["n"].unique().to_list() == [77]
        assert opened.query("best_head", subtypes=True)["n"].n_unique() > 1  # another question
        assert opened.answer("best_head", fresh=True).rows.equals(rows)
    with monkeypatch.context() as patch:
        statement = registry.shared()["pair_hit"]
        changed = replace(statement, body=statement.body.replace("ratio(", "1.0 * ratio(", 1))
        assert changed != statement
        patch.setitem(registry.shared(), "pair_hit", changed)
        registry.fingerprint.cache_clear()
        with open_bank(bank) as opened:
            assert opened.query("best_head").equals(rows)
    registry.fingerprint.cache_clear()
    with open_bank(bank) as opened:
        assert opened.query("best_head")["n"].unique().to_list() == [77]


@pytest.mark.slow
def test_they_hold_for_another_copy_of_this_version(bank: Path, tmp_path: Path, cli: Cli) -> None:
    """The package again, as it is and then with another statement in one of its files."""
    cli("-b", bank, "compute", "best_head", "-q")
    with open_bank(bank) as opened:
        rows = opened.query("best_head")
    _forge(bank, rows.with_columns(n=pl.lit(77, pl.Int64)))
    copy = tmp_path / "attnbank"
    shutil.copytree(ROOT / ".src" / "attnbank", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shared = copy / "sql" / "shared" / "pair_hit.sql"
    assert set(_asked(bank, tmp_path)) == {"77", "kept"}
    shared.write_text(shared.read_text().replace("ratio(", "1.0 * ratio(", 1))
    assert _asked(bank, tmp_path) == [*map(str, rows["n"])]


def _asked(bank: Path, package: Path) -> list[str]:
    """What the package in a folder answers, in a process of its own."""
    done = run_python("-c", ASK, bank, env={"PYTHONPATH": str(package)})
    assert not done.returncode, done.stderr
    return done.stdout.split()


def _forge(bank: Path, rows: pl.DataFrame) -> None:
    from attnbank.queries.results import to_ipc

    with duckdb.connect(str(bank)) as connection:
        connection.execute(
            "update kept.result set answer = ? where analysis = 'best_head'", [to_ipc(rows)]
        )


def _stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def test_an_answer_that_compute_did_not_make_is_not_read(bank: Path) -> None:
    """Compressed, of other columns or types, of other rows, or no answer at all."""
    assert compute_and_cache(bank, "best_head", {}, replace=False) is not None
    with open_bank(bank) as opened:
        rows = opened.query("best_head").to_arrow()
    columns = {name: rows.column(name) for name in rows.column_names}
    places = pa.array(range(len(rows)))
    forged = {
        "as it is": _stream(rows),
        "compressed": _stream(rows, "zstd"),
        "a dictionary": _stream(
            pa.table(columns | {"relation": rows["relation"].dictionary_encode()})
        ),
        "other columns": _stream(rows.rename_columns([f"x{name}" for name in rows.column_names])),
        "a struct": _stream(pa.table(columns | {"n": pa.StructArray.from_arrays([places], ["x"])})),
        "a list": _stream(pa.table(columns | {"n": pa.array([[1]] * len(rows))})),
        "bytes": _stream(
            pa.table(columns | {"relation": rows["relation"].cast(pa.large_binary())})
        ),
        "a wide decimal": _stream(pa.table(columns | {"n": places.cast(pa.decimal256(60, 0))})),
        "fewer rows": _stream(rows.slice(1)),
        "half": _stream(rows)[:200],
        "no bytes": b"",
        "other bytes": b"\xff" * 1000,
    }
    for what, answer in forged.items():
        with duckdb.connect(str(bank)) as connection:
            connection.execute("update kept.result set answer = ?", [answer])
        assert _is_cached(bank) == (what == "as it is"), what


@pytest.mark.parametrize("change", [
    "update kept.result set finished = 'infinity'",
    "update kept.result set seconds = 'nan'",
    "alter table kept.result add column more integer default 1",
    "alter table kept.result rename to old;"
    " create table kept.result (question varchar, state varchar, analysis varchar,"
    " run integer, row_count bigint, answer blob, seconds double generated always"
    " as (1.0) virtual, code_version varchar, finished timestamp);"
    " insert into kept.result select * exclude (seconds) from kept.old",
])  # fmt: skip
def test_answers_in_another_table_are_not_read(bank: Path, change: str) -> None:
    assert compute_and_cache(bank, "best_head", {}, replace=False) is not None
    assert _is_cached(bank)
    with duckdb.connect(str(bank)) as connection:
        connection.execute(change)
    assert not _is_cached(bank)


def _is_cached(bank: Path) -> bool:
    with open_bank(bank) as opened:
        return opened.cached("best_head") is not None


@pytest.mark.slow
def test_the_rows_are_those_that_are_computed(whole: Path) -> None:
    with open_bank(whole) as bank:
        for name, analysis in analyses().items():
            computed = bank.answer(name, fresh=True).rows
            assert computed.columns == [column.name for column in analysis.columns]
            assert computed.height > 0 or name == "figure_5", name  # the weights are random
            if name in STEPS:
                continue
            answer = bank.answer(name)
            assert answer.cached is not None, name
            assert answer.rows.equals(answer.cached.rows)
            # Sums of weights depend on the order in which threads come to them.
            assert_frame_equal(answer.rows, computed, rel_tol=1e-12, abs_tol=1e-15)


def test_an_answer_holds_until_the_bank_changes(bank: Path) -> None:
    def is_cached(**values: Any) -> bool:
        with open_bank(bank) as opened:
            return opened.cached("best_head", **values) is not None

    def cache_it(**values: Any) -> None:
        assert compute_and_cache(bank, "best_head", values, replace=False) is not None
        assert is_cached(**values)

    with open_bank(bank) as opened:
        pairs, statement, _ = opened.pairs("pattern { V -[obj]-> O }", dependent="O", head="V")
    relation = SavedRelation("objects", "pattern { V -[obj]-> O }", "O", "V", None, statement)
    save_pairs(bank, relation, pairs.to_arrow())
    cache_it()
    cache_it(relation="objects")
    assert is_cached()
    fewer: Any = pairs.sort("word").head(2).to_arrow()
    save_pairs(bank, relation, fewer, replace=True)
    assert not is_cached() and not is_cached(relation="objects")
    cache_it(relation="objects")
    with duckdb.connect(str(bank)) as connection:
        (count,) = connection.execute("select count(*) from kept.result").fetchall()
        assert count == (1,)  # those that no longer hold are gone
        connection.execute("insert into word_frequency values ('the', 7)")  # as users do
    assert not is_cached(relation="objects")


def test_an_answer_to_an_earlier_bank_is_not_cached(bank: Path) -> None:
    """Another process changes the bank while the answer is computed."""
    answer = compute_and_cache(bank, "best_head", {}, replace=False)
    assert answer is not None
    unset_default_runs(bank)
    cache_answers(bank, [answer])
    with open_bank(bank) as opened:
        assert opened.cached("best_head") is None


@pytest.mark.slow
def test_they_go_with_their_run_and_are_not_exported(own: Path, tmp_path: Path) -> None:
    with open_bank(own) as bank:
        run_of = bank.run_of("best_head")
        folder = tmp_path / "export"
        export(bank.path, folder)
    assert run_of is not None
    assert not [path for path in folder.rglob("*") if "kept" in path.name]
    done = delete(own, [run_of.name])
    assert done.rows["kept.result"] > 0
    rows = query_bank(own, "select distinct run from kept.result")
    assert rows and (run_of.id,) not in rows


@pytest.mark.slow
def test_a_changed_analysis_is_asked_anew(own: Path, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "queries"
    folder.mkdir()
    text = "-- title: Words\n-- grain: one row\n-- column n bigint: words\nselect {} as n from word"
    (folder / "word_count.sql").write_text(text.format("count(*)"))
    args = ["-b", str(own), "compute", "--queries", str(folder), "word_count"]
    cli(*args)
    try:
        with open_bank(own) as bank:
            words = bank.query("word_count")
            assert bank.cached("word_count") is not None
        registry.user_analyses.clear()
        file = folder / "word_count.sql"
        file.write_text(text.format("2 * count(*)"))
        os.utime(file, (0, 0))
        with open_bank(own, queries=folder) as bank:
            assert bank.cached("word_count") is None
            assert bank.query("word_count")["n"][0] == 2 * words["n"][0]
    finally:
        registry.user_analyses.clear()
    with duckdb.connect(str(own)) as connection:  # another version of attnbank has kept it
        connection.execute("update kept.result set state = 'x' where analysis = 'best_head'")
    with open_bank(own) as bank:
        assert bank.cached("best_head") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "update kept.result set answer = 'x'::blob",
        "update kept.result set answer = ''::blob",
        "update kept.result set answer = answer[:200]",
        "update kept.result set row_count = row_count + 1",
        "update kept.result as one set answer = (select answer from kept.result where analysis ="
        " 'entropy')",
        "drop table kept.result; create view kept.result as select 1 as analysis",
        "alter table kept.result drop column state",
    ],
)
def test_what_cannot_be_read_was_not_kept(own: Path, statement: str) -> None:
    with open_bank(own) as bank:
        rows = bank.answer("best_head", fresh=True).rows
    change_bank(own, statement)
    with open_bank(own) as bank:
        assert bank.cached("best_head") is None
        assert bank.query("best_head").equals(rows)


@pytest.mark.slow
def test_the_commands_say_what_was_kept(own: Path, cli: Cli) -> None:
    args = ["-b", str(own)]
    assert "; cached on 20" in cli(*args, "query", "best_head").out.splitlines()[0]
    assert "kept" not in cli(*args, "query", "best_head", "--fresh").out
    file = str(own.with_name("picture.json"))
    assert "Its rows were cached on 20" in cli(*args, "plot", "best_head", "-o", file).err
    assert not cli(*args, "plot", "best_head", "-o", file, "--fresh").err
    page = own.with_name("report.html")
    for fresh in ([], ["--fresh"]):
        cli(*args, "report", "-q", "-o", page, *fresh)
        assert ("Rows cached on 20" in page.read_text(encoding="utf-8")) == (not fresh)
    assert "already has" in cli(*args, "compute", "best_head").err
    assert "rows of best_head in the bank" in cli(*args, "compute", "best_head", "--subtypes").err
    assert "There is no run none" in cli(*args, "compute", "--all", "--run", "none", status=2).err
    cli(*args, "compute", "--all", "best_head", status=2)
    assert "best_head" in cli(*args, "compute", "best_heads", status=2).err


@pytest.mark.slow
def test_a_reason_is_told_once_for_all_analyses(
    few: Path, tmp_path: Path, cli: Cli, bank_of: BankFactory
) -> None:
    press = few / "press.conllu"
    bank = bank_of(press, after=bank_of(press), subword="first", to=tmp_path)
    printed = cli("-b", bank, "compute", "--all")
    lines = (printed.out + printed.err).splitlines()
    lines = [line for line in lines if line.startswith("Skipped")]
    at = f"Skipped: No run in {bank} is suitable for"
    runs = "press/tiny-bert, press/tiny-bert/first"
    assert {
        f"{at} head_history, head_onset, relation_history: {runs} (each: its model is not known to"
        " be a checkpoint of a training)",
        f"{at} agreement_accuracy, minimal_pair: {runs} (each: it has no minimal pairs)",
        f"{at} head_ablation: {runs} (each: it was ingested without --ablate)",
        "Skipped: table_3, probe_accuracy, probe_heads (The bank has no probe)",
    } <= {*lines}
    about = re.findall(r"\b(?:" + "|".join(all_analyses()) + r")\b", " ".join(lines))
    assert len(about) == len({*about})


def test_a_long_answer_is_not_kept(read: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MOST_BYTES", 1_000)
    with pytest.raises(CallError, match="the limit is 1,000"):
        compute_and_cache(read, "head_accuracy", {"subtypes": True}, replace=False)
    with open_bank(read) as bank:
        assert bank.cached("head_accuracy", subtypes=True) is None
