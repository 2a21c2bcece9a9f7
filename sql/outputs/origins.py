"""What made a file: the version, the bank, the run, and what was asked, as JSON.

It stands in the metadata of a Parquet file under the key `attnbank`, and for other formats in a
file beside it, which knows the file by its digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql import provenance, registry
from attnbank.sql.outputs.files import output_file
from attnbank.sql.outputs.manifests import MANIFEST

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

KEY = "attnbank"
"""The key of the metadata of a Parquet file."""
ENDING = ".provenance.json"
"""What the name of the file beside another one ends in, after that one's whole name."""


def of_run(connection: DuckDBPyConnection, name: str) -> dict[str, Any]:
    """What a run was made of; nothing if the bank has no run of the name."""
    found = connection.execute(registry.statement("origin_of_run"), {"run": name})
    names = [each[0] for each in found.description or ()]
    rows = found.fetchall()
    return dict(zip(names, rows[0], strict=True)) if rows else {}


def of_export(folder: str) -> dict[str, Any]:
    """Where an export is, and the SHA-256 of its manifest; None where that cannot be read."""
    manifest = Path(folder).expanduser() / MANIFEST
    try:
        with manifest.open("rb") as opened:
            sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:  # an address that only Spark can read, or an export of before manifests
        return {"folder": folder, "manifest_sha256": None}
    return {"folder": str(manifest.parent.absolute()), "manifest_sha256": sha256}


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def whole(facts: Mapping[str, Any], bank: Path | None = None) -> dict[str, Any]:
    """Facts about a file, with the version, the bank, the time in UTC and the libraries."""
    return {
        "attnbank": provenance.version(),
        "made": f"{provenance.now().isoformat()}Z",
        "bank": None if bank is None else str(bank.absolute()),
        **facts,
        "libraries": provenance.libraries("duckdb", "polars", "pyarrow"),
    }


def as_text(facts: Mapping[str, Any]) -> str:
    """Facts as JSON; what JSON does not have (a time) as text."""
    return json.dumps(facts, indent=1, ensure_ascii=False, default=str) + "\n"


def write_beside(file: Path, facts: Mapping[str, Any], bank: Path | None = None) -> Path:
    """Write facts about a file into one beside it, with its size and its digest; where that is.

    Raises CallError or AttnbankError as `output_file` does.
    """
    with file.open("rb") as opened:
        sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    own = {"name": file.name, "bytes": file.stat().st_size, "sha256": sha256}
    beside = file.with_name(f"{file.name}{ENDING}")
    with output_file(beside, bank) as out:
        out.write(as_text({**facts, "file": own}).encode(errors="backslashreplace"))
    return beside
