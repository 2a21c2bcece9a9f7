"""The manifest of an export: what was exported, and by which digests its files are known.

It is written last, so that a folder with one is a whole export, and read as foreign text, of which
nothing is believed that was not checked.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from attnbank.sql.errors import BankError, CallError
from attnbank.sql.messages import escape_control
from attnbank.sql.registry import FORMAT

MANIFEST = "manifest.json"
VERSION = 1
"""The version of the manifest itself; that of the tables is `Manifest.format`."""

_KIND = "attnbank export"
_START = f'{{\n "kind": "{_KIND}",\n'
_LARGEST = 2**26
"""The most bytes of a manifest: one of 100,000 files has a third of that."""
_MOST_TABLES = 2_000
_PATH = re.compile(r"[A-Za-z0-9_.%=~-]+(/[A-Za-z0-9_.%=~-]+)*\.parquet")
"""Paths as an export writes them: no backslashes, and nothing that DuckDB takes for a pattern."""
_DIGEST = re.compile("[0-9a-f]{64}")
_HALVES = re.compile("[\ud800-\udfff]")  # of characters: JSON can write them
_types = cache(get_type_hints)
_AGAIN = "Copy the folder again, or write it anew: attnbank export DIR"


@dataclass(frozen=True)
class ExportedFile:
    """A file: its path relative to the folder, its rows, its bytes, and its SHA-256."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class ExportedTable:
    """A table: the types of its columns by name, as DuckDB writes them, and its files in order."""

    schema: str
    name: str
    rows: int
    columns: dict[str, str]
    files: tuple[ExportedFile, ...]


@dataclass(frozen=True)
class Manifest:
    """What an export holds: `format` is that of the bank, `written_by` the version of attnbank."""

    format: int
    written_by: str
    tables: tuple[ExportedTable, ...]

    def text(self) -> str:
        """The manifest as JSON. The same export gives the same text."""
        whole = {"kind": _KIND, "manifest": VERSION, **asdict(self)}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def exported_file(folder: Path, path: str, rows: int) -> ExportedFile:
    """A file that was written, with its size and its digest."""
    place = folder / path
    return ExportedFile(path, rows, place.stat().st_size, file_digest(place))


def file_digest(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def is_manifest(file: Path) -> bool:
    """Whether an export wrote this file, by its first bytes."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_START)) == _START.encode()
    except OSError:
        return False


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an export, not checked against the files.

    Raises CallError if `folder` is not one, BankError if it has no manifest of this version.
    """
    if not folder.is_dir():
        raise CallError(
            f"Folder {folder} does not exist.",
            "Name a folder that export wrote; to merge banks, use attnbank merge.",
        )
    file = folder / MANIFEST
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable(folder, "it is not a file")
        if status.st_size > _LARGEST:
            raise _unreadable(folder, f"it is larger than {_LARGEST:,} bytes")
        read = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BankError(
            f"{folder} is not a complete export: it has no {MANIFEST}.",
            "Name a folder that attnbank export wrote.",
        ) from None
    except OSError as error:
        raise _unreadable(folder, error.strerror or "it cannot be opened") from error
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, a number of 5,000 digits
        raise _unreadable(folder, "it is damaged or cut off") from error
    if not isinstance(read, dict) or read.get("kind") != _KIND:
        raise _unreadable(folder, "it is not that of an export")
    version = read.get("manifest")
    if isinstance(version, int) and version > VERSION:
        raise BankError(
            f"The export {folder} was written by a newer attnbank.", "Use that version."
        )
    try:
        manifest: Manifest = _parsed(Manifest, read, "manifest")
        _check(manifest)
    except ValueError as error:
        raise _unreadable(folder, escape_control(str(error))[:200]) from error
    return manifest


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raise BankError unless every file of a manifest is in the folder, unchanged."""
    home = folder.resolve()
    for table in manifest.tables:
        for file in table.files:
            place = folder / file.path
            try:
                leads_out = not place.resolve().is_relative_to(home)
                status = place.stat()
                if leads_out or not stat.S_ISREG(status.st_mode):
                    reason = "leads out of the folder" if leads_out else "is not a file"
                elif status.st_size != file.bytes:
                    reason = f"has {status.st_size:,} bytes, and was written with {file.bytes:,}"
                elif file_digest(place) != file.sha256:
                    reason = "has changed since it was written: its SHA-256 differs"
                else:
                    continue
            except FileNotFoundError:
                reason = "is missing"
            except (OSError, RuntimeError) as error:
                reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            raise BankError(f"{file.path} of the export {folder} {reason}.", _AGAIN)


def check_format(named: str, format_: int, upgrade: str) -> None:
    """Raise BankError unless an export is of this format; `upgrade` is what to do with an older."""
    if format_ != FORMAT:
        is_newer = format_ > FORMAT
        by = ", which a newer attnbank wrote" if is_newer else ""
        raise BankError(
            f"{named} is of format {format_}{by}; this version reads format {FORMAT}.",
            "Use that version, or name another folder." if is_newer else upgrade,
        )


def _parsed(kind: Any, read: Any, name: str) -> Any:
    """What JSON has for a field of a type; raises ValueError with its name if it is another."""
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(read, dict):
        types = _types(kind)
        return kind(**{key: _parsed(type_, read.get(key), key) for key, type_ in types.items()})
    if get_origin(kind) is tuple and isinstance(read, list):
        return tuple(_parsed(get_args(kind)[0], item, name) for item in read)
    if get_origin(kind) is dict and isinstance(read, dict) and read:
        return {_parsed(str, key, name): _parsed(str, item, name) for key, item in read.items()}
    is_number = kind is int and type(read) is int and 0 <= read < 2**63
    is_text = kind is str and isinstance(read, str) and not _HALVES.search(read)
    if not (is_number or is_text):
        raise ValueError(f"{name} is missing or invalid")
    return read


def _check(manifest: Manifest) -> None:
    """Raise ValueError for a path that no export writes, and for what contradicts itself."""
    for table in manifest.tables:
        for file in table.files:
            if not _PATH.fullmatch(file.path) or ".." in file.path.split("/"):
                raise ValueError(f"path {file.path} is invalid")
            if not _DIGEST.fullmatch(file.sha256):
                raise ValueError(f"sha256 of {file.path} is invalid")
        if table.rows != sum(file.rows for file in table.files):
            raise ValueError(f"rows of {table.name} do not add up")
    for what, number, most in (
        ("tables", len(manifest.tables), _MOST_TABLES),
        ("columns", sum(len(table.columns) for table in manifest.tables), 10 * _MOST_TABLES),
    ):
        if number > most:
            raise ValueError(f"it has {number:,} {what}, and at most {most:,} are read")
    names = [(table.schema, table.name) for table in manifest.tables]
    paths = [file.path for table in manifest.tables for file in table.files]
    for what, every in (("table", names), ("path", paths)):
        if len(set(every)) != len(every):
            raise ValueError(f"it names a {what} twice")


def _unreadable(folder: Path, reason: str) -> BankError:
    return BankError(f"{MANIFEST} of the export {folder} cannot be used: {reason}.", _AGAIN)
