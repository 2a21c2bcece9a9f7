"""The house: which folder may import which, no circles, no endless module, a true map."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from generator import house

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("cli", "ingest", "queries", "sql")
MAY_READ = {
    "cli": {"cli", "ingest", "queries", "sql"},
    "ingest": {"ingest", "queries", "sql"},
    "queries": {"queries", "sql"},
    "sql": {"sql"},
}
MOST_LINES = 1000


@cache
def _graph() -> dict[str, list[str]]:
    """The modules of the package, each with those that it imports."""
    modules = {}
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            names = path.relative_to(ROOT).with_suffix("").parts
            modules[".".join(("attnbank", *names)).removesuffix(".__init__")] = path
    return {name: list(_imports(path, modules)) for name, path in modules.items()}


def _imports(path: Path, known: Container[str]) -> Iterator[str]:
    """The modules of the package that a file imports, also within functions and for types."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "attnbank":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("attnbank."))


def test_the_arrows_point_one_way() -> None:
    """Ingest writes and may ask, queries reads, sql is text and the door to the file."""
    assert len(_graph()) > 100
    wrong = {
        (name, other)
        for name, others in _graph().items()
        for other in others
        if other != "attnbank" and other.split(".")[1] not in MAY_READ[name.split(".")[1]]
    }
    assert not wrong


def test_there_is_no_circle() -> None:
    """Not even of imports that are made late, or for types alone."""
    order = list(TopologicalSorter(_graph()).static_order())  # raises CycleError where there is one
    assert order.index("attnbank.sql.errors") < order.index("attnbank.cli.app")


@pytest.mark.parametrize("part", ["ingest", "queries", "sql"])
def test_folders_import_only_lower_ones(part: str) -> None:
    """And so do the modules beside them: each folder or module has a floor of its own."""
    floors: dict[str, set[str]] = {}
    for name, others in _graph().items():
        (floor, *lower) = (".".join(module.split(".")[:3]) for module in (name, *others))
        if floor.startswith(f"attnbank.{part}"):
            floors.setdefault(floor, set()).update({*lower} - {floor})
    assert len([*TopologicalSorter(floors).static_order()]) >= len(floors) > 10


def test_no_module_is_endless() -> None:
    endless = {
        path.relative_to(ROOT).as_posix(): lines
        for part in (*house.PARTS, *house.BESIDE)
        for path in (ROOT / part).rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert not endless


def test_contributing_has_the_map() -> None:
    """`python docs/make.py --map` writes it."""
    text = house.CONTRIBUTING.read_text(encoding="utf-8")
    assert text.count(house.BEGINS) == text.count(house.ENDS) == 1
    assert house.with_map() == text


def test_every_folder_is_on_the_map() -> None:
    mapped = {folder for part in (*house.PARTS, *house.BESIDE) for folder in house.folders(part)}
    files = [path for part in PARTS for path in (ROOT / part).rglob("*.[ps]*") if path.is_file()]
    holding = {path.parent.relative_to(ROOT).as_posix() for path in files}
    assert {folder for folder in holding if "__pycache__" not in folder} <= mapped | house.MADE
    without = {folder for folder in mapped if not (ROOT / folder / "__init__.py").exists()}
    assert without == set(house.NO_DOCSTRING)


@pytest.mark.slow
def test_tests_and_benchmarks_use_nothing_private() -> None:
    wrong = []
    for path in sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]):
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
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in names:
                found = node.attr
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setattr":
                parts = [ast.unparse(each) for each in node.args[:2]]
                found = ast.literal_eval(parts[1]) if parts[0] in names else ""
            else:
                continue
            if found.startswith("_") and not found.startswith("__"):
                wrong.append((found, path.name, node.lineno))
    assert not wrong
