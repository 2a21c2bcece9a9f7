"""The licences of what a page has from Python's world, as JSON: licences_of_python.py LARK_WHEEL

npm's packages of DuckDB and of Pyodide come without the text of their licences. DuckDB's is that of
its package for Python; the standard library in Pyodide is Python's own.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import zipfile
from importlib.metadata import files
from pathlib import Path


def licence_texts(wheel: Path) -> dict[str, str]:
    """The licences by the names under which they are listed, as far as they are found."""
    texts = {}
    for file in files("duckdb") or ():
        if file.match("*.dist-info/licenses/LICENSE"):
            texts["@duckdb/duckdb-wasm"] = file.read_text("utf-8")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith("/LICENSE"):
                texts["lark (PyPI)"] = archive.read(name).decode("utf-8")
    python = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    if python.is_file():
        texts["pyodide"] = f"Python, which is within it:\n\n{python.read_text('utf-8')}"
    return texts


if __name__ == "__main__":
    json.dump(licence_texts(Path(sys.argv[1])), sys.stdout)
