"""Makes a folder with only the packages of the base install, for `python -S`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def link_packages(folder: Path) -> list[str]:
    """Link the packages of the dependencies in pyproject.toml into a folder; their names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = list(_required(project["dependencies"]))
    for name in names:
        distribution = metadata.distribution(name)
        tops = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
        for top in tops:
            (folder / top).symlink_to(Path(str(distribution.locate_file(top))))
    return names


def link_version(folder: Path) -> None:
    """Link the metadata of the installed attnbank into a folder, but not its code."""
    distribution = metadata.distribution("attnbank")
    for file in distribution.files or ():
        top = folder / file.parts[0]
        if top.suffix == ".dist-info" and not top.exists():
            top.symlink_to(Path(str(distribution.locate_file(file.parts[0]))))


def _required(texts: list[str]) -> Iterator[str]:
    """The names of some requirements and of all that they require in turn, each once."""
    waiting, seen = list(texts), set()
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if requirement.name not in seen:
            seen.add(requirement.name)
            yield requirement.name
            waiting.extend(metadata.requires(requirement.name) or ())
