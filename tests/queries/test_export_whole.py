"""An export appears whole or not at all, whatever stops it, and leaves what is not its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_attention as toy
import worker_functions
from case_bank import make_bank
from command_line import Cli
from crashes import check_killed, stop_before
from forked import Forked
from two_runs import TWO_RUNS

from attnbank.queries import Bank, open_bank
from attnbank.sql import export_format as exporting
from attnbank.sql.bank.opening import open_to_read, open_to_write
from attnbank.sql.errors import BankError
from attnbank.sql.export_format import export


@pytest.fixture
def two_runs(tmp_path: Path) -> Iterator[Bank]:
    with open_bank(make_bank(tmp_path / "two.duckdb", TWO_RUNS)) as opened:
        yield opened


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.soak
def test_killed_between_any_two_steps_it_is_the_old_one_or_the_new_one(
    two_runs: Bank, tmp_path: Path, cli: Cli, forked: Forked
) -> None:
    """Killed before each change of a name: DIR is absent, the old or the new export, whole."""
    (tmp_path / "new").mkdir()
    export(two_runs.path, tmp_path / "new" / "dir", run="2")
    new = _files(tmp_path / "new" / "dir")
    states = set()
    for at in range(1, 30):
        home = tmp_path / str(at)
        home.mkdir()
        folder = home / "dir"
        export(two_runs.path, folder)
        old = _files(folder)
        (folder / "mine").mkdir()
        (folder / "mine" / "notes.txt").write_text("mine")
        (folder / "attention" / "mine.txt").write_text("mine")
        args = ["-b", str(two_runs.path), "export", str(folder), "--force", "--run", "2", "-q"]
        done = forked.run(args, home, setup=stop_before(at, moment="name"))
        own = {n: c for n, c in _files(folder).items() if "mine" not in n} if folder.exists() else 0
        assert own in (0, old, new)
        states.add("none" if own == 0 else "old" if own == old else "new")
        cli(*args)
        assert _files(folder) == new | {"mine/notes.txt": b"mine", "attention/mine.txt": b"mine"}
        assert [*home.iterdir()] == [folder]
        if done.status == 0:
            break
        check_killed(done)
    else:
        raise AssertionError("it is never whole")
    assert states == {"none", "old", "new"}


def test_what_others_put_into_the_folder_stays(two_runs: Bank, tmp_path: Path) -> None:
    folder = tmp_path / "dir"
    export(two_runs.path, folder)
    note, link = folder / "attention" / "note.txt", folder / "link"
    note.write_text("mine")
    link.symlink_to("attention/note.txt")
    (folder / "empty").mkdir()
    before = note.stat()
    export(two_runs.path, folder, run="2", force=True)
    assert os.path.samestat(note.stat(), before)
    assert link.readlink() == Path("attention/note.txt") and (folder / "empty").is_dir()
    assert not (folder / "attention" / "run=1").exists()
    assert [*tmp_path.glob(".*")] == []


def test_without_force_a_killed_one_loses_nothing(two_runs: Bank, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "dir"
    export(two_runs.path, folder)
    old = _files(folder)
    folder.rename(tmp_path / ".dir.replaced")  # as it is between the two names
    args = ["-b", str(two_runs.path), "export", str(folder), "-q"]
    cli(*args, status=2)
    assert _files(folder) == old and [*tmp_path.glob(".*")] == []
    folder.rename(tmp_path / ".dir.replaced")
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    cli(*args, "--force", status=2)  # which of the two is meant?
    assert _files(tmp_path / ".dir.replaced") == old


def test_what_cannot_change_places_is_refused(
    two_runs: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:  # fmt: skip
    args = ["-b", str(two_runs.path), "export", "--force", "-q"]
    (tmp_path / "nothing").symlink_to("missing")
    (tmp_path / "dir" / "word.parquet").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before = sorted(tmp_path.rglob("*"))
    for place, message in (
        (".", "is the current folder"),
        (str(tmp_path), "is the current folder"),
        ("/proc", "is a mounted disk"),
        (str(tmp_path / "nothing"), "is a broken link"),
        (str(tmp_path / "dir"), "is in the way"),
        (str(two_runs.path), "is not a folder"),
    ):
        assert message in cli(*args, place, status=2).err
    monkeypatch.chdir("/")
    if not Path("/").samefile(tmp_path):
        assert "is in the folder" in cli(*args, tmp_path, status=2).err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_a_link_to_a_folder_stays_a_link(two_runs: Bank, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir(mode=0o750)
    (tmp_path / "dir").symlink_to("far")
    for _ in range(2):
        export(two_runs.path, tmp_path / "dir", force=True)
        assert (tmp_path / "dir").is_symlink() and (tmp_path / "far" / "load.sql").exists()
        assert (tmp_path / "far").stat().st_mode & 0o777 == 0o750


@pytest.mark.slow
def test_it_ends_where_the_process_that_writes_does_nothing(
    two_runs: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that sleeps stands for one that hangs; one that aborts, for one that crashes."""
    monkeypatch.setattr(exporting, "PATIENCE", 1.0)
    for work, message in (
        (worker_functions.sleeps, "nothing for 1 s"),
        (worker_functions.aborts, "with SIGABRT"),
    ):
        monkeypatch.setattr(exporting, "write_tables", work)
        with pytest.raises(BankError, match=message):
            export(two_runs.path, tmp_path / "dir")
        assert [path.name for path in tmp_path.iterdir()] == ["two.duckdb"]


def test_nothing_writes_behind_the_back_of_a_copy(two_runs: Bank, tmp_path: Path) -> None:
    """With threads that write, a COPY that fails waits for them, and they for it, for ever."""
    with open_to_read(two_runs.path, writes_below=tmp_path) as connection:
        rows = connection.execute("select current_setting('async_threads')").fetchall()
    assert rows == [(0,)]


@pytest.mark.soak
def test_a_damaged_bank_of_many_row_groups_ends_in_words(tmp_path: Path) -> None:
    """2 of 24 such exports hung while DuckDB had threads that write."""
    path = toy.make_bank(tmp_path / "big.duckdb", {"one": 40, "two": 40}, lambda maps, heads: None)
    connection = open_to_write(path, "test")
    connection.execute(
        "insert into attention select sequence, layer, head, cast(copy as smallint),"
        " list_transform(range(0, 20), lambda x: cast(random() as float))"
        " from attention cross join range(10, 310) as made(copy) order by sequence"
    )
    connection.close()
    content, outcomes = path.read_bytes(), set()
    for at in range(len(content) // 2, len(content) - 1, len(content) // 60):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            with open_bank(path) as bank:
                export(bank.path, tmp_path / "parquet", force=True)
            outcomes.add("whole")
        except BankError as error:
            assert "is damaged" in str(error)
            outcomes.add("damaged")
    assert "damaged" in outcomes
