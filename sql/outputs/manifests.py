"""The manifest of an export: what was exported, and by which digests its files are known.

An export writes it last, so that a folder with a manifest is a whole export. It is read as foreign
text: nothing in it is believed that was not checked, and no path in it leads out of the folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attnbank.sql.errors import BankError, CallError
from attnbank.sql.outputs.lines import shown

MANIFEST = "manifest.json"
VERSION = 1
"""The version of the manifest itself; that of the tables is `Manifest.format`."""

_KIND = "attnbank export"
_START = f'{{\n "kind": "{_KIND}",\n'
_LARGEST = 2**26
"""The most bytes of a manifest: one of 100,000 files has a third of that."""
_PATH = re.compile(r"[A-Za-z0-9_.%=~-]+(/[A-Za-z0-9_.%=~-]+)*\.parquet")
"""Paths as an export writes them: no backslashes, and nothing that DuckDB takes for a pattern."""
_DIGEST = re.compile("[0-9a-f]{64}")
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
    return ExportedFile(path, rows, place.stat().st_size, _digest(place))


def is_manifest(file: Path) -> bool:
    """Whether an export wrote this file, by its first bytes."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_START)) == _START.encode()
    except OSError:
        return False


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an export, checked for what it says but not against the files.

    Raises CallError if `folder` is no folder, and BankError if it has no manifest, or one that no
    export of this version or an earlier one wrote.
    """
    if not folder.is_dir():
        raise CallError(f"There is no folder {folder}.", "Name a folder that an export wrote.")
    file = folder / MANIFEST
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise _unreadable(folder, "it is no file")
        if file.stat().st_size > _LARGEST:
            raise _unreadable(folder, f"it is larger than {_LARGEST:,} bytes")
        read = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _without(folder) from None
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
        return _manifest(read)
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(folder, f"it lacks or mistakes {shown(str(error))[:200]}") from error


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raise BankError unless every file of a manifest is there, in its size and with its digest.

    A link that leads out of the folder is refused like a file that is missing.
    """
    home = folder.resolve()
    for table in manifest.tables:
        for file in table.files:
            place = folder / file.path
            try:
                leads_out = not place.resolve().is_relative_to(home)
                status = place.stat()
                if leads_out or not stat.S_ISREG(status.st_mode):
                    reason = "leads out of the folder" if leads_out else "is no file"
                elif status.st_size != file.bytes:
                    reason = f"has {status.st_size:,} bytes, and was written with {file.bytes:,}"
                elif _digest(place) != file.sha256:
                    reason = "is not as it was written: its SHA-256 differs"
                else:
                    continue
            except FileNotFoundError:
                reason = "is missing"
            except (OSError, RuntimeError) as error:
                reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            raise BankError(f"{file.path} of the export {folder} {reason}.", _AGAIN)


def _manifest(read: dict[str, Any]) -> Manifest:
    """The manifest of a JSON object. Raises KeyError, TypeError or ValueError if it is none."""
    tables = tuple(_table(each) for each in _a(list, read, "tables"))
    _check_once("table", [(each.schema, each.name) for each in tables])
    _check_once("path", [file.path for each in tables for file in each.files])
    return Manifest(_number(read, "format"), _a(str, read, "written_by"), tables)


def _table(read: dict[str, Any]) -> ExportedTable:
    columns = _a(dict, read, "columns")
    if not columns or not all(isinstance(each, str) for each in columns.values()):
        raise ValueError("columns")
    files = tuple(_file(each) for each in _a(list, read, "files"))
    table = ExportedTable(
        _a(str, read, "schema"), _a(str, read, "name"), _number(read, "rows"), columns, files
    )
    if table.rows != sum(each.rows for each in files):
        raise ValueError(f"rows of {table.name}")
    return table


def _file(read: dict[str, Any]) -> ExportedFile:
    path, digest = _a(str, read, "path"), _a(str, read, "sha256")
    if not _PATH.fullmatch(path) or ".." in path.split("/"):
        raise ValueError(f"path {path}")
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"sha256 of {path}")
    return ExportedFile(path, _number(read, "rows"), _number(read, "bytes"), digest)


def _a(kind: type, read: Any, key: str) -> Any:
    """The value of a key, if it is of a kind; raises ValueError with the key if it is not."""
    if not isinstance(read, dict) or not isinstance(read.get(key), kind):
        raise ValueError(key)
    found = read[key]
    if isinstance(found, str):
        try:
            found.encode()
        except UnicodeEncodeError:  # half of a character, which JSON can write
            raise ValueError(key) from None
    return found


def _number(read: Any, key: str) -> int:
    found = _a(int, read, key)
    if isinstance(found, bool) or not 0 <= found < 2**63:
        raise ValueError(key)
    return int(found)


def _check_once(what: str, names: list[Any]) -> None:
    if len(set(names)) != len(names):
        raise ValueError(f"a {what} that it names twice")


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _without(folder: Path) -> BankError:
    if (folder / "load.sql").is_file():
        return BankError(
            f"The export {folder} has no {MANIFEST}: an earlier attnbank wrote it.",
            'In that folder: duckdb new.duckdb -c ".read schema.sql" -c ".read load.sql"',
        )
    return BankError(
        f"{folder} is not a whole export: it has no {MANIFEST}.",
        "Name a folder that attnbank export wrote.",
    )


def _unreadable(folder: Path, reason: str) -> BankError:
    return BankError(f"{MANIFEST} of the export {folder} cannot be used: {reason}.", _AGAIN)
