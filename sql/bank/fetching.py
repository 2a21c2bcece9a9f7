"""Downloading a bank: what was fetched stays until the rest comes, and its digest is checked."""

from __future__ import annotations

import hashlib
import http.client
import re
import shutil
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from attnbank.sql.bank.integrity import fault_of_rows
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.bank.paths import (
    address_of,
    bank_file,
    printable_path,
    typed_path,
    without_secrets,
)
from attnbank.sql.bank.remote import body_until, opened, range_of, url_of, version_of
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.outputs.atomic import take_name, unwritten
from attnbank.sql.subprocess_guard import Channel, Guarded

_AT_ONCE = 1 << 20
_DIGEST = re.compile(r"([0-9a-f]{64})\b")
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
_HEADERS = 3 * 4096
"""The bytes before the first block of a DuckDB file."""
_TRIES = 5


def file_of(address: str) -> Path:
    """The name of the file that an address ends in. Raises CallError if it ends in none."""
    shown = without_secrets(address)
    name = unquote(address.partition("?")[0].partition("#")[0]).rpartition("/")[2]
    if not name or name in (".", "..") or "\0" in name or "\\" in name:
        raise CallError(f"{shown} names no file.", "Say how it shall be called: fetch URL FILE.")
    return Path(name)


def fetch(address: str, target: Path, on_bytes: Callable[[int, int | None], None]) -> str | None:
    """Download a bank to a file; its SHA-256 if the one that `publish` wrote beside it is the same.

    None stands for no digest beside it. What was fetched before, of the same file, is kept as
    `FILE.part` and goes on; `on_bytes` is told how many bytes there are, and of how many.

    Raises CallError if the address or the file cannot be; BankError if there is no bank there, if
    it breaks off again and again, or if its digest is another one or its rows are damaged, and then
    nothing is kept.
    """
    if address_of(address) is None:
        raise CallError(
            f"{without_secrets(address)} is not an address.", "Give one: https://HOST/bank.duckdb"
        )
    shown = typed_path(printable_path(address))
    place = bank_file(target)
    if place.exists():
        raise CallError(f"{target} already exists and was left unchanged.", "Name another file.")
    url = url_of(shown)
    part, mark = place.with_name(f"{place.name}.part"), place.with_name(f"{place.name}.part.of")
    try:
        for at in range(_TRIES):
            try:
                _download(url, shown, part, mark, on_bytes)
                break
            except _BrokenOffError:
                if at + 1 == _TRIES:
                    raise
        published = _published(url, shown)
        try:
            _check(part, shown, published)
        except BankError:
            _forget(part, mark)
            raise
        if not take_name(part, place):
            raise CallError(f"{target} already exists and was left unchanged.", "Name another.")
        _forget(part, mark)
    except OSError as error:
        raise unwritten(target, error) from error
    return published


class _BrokenOffError(BankError):
    """What goes on where it stopped when it is asked for again."""


def _forget(part: Path, mark: Path) -> None:
    part.unlink(missing_ok=True)
    mark.unlink(missing_ok=True)


def _check(part: Path, shown: str, published: str | None) -> None:
    """Raise BankError unless a file is what was published, and a bank whose rows hold together."""
    _size_by_itself(part, shown)
    own = _digest(part)
    if published not in (None, own):
        raise BankError(
            f"What {shown} gave is not what was published: its SHA-256 is {own[:12]}…, not"
            f" {str(published)[:12]}…; nothing was kept.",
            "Fetch it again; if it stays so, tell those who published it.",
        )
    with Guarded(part, _send_fault, str(part)) as child:  # a damaged file can end a process
        for _, fault in child.messages():
            raise BankError(
                f"The bank {shown} is damaged: {fault.decode()}; nothing was kept.",
                "Tell those who published it.",
            )


def _send_fault(channel: Channel, path: str) -> None:
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
        channel.send(b"F", fault.encode())


def _download(
    url: str, shown: str, part: Path, mark: Path, on_bytes: Callable[[int, int | None], None]
) -> None:
    """Append to a part what it lacks, if it is of the file that is there now."""
    have = part.stat().st_size if part.exists() else 0
    before = mark.read_text(encoding="utf-8") if mark.exists() else ""
    with opened(url, have if have and before else 0) as answer:
        version = version_of(answer)
        goes_on = answer.status == 206 and bool(have) and version == before and bool(version)
        if answer.status == 206 and have and not goes_on:
            part.unlink()  # of another file
            raise _BrokenOffError(f"{shown} was replaced since a part of it was fetched.")
        have = have if goes_on else 0
        size = _size(answer, shown, have)
        free = shutil.disk_usage(part.parent).free
        if size is not None and size - have > free:
            raise BankError(
                f"{shown} has {size:,} bytes, but the disk has only {free:,} free.",
                "Free some space, or name a file on another disk: fetch URL FILE",
            )
        mark.write_text(version, encoding="utf-8")
        most = None
        with part.open("ab" if goes_on else "wb") as file:
            on_bytes(have, size)
            while True:
                try:
                    block = body_until(answer, shown, _AT_ONCE)
                except BankError as error:
                    raise _BrokenOffError(error.fact, "Type it again.") from None
                if not block:
                    break
                file.write(block)
                have += len(block)
                on_bytes(have, size)
                if most is None and have >= _HEADERS:
                    file.flush()
                    try:
                        most = 2 * _size_by_itself(part, shown)
                    except BankError:
                        _forget(part, mark)
                        raise
                if most is not None and max(have, size or 0) > most:
                    _forget(part, mark)
                    raise BankError(
                        f"{shown} gives more than the bank in it has ({most // 2:,} bytes);"
                        " nothing was kept.",
                        "Check the address.",
                    )
        if size is not None and have != size:
            raise _BrokenOffError(
                f"{shown} broke off after {have:,} of {size:,} bytes.",
                "Type the same command: it goes on where it stopped.",
            )


def _size(answer: http.client.HTTPResponse, shown: str, have: int) -> int | None:
    """How many bytes the whole file has; None where its host does not say it."""
    if answer.status == 206:
        first, _, size = range_of(answer, shown)
        if first != have:
            raise BankError(f"The host of {shown} gave another part than was asked for.")
        return size
    length = answer.headers.get("Content-Length")
    if length is None:
        return None
    if not _LENGTH.fullmatch(length):
        raise BankError(f"The host of {shown} does not say how large the file is.")
    return int(length)


def _size_by_itself(part: Path, shown: str) -> int:
    """The bytes of a bank by its header: one of 4 KiB, two of which one counts, then its blocks.

    Raises BankError if it is no DuckDB file.
    """
    with part.open("rb") as file:
        start = file.read(_HEADERS)
    if start[8:12] != b"DUCK":
        raise BankError(
            f"{shown} is not a bank: it is not a DuckDB file.", "Give the address of a bank."
        )
    sizes = [
        count * size
        for count, size in (
            struct.unpack_from("<2Q", start, at + 32) for at in (4096, 8192) if len(start) > at + 48
        )
    ]
    return _HEADERS + max(sizes, default=0)


def _published(url: str, shown: str) -> str | None:
    """The digest that stands beside a bank; None if none does."""
    bare, mark, query = url.partition("?")
    with suppress(BankError), opened(f"{bare}.sha256{mark}{query}") as answer:
        match = _DIGEST.match(body_until(answer, shown, 200).decode("ascii", errors="replace"))
        return None if match is None else match[1]
    return None


def _digest(file: Path) -> str:
    with file.open("rb") as opened_file:
        return hashlib.file_digest(opened_file, "sha256").hexdigest()
