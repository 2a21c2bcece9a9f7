"""New banks are copies of an empty one, which is made once and cached in the user's own folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from bank_rows import query_bank

from attnbank.sql.bank import new_banks
from attnbank.sql.bank.new_banks import create_bank
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import BankError

CATALOG = (
    "select table_name, sql, comment from duckdb_tables()",
    "select view_name, sql, comment from duckdb_views() where not internal",
    "select function_name, macro_definition, comment from duckdb_functions() where not internal",
    "select table_name, column_name, data_type, comment from duckdb_columns() where not internal",
    "select 'bank', bank::varchar from bank",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, of a process that has made no bank so far."""
    monkeypatch.setenv("ATTNBANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(new_banks, "empty_banks", {})
    return tmp_path / "cache"


def _make(path: Path, created_by: str = "9.1") -> list[list[tuple[object, ...]]]:
    """Make a bank as another process would, and return its catalog."""
    new_banks.empty_banks.clear()
    create_bank(path, path, created_by)
    condition = "database_name = current_database()"
    return [
        sorted(
            query_bank(path, select if " from bank" in select
                else f"{select} {'and' if ' where ' in select else 'where'} {condition}"), key=str,
        )
        for select in CATALOG
    ]  # fmt: skip


def test_a_copy_is_as_one_that_was_made(folder: Path, tmp_path: Path) -> None:
    made = _make(tmp_path / "made.duckdb")
    (cached,) = folder.iterdir()
    before = cached.stat().st_mtime_ns
    assert _make(tmp_path / "copy.duckdb") == made
    assert cached.stat().st_mtime_ns == before  # it was read
    assert "'created_by': 9.1" in str(made[-1])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Banks of one small table, to save time."""
    monkeypatch.setattr(
        new_banks, "fill",
        lambda connection, made_by: connection.execute(f"create table bank as select '{made_by}'"),
    )  # fmt: skip


def _made(path: Path) -> bool:
    new_banks.empty_banks.clear()
    create_bank(path, path, "best_head")
    with duckdb.connect(str(path)) as connection:
        return connection.execute("from bank").fetchall() == [("best_head",)]


@pytest.mark.usefixtures("small")
def test_copies_are_not_the_same_database(folder: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.duckdb", tmp_path / "second.duckdb"
    for path in (first, second):
        assert _made(path)
    with duckdb.connect() as connection:
        connection.execute(f"attach '{first}' as a; attach '{second}' as b")
        assert connection.execute("from a.bank union from b.bank").fetchall() != []
    program = (
        "import duckdb, os, sys; connection = duckdb.connect(sys.argv[1]);"
        " connection.execute('insert into bank values (1)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(first)], check=True)
    shutil.copy(f"{first}.wal", f"{second}.wal")  # the log of one is not taken for the other's
    with pytest.raises(duckdb.IOException, match="WAL does not match"):
        duckdb.connect(str(second))


@pytest.mark.usefixtures("small")
def test_each_version_has_its_own(folder: Path, tmp_path: Path) -> None:
    kept = []
    for made_by in ("9.1", "9.2"):
        create_bank(path := tmp_path / f"{made_by}.duckdb", path, made_by)
        assert query_bank(path, "from bank") == [(made_by,)]
        (cached,) = folder.iterdir()  # that of another version is gone
        kept.append(cached)
    assert kept[0] != kept[1]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "harm", ["cut", "changed", "of a group", "of others", "in a folder of others"]
)
def test_an_unfit_cache_is_not_used(harm: str, folder: Path, tmp_path: Path) -> None:
    assert _made(tmp_path / "made.duckdb")
    (cached,) = folder.iterdir()
    content = cached.read_bytes()
    at = content.rindex(b"best_head")
    forged = {"cut": content[:-100], "changed": content[:at] + b"worst" + content[at + 5 :]}
    cached.write_bytes(forged.get(harm, content))
    if harm in ("of a group", "of others"):
        cached.chmod(0o620 if harm == "of a group" else 0o602)
    if harm == "in a folder of others":
        folder.chmod(0o777)
    assert new_banks.read_cached(cached) is None
    assert _made(tmp_path / "again.duckdb")
    assert (new_banks.read_cached(cached) is None) == (harm == "in a folder of others")


@pytest.mark.usefixtures("small")
def test_no_folder_for_it_is_no_error(folder: Path, tmp_path: Path) -> None:
    folder.write_text("a file")
    assert _made(tmp_path / "made.duckdb") and folder.is_file()


@pytest.mark.usefixtures("small")
def test_other_files_in_the_folder_of_the_cache_stay(folder: Path, tmp_path: Path) -> None:
    assert _made(tmp_path / "made.duckdb")
    (cached,) = folder.iterdir()
    others = [folder / "empty-results.csv", folder / f"empty-{'0' * 32}", folder / "empty-folder"]
    for other in others[:2]:
        other.write_text("mine")
    others[2].mkdir()
    shutil.copy(cached, folder / f"empty-{'1' * 32}")  # as that of another version
    shutil.copy(cached, folder / "empty-bank")
    cached.unlink()
    assert _made(tmp_path / "again.duckdb")
    assert sorted(folder.iterdir()) == sorted([*others, folder / "empty-bank", cached])


def test_a_name_that_duckdb_gives_a_schema_is_refused_in_capitals_too(tmp_path: Path) -> None:
    for name in ("main.duckdb", "Temp.duckdb", "saved.duckdb", "paper.duckdb"):
        with pytest.raises(BankError, match="DuckDB would confuse it with a schema"):
            open_to_write(tmp_path / name, "test")
    assert [*tmp_path.iterdir()] == []


def test_a_log_of_an_earlier_bank_is_in_the_way(tmp_path: Path) -> None:
    """DuckDB would refuse the new bank because of it."""
    log = tmp_path / "bank.duckdb.wal"
    log.write_bytes(b"rows")
    bank = tmp_path / "bank.duckdb"
    with pytest.raises(BankError, match=r"bank\.duckdb\.wal is in the way"):
        open_to_write(bank, "test")
    with (
        pytest.raises(BankError, match=r"bank\.duckdb\.wal is in the way"),
        new_banks.new_bank(bank, "test", ()),
    ):
        pass
    assert [*tmp_path.iterdir()] == [log] and log.read_bytes() == b"rows"


def test_it_is_in_the_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTNBANK_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = {"darwin": "Library/Caches/attnbank", "linux": ".cache/attnbank"}
    for platform, place in usual.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert new_banks.cache_file("9.1").parent == tmp_path / place
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert new_banks.cache_file("9.1").parent == tmp_path / "xdg" / "attnbank"


@pytest.mark.slow
def test_several_processes_make_one_at_once(folder: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from attnbank.sql.bank.opening import open_to_write;"
        " open_to_write(sys.argv[1], '9.1').close()"
    )
    paths = [tmp_path / f"{number}.duckdb" for number in range(3)]
    running = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for path in paths]
    assert [process.wait() for process in running] == [0, 0, 0]
    (cached,) = folder.iterdir()
    assert new_banks.read_cached(cached)
    for path in paths:
        open_to_write(path, "9.1").close()
