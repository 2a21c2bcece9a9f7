"""New banks: copies of a bank without rows, which is made once for each version of attnbank.

DuckDB plans every analysis that it puts into a bank, which takes a second. So the bytes of an empty
bank stay in memory, and for other processes in a cache folder of the user's; see `cache_file`.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql import registry
from attnbank.sql.bank.connections import STORAGE, connect, transaction
from attnbank.sql.errors import (
    AttnbankError,
    BankError,
    CallError,
    bank_error,
    is_full_disk,
    translate_errors,
)
from attnbank.sql.interrupts import postponed
from attnbank.sql.outputs import new_part, output_file, take_name
from attnbank.sql.paths import bank_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The environment variable that names the cache folder.
CACHE = "ATTNBANK_CACHE"

_AGAIN = "type the same command"
# DuckDB reads a.b as a database or as a schema: a bank of one of these names would be ambiguous.
_RESERVED = frozenset(
    {"main", "paper", "saved", "temp", "system", "information_schema", "pg_catalog"}
)
# The first header of a DuckDB file, which holds the identifier that its log must name.
_MAIN_HEADER = 4096

# The name of a file in the cache.
_NAME = re.compile("empty-[0-9a-f]{32}")

# The empty banks of this process, by the name of their file in the cache.
empty_banks: dict[str, bytes] = {}


@contextmanager
def new_bank(
    path: Path,
    created_by: str,
    reads: Sequence[Path],
    outcome: str = "nothing was imported",
    settings: Mapping[str, str] | None = None,
) -> Iterator[DuckDBPyConnection]:
    """A bank without rows, to be filled from the files and the folders that `reads` names.

    It appears under its name when the block ends, and is removed if the block raises. `outcome`
    ends the error of a full disk. Raises CallError or BankError if the path is taken or cannot be,
    and BankError for errors of DuckDB.
    """
    place = check_free(path)
    with postponed() as interrupts, _new_file(place, path, outcome) as new:
        _write_empty(new, path, created_by, outcome)
        with connect(new, settings, path, reads, (outcome, _AGAIN)) as connection:
            with interrupts.at_once():
                yield connection
            connection.execute("checkpoint")
        if not _take_place(new, place):
            check_free(path)


def create_bank(place: Path, named: Path, created_by: str) -> None:
    """Make a bank with no rows if there is none, or BankError; `named` is the path as given."""
    outcome = "no bank was made"
    with _new_file(place, named, outcome) as new:
        _write_empty(new, named, created_by, outcome)
        _take_place(new, place)  # if another process was faster, its bank is the bank


def check_free(path: Path) -> Path:
    """The resolved path of a bank to be made. Raises CallError or BankError if it is taken."""
    place = check_new_place(bank_file(path))
    if place.exists() and place.stat().st_size:
        raise CallError(
            f"{path} already exists and was left unchanged.", "Name a new file (-b FILE)."
        )
    return place


def check_new_place(place: Path) -> Path:
    """The same place; raises BankError if DuckDB would confuse its name, or read a log there."""
    if is_named_as_a_schema(place):
        raise BankError(
            f"A bank cannot be named {place.stem}: DuckDB would confuse it with a schema.",
            "Give it another name (-b FILE).",
        )
    log = Path(f"{place}.wal")
    if log.exists() and not place.exists():
        raise BankError(
            f"{log} is in the way: it is the log of a bank that is no longer there.",
            "Move it away, or use another name (-b FILE).",
        )
    return place


def is_named_as_a_schema(path: Path) -> bool:
    """Whether a file is named as a schema of banks: clients that open it confuse the two."""
    return path.stem.lower() in _RESERVED


def fill(connection: DuckDBPyConnection, created_by: str) -> None:
    """Make the tables, functions and analyses of a bank in a database without any."""
    with transaction(connection, is_change=False):
        for statement in (*registry.schema_scripts(), *registry.install()):
            connection.execute(statement)
        connection.execute(
            "insert into bank (format, created_by, analyses, changes) values (?, ?, ?, 0)",
            [registry.FORMAT, created_by, registry.fingerprint()],
        )
    connection.execute("checkpoint")


@contextmanager
def _new_file(place: Path, named: Path, outcome: str) -> Iterator[Path]:
    try:
        with new_part(place) as part, translate_errors(named, outcome, _AGAIN, only_duckdb=True):
            yield part / place.name
    except OSError as error:
        if is_full_disk(error):
            raise bank_error(error, named, outcome, _AGAIN) from error
        raise BankError(f"Cannot make {named}: {error.strerror}.", "Check the path.") from error


def _take_place(new: Path, place: Path) -> bool:
    """Give a new bank its name; False if a bank has that name already, which then stays."""
    if place.exists() and not place.stat().st_size:
        place.unlink()
    return take_name(new, place)


def _write_empty(new: Path, named: Path, created_by: str, outcome: str) -> None:
    """Write a bank without rows into a new file."""
    cached = cache_file(created_by)
    content = empty_banks.get(cached.name) or read_cached(cached)
    # DuckDB writes the headers, with an identifier of the bank's own.
    with connect(new, None, named, full_disk=(outcome, _AGAIN)) as connection:
        if content is None:
            fill(connection, created_by)
    if content is None:
        content = new.read_bytes()
        _write_cached(cached, content)
    else:
        with new.open("r+b") as file:
            file.seek(_MAIN_HEADER)
            file.write(content[_MAIN_HEADER:])
            os.fsync(file.fileno())
    empty_banks[cached.name] = content


def cache_file(created_by: str) -> Path:
    """The file of an empty bank in the user's cache folder, named after all that it depends on."""
    import duckdb

    usual = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA")}
    place = os.environ.get("XDG_CACHE_HOME") or usual.get(sys.platform) or "~/.cache"
    folder = Path(os.environ.get(CACHE) or Path(place, "attnbank"))
    with suppress(RuntimeError):  # this user has no home
        folder = folder.expanduser()
    facts = [registry.fingerprint(), registry.FORMAT, created_by, duckdb.__version__, STORAGE]
    return folder / f"empty-{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"


def read_cached(file: Path) -> bytes | None:
    """The empty bank of the cache; None unless this user wrote it, and it is whole."""
    try:
        with file.open("rb") as opened:
            if not all(map(_is_own, (file.parent.stat(), os.fstat(opened.fileno())))):
                return None
            digest, content = opened.read(32), opened.read()
    except OSError:
        return None
    return content if hashlib.sha256(content).digest() == digest else None


def _write_cached(file: Path, content: bytes) -> None:
    """Put an empty bank into the cache, if possible, in place of those of other versions."""
    with suppress(OSError, AttnbankError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(file.parent.stat()):
            return
        with output_file(file) as opened:
            Path(opened.name).chmod(0o600)
            opened.write(hashlib.sha256(content).digest() + content)
        for other in file.parent.iterdir():  # which may be a folder that has files of the user's
            if other != file and _NAME.fullmatch(other.name) and read_cached(other) is not None:
                other.unlink()


def _is_own(status: os.stat_result) -> bool:
    """Whether nobody but this user can have written a file or a folder."""
    return os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
