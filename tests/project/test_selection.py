"""Which tests are run without --slow and --soak, and what the end of a run says: costs, too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[1] / "support"
SETTINGS = f"""
[pytest]
pythonpath = {SUPPORT}
addopts = -q -p no:cacheprovider -p xdist
markers =
    slow
    soak
    usual(*patterns)
    few(*patterns)
"""
TESTS = """
import pytest

def test_plain():
    pass

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.soak
def test_soak():
    pass

@pytest.mark.usual("a", "b")
@pytest.mark.parametrize("case", "abcde")
def test_usual(case):
    pass

@pytest.mark.few(2)
@pytest.mark.parametrize("case", "abcd")
def test_few(case):
    pass

@pytest.mark.parametrize("reason", ["no npm", "no npm", "no corpora", "no Java", "no Java"])
def test_skipped(reason):
    pytest.skip(reason)

@pytest.mark.skipif(True, reason="no browser")
def test_skipped_by_a_mark():
    pass
"""
DEAR_TESTS = """
import subprocess, sys, time
import pytest

SPEND = "import time\\nwhile time.process_time() < {}: pass"
CHILD = [sys.executable, "-ISc", SPEND.format(0.2) + "\\nprint(1, flush=True)\\ninput()"]

@pytest.fixture(scope="module")
def shared():
    exec(SPEND.format(time.process_time() + 0.2))

def test_own():
    exec(SPEND.format(time.process_time() + 0.2))

def test_of_shared(shared):
    pass

def test_ended_child():
    subprocess.run(CHILD, input=b"\\n")

def test_living_child():
    child = subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
"""
SLOW, SOAK = "4 slow (--slow)", "3 soak (--soak=SEED)"
SLOW_CASES, SOAK_CASES = "3 slow (--slow)", "2 soak (--soak=SEED)"
SKIPPED = [
    "skipped: 2, no Java",
    "skipped: 2, no npm",
    "skipped: 2 for 2 more reasons (-rs lists them)",
]


@pytest.mark.parametrize(
    "options, said, counts",
    [
        ("", [f"not run: {SLOW}, {SOAK}", *SKIPPED], "5 passed, 6 skipped, 7 deselected"),
        ("--slow", [f"not run: {SOAK}", *SKIPPED], "9 passed, 6 skipped, 3 deselected"),
        ("--slow -m slow", ["not run: 14 not chosen (-m, -k)"], "4 passed, 14 deselected"),
        ("--soak=3 -m soak", ["not run: 15 not chosen (-m, -k)"], "3 passed, 15 deselected"),
        (
            "-k 'test_usual or test_few'",
            [f"not run: 9 not chosen (-m, -k), {SLOW_CASES}, {SOAK_CASES}"],
            "4 passed, 14 deselected",
        ),
        ("--slow --soak=3", SKIPPED, "12 passed, 6 skipped"),
    ],
    ids=["alone", "slow", "only slow", "only soak", "of a name", "all"],
)
@pytest.mark.parametrize("processes", [0, 2])
@pytest.mark.usual("0-only slow", "2-alone")
def test_the_end_says_what_was_not_run(
    tmp_path: Path, processes: int, options: str, said: list[str], counts: str
) -> None:
    # A name of a folder is among the keywords of its tests.
    output = run_tests(tmp_path / "soak", TESTS, f"-n {processes} {options}")
    *lines, summary, _ = output.splitlines()
    assert summary.startswith(f"{counts} in ")
    assert [line for line in lines if re.match(r"not run|skipped", line)] == said
    assert "SKIPPED" not in output


@pytest.mark.parametrize("processes", [0, 2])
def test_the_end_says_what_it_cost(tmp_path: Path, processes: int) -> None:
    """Also the processes that a test starts, alive or not, and what is shared, apart from it."""
    output = run_tests(tmp_path / "tests", DEAR_TESTS, f"-n {processes} --costs")
    costs = {
        name: float(seconds)
        for seconds, name in re.findall(r"^ +(\d+\.\d\d)  (.*)$", output, re.MULTILINE)
    }
    for name in ("test_own", "test_ended_child", "test_living_child", "shared"):
        assert 0.15 <= costs[f"test_these.py::{name}"] < 1, (name, output)
    assert costs["test_these.py::test_of_shared"] < 0.1
    assert costs["test_these.py"] >= 0.6
    last = output.splitlines()[-1]
    match = re.fullmatch(
        r"cost: \d+ s, (\d+) processor seconds, most of them for test_these.py \(\d\)"
        r" \(--costs: all\)",
        last,
    )
    assert match, last
    assert 1 <= int(match[1]) < 30


def run_tests(clone: Path, tests: str, options: str) -> str:
    """What pytest prints for one file of tests, in a new folder."""
    clone.mkdir()
    (clone / "pytest.ini").write_text(SETTINGS)
    (clone / "conftest.py").write_text('pytest_plugins = ["costs", "selection"]\n')
    (clone / "test_these.py").write_text(tests)
    command = f"{sys.executable} -m pytest {options}"
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins load for seconds
    done = subprocess.run(command, cwd=clone, env=env, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
