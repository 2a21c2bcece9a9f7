"""An export becomes a bank again: the same one, or none and one line that says why."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from bank_rows import change_bank
from case_bank import make_bank
from command_line import Cli
from forked import Forked
from two_runs import TWO_RUNS

from attnbank.ingest import import_export
from attnbank.ingest.merge import sources
from attnbank.ingest.merge.merging import Merged
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankError, BankError, CallError
from attnbank.sql.export_format import export
from attnbank.sql.names import quoted
from attnbank.sql.outputs import MANIFEST

CATALOG = {
    "tables": "select schema_name, table_name, comment from duckdb_tables() where not internal",
    "columns": "select schema_name, table_name, column_index, column_name, data_type, is_nullable,"
    " column_default, comment from duckdb_columns() where not internal",
    "views": "select schema_name, view_name, sql, comment from duckdb_views() where not internal",
    "macros": "select schema_name, function_name, parameters, macro_definition, comment"
    " from duckdb_functions() where not internal",
    "constraints": "select table_name, constraint_text from duckdb_constraints()",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bank of two runs, and its export."""
    folder = tmp_path_factory.mktemp("exported")
    with open_bank(make_bank(folder / "old.duckdb", TWO_RUNS)) as bank:
        export(bank.path, folder / "parquet")
    return folder


@pytest.fixture
def exported(made: Path, tmp_path: Path) -> Path:
    """A copy of the export, beside a copy of the bank."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "parquet"


def _contents(bank: Path) -> dict[str, Any]:
    """All that is in a bank: the rows of each table in their order, and its catalog."""
    with duckdb.connect(str(bank), read_only=True) as connection:
        result = {
            what: connection.execute(f"{select} order by all").fetchall()
            for what, select in CATALOG.items()
        }
        for schema, table, _ in result["tables"]:
            rows = connection.query(f"from {quoted(schema)}.{quoted(table)}").to_arrow_table()
            result[f"{schema}.{table}"] = rows
    return result


def _manifest(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return read


def _table(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in manifest["tables"] if each["name"] == name)


def _forge(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest, with the sizes and digests of the files as they are now."""
    manifest = _manifest(folder)
    for table in manifest["tables"]:
        for file in table["files"]:
            content = (folder / file["path"]).read_bytes()
            file["bytes"], file["sha256"] = len(content), hashlib.sha256(content).hexdigest()
    change(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def _check_same(done: Merged, bank: Path, new: Path) -> None:
    old_contents, new_contents = _contents(bank), _contents(new)
    assert new_contents.keys() == old_contents.keys()
    for what, rows in old_contents.items():
        assert new_contents[what] == rows, what
    assert done.rows["attention"] == len(old_contents["main.attention"]) > 0


def test_an_export_gives_an_equal_bank(exported: Path, tmp_path: Path) -> None:
    done = import_export(exported, tmp_path / "new.duckdb")
    _check_same(done, tmp_path / "old.duckdb", tmp_path / "new.duckdb")


@pytest.mark.slow
def test_bank_export_import_gives_an_equal_bank(full_bank: Path, tmp_path: Path) -> None:
    with open_bank(full_bank) as old:
        export(old.path, tmp_path / "parquet")
    done = import_export(tmp_path / "parquet", tmp_path / "new.duckdb")
    _check_same(done, full_bank, tmp_path / "new.duckdb")


@pytest.mark.slow
def test_what_people_added_comes_too(tmp_path: Path) -> None:
    name = 'my "table"; drop table word; --'
    path = make_bank(tmp_path / "old.duckdb", TWO_RUNS)
    change_bank(
        path,
        f"create table {quoted(name)} (x decimal(4, 1)[], y hugeint)",
        f"insert into {quoted(name)} values ([1.5], 7), (null, null)",
        "create schema mine",
        "create table mine.word (kind enum('a', 'it''s'))",
        "insert into mine.word values ('it''s')",
        f"alter table word add column {quoted(name)} smallint",
        f"update word set {quoted(name)} = 3",
    )
    with open_bank(path) as bank:
        export(bank.path, tmp_path / "parquet")
    import_export(tmp_path / "parquet", tmp_path / "new.duckdb")
    old, new = _contents(path), _contents(tmp_path / "new.duckdb")
    for what in ("columns", "main.word", "mine.word", f"main.{name}"):
        assert new[what] == old[what], what
    with open_bank(tmp_path / "new.duckdb") as made:
        assert made.sql("select * from word").width == len(made.schema("word")) > 10


def test_texts_that_are_far_more_than_their_file_are_refused(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet writes a text once, and a number for each row that has it; a bank writes all."""
    file = exported / "skipped.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"create table own as from '{file}' limit 0")
        connection.execute(
            "insert into own by name select 1 as corpus, 'x' as reason,"
            " repeat('long', 2500) as detail from range(3000)"
        )
        connection.execute(f"copy own to '{file}' (format parquet)")
    _forge(exported, lambda manifest: _count(manifest, "skipped", 3000))
    assert sources.of_export(0, exported).manifest is not None
    monkeypatch.setattr(sources, "MOST_UNPACKED", 10**6)
    message = r"skipped has [0-9,]+ bytes, but unpacks to 30,003,000 bytes of text"
    with pytest.raises(BankError, match=message):
        import_export(exported, tmp_path / "new.duckdb")
    assert not (tmp_path / "new.duckdb").exists()


def test_lists_that_are_far_more_than_their_file_are_refused(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before they are read: 10^9 elements fit into a file of 187 kB, and take minutes."""
    monkeypatch.setattr(sources, "MOST_UNPACKED", 10**6)
    file = exported / "attention" / "run=1" / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"create table own as from read_parquet('{file}', hive_partitioning = false)"
        )
        connection.execute("update own set weights = [0 for place in range(1000000)]")
        connection.execute(f"copy own to '{file}' (format parquet, compression zstd)")
    _forge(exported, lambda manifest: None)
    message = r"attention has [0-9,]+ bytes, but unpacks to 2,000,[0-9]+ values"
    with pytest.raises(BankError, match=message):
        import_export(exported, tmp_path / "new.duckdb")


def _count(manifest: dict[str, Any], table: str, rows: int) -> None:
    own = _table(manifest, table)
    own["rows"] = own["files"][0]["rows"] = rows


def test_a_manifest_of_too_many_tables_is_refused_at_once(exported: Path, tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        own = {"schema": "main", "rows": 0, "columns": {"x": "INTEGER"}, "files": []}
        manifest["tables"] += [own | {"name": f"t{number}"} for number in range(1959)]

    _forge(exported, change)
    with pytest.raises(BankError, match="it has 2,001 tables, and at most 2,000 are read"):
        import_export(exported, tmp_path / "new.duckdb")


@pytest.mark.slow
def test_the_command_says_what_it_made(exported: Path, tmp_path: Path, cli: Cli) -> None:
    bank = tmp_path / "new.duckdb"
    error = cli("-b", bank, "import", exported).err
    assert "rows in 42 tables" in error and f"Next: attnbank -b {bank} info" in error
    content = bank.read_bytes()
    assert cli("-b", bank, "import", exported, status=2).err == (
        f"Error: {bank} already exists and was left unchanged.\nName a new file (-b FILE).\n"
    )
    assert bank.read_bytes() == content


def test_the_manifest_says_what_is_in_the_folder(exported: Path) -> None:
    manifest = _manifest(exported)
    named = {file["path"]: file for table in manifest["tables"] for file in table["files"]}
    assert sorted(named) == sorted(
        path.relative_to(exported).as_posix() for path in exported.rglob("*.parquet")
    )
    for path, file in named.items():
        content = (exported / path).read_bytes()
        assert (file["bytes"], file["sha256"]) == (
            len(content), hashlib.sha256(content).hexdigest(),
        )  # fmt: skip
        assert file["rows"] == pl.read_parquet(exported / path).height, path
    attention = _table(manifest, "attention")
    assert [each["rows"] for each in attention["files"]] == [2, 1] and attention["rows"] == 3
    assert attention["columns"]["weights"] == "FLOAT[]"


@pytest.mark.slow
def test_another_manifest_is_not_overwritten(exported: Path, tmp_path: Path) -> None:
    """Neither one that somebody else keeps in the folder, where an earlier attnbank exported."""
    (exported / MANIFEST).write_text('{"kind": "mine"}')
    before = {file: file.read_bytes() for file in exported.rglob("*.*") if file.is_file()}
    with open_bank(tmp_path / "old.duckdb") as bank:  # noqa: SIM117
        with pytest.raises(CallError, match="is in the way"):
            export(bank.path, exported, force=True)
    assert all(file.read_bytes() == content for file, content in before.items())


def _cut(folder: Path) -> None:
    file = folder / "attention" / "run=1" / "rows.parquet"
    file.write_bytes(file.read_bytes()[:-10])


def _flip(folder: Path) -> None:
    content = bytearray((folder / "word.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "word.parquet").write_bytes(content)


def _link_out(folder: Path) -> None:
    (folder / "word.parquet").rename(folder.parent / "word.parquet")
    (folder / "word.parquet").symlink_to(folder.parent / "word.parquet")


def _pipe(folder: Path) -> None:
    (folder / "word.parquet").unlink()
    os.mkfifo(folder / "word.parquet")


def _write(folder: Path, select: str) -> None:
    """Put other rows into the file of the words, with a manifest that has their digest."""
    file = folder / "word.parquet"
    rows = "from old"
    with duckdb.connect() as connection:
        connection.execute(f"create table old as from '{file}'")
        connection.execute(f"copy ({select or rows}) to '{file}' (format parquet)")
    _forge(folder, lambda manifest: None)


def _one_row_more(manifest: dict[str, Any]) -> None:
    table = _table(manifest, "word")
    table["rows"] += 1
    table["files"][0]["rows"] += 1


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (_cut, r"run=1/rows\.parquet of the export .* has [\d,]+ bytes, and was written"),
    "changed": (_flip, r"word\.parquet of the export .* its SHA-256 differs"),
    "missing": (lambda folder: (folder / "word.parquet").unlink(), r"word\.parquet .* is missing"),
    "link": (_link_out, r"word\.parquet .* leads out of the folder"),
    "pipe": (_pipe, r"word\.parquet .* is not a file"),
    "another format": (
        lambda folder: _forge(folder, lambda it: it.update(format=0)),
        r"is of format 0; this version reads format \d+",
    ),
    "newer manifest": (
        lambda folder: _forge(folder, lambda it: it.update(manifest=2)),
        "was written by a newer attnbank",
    ),
    "rows": (lambda folder: _forge(folder, _one_row_more), "word has 2 rows, but was .* with 3"),
    "sum of rows": (
        lambda folder: _forge(folder, lambda it: _table(it, "word").update(rows=7)),
        "rows of word do not add up",
    ),
    "column missing in the file": (
        lambda folder: _write(folder, "select * exclude (form) from old"),
        r"word\.form is not in its files",
    ),
    "column of another type": (
        lambda folder: _write(folder, "select * replace (index::varchar as index) from old"),
        r"word\.index is VARCHAR, not SMALLINT",
    ),
    "column that nobody named": (
        lambda folder: _write(folder, "select *, 1 as more from old"),
        r"word\.more is not in manifest\.json",
    ),
    "null": (
        lambda folder: _write(folder, "select * replace (cast(null as varchar) as form) from old"),
        "word cannot be read: NOT NULL constraint failed",
    ),
    "column missing in the manifest": (
        lambda folder: _forge(folder, lambda it: _table(it, "word")["columns"].pop("form")),
        r"word\.form is not in manifest\.json",
    ),
    "table missing": (
        lambda folder: _forge(folder, lambda it: it["tables"].remove(_table(it, "word"))),
        "it has no table word",
    ),
    "table twice": (
        lambda folder: _forge(folder, lambda it: it["tables"].append(_table(it, "word"))),
        "it names a table twice",
    ),
    "type that is SQL": (
        lambda folder: _forge(
            folder, lambda it: _table(it, "word")["columns"].update(x="int); drop table word; --")
        ),
        "which is not a valid type",
    ),
    "type of an extension": (
        lambda folder: _forge(folder, lambda it: _table(it, "word")["columns"].update(x="INET")),
        "is INET, which is not a valid type",
    ),
    "kept answers": (
        lambda folder: _forge(folder, lambda it: it["tables"].append(
            {"schema": "kept", "name": "result", "rows": 0, "columns": {"x": "INT"}, "files": []}
        )),
        "it has a table in the schema kept",
    ),
    "manifest cut off": (
        lambda folder: (folder / MANIFEST).write_text((folder / MANIFEST).read_text()[:-9]),
        "it is damaged or cut off",
    ),
    "manifest too deep": (
        lambda folder: (folder / MANIFEST).write_text("[" * 200_000),
        "it is damaged or cut off",
    ),
    "manifest of another": (
        lambda folder: (folder / MANIFEST).write_text('{"kind": "mine"}'),
        "it is not that of an export",
    ),
    "manifest missing": (
        lambda folder: (folder / MANIFEST).unlink(), "not a complete export",
    ),
}  # fmt: skip


MADE = ("column that nobody named", "null", "type that is SQL", "table missing")
"""Of the faults that show only when a bank is half made, those that are always tried."""


@pytest.mark.usual(
    "truncated", "changed", "missing", "link", "pipe", "*format", "*manifest*", "sum of rows",
    "rows", *MADE,
)  # fmt: skip
@pytest.mark.parametrize("fault", FAULTS)
def test_an_export_with_a_fault_makes_no_bank(
    fault: str, exported: Path, tmp_path: Path, cli: Cli
) -> None:
    spoil, message = FAULTS[fault]
    spoil(exported)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BankError, match=message):
        import_export(exported, tmp_path / "new.duckdb")
    if fault == "truncated":
        error = cli("-b", tmp_path / "new.duckdb", "import", exported, status=1).err
        assert error.count("\n") == 2 and error.startswith("Error: attention/run=1/rows.parquet")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "path",
    ["../word.parquet", "/etc/passwd.parquet", "a/../../x.parquet", "*.parquet", "a\\b.parquet",
     "wor[d].parquet", "http://x/y.parquet", "word.csv", "", "a\0.parquet"],
)  # fmt: skip
def test_no_path_leads_out_of_the_folder(path: str, exported: Path, tmp_path: Path) -> None:
    (tmp_path / "word.parquet").write_bytes((exported / "word.parquet").read_bytes())
    _forge(exported, lambda it: _table(it, "word")["files"][0].update(path=path))
    with pytest.raises(BankError, match=r"path .* is invalid"):
        import_export(exported, tmp_path / "new.duckdb")


def test_no_folder_or_a_place_where_no_bank_can_be(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"no folder|does not exist"):
        import_export(tmp_path / "none", tmp_path / "new.duckdb")
    with pytest.raises(BankError, match="not a complete export"):
        import_export(tmp_path, tmp_path / "new.duckdb")
    with pytest.raises(BankError, match="cannot be named main"):
        import_export(exported, tmp_path / "main.duckdb")
    with pytest.raises(AttnbankError, match="folder"):
        import_export(exported, tmp_path / "none" / "new.duckdb")


@pytest.mark.slow
def test_a_folder_of_any_name(exported: Path, tmp_path: Path) -> None:
    odd = exported.rename(tmp_path / "it's [a] *?")
    import_export(odd, tmp_path / "new.duckdb")
    assert _contents(tmp_path / "new.duckdb") == _contents(tmp_path / "old.duckdb")


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, pytest.param(25, marks=pytest.mark.soak)])
def test_forged_files_end_in_one_line(
    exported: Path, forked: Forked, tmp_path: Path, count: int
) -> None:
    """Files that were changed together with their digests: the manifest cannot tell."""
    names = ["word.parquet", "attention/run=1/rows.parquet", "run.parquet", "sentence.parquet"]
    rng, outcomes = random.Random(0), set()
    command = ["-b", str(tmp_path / "new.duckdb"), "import", str(exported), "-q"]
    for name in names:
        content = (exported / name).read_bytes()
        for at in rng.sample(range(len(content)), count):
            made = content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
            (exported / name).write_bytes(made)
            _forge(exported, lambda manifest: None)
            done = forked.run(command, tmp_path, seconds=60)
            outcomes.add(done.status)
            assert done.status in (0, 1), (name, at, done.told)
            assert done.told.count("\n") == (2 if done.status else 0), done.told
            (tmp_path / "new.duckdb").unlink(missing_ok=True)
        (exported / name).write_bytes(content)
    assert outcomes == {0, 1}
