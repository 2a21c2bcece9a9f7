"""Provenance: the versions and the time behind a row of a bank, and behind a file, as JSON."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql import registry
from attnbank.sql.outputs import MANIFEST, file_digest, output_file
from attnbank.sql.paths import located, typed_path, without_secrets

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The key of the metadata of a Parquet file.
KEY = "attnbank"

# What follows the whole name of a file in that of the one beside it.
ENDING = ".provenance.json"


@cache  # every call parses the metadata of the package, and a run asks several times
def version(package: str = "attnbank") -> str:
    """The version of a package. Raises PackageNotFoundError if it is not installed."""
    from importlib import metadata  # imported late: few commands need it

    return metadata.version(package)


# The packages that run a model, and that read what it reads.
_OF_MODELS = ("duckdb", "torch", "transformers", "tokenizers", "numpy", "pyarrow", "spacy")


def libraries(names: Iterable[str] = _OF_MODELS) -> dict[str, str]:
    """The version of Python (key "python") and of each named package that is installed."""
    versions = {"python": platform.python_version()}
    for name in names:
        with suppress(ImportError):  # it is not installed
            versions[name] = version(name)
    return versions


def now() -> datetime:
    """The time in UTC, to the second, as a naive datetime: the form that a bank stores."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def stamp(started: datetime) -> dict[str, Any]:
    """The columns that say when the computation of something began, and what computes it."""
    return {"code_version": version(), "libraries": libraries(), "started": started}


def provenance_of_run(connection: DuckDBPyConnection, name: str) -> dict[str, Any]:
    """What a run was made of; nothing if the bank has no run of the name."""
    cursor = connection.execute(registry.internal_statement("origin_of_run"), {"run": name})
    rows = cursor.fetchall()
    return (
        dict(zip((column[0] for column in cursor.description), rows[0], strict=True))
        if rows
        else {}
    )


def provenance_of_export(folder: str) -> dict[str, Any]:
    """Where an export is, and the SHA-256 of its manifest; None where that cannot be read."""
    manifest = Path(folder).expanduser() / MANIFEST
    try:
        sha256 = file_digest(manifest)
    except OSError:  # an address that only Spark can read, or an export of before manifests
        return {"folder": without_secrets(folder), "manifest_sha256": None}
    return {"folder": str(manifest.parent.absolute()), "manifest_sha256": sha256}


def digest_text(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def whole(facts: Mapping[str, Any], bank: Path | None = None) -> dict[str, Any]:
    """Facts about a file, with the version, the bank, the time in UTC and the libraries."""
    return {
        "attnbank": version(),
        "made": f"{now().isoformat()}Z",
        "bank": None if bank is None else typed_path(located(bank)),
        **facts,
        "libraries": libraries(("duckdb", "polars", "pyarrow")),
    }


def json_of_facts(facts: Mapping[str, Any]) -> str:
    """Facts as JSON; what JSON does not have (a time) as text."""
    return json.dumps(facts, indent=1, ensure_ascii=False, default=str) + "\n"


def write_beside(file: Path, facts: Mapping[str, Any], bank: Path | None = None) -> Path:
    """Write facts about a file, with its size and digest, beside it; raises as `output_file`."""
    own = {"name": file.name, "bytes": file.stat().st_size, "sha256": file_digest(file)}
    beside = file.with_name(f"{file.name}{ENDING}")
    with output_file(beside, bank) as out:
        out.write(json_of_facts({**facts, "file": own}).encode(errors="backslashreplace"))
    return beside
