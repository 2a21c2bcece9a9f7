"""Downloading a bank: what was fetched stays until the rest comes, and its digest is checked."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from attnbank.sql.bank.new_banks import check_new_place
from attnbank.sql.bank.opening import fault_of_rows, open_to_read
from attnbank.sql.bank.remote import BrokenOffError, request, retry, url_of
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.outputs import file_digest, take_name, unwritten
from attnbank.sql.paths import (
    address_of,
    bank_file,
    printable_path,
    typed_path,
    without_secrets,
)
from attnbank.sql.worker import Worker

_TRIES = 5
_BLOCK = 1 << 20  # bytes that are read at once
_HEADERS = 3 * 4096  # bytes before the first block of a DuckDB file
_DIGEST = re.compile(r"([0-9a-f]{64})\b")


class _UnfitError(BankError):
    """The file is not a bank, or goes on after its end: the part is removed."""


def file_of(address: str) -> Path:
    """The name of the file that an address ends in. Raises CallError if it ends in none."""
    printable = without_secrets(address)
    name = unquote(address.partition("?")[0].partition("#")[0]).rpartition("/")[2]
    if not name or name in (".", "..") or "\0" in name or "\\" in name:
        raise CallError(f"{printable} names no file.", "Name the file to write: fetch URL FILE.")
    return Path(name)


def fetch(address: str, target: Path, on_bytes: Callable[[int, int | None], None]) -> str | None:
    """Download a bank to a file; its SHA-256 if the one that `publish` wrote beside it is the same.

    None stands for no digest beside it. An earlier download of the same file, `FILE.part`, is
    resumed; `on_bytes` is called with the bytes that there are, and their number in all.

    Raises CallError if the address or the file cannot be; BankError if there is no bank there, if
    it breaks off again and again, or if its digest is another one or its rows are damaged, and then
    nothing is kept.
    """
    if address_of(address) is None:
        raise CallError(
            f"{without_secrets(address)} is not an address.", "Give one: https://HOST/bank.duckdb"
        )
    printable = typed_path(printable_path(address))
    place = bank_file(target)
    taken = CallError(f"{target} already exists and was left unchanged.", "Name another file.")
    if place.exists():
        raise taken
    check_new_place(place)
    url = url_of(printable)
    part, mark = place.with_name(f"{place.name}.part"), place.with_name(f"{place.name}.part.of")
    is_done = False
    try:
        retry(lambda: _download(url, printable, part, mark, on_bytes), BrokenOffError, _TRIES)
        published = _published_digest(url)
        try:
            _check(part, printable, published)
        except BankError:
            is_done = True
            raise
        if not take_name(part, place):
            raise taken
        is_done = True
    except _UnfitError:
        is_done = True
        raise
    except BrokenOffError as error:
        remedy = "Type the same command: it goes on where it stopped."
        raise BankError(error.fact, remedy) from None
    except OSError as error:
        raise unwritten(target, error) from error
    finally:
        if is_done:
            part.unlink(missing_ok=True)
            mark.unlink(missing_ok=True)
    return published


def _download(
    url: str, printable: str, part: Path, mark: Path, on_bytes: Callable[[int, int | None], None]
) -> None:
    """Append to a part what it lacks, if it is of the file that is there now, as `mark` says."""
    before = mark.read_text(encoding="utf-8") if mark.exists() else ""
    # The last byte is requested again, since a host refuses a range that begins at the end.
    have = max(0, part.stat().st_size - 1) if before and part.exists() else 0
    with request(url, have) as response:
        if not response.is_part:
            have = 0
        elif have and response.version != before:
            part.unlink()
            raise BrokenOffError(f"{printable} was replaced since a part of it was fetched.")
        elif response.first != have:
            raise BankError(f"The host of {printable} sent another part than requested.")
        size, most = response.size, None
        free = shutil.disk_usage(part.parent).free
        if size is not None and size - have > free:
            raise BankError(
                f"{printable} has {size:,} bytes, but the disk has only {free:,} free.",
                "Free some space, or name a file on another disk: fetch URL FILE",
            )
        mark.write_text(response.version, encoding="utf-8")
        with part.open("r+b" if have else "wb") as file:
            file.seek(have)
            on_bytes(have, size)
            while block := response.read(_BLOCK):
                file.write(block)
                have += len(block)
                on_bytes(have, size)
                if most is None and have >= _HEADERS:
                    file.flush()
                    most = 2 * _size_by_itself(part, printable)
                if most is not None and max(have, size or 0) > most:
                    raise _UnfitError(
                        f"{printable} gives more than the bank in it has ({most // 2:,} bytes);"
                        " nothing was kept.",
                        "Check the address.",
                    )
        if size is not None and have != size:
            raise BrokenOffError(f"{printable} broke off after {have:,} of {size:,} bytes.")


def _size_by_itself(part: Path, printable: str) -> int:
    """The bytes of a bank by its header: one of 4 KiB, two of which one counts, then its blocks."""
    with part.open("rb") as file:
        start = file.read(_HEADERS)
    if start[8:12] != b"DUCK":
        raise _UnfitError(
            f"{printable} is not a bank: it is not a DuckDB file.", "Give the address of a bank."
        )
    sizes = [
        count * size
        for count, size in (
            struct.unpack_from("<2Q", start, at + 32) for at in (4096, 8192) if len(start) > at + 48
        )
    ]
    return _HEADERS + max(sizes, default=0)


def _published_digest(url: str) -> str | None:
    """The digest that stands beside a bank; None if none does."""
    bare, mark, query = url.partition("?")
    with suppress(BankError), request(f"{bare}.sha256{mark}{query}") as response:
        match = _DIGEST.match(response.read(200).decode("ascii", errors="replace"))
        return None if match is None else match[1]
    return None


def _check(part: Path, printable: str, published: str | None) -> None:
    """Raise BankError unless a file is what was published, and a bank whose rows are right."""
    _size_by_itself(part, printable)
    own = file_digest(part)
    if published not in (None, own):
        raise BankError(
            f"What {printable} gave is not what was published: its SHA-256 is {own[:12]}…, not"
            f" {str(published)[:12]}…; nothing was kept.",
            "Fetch it again; if it stays so, tell those who published it.",
        )
    with Worker(part, _faults, str(part)) as worker:  # a damaged file can end a process
        for fault in worker:
            raise BankError(
                f"The bank {printable} is damaged: {fault}; nothing was kept.",
                "Tell those who published it.",
            )


def _faults(path: str) -> Iterator[str]:
    try:
        connection = open_to_read(path)
    except BankError as error:
        if "is damaged" not in error.fact:
            return  # of another format, say: the next command tells what to do
        fault: str | None = error.fact.partition("is damaged: ")[2].rstrip(".")
    else:
        with connection:
            fault = fault_of_rows(connection)
    if fault:
        yield fault
