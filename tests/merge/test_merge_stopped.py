"""A merge that is killed, or finds the disk full, leaves nothing; the same command makes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bank_rows
import pytest
from case_bank import make_bank
from forked import Forked
from killed import killed_at
from two_runs import TWO_RUNS

from attnbank.cli.app import run_command_line

LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from attnbank.cli.app import run_command_line
sys.exit(run_command_line(sys.argv[2:]))
"""

STATEMENTS = 175
"""About as many statements as a merge of the two banks runs, to be killed anywhere among them."""


@pytest.fixture(scope="module")
def banks(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two small banks of the same corpora and runs: a merge reads both, and compares them."""
    folder = tmp_path_factory.mktemp("two")
    return [str(make_bank(folder / f"{name}.duckdb", TWO_RUNS)) for name in ("one", "two")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "at",
    [
        *(1, STATEMENTS // 4, STATEMENTS // 2, STATEMENTS - 60),
        *(
            pytest.param(at, marks=pytest.mark.soak)
            for at in range(2, STATEMENTS, STATEMENTS // 50)
        ),
    ],
)
def test_killed_it_leaves_no_bank_and_the_same_command_makes_it(
    at: int, banks: list[str], forked: Forked, tmp_path: Path
) -> None:
    new = tmp_path / "new.duckdb"
    killed_at(forked, at, ["merge", str(new), *banks], tmp_path)
    assert not new.exists()
    assert run_command_line(["merge", str(new), *banks, "-q"]) == 0
    assert bank_rows.rows(new) == bank_rows.rows(Path(banks[0]))
    assert [each.name for each in tmp_path.iterdir()] == ["new.duckdb"]


@pytest.mark.parametrize(
    "limit", [pytest.param(each, marks=pytest.mark.slow) for each in (0, 5000, 700_000)]
)
def test_on_a_full_disk_nothing_is_left(
    limit: int, banks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new.duckdb"
    command = [sys.executable, "-c", LIMITED, str(limit), "merge", str(new), *banks]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: The disk of {new} is full; nothing was merged.\n"
        "Free some space, then type the same command.\n"
    )
    assert [*tmp_path.iterdir()] == []
    assert run_command_line(["merge", str(new), *banks]) == 0
    assert f"Next: attnbank -b {new} info" in capsys.readouterr().err
