"""No command leaves more than a tenth of a bank's file unused, and a killed one leaves it whole."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import several_runs
import toy_attention as toy
from bank_rows import change_bank, query_bank
from command_line import Cli
from fixture_types import Models

from attnbank.sql.bank import compaction, connections
from attnbank.sql.bank.compaction import (
    MOST_UNUSED,
    ReplacedWarning,
    UnusedSpaceWarning,
    checkpoint_and_compact,
    space,
)
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import BankError


def _blocks(path: Path) -> tuple[int, int]:
    """All blocks of a file, and the free ones, as DuckDB counts them."""
    rows: tuple[int, int] = query_bank(
        path, "select total_blocks, free_blocks from pragma_database_size()"
    )[0]
    return rows


LEFT_BY_CLOSING = 12
"""Blocks that closing a bank may leave, in which nothing was unused: its catalog, written anew."""


def _is_tidy(path: Path) -> bool:
    total, free = _blocks(path)
    return free <= max(MOST_UNUSED * total, LEFT_BY_CLOSING) and not list(
        path.parent.glob(f"*{path.name}?*")
    )


@pytest.fixture(autouse=True)
def any_space_is_worth_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The banks here are small."""
    monkeypatch.setattr(compaction, "LEAST_UNUSED", 1)


@pytest.mark.slow
def test_a_small_bank_is_not_copied_for_little(
    big: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only from the least on that is worth it."""
    bank = Path(shutil.copy(big, tmp_path / "bank.duckdb"))
    change_bank(bank, "delete from attention where sequence % 2 = 0")
    sizes = []
    for more in (1, 0):
        connection = open_to_write(bank, "test")
        total, unused = space(connection, has_deleted=True)
        assert unused > MOST_UNUSED * total
        monkeypatch.setattr(compaction, "LEAST_UNUSED", unused + more)
        checkpoint_and_compact(connection, bank, has_deleted=True)
        sizes.append(bank.stat().st_size)
    assert sizes[1] < sizes[0] - 0.8 * unused and sizes[0] >= total


@pytest.mark.slow
def test_no_command_leaves_more_than_a_tenth_unused(
    tmp_path: Path, sample: Path, tiny_model: Models, cli: Cli
) -> None:
    bank, model = tmp_path / "bank.duckdb", str(tiny_model("bert"))
    stories = ["ingest", str(sample / "stories.conllu"), "-m", model]
    press = ["ingest", str(sample / "press.conllu"), "-m", model]
    for args in (
        stories,
        press,
        [*press, "--decimals", "5"],
        [*stories, "--unit", "token"],
        ["compute", "head_distance", "--run", "4"],
        ["compute", "head_distance", "--run", "4", "--replace"],
        ["probe", "attention", "--train-run", "1", "--test-run", "2", "--epochs", "1"],
        ["probe", "right_branching", "--test-run", "2"],
        ["probe", "right_branching", "--test-run", "2", "--replace"],
        [*stories, "--replace"],
        ["delete", "3"],
        ["delete", "4"],
        ["upgrade"],
    ):
        cli("-b", bank, *args, "-q")
        assert _is_tidy(bank), (args, _blocks(bank))


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank of some megabytes whose two runs share the row groups of every table."""
    path = tmp_path_factory.mktemp("big") / "big.duckdb"
    toy.make_bank(path, {"one": 40, "two": 40})
    connection = open_to_write(path, "test")
    connection.execute(
        "insert into attention select sequence, layer, head, cast(copy as smallint),"
        " list_transform(range(0, 100), lambda x: cast(random() as float))"
        " from attention cross join range(10, 40) as made(copy)"
    )
    checkpoint_and_compact(connection, path)
    return path


@pytest.mark.slow
def test_deleting_gives_the_room_back(big: Path, tmp_path: Path, cli: Cli) -> None:
    """The rows of both runs lie in one row group, of which no block becomes free by itself."""
    bank = Path(shutil.copy(big, tmp_path / "bank.duckdb"))
    bank.chmod(0o640)
    share = query_bank(
        bank,
        "select avg(case when run = 1 then 1.0 else 0 end) from attention"
        " inner join sequence on sequence.id = attention.sequence",
    )[0][0]
    cli("-b", bank, "delete", "one", "--yes")
    assert _is_tidy(bank)
    before, after = big.stat().st_size, bank.stat().st_size
    assert after < before * (1 - 0.8 * float(share)), (before, after, share)
    assert bank.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
def test_the_copy_is_the_bank(big: Path, tmp_path: Path) -> None:
    bank = Path(shutil.copy(big, tmp_path / "bank.duckdb"))
    of = several_runs.columns(bank)
    change_bank(
        bank,
        "create table mine as select range as i from range(300000)",
        "create index of_mine on mine(i)",
        "create view of_view as select max(i) as most from mine",
        "checkpoint",
        "delete from mine where i >= 10",
    )
    rows, order = several_runs.rows(bank, of), _order(bank)
    connection = open_to_write(bank, "test")
    total, unused = space(connection, has_deleted=True)
    assert unused > MOST_UNUSED * total
    checkpoint_and_compact(connection, bank, has_deleted=True)
    assert bank.stat().st_size < total - 0.8 * unused
    assert several_runs.rows(bank, of) == rows and _order(bank) == order
    with duckdb.connect(str(bank), read_only=True) as connection:
        assert connection.execute("from of_view").fetchall() == [(9,)]
        assert connection.execute("select index_name from duckdb_indexes()").fetchall() == [
            ("of_mine",)
        ]
        commented = "select count(*) from duckdb_tables() where comment is not null"
        assert connection.execute(commented).fetchall()[0][0] > 20
        assert connection.execute("from gold_dependency(run := 'one')").fetchall()


def _order(bank: Path) -> list[tuple[object, ...]]:
    return query_bank(bank, "select sequence, layer, head from attention")


CHILD = """
import sys
from pathlib import Path
from attnbank.sql.bank import compaction, connections
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import BankError
from attnbank.sql.bank.compaction import checkpoint_and_compact
compaction.LEAST_UNUSED = 1
path = Path(sys.argv[1])
connection = open_to_write(path, "test")
connection.execute("delete from attention where sequence % 2 = 0")
print("deleted", flush=True)
checkpoint_and_compact(connection, path, has_deleted=True)
print("closed", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.08])
def test_a_killed_copy_leaves_the_bank_whole(big: Path, tmp_path: Path, seconds: float) -> None:
    bank = Path(shutil.copy(big, tmp_path / "bank.duckdb"))
    of = several_runs.columns(bank)
    expected = several_runs.rows(bank, of)
    kept = [row for row in expected["attention"] if int(str(row[0])) % 2]
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(bank)], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"deleted\n"
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert several_runs.rows(bank, of) == expected | {"attention": kept}
    checkpoint_and_compact(
        open_to_write(bank, "test"), bank, has_deleted=True
    )  # what is left over goes
    assert _is_tidy(bank) and several_runs.rows(bank, of)["attention"] == kept


def test_a_disk_without_room_for_the_copy_is_told(big: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    resource = pytest.importorskip("resource")
    bank = Path(shutil.copy(big, tmp_path / "bank.duckdb"))
    connection = open_to_write(bank, "test")
    connection.execute("delete from attention where sequence % 3 = 0")
    connection.execute("checkpoint")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            checkpoint_and_compact(connection, bank, has_deleted=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [warning.category for warning in warned] == [UnusedSpaceWarning]
    assert f"of {bank} are unused" in str(warned[0].message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank.duckdb"]
    assert query_bank(bank, "select count(*) from attention where sequence % 3 = 0")[0] == (0,)


def _delete_while(bank: Path, happens: Callable[[], object]) -> None:
    """Delete rows of a bank; before it is compacted, something happens to the file."""
    connection = open_to_write(bank, "test")
    connection.execute("delete from attention where sequence % 3 = 0")
    happens()
    checkpoint_and_compact(connection, bank, has_deleted=True)


def test_another_bank_that_is_put_in_its_place_stays(big: Path, tmp_path: Path) -> None:
    bank, other = (Path(shutil.copy(big, tmp_path / name)) for name in ("bank", "other"))
    content = other.read_bytes()

    def swap() -> None:
        bank.rename(tmp_path / "moved")
        other.rename(bank)

    with pytest.warns(ReplacedWarning, match="Another file was put at"):
        _delete_while(bank, swap)
    assert bank.read_bytes() == content
    kept = "select count(*) from attention where sequence % 3 = 0"
    assert query_bank(tmp_path / "moved", kept) == [(0,)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank", "moved"]


def test_a_link_that_is_pointed_elsewhere_does_not_matter(big: Path, tmp_path: Path) -> None:
    own, other = (Path(shutil.copy(big, tmp_path / name)) for name in ("own", "other"))
    content, link = other.read_bytes(), tmp_path / "link"
    link.symlink_to(own)

    def point_elsewhere() -> None:
        link.unlink()
        link.symlink_to(other)

    _delete_while(link, point_elsewhere)
    assert other.read_bytes() == content and own.stat().st_size < len(content) * 0.9
    assert _is_tidy(own)


def test_a_bank_that_is_removed_meanwhile_is_an_error(big: Path, tmp_path: Path) -> None:
    bank = Path(shutil.copy(big, tmp_path / "bank.duckdb"))
    with pytest.raises(BankError, match="was moved or deleted while it was written to"):
        _delete_while(bank, bank.unlink)
    assert not bank.exists()


def test_a_file_that_is_replaced_before_it_is_locked_is_opened_again(
    big: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a command that compacts it between the two."""
    bank, other = (Path(shutil.copy(big, tmp_path / name)) for name in ("bank", "other"))
    change_bank(other, "delete from attention")
    once_unlocked = connections.once_unlocked

    def open_and_replace(*args: Any) -> duckdb.DuckDBPyConnection:
        connection = once_unlocked(*args)
        if other.exists():
            other.rename(bank)
        return connection

    monkeypatch.setattr(connections, "once_unlocked", open_and_replace)
    with open_to_write(bank, "test") as connection:
        assert connection.execute("select count(*) from attention").fetchall() == [(0,)]


def test_the_next_command_removes_what_a_killed_one_left(
    big: Path, tmp_path: Path, cli: Cli
) -> None:
    bank = Path(shutil.copy(big, tmp_path / "bank.duckdb"))
    part = tmp_path / ".bank.duckdb.99999999-1.part"
    part.mkdir()
    (part / "bank.duckdb").write_bytes(b"half a copy")
    cli("-b", bank, "use", "one")
    assert not part.exists()
