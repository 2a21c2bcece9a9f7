"""Which tests are run without --slow and --soak, and what is said of the others in the end."""

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
    clone = tmp_path / "soak"  # a name of a folder is among the keywords of its tests
    clone.mkdir()
    (clone / "pytest.ini").write_text(SETTINGS)
    (clone / "conftest.py").write_text('pytest_plugins = ["selection"]\n')
    (clone / "test_these.py").write_text(TESTS)
    command = f"{sys.executable} -m pytest -n {processes} {options}"
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins load for seconds
    done = subprocess.run(command, cwd=clone, env=env, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert last.startswith(f"{counts} in ")
    assert [line for line in lines if re.match(r"not run|skipped", line)] == said
    assert "SKIPPED" not in done.stdout
