"""--provenance: a file that a command writes says what made it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from bank_rows import change_bank
from case_bank import make_bank
from command_line import Cli
from two_runs import TWO_RUNS

from attnbank.ingest import import_export
from attnbank.sql import provenance
from attnbank.sql.provenance import ENDING, digest_text
from attnbank.sql.registry import find_analysis


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_bank(tmp_path_factory.mktemp("told") / "bank.duckdb", TWO_RUNS)
    change_bank(
        path,
        "update corpus set sha256 = 'c' || id, shard = '1/2' where id = 2",
        "update model set sha256 = 'm' || id",
        "update word set head_index = 0, deprel = 'root'",
    )
    return path


def _beside(file: Path) -> dict[str, Any]:
    """What stands beside a file, after checking that it is about this very file."""
    read: dict[str, Any] = json.loads(file.with_name(f"{file.name}{ENDING}").read_text())
    content = file.read_bytes()
    own = {"name": file.name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert read["file"] == own
    return read


def _inside(file: Path) -> dict[str, Any]:
    """What the metadata of a Parquet file say, as DuckDB reads them."""
    ((value,),) = duckdb.execute(
        "select decode(value) from parquet_kv_metadata(?) where decode(key) = 'attnbank'",
        [str(file)],
    ).fetchall()
    read: dict[str, Any] = json.loads(value)
    return read


def test_options_that_are_zero_are_told(bank: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "hits.csv"
    cli("-b", bank, "find", "pattern { A [] }", "--seed", 0, "-o", file, "--provenance")
    options = _beside(file)["options"]
    assert options["seed"] == 0 and type(options["seed"]) is int
    assert not {None, False} & {value for value in options.values() if type(value) is not int}


@pytest.mark.slow
def test_rows_as_text_have_a_file_beside_them(bank: Path, tmp_path: Path, cli: Cli) -> None:
    for ending in ("csv", "tsv", "json", "jsonl", "txt", "md", "tex"):
        file = tmp_path / f"rows.{ending}"
        args = ["query", "entropy", "--run", "2", "-o", str(file), "--provenance"]
        cli("-b", bank, *args)
        told = _beside(file)
        assert told["attnbank"] == provenance.version() and told["bank"] == str(bank)
        assert told["command"] == "attnbank query entropy" and told["analysis"] == "entropy"
        assert told["parameters"]["run"] == "2" and told["made"].endswith("Z")
        own = told["run"]
        assert own["run"] == "two/n" and own["corpus_shard"] == "1/2"
        assert (own["model_sha256"], own["corpus_sha256"]) == ("m2", "c2")
        assert told["statement_sha256"] == digest_text(find_analysis("entropy").text)
        assert told["libraries"].keys() >= {"python", "duckdb"}
    assert len([*tmp_path.iterdir()]) == 14


def test_parquet_says_it_in_its_metadata(bank: Path, tmp_path: Path, cli: Cli) -> None:
    plain, told = tmp_path / "plain.parquet", tmp_path / "told.parquet"
    cli("-b", bank, "query", "entropy", "--run", "1", "-o", plain)
    args = ["query", "entropy", "--run", "1", "-o", str(told), "--provenance"]
    cli("-b", bank, *args)
    assert _inside(told)["run"]["corpus"] == "one"
    assert pq.read_table(told).equals(pq.read_table(plain))
    assert b"attnbank" not in (pq.read_schema(plain).metadata or {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain.parquet", "told.parquet"]


@pytest.mark.slow
def test_requests_and_statements_are_told(bank: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "rows.csv"
    request = "pattern { A [] }"
    for args in (["find", request], ["count", request, "--by", "A.form"]):
        cli("-b", bank, *args, "-o", file, "--provenance")
        told = _beside(file)
        assert told["request"] == request and len(told["statement_sha256"]) == 64
        assert told["command"] == f"attnbank {args[0]}"
    select = "select form, 'it''s \u05d0' as x from word"
    cli("-b", bank, "sql", select, "-o", file, "--provenance")
    assert _beside(file)["options"]["statement"] == select


@pytest.mark.slow
def test_an_export_says_it_in_every_file(bank: Path, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "parquet"
    cli("-b", bank, "export", folder, "--provenance", "-q")
    files = [*folder.rglob("*.parquet")]
    assert len(files) > 25
    for file in files:
        told = _inside(file)
        assert [run["run"] for run in told["runs"]] == ["one/m", "two/n"]
        assert told["bank"] == str(bank)
    import_export(folder, tmp_path / "new.duckdb")
    cli("-b", bank, "export", tmp_path / "plain", "-q")
    metadata = "select count(*) from parquet_kv_metadata(?)"
    counted = duckdb.execute(metadata, [str(tmp_path / "plain" / "word.parquet")]).fetchall()
    assert counted == [(0,)]


@pytest.mark.parametrize("given", [[], ["-o", "-"]])
def test_without_a_file_there_is_nothing_to_say(given: list[str], bank: Path, cli: Cli) -> None:
    err = cli("-b", bank, "query", "entropy", *given, "--provenance", status=2).err
    assert err == ("Error: --provenance describes a file, and no file is written.\nGive -o FILE.\n")


def test_what_is_in_the_way_is_not_replaced(bank: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "rows.csv"
    (tmp_path / f"rows.csv{ENDING}").mkdir()
    args = ["query", "entropy", "--run", "1", "-o", str(file), "--provenance"]
    assert f"rows.csv{ENDING} is a folder" in cli("-b", bank, *args, status=2).err
    assert not file.exists()
