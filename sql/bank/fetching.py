"""Downloading a bank: what was fetched stays until the rest comes, and its digest is checked."""

from __future__ import annotations

import hashlib
import http.client
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from attnbank.sql.bank.paths import address_of, bank_file
from attnbank.sql.bank.remote import opened, url_of
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.outputs.atomic import take_name, unwritten

_AT_ONCE = 1 << 20
_DIGEST = re.compile(r"([0-9a-f]{64})\b")
_TRIES = 5


def file_of(address: str) -> Path:
    """The name of the file that an address ends in. Raises CallError if it ends in none."""
    name = unquote(urlsplit(address).path).rpartition("/")[2]
    if not name or name in (".", "..") or "\0" in name or "\\" in name:
        raise CallError(f"{address} names no file.", "Say how it shall be called: fetch URL FILE.")
    return Path(name)


def fetch(address: str, target: Path, on_bytes: Callable[[int, int | None], None]) -> str | None:
    """Download a bank to a file; its SHA-256 if the one that `publish` wrote beside it is the same.

    None stands for no digest beside it. What was fetched before, of the same file, is kept as
    `FILE.part` and goes on; `on_bytes` is told how many bytes there are, and of how many.

    Raises CallError if the address or the file cannot be; BankError if there is no bank there, if
    it breaks off again and again, or if its digest is another one, and then nothing is kept.
    """
    known = address_of(address)
    if known is None:
        raise CallError(f"{address} is not an address.", "Give one: https://HOST/bank.duckdb")
    place = bank_file(target)
    if place.exists():
        raise CallError(f"{target} already exists and was left unchanged.", "Name another file.")
    url = url_of(known)
    part, mark = place.with_name(f"{place.name}.part"), place.with_name(f"{place.name}.part.of")
    try:
        for at in range(_TRIES):
            try:
                _download(url, part, mark, on_bytes)
                break
            except _BrokenOffError:
                if at + 1 == _TRIES:
                    raise
        published = _published(url)
        own = _digest(part)
        with part.open("rb") as file:
            is_bank = file.read(12)[8:] == b"DUCK"
        if not is_bank or published not in (None, own):
            part.unlink()
            mark.unlink(missing_ok=True)
        if not is_bank:
            raise BankError(
                f"{address} is not a bank: it is not a DuckDB file.", "Give the address of a bank."
            )
        if published not in (None, own):
            raise BankError(
                f"What {address} gave is not what was published: its SHA-256 is {own[:12]}…, not"
                f" {str(published)[:12]}…; nothing was kept.",
                "Fetch it again; if it stays so, tell those who published it.",
            )
        if not take_name(part, place):
            raise CallError(f"{target} already exists and was left unchanged.", "Name another.")
        part.unlink(missing_ok=True)
        mark.unlink(missing_ok=True)
    except OSError as error:
        raise unwritten(target, error) from error
    return published


class _BrokenOffError(BankError):
    """What goes on where it stopped when it is asked for again."""


def _download(
    url: str, part: Path, mark: Path, on_bytes: Callable[[int, int | None], None]
) -> None:
    """Append to a part what it lacks, if it is of the file that is there now."""
    have = part.stat().st_size if part.exists() else 0
    before = mark.read_text(encoding="utf-8") if mark.exists() else ""
    with opened(url, have if have and before else 0) as answer:
        version = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        goes_on = answer.status == 206 and bool(have) and version == before and bool(version)
        if answer.status == 206 and have and not goes_on:
            part.unlink()  # of another file
            raise _BrokenOffError(f"{url} was replaced since a part of it was fetched.")
        size = _size(answer, have if goes_on else 0)
        have = have if goes_on else 0
        mark.write_text(version, encoding="utf-8")
        with part.open("ab" if goes_on else "wb") as file:
            on_bytes(have, size)
            while True:
                try:
                    block = answer.read(_AT_ONCE)
                except (http.client.HTTPException, OSError) as error:
                    raise _BrokenOffError(f"{url} broke off: {error}.", "Type it again.") from None
                if not block:
                    break
                file.write(block)
                have += len(block)
                on_bytes(have, size)
        if size is not None and have != size:
            raise _BrokenOffError(
                f"{url} broke off after {have:,} of {size:,} bytes.",
                "Type the same command: it goes on where it stopped.",
            )


def _size(answer: http.client.HTTPResponse, have: int) -> int | None:
    length = answer.headers.get("Content-Length", "")
    return have + int(length) if length.isdecimal() else None


def _published(url: str) -> str | None:
    """The digest that stands beside a bank; None if none does."""
    with suppress(BankError), opened(f"{url}.sha256") as answer:
        match = _DIGEST.match(answer.read(200).decode("ascii", errors="replace"))
        return None if match is None else match[1]
    return None


def _digest(file: Path) -> str:
    with file.open("rb") as opened_file:
        return hashlib.file_digest(opened_file, "sha256").hexdigest()
