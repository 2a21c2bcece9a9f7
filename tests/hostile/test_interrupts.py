"""Ctrl-C and kills at any time, and the same command again: as if nothing had happened.

With .src and tests/support on PYTHONPATH, `python tests/hostile/test_interrupts.py N [COMMAND...]`
does so many of each per command, at other times whenever it is run.
"""

from __future__ import annotations

import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from forked import Forked
from writing_commands import Case, at_most_two_lines, commands, make_case, spread

NAMES = (
    "ingest", "second ingest", "ingest --replace", "compute", "probe", "export", "export --force",
    "import", "merge", "-o", "-o parquet", "delete", "use",
)  # fmt: skip
FEW = 2
"""How often one command is killed in the usual tests, which are to be quick."""

MANY = 5
DEMOS = 2

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
    return sum(
        check(case, folder / f"{number.name}-{at}", number, after, share=rng.random())
        for at, after in enumerate(times)
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda each: each.name)
@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(pytest.param(name, MANY, marks=pytest.mark.slow) for name in NAMES),
        pytest.param("demo", DEMOS, marks=pytest.mark.slow),
    ],
)
def test_stopped_at_any_time_it_ends_as_if_it_had_not_been(
    case: Callable[[str], Case], tmp_path: Path, name: str, count: int, number: signal.Signals
) -> None:
    assert check_spread(case(name), tmp_path, number, count)


@pytest.mark.slow
def test_a_file_that_was_half_written_is_not_there(
    case: Callable[[str], Case], tmp_path: Path
) -> None:
    check_spread(case("-o"), tmp_path, signal.SIGKILL, FEW)


def main(count: int, names: list[str]) -> None:
    """Stop every command `count` times in both ways, and print how often it was at work."""
    import tempfile

    import tiny_models

    sample = Path(__file__).resolve().parents[2] / "ingest" / "corpora" / "sample"
    text = [
        line.removeprefix("# text = ")
        for path in sorted(sample.glob("*.conllu"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("# text = ")
    ]
    with tempfile.TemporaryDirectory() as made, Forked() as forked:
        root = Path(made)
        model = tiny_models.save("bert", root / "model", text)
        known = commands(sample / "stories.conllu", sample / "press.conllu", model)
        for name in names or NAMES:
            case = make_case(known[name], forked, root / f"{name} case")
            for number in (signal.SIGINT, signal.SIGKILL):
                seed = random.randrange(10**9)
                failed = ""
                place = root / f"{name} {number.name}"
                place.mkdir()
                try:
                    stopped = check_spread(case, place, number, count, seed=seed)
                except AssertionError as error:
                    stopped, failed = 0, f" FAILED: {error}"
                print(f"{name} {number.name} {count} times, at work {stopped}{failed}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
