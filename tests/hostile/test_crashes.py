"""Commands that read a bank do so in a process of their own: its crash is told, and no more of it
is to be noticed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from command_line import run_python
from forked import Forked

REQUEST = "pattern { V -[obj]-> O }"
READING = (
    ["info"],
    ["schema"],
    ["query", "best_head"],
    ["use"],
    ["find", REQUEST],
    ["count", REQUEST],
    ["score", REQUEST, "--from", "O", "--to", "V"],
    ["show", REQUEST, "--head", "1-1"],
    ["plot", "best_head", "-o", "best_head.json"],
)

# What happens in the process that reads, in the place of opening the bank. Its parent is the
# command: the signal that STAYS sends comes at a time when both are there.
ENDS = (
    "import os, signal, attnbank.queries as q; q.open_bank = q.open_for_requests ="
    " lambda *given: os.kill(os.getpid(), {})"
)
STAYS = """
import os, signal, time, attnbank.queries as queries
def stay(path):
    parent = os.getppid()
    assert parent > 1
    with open("reader", "w") as file:
        file.write(str(os.getpid()))
    os.kill(parent, {})
    time.sleep(60)
queries.open_bank = stay
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


@pytest.fixture(scope="module")
def forked() -> Iterator[Forked]:
    """For commands that read: what an ingest needs takes three seconds to import."""
    with Forked(fills=False) as made:
        yield made


@pytest.mark.usual("info", "query*", "find*", "show*")
@pytest.mark.few("plot*")
@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_crash_is_told_in_two_lines(
    forked: Forked, sample_bank: Path, tmp_path: Path, command: list[str]
) -> None:
    setup = ENDS.format("signal.SIGSEGV")
    done = forked.run(["-b", str(sample_bank), *command], tmp_path, setup=setup)
    assert done.status == 1
    first, second = done.told.splitlines()
    assert first.startswith(f"Error: The bank {sample_bank} is damaged") and "SIGSEGV" in first
    assert "an intact copy of it" in second


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the limit of Linux")
@pytest.mark.usual("500-info", "900-query*")
@pytest.mark.few("1100-show*")
@pytest.mark.parametrize("command", ["info", "query best_head", "show 1 --head 1-1"])
@pytest.mark.parametrize("megabytes", [500, 900, 1100])
def test_too_little_memory_is_no_word_against_the_bank(
    sample_bank: Path, command: str, megabytes: int
) -> None:
    """Wherever it is that the memory ends: a crash, an error of DuckDB, a failed import."""
    limited = (
        "import resource, sys; from attnbank.cli.app import run_command_line;"
        f"resource.setrlimit(resource.RLIMIT_AS, ({megabytes} * 10**6,) * 2);"
        "sys.exit(run_command_line(sys.argv[1:]))"
    )
    done = run_python("-c", limited, "-b", sample_bank, *command.split())
    assert done.returncode or megabytes > 500  # more may be enough on some machines
    if done.returncode:
        # The allocator of a library may have a word of its own, before and after.
        message = [
            line for line in done.stderr.splitlines() if line.startswith(("Error: ", "Raise"))
        ]
        assert message == [
            "Error: There is not enough memory: the system limits a process to"
            f" {megabytes / 1000:.2g} GB (ulimit -v).",
            "Raise the limit: ulimit -v unlimited",
        ]


def test_a_reader_that_is_killed_is_no_word_against_the_bank(
    forked: Forked, sample_bank: Path, tmp_path: Path
) -> None:
    setup = ENDS.format("signal.SIGKILL")
    done = forked.run(["-b", str(sample_bank), "info"], tmp_path, setup=setup)
    assert done.status == 1 and "damaged" not in done.told
    assert "was killed (SIGKILL)" in done.told and "memory" in done.told


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("args", "status"),
    [(["info"], 0), (["query", "best_head", "--run", "none"], 2), (["schema", "none"], 2)],
)
def test_the_status_is_that_of_the_reader(
    forked: Forked, sample_bank: Path, tmp_path: Path, args: list[str], status: int
) -> None:
    done = forked.run(["-b", str(sample_bank), *args], tmp_path)
    assert done.status == status, done.told
    assert "Traceback" not in done.told


@pytest.mark.slow
def test_what_is_printed_does_not_depend_on_the_process(
    forked: Forked, sample_bank: Path, tmp_path: Path
) -> None:
    args = ["-b", str(sample_bank), "query", "head_accuracy", "-f", "csv"]
    apart = forked.run(args, tmp_path)
    here = forked.run(args, tmp_path, setup="import os; del os.fork")
    assert apart.status == here.status == 0
    assert apart.told == here.told and len(apart.told.splitlines()) > 1


def test_threads_keep_the_work_in_this_process(
    forked: Forked, sample_bank: Path, tmp_path: Path
) -> None:
    setup = (
        "import os, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "def fork(): raise AssertionError('forked')\n"
        "os.fork = fork"
    )
    done = forked.run(["-b", str(sample_bank), "info"], tmp_path, setup=setup)
    assert done.status == 0 and "forked" not in done.told


def test_ctrl_c_reaches_the_reader(forked: Forked, sample_bank: Path, tmp_path: Path) -> None:
    setup = STAYS.format("signal.SIGINT")
    done = forked.run(["-b", str(sample_bank), "info"], tmp_path, setup=setup)
    assert (done.status, done.told) == (1, "Interrupted.\n")
    assert done.seconds < 30
    assert not _is_alive(int((tmp_path / "reader").read_text()))


@pytest.mark.usual("9")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_reader_is_left_behind(
    forked: Forked, sample_bank: Path, tmp_path: Path, number: signal.Signals
) -> None:
    setup = STAYS.format(f"signal.{number.name}")
    done = forked.run(["-b", str(sample_bank), "info"], tmp_path, setup=setup)
    assert done.status == (1 if number == signal.SIGTERM else -number)  # an interrupt, or a kill
    reader = int((tmp_path / "reader").read_text())
    assert _comes_true(lambda: not _is_alive(reader))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system ends it on Linux")
def test_a_reader_that_gives_no_thread_its_turn_ends_with_its_parent(
    forked: Forked, sample_bank: Path, tmp_path: Path
) -> None:
    """So the bank is free for the same command, typed at once."""
    busy = "sum(range(10**11))"  # a minute and more of one call, which nothing else interrupts
    setup = STAYS.replace("time.sleep(60)", busy).format("signal.SIGKILL")
    assert forked.run(["-b", str(sample_bank), "info"], tmp_path, setup=setup).status == -9
    reader = int((tmp_path / "reader").read_text())
    assert _comes_true(lambda: not _is_alive(reader))


DEAF = """
import os, signal, threading, time, duckdb
usual = duckdb.connect
def connect(*given, **more):
    parent = os.getppid()
    def press():
        for _ in range({times}):
            if os.getppid() != parent:  # it has ended; nobody else is to be signalled
                return
            {send}
            time.sleep(0.1)
    with open("reader", "w") as file:
        file.write(str(os.getpid()))
    threading.Timer(0.3, press).start()
    usual().execute("select levenshtein(repeat('ab', 200000), repeat('ba', 200000))")
duckdb.connect = connect
"""
"""In the place of connecting: a statement of a minute, in which DuckDB looks for no interrupt."""
ONE = "os.kill(parent, signal.{})"
GROUP = "os.killpg(os.getpgid(parent), signal.{})"
PRESSED = {
    "once": (1, ONE.format("SIGINT")),
    "twice": (2, ONE.format("SIGINT")),
    "group": (1, GROUP.format("SIGINT")),
    "group twice": (2, GROUP.format("SIGINT")),
    "term": (1, ONE.format("SIGTERM")),
    "group term": (2, GROUP.format("SIGTERM")),
}
"""How often, and how, Ctrl-C is pressed or the command ended."""
COMPUTING = (
    ["report", "-o", "report.html"],
    ["export", "parquet"],
    ["compute", "best_head"],
    ["compute", "head_distance"],
    ["compute", "--all"],
    ["probe", "right_branching", "--test-run", "1"],
    ["save", "object", REQUEST, "--from", "O", "--to", "V"],
    ["merge", "merged.duckdb", "bank.duckdb", "bank.duckdb"],
    ["import", "parquet", "-b", "again.duckdb"],
)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
@pytest.mark.few("2-kill-1", "15-killpg-2")
def test_an_interrupt_ends_a_statement(
    sample_bank: Path, number: signal.Signals, send: Callable[[int, int], None], times: int
) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "attnbank", "-b", str(sample_bank), "sql",
         "select levenshtein(repeat('ab', 200000), repeat('ba', 200000))"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    command = psutil.Process(running.pid)
    assert _comes_true(lambda: bool(command.children()))
    (worker,) = command.children()
    assert _comes_true(lambda: worker.cpu_times().user > 1)  # more than it takes to start
    began = time.monotonic()
    for _ in range(times):
        send(running.pid, number)
        time.sleep(0.1)
    out, error = running.communicate(timeout=30)
    assert (running.returncode, out, error) == (1, b"", b"Interrupted.\n")
    assert time.monotonic() - began < 20  # the statement takes minutes
    assert not worker.is_running()


@pytest.mark.usual("once-info")
@pytest.mark.few(
    "once-query*", "group twice-*", "term-*", "once-import*", "once-merge*", "once-report*",
    "once-compute --all",
)  # fmt: skip
@pytest.mark.parametrize(
    ("how", "command"),
    [*(("once", command) for command in (*READING, *COMPUTING)),
     *((how, ["query", "best_head"]) for how in PRESSED if how != "once")],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)  # fmt: skip
def test_an_interrupt_ends_every_command(
    forked: Forked, sample_bank: Path, tmp_path: Path, how: str, command: list[str]
) -> None:
    """Also where DuckDB looks for no interrupt."""
    shutil.copy(sample_bank, tmp_path / "bank.duckdb")
    named = [] if {"merge", "-b"} & {*command} else ["-b", "bank.duckdb"]
    if command[0] == "import":
        assert forked.run(["-b", "bank.duckdb", "export", "parquet"], tmp_path).status == 0
    times, send = PRESSED[how]
    setup = DEAF.format(times=times, send=send)
    done = forked.run([*named, *command], tmp_path, setup=setup, seconds=30)
    assert (done.status, done.told) == (1, "Interrupted.\n")
    assert not _is_alive(int((tmp_path / "reader").read_text()))


def test_a_call_that_reads_nothing_starts_no_process(forked: Forked, tmp_path: Path) -> None:
    setup = "import os\ndef fork(): raise AssertionError('forked')\nos.fork = fork"
    for args in (["info", "--help"], ["query", "best_head", "--show-sql"]):
        done = forked.run(args, tmp_path, setup=setup)
        assert done.status == 0 and "forked" not in done.told, done.told


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _comes_true(holds: Callable[[], bool]) -> bool:
    ends = time.monotonic() + 10
    while not holds() and time.monotonic() < ends:
        time.sleep(0.02)
    return holds()
