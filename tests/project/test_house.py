"""The house: which folder may read which, without a circle, and nothing too large to hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("cli", "ingest", "queries", "sql")
MAY_READ = {
    "cli": {"cli", "ingest", "queries", "sql"},
    "ingest": {"ingest", "sql"},
    "queries": {"queries", "sql"},
    "sql": {"sql"},
}
MOST_FILES = 26
MOST_LINES = 800


def _modules() -> dict[str, Path]:
    found = {}
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            names = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(("attnbank", *names)).removesuffix(".__init__")] = path
    return found


def _imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that a file imports, also within functions and for types."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "attnbank":
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                yield whole if whole in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("attnbank."))


@pytest.mark.slow
def test_the_arrows_point_one_way() -> None:
    """Ingest writes, queries reads, sql is text and the door to the file."""
    known = _modules()
    assert len(known) > 100
    wrong = {
        (name, other)
        for name, path in known.items()
        for other in _imports(path, known)
        if other != "attnbank" and other.split(".")[1] not in MAY_READ[name.split(".")[1]]
    }
    assert not wrong


@pytest.mark.slow
def test_there_is_no_circle() -> None:
    """Not even of imports that are made late, or for types alone."""
    known = _modules()
    graph = {name: _imports(path, known) for name, path in known.items()}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError where there is one
    assert order.index("attnbank.sql.errors") < order.index("attnbank.cli.app")


def _folders() -> list[Path]:
    every = [each for part in PARTS for each in (ROOT / part, *(ROOT / part).rglob("*"))]
    return [each for each in every if each.is_dir() and each.name != "__pycache__"]


@pytest.mark.parametrize("folder", _folders(), ids=lambda each: each.relative_to(ROOT).as_posix())
def test_a_folder_is_small(folder: Path) -> None:
    if folder.name == "sample":
        return
    files = [each for each in folder.iterdir() if each.suffix in (".py", ".sql")]
    assert len([each for each in files if each.name != "__init__.py"]) <= MOST_FILES


def test_a_file_is_small() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in _modules().values()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert not long


@pytest.mark.slow
def test_tests_and_benchmarks_use_nothing_private() -> None:
    wrong = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        taken = [
            (each.asname or each.name, path.name, node.lineno)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attnbank")
            for each in node.names
        ]
        names = {name for name, *_ in taken}
        wrong += [each for each in taken if each[0].startswith("_")]
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in names:
                found = node.attr
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "monkeypatch.setattr":
                parts = [ast.unparse(each) for each in node.args[:2]]
                found = ast.literal_eval(parts[1]) if parts[0] in names else ""
            else:
                continue
            if found.startswith("_") and not found.startswith("__"):
                wrong.append((found, path.name, node.lineno))
    assert not wrong
