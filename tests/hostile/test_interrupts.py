"""Ctrl-C and kills at any time, and the same command again: as if nothing had happened."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from crashes import check_killed, stop_before
from writing_commands import Case, at_most_two_lines, spread

NAMES = (
    "ingest", "second ingest", "ingest --replace", "compute", "probe", "export", "export --force",
    "import", "merge", "-o", "-o parquet", "delete", "use", "annotate",
    "surprisal", "ablate", "compute trees", "ingest --series",
)  # fmt: skip
FEW = 1
"""How often one command is stopped in the slow tests."""

KILLED = ("ingest", "compute", "import", "merge", "delete", "ablate")
"""Those that the slow tests kill, each of which writes in another way."""

ATOMIC = ("compute", "import", "merge", "delete")
"""Those of which a kill leaves all or nothing in a bank: the others resume."""

SHARES = (0.0, 0.25, 0.5, 0.9)
"""Before which of its statements a command is killed, of all of them: the slow tests take two."""

MANY = 100
"""The same in the soak, at other times whenever it is run."""

_PATIENCE = 20.0
"""Seconds after a Ctrl-C in which a small command must have ended on a busy machine."""


def check(case: Case, folder: Path, number: signal.Signals, after: float, *, share: float) -> bool:
    """Stop the command there, look at what it left, and type it again; whether it was stopped.

    A third of the interrupts come three times, as those of somebody impatient do.
    """
    place = case.prepared(folder)
    signals: tuple[tuple[float, signal.Signals], ...] = ((after, number),)
    if number == signal.SIGINT and share < 1 / 3:
        signals = tuple((after + share * times / 10, number) for times in range(3))
    done = case.run(
        place,
        signals=signals,
        ends_at_once=number != signal.SIGINT,
        seconds=after + _PATIENCE + case.seconds,
    )
    if number == signal.SIGINT and done.status:
        assert done.status == 1 and at_most_two_lines(done), (after, done)
        left = {name for name in case.content(place) if "duckdb: " not in name}
        assert left <= {*case.before, *case.expected, "bank.duckdb.wal"}, (after, left)
    again = case.run(place) if done.status else done
    assert case.command.is_done(again), (after, done, again)
    differs = case.differences(place)
    assert not differs, (after, differs, done, again)
    shutil.rmtree(place)
    return done.status != 0


def check_spread(
    case: Case, folder: Path, number: signal.Signals, count: int, *, seed: int = 0
) -> int:
    """Stop a command so often, at times spread over its run; how often it was at work still."""
    rng = random.Random(seed)
    times = spread(count, case.seconds, seed=rng.random())
    stopped = sum(
        check(case, folder / f"{number.name}-{at}", number, after, share=rng.random())
        for at, after in enumerate(times)
    )
    earlier = case.seconds / 4
    while not stopped and earlier > 0.01:  # the machine has less to do than when it was timed
        stopped += check(case, folder / f"{number.name}-early", number, earlier, share=1)
        earlier /= 2
    return stopped


@pytest.mark.few("ingest", "ablate", "export --force", "delete")
@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "demo"])
def test_interrupted_at_any_time_it_ends_as_if_it_had_not_been(
    case: Callable[[str], Case], tmp_path: Path, name: str
) -> None:
    assert check_spread(case(name), tmp_path, signal.SIGINT, FEW)


@pytest.mark.slow
@pytest.mark.few("0.25-*", "0.9-*")
@pytest.mark.parametrize("name", KILLED)
@pytest.mark.parametrize("share", SHARES)
def test_killed_before_any_statement_it_ends_as_if_it_had_not_been(
    case: Callable[[str], Case], tmp_path: Path, name: str, share: float
) -> None:
    own = case(name)
    place = own.prepared(tmp_path / "killed")
    statement = max(1, round(share * own.statements))
    check_killed(own.run(place, setup=stop_before(statement)))
    assert name not in ATOMIC or own.is_all_or_nothing(place)
    assert own.command.is_done(own.run(place))
    assert not own.differences(place)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["-o", "export --force"])
def test_killed_at_any_time_no_file_is_half_written(
    case: Callable[[str], Case], tmp_path: Path, name: str
) -> None:
    check_spread(case(name), tmp_path, signal.SIGKILL, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda each: each.name)
@pytest.mark.parametrize("name", NAMES)
def test_stopped_by_the_hundred(
    case: Callable[[str], Case], tmp_path: Path, name: str, number: signal.Signals, soak_seed: int
) -> None:
    assert check_spread(case(name), tmp_path, number, MANY, seed=soak_seed)
