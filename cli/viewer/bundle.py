"""The programs of a published page: DuckDB and Python for browsers, from npm and PyPI.

They are not in git: `make web` downloads them by version and digest into one folder, with the
page's own scripts; wheels contain it. Its `web.json` lists the files.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from attnbank.sql.errors import MissingPackageError

WEB = Path(__file__).resolve().parent / "web"
LIST = "web.json"
_ARCHIVE, _VERSION = "pyodide/attnbank.zip", "version.txt"
# Modules that compile requests in the browser, besides the folders below.
_COMPILER = ("__init__.py", "cli/__init__.py", "cli/viewer/__init__.py",
             "cli/viewer/in_browser.py", "queries/__init__.py")  # fmt: skip
_COMPILER_FOLDERS = ("queries/patterns", "sql")
_SUFFIXES = (".py", ".sql", ".lark", ".json")


def need_bundle() -> dict[str, Any]:
    """Read `web.json`. Raises MissingPackageError if the bundle is missing or incomplete."""
    try:
        manifest: dict[str, Any] = json.loads((WEB / LIST).read_text(encoding="utf-8"))
        is_complete = all(
            (WEB / name).stat().st_size == size for name, size in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError):
        is_complete = False
    if not is_complete:
        raise MissingPackageError(
            "A published page needs DuckDB for browsers, which is not installed.",
            "Install attnbank from a wheel, or type in a clone of it: make web",
        )
    return manifest


def bundle_files() -> list[str]:
    """The paths of the files that `write_bundle` writes."""
    return [*need_bundle()["files"], LIST, _ARCHIVE, _VERSION]


def write_bundle(folder: Path, version: str) -> int:
    """Copy the bundle and the request compiler into a folder; return the bytes of all files."""
    manifest = need_bundle()
    for name in (*manifest["files"], LIST):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((WEB / name).read_bytes())
    (folder / _ARCHIVE).write_bytes(_compiler())
    (folder / _VERSION).write_text(f"{version}\n", encoding="utf-8")
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _compiler() -> bytes:
    """The modules that compile requests, as a zip file that is the same for the same sources."""
    import io

    package = files("attnbank")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(_sources(package)):
            # A fixed date: the archive must not change with the clock.
            entry = zipfile.ZipInfo(f"attnbank/{name}", (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return buffer.getvalue()


def _sources(package: Traversable) -> Iterator[tuple[str, bytes]]:
    for name in _COMPILER:
        yield name, package.joinpath(name).read_bytes()
    for folder in _COMPILER_FOLDERS:
        yield from _below(package.joinpath(folder), folder)


def _below(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{name}/{entry.name}"
        if entry.is_dir() and entry.name not in ("analyses", "schema", "__pycache__"):
            yield from _below(entry, path)
        elif entry.is_file() and entry.name.endswith(_SUFFIXES):
            yield path, entry.read_bytes()
