"""List what the programs of published pages consist of: licences.py TARGET LARK_WHEEL

Writes LICENSES.txt and web.json, which names the packages and all files, beside the programs that
build.mjs has built. npm's packages of DuckDB and of Pyodide come without the text of their
licences. DuckDB's is that of its package for Python; the standard library in Pyodide is Python's.
"""

from __future__ import annotations

import hashlib
import json
import sys
import sysconfig
import zipfile
from importlib.metadata import files
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LARK = "lark (PyPI)"


def list_packages(target: Path, wheel: Path) -> None:
    """Write LICENSES.txt and web.json."""
    locked = json.loads((HERE / "package-lock.json").read_text("utf-8"))["packages"]
    texts = _texts_of_python(wheel)
    packages, licences = [], []
    for name in json.loads((HERE / "used.json").read_text("utf-8")):
        folder = HERE / "node_modules" / name
        described = json.loads((folder / "package.json").read_text("utf-8"))
        for file in folder.iterdir():
            if file.name.lower().startswith(("license", "licence")):
                texts[name] = file.read_text("utf-8")
        packages.append(_package(
            name, described["version"], described["license"],
            locked[f"node_modules/{name}"]["integrity"],
        ))  # fmt: skip
        repository = described.get("repository") or {}
        licences.append(_licence(packages[-1], repository.get("url", ""), texts.get(name, "")))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    packages.append(_package(LARK, wheel.name.split("-")[1], "MIT", f"sha256-{digest}"))
    licences.append(_licence(packages[-1], "", texts.get(LARK, "")))
    line = "-" * 72
    (target / "LICENSES.txt").write_text(f"\n\n{line}\n\n".join(licences) + "\n", "utf-8")
    sizes = {
        file.relative_to(target).as_posix(): file.stat().st_size
        for file in sorted(target.rglob("*"))
        if file.is_file()
    }
    manifest = {"packages": packages, "files": sizes}
    (target / "web.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


def _package(name: str, version: str, licence: str, integrity: str) -> dict[str, str]:
    return {"name": name, "version": version, "licence": licence, "integrity": integrity}


def _licence(package: dict[str, Any], source: str, text: str) -> str:
    parts = [
        f"{package['name']} {package['version']}: {package['licence']}",
        source and f"Its source: {source}", text.strip(),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def _texts_of_python(wheel: Path) -> dict[str, str]:
    texts = {}
    for file in files("duckdb") or ():
        if file.match("*.dist-info/licenses/LICENSE"):
            texts["@duckdb/duckdb-wasm"] = file.read_text("utf-8")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith("/LICENSE"):
                texts[LARK] = archive.read(name).decode("utf-8")
    python = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    if python.is_file():
        texts["pyodide"] = f"Python, which is within it:\n\n{python.read_text('utf-8')}"
    return texts


if __name__ == "__main__":
    list_packages(*map(Path, sys.argv[1:]))
