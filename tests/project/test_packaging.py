"""What is installed: a wheel through an sdist, `python -m attnbank`, types for its users."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from command_line import run_attnbank
from light_install import ROOT, link_packages

USER = """
import polars as pl

from attnbank.ingest import IngestOptions, ingest
from attnbank.queries import open_bank
from attnbank.ingest.derived.probes import train_probe

with open_bank("x.duckdb") as bank:
    reveal_type(bank)
    reveal_type(bank.query("best_head"))
    reveal_type(bank.table("word"))
    reveal_type(bank.info())
    heads: pl.DataFrame = bank.query("best_head")
    wrong: int = bank.query("best_head")
reveal_type(ingest)
reveal_type(train_probe("x.duckdb", "attention", 1, 2))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the checkout."""
    return _wheel(tmp_path_factory.mktemp("dist"), "standard")


def _wheel(folder: Path, version: str) -> Path:
    """Build a wheel of the checkout in this process; `version` is that of hatchling."""
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling builds the package")
    (made,) = builder.WheelBuilder(str(ROOT)).build(directory=str(folder), versions=[version])
    return Path(made)


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a virtual environment with the base install."""
    return _install(built, tmp_path_factory.mktemp("installed"))


def _install(built: Path, folder: Path) -> Path:
    """Install a wheel into a new virtual environment in a folder; its Python."""
    venv.create(folder)
    site = next(folder.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(built) as wheel:  # pure Python: this installs it
        wheel.extractall(site)
    link_packages(site)
    return folder / "bin" / "python"


def _build(source: Path, target: str, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _run(python: Path | str, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), *args], capture_output=True, text=True, check=False, cwd=cwd, env={"PATH": ""}
    )


def _files(built: Path) -> set[str]:
    with zipfile.ZipFile(built) as wheel:
        return {name for name in wheel.namelist() if ".dist-info/" not in name}


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(built: Path, tmp_path: Path) -> None:
    _build(ROOT, "sdist", tmp_path)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    _build(next(path for path in tmp_path.iterdir() if path.is_dir()), "wheel", tmp_path)
    assert _files(next(tmp_path.glob("*.whl"))) == _files(built)


def test_the_wheel_has_every_file_of_the_folders(built: Path) -> None:
    found = _files(built)
    folders = ("ingest", "queries", "sql", "cli")
    expected = {
        f"attnbank/{path.relative_to(ROOT).as_posix()}"
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    own = ("__init__.py", "__main__.py", "py.typed")
    assert found == expected | {f"attnbank/{name}" for name in own}
    assert {f"attnbank/{folder}/py.typed" for folder in folders} <= found


def test_python_m_attnbank_is_attnbank(installed: Path, tmp_path: Path) -> None:
    done = _run(installed, "-m", "attnbank", "--version", cwd=tmp_path)
    assert done.stdout.startswith("attnbank ") and not done.stderr
    done = _run(installed, "-m", "attnbank", "nonsense", cwd=tmp_path)
    assert done.returncode == 2 and "There is no command nonsense" in done.stderr


@pytest.mark.slow
def test_the_package_itself_opens_banks(installed: Path, full_bank: Path, tmp_path: Path) -> None:
    program = (
        "import sys, attnbank\n"
        "assert 'duckdb' not in sys.modules\n"
        "print(attnbank.__version__, sorted({'open_bank', 'queries'} & set(dir(attnbank))))\n"
        "with attnbank.open_bank(sys.argv[1]) as bank:\n"
        "    print(bank.sql('select 42').item(), 'best_head' in bank.queries()['name'])\n"
        "import attnbank.queries, attnbank.ingest\n"
    )
    done = _run(installed, "-c", program, str(full_bank), cwd=tmp_path)
    version = metadata.version("attnbank")
    assert done.stdout.split("\n")[:2] == [f"{version} ['open_bank', 'queries']", "42 True"], done


def test_python_m_attnbank_in_the_checkout() -> None:
    done = run_attnbank("queries", env={"PYTHONPATH": str(ROOT / ".src")})
    assert done.returncode == 0 and "best_head" in done.stdout, done.stderr


def test_python_m_attnbank_where_it_is_editable(tmp_path: Path) -> None:
    python = _install(_wheel(tmp_path, "editable"), tmp_path / "venv")
    done = _run(python, "-m", "attnbank", "queries", cwd=tmp_path)
    assert done.returncode == 0 and "best_head" in done.stdout, done.stderr


@pytest.mark.slow
def test_types_reach_a_user(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(USER)
    options = ["--strict", "--config-file=", f"--python-executable={installed}"]
    done = _run(sys.executable, "-m", "mypy", *options, "user.py", cwd=tmp_path)
    for message in (
        'user.py:9: note: Revealed type is "attnbank.queries.bank.Bank"',
        'user.py:10: note: Revealed type is "polars.dataframe.frame.DataFrame"',
        'user.py:11: note: Revealed type is "polars.lazyframe.frame.LazyFrame"',
        'user.py:12: note: Revealed type is "attnbank.queries.contents.Contents"',
        "user.py:14: error: Incompatible types in assignment",
        "-> attnbank.ingest.reports.Report",
        "user.py:16: note: Revealed type is"
        ' "attnbank.ingest.derived.probes.probe_options.ProbeReport"',
    ):
        assert message in done.stdout, done.stdout + done.stderr
    assert "Found 1 error" in done.stdout, done.stdout


def test_a_clone_without_links_says_what_to_do(tmp_path: Path) -> None:
    """Git on Windows writes a link as a text file, unless it is told otherwise."""
    package = tmp_path / "attnbank"
    package.mkdir()
    (package / "__init__.py").write_bytes((ROOT / ".src/attnbank/__init__.py").read_bytes())
    (package / "sql").write_text("../../sql")
    done = _run(sys.executable, "-S", "-c", "import attnbank.queries", cwd=tmp_path)
    assert "Type: git config core.symlinks true && git checkout -- .src" in done.stderr


def test_a_release_has_absolute_links_and_addresses(tmp_path: Path) -> None:
    for name in ("README.md", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    address = "https://code.example/us/attnbank"
    program = [str(ROOT / ".github" / "prepare_release.py"), address, "v9"]
    done = _run(sys.executable, *program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    readme = (tmp_path / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert links and all(link.startswith(("https://", "#")) for link in links)
    pictures = re.findall(r' src(?:set)?="([^"]+)"', readme)
    assert len(pictures) == 2
    assert all(link.startswith(f"{address}/raw/v9/docs/pictures/hero.") for link in pictures)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Changelog"] == f"{address}/blob/v9/CHANGELOG.md"
    assert project["authors"] and project["name"] == "attnbank"
