"""A file that is written: what may stand there, and that it is the old one or the new one."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from case_bank import make_bank
from command_line import Cli

from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.names import literal, quoted
from attnbank.sql.outputs import check_output, output_file


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("p"))
    path.symlink_to("p")


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (lambda path: path.mkdir(), "is a folder"),
    "pipe": (lambda path: os.mkfifo(path), "is a pipe"),
    "socket": (_socket, "is a socket"),
    "link to a pipe": (_link_to_a_pipe, "is a pipe"),
    "link to a device": (lambda path: path.symlink_to(os.devnull), "is a device"),
    "link to nothing": (lambda path: path.symlink_to("nothing"), "broken link"),
    "link to itself": (lambda path: path.symlink_to(path), "cannot be written"),
    "link to the bank": (lambda path: path.symlink_to("b.duckdb"), "the bank itself"),
    "second name of the bank": (lambda path: path.hardlink_to(path.with_name("b.duckdb")),
                                "the bank itself"),
    "link to its log": (lambda path: path.symlink_to("b.duckdb.wal"), "the bank itself"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_file_is_refused_before_any_work(tmp_path: Path, what: str) -> None:
    bank, place = tmp_path / "b.duckdb", tmp_path / "out.csv"
    bank.write_bytes(b"bank")
    Path(f"{bank}.wal").write_bytes(b"log")
    make, message = REFUSED[what]
    make(place)
    before = {path: path.lstat() for path in tmp_path.iterdir()}
    with pytest.raises(CallError, match=message):
        check_output(place, bank)
    with pytest.raises(CallError, match=message), output_file(place, bank) as file:
        file.write(b"never")
    assert {path: path.lstat() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["missing/x.csv", "file/x.csv", "new/", "..", "x" * 300])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CallError):
        check_output(f"{tmp_path}/{name}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_bank_that_is_still_to_be_made_is_no_output(tmp_path: Path) -> None:
    for name in ("b.duckdb", "b.duckdb.wal", "b.duckdb.wal.checkpoint"):
        with pytest.raises(CallError, match="the bank itself"):
            check_output(tmp_path / name, tmp_path / "b.duckdb")


def test_devices_are_refused(tmp_path: Path, cli: Cli) -> None:
    before = Path(os.devnull).stat()
    bank = make_bank(tmp_path / "bank.duckdb", {})
    assert "is a device" in cli("-b", bank, "info", "-f", "json", "-o", os.devnull, status=2).err
    assert os.path.samestat(before, Path(os.devnull).stat())


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    far, link = tmp_path / "far" / "x.csv", tmp_path / "x.csv"
    far.write_text("old")
    far.chmod(0o640)
    link.symlink_to("far/x.csv")
    with output_file(link) as file:
        file.write(b"new")
    assert link.is_symlink() and far.read_text() == "new"
    assert stat.S_IMODE(far.stat().st_mode) == 0o640
    assert sorted(tmp_path.rglob("*")) == [far.parent, far, link]


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with output_file("~/x.csv") as file:
        file.write(b"new")
    assert (tmp_path / "x.csv").read_text() == "new"
    monkeypatch.chdir(tmp_path)
    assert check_output("~nobody-is-called-so.csv") == tmp_path / "~nobody-is-called-so.csv"


def test_a_long_name_has_a_part_too(tmp_path: Path) -> None:
    with output_file(tmp_path / ("x" * 255)) as file:
        file.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 255]


def test_an_error_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    place = tmp_path / "x.csv"
    place.write_text("old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), output_file(place) as file:
            file.write(b"new")
            raise error
    with pytest.raises(AttnbankError, match="is full"), output_file(place) as file:
        raise OSError(28, "No space left on device")
    assert place.read_text() == "old" and [*tmp_path.iterdir()] == [place]


KILLED = """
import os, signal, sys
from attnbank.sql.outputs import output_file
with output_file(sys.argv[1]) as file:
    file.write(b"new")
    file.flush()
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("written", flush=True)
    sys.stdin.readline()
"""


def _child(place: Path, what: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", KILLED, str(place), what]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_the_part_of_a_killed_process_goes_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    place = tmp_path / "x.csv"
    place.write_text("old")
    mine = tmp_path / ".x.csv.mine.part"
    mine.write_text("mine")
    assert _child(place, "kill").wait() == -signal.SIGKILL
    (left,) = (path for path in tmp_path.iterdir() if path not in (place, mine))
    assert place.read_text() == "old" and (left / "x.csv").read_bytes() == b"new"
    living = _child(place, "live")
    assert living.stdout is not None and living.stdout.readline() == b"written\n"
    (held,) = (path for path in tmp_path.iterdir() if path not in (place, mine, left))
    with output_file(place) as file:
        file.write(b"newer")
    assert sorted(tmp_path.iterdir()) == sorted([place, mine, held])
    assert place.read_text() == "newer"
    living.communicate(b"\n")
    assert place.read_text() == "new" and sorted(tmp_path.iterdir()) == sorted([place, mine])


@pytest.mark.parametrize("name", ["plain", "my table", 'a"b', "x; drop table y", "it's", ""])
def test_names_and_texts_are_quoted(name: str) -> None:
    import duckdb

    with duckdb.connect() as connection:
        assert connection.execute(f"select {literal(name)}").fetchall() == [(name,)]
        if name:
            connection.execute(f"create table {quoted(name)} ({quoted(name)} integer)")
            assert connection.execute("select table_name from duckdb_tables()").fetchall() == [
                (name,)
            ]


IMPATIENT = """
import os, signal, sys, time
from attnbank.sql.outputs import output_file
try:
    with output_file(sys.argv[1]) as file:
        print("written", flush=True)
        time.sleep(60)
finally:
    print("ended", flush=True)
"""


def test_a_second_interrupt_leaves_no_part_either(tmp_path: Path) -> None:
    place = tmp_path / "x.csv"
    script = IMPATIENT.replace(
        "import os,",
        "import shutil\n"
        "real = shutil.rmtree\n"
        "def rmtree(*args, **options):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    real(*args, **options)\n"
        "shutil.rmtree = rmtree\n"
        "import os,",
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(place)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == b"written\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=30)[0] == b"ended\n" and child.returncode
    assert [*tmp_path.iterdir()] == []
