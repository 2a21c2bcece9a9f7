"""The walk-through of CONTRIBUTING.md that adds an analysis, done as it is written."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import run_python

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```\w+ title=\"([^\"]+)\"\n(.*?)```", TEXT, re.DOTALL))
ANALYSIS = "sql/analyses/surface/attention_distance.sql"
CASE = "tests/cases/attention_distance.toml"


def test_it_names_folders_and_files_that_there_are() -> None:
    named = re.findall(r"`((?:sql|ingest|queries|cli|tests|docs)/[\w./-]*)`", TEXT)
    new = {*FILES, "tests/corpora/test_tagged.py"}
    assert len(named) > 20
    for each in named:
        is_example = any(word in each for word in ("SECTION", "NAME", "/ID.", "/N.sql"))
        assert is_example or each in new or (ROOT / each).exists(), each


def test_it_names_targets_that_make_knows() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", TEXT, re.MULTILINE))
    assert {"test", "slow", "soak", "docs", "lint", "simulations"} <= named <= targets


def test_the_header_lines_are_those_that_are_read() -> None:
    from attnbank.sql import header

    table = TEXT.split("The lines of the header:")[1].split("\n\n")[1]
    told = set(re.findall(r"\w+", " ".join(re.findall(r"^\| `([a-z]+)", table, re.MULTILINE))))
    told |= set(re.findall(r"`(paper|grain)`", table))
    source = Path(header.__file__).read_text(encoding="utf-8")
    known = re.search(r'r"\(([a-z|]+)\)\(\?:', source)
    assert known is not None and set(known[1].split("|")) == told


@pytest.mark.soak
def test_an_analysis_is_two_files_and_a_build(tmp_path: Path) -> None:
    house = tmp_path / "house"
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).exists():
            (house / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, house / name, follow_symlinks=False)
    for name in (ANALYSIS, CASE):
        assert not (house / name).exists()
        (house / name).write_text(FILES[name], encoding="utf-8")
    program = f"import sys; sys.path.insert(0, {str(house / '.src')!r}); "
    for code in (
        "import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-n', '0',"
        " 'tests/sql/test_registry.py', 'tests/analyses/test_cases.py',"
        " '-k', 'attention_distance']))",
        "import runpy; sys.argv = ['docs/make.py'];"
        " runpy.run_path('docs/make.py', run_name='__main__')",
        "import runpy; sys.argv = ['mkdocs', 'build', '--strict'];"
        " runpy.run_module('mkdocs', run_name='__main__')",
    ):
        done = run_python("-c", program + code, cwd=house)
        assert done.returncode == 0, done.stdout + done.stderr
    page = (house / "docs" / "analyses" / "attention_distance.md").read_text(encoding="utf-8")
    assert "Run: sample/minilm/pair/token" in page and "1/n Σ_i Σ_j |i − j| α(i, j)" in page
    assert (house / "site" / "analyses" / "attention_distance.html").exists()
    assert "attention_distance" in (house / "site" / "analyses" / "index.html").read_text("utf-8")
    for name in ("commands.md", "schema.md"):
        assert "attention_distance" in (house / "docs" / name).read_text(encoding="utf-8")
