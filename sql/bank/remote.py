"""A bank behind an address, read by parts: DuckDB asks for ranges of the file, and nothing else.

The host must answer requests for a part of a file (RFC 9110, section 14). Whatever it answers is
checked: the status, the length, the size of the whole, and that the file is still the same one.
"""

from __future__ import annotations

import http.client
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from attnbank.sql.bank.error_messages import as_text
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.extras import need

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TIMEOUT = 30.0
"""Seconds that a host may be silent."""
_TRIES = 3
PAUSE = 0.5
_MOST_AT_ONCE = 1 << 26
"""The most bytes of one part: DuckDB asks for blocks of 256 KiB."""
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_SCHEME = "attnbank"
_Read = TypeVar("_Read")
_AGAIN = "Try again later, or fetch it: attnbank fetch URL"


class Remote(NamedTuple):
    """A file behind an address: its size in bytes, and what says that it is still the same."""

    url: str
    size: int
    version: str


class _SameHostSecurity(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise BankError(f"{req.full_url} leads to an address without encryption.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_opener = urllib.request.build_opener(_SameHostSecurity)


def opened(url: str, start: int | None = None, end: int | None = None) -> http.client.HTTPResponse:
    """The answer to a request for a file, or for its bytes from `start` to before `end`.

    Raises BankError if the host cannot be reached, or says that there is no such file.
    """
    headers = {"Accept-Encoding": "identity", "User-Agent": "attnbank"}
    if start is not None:
        headers["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
    try:
        found: http.client.HTTPResponse = _opener.open(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT
        )
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            raise BankError(f"There is no bank at {url}.", "Check the address.") from None
        raise _Refused(f"{url} answers {error.code} {error.reason}.", _AGAIN) from None
    except (urllib.error.URLError, OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise _Refused(f"{url} cannot be reached: {reason}.", _AGAIN) from None
    return found


class _Refused(BankError):
    """What may be otherwise a moment later."""


def found(url: str) -> tuple[Remote, bytes]:
    """The file behind an address, and its first bytes. Raises BankError as `opened` and `part`."""
    return _tried(lambda: _found(url))


def _found(url: str) -> tuple[Remote, bytes]:
    with opened(url, 0, 16) as answer:
        if answer.status != 206:
            if _body(answer, url, 12)[8:] != b"DUCK":
                return Remote(url, 0, ""), b""
            raise BankError(
                f"The host of {url} does not answer requests for a part of a file.",
                f"Fetch the whole file: attnbank fetch {url}",
            )
        _, end, size = _range_of(answer, url)
        return Remote(url, size, _version(answer)), _body(answer, url, end + 1)


def part(remote: Remote, start: int, count: int) -> bytes:
    """Bytes of a file, asked for again if the host fails. Raises BankError."""
    if not 0 <= start <= remote.size or count > _MOST_AT_ONCE:
        raise BankError(f"{remote.url} is damaged: it names parts that it does not have.")
    end = min(start + count, remote.size)
    if end == start:
        return b""

    def read() -> bytes:
        with opened(remote.url, start, end) as answer:
            if answer.status != 206:
                raise _Refused(f"The host of {remote.url} gave all of a file for a part of it.")
            first, last, size = _range_of(answer, remote.url)
            if size != remote.size or _version(answer) != remote.version:
                raise BankError(
                    f"{remote.url} was replaced while it was read.", "Type the same command again."
                )
            if (first, last) != (start, end - 1):
                raise BankError(f"The host of {remote.url} gave another part than was asked for.")
            return _body(answer, remote.url, end - start)

    return _tried(read)


def _tried(read: Callable[[], _Read]) -> _Read:
    for at in range(_TRIES):
        try:
            return read()
        except _Refused:
            if at + 1 == _TRIES:
                raise
            time.sleep(PAUSE * 2**at)
    raise AssertionError


def _range_of(answer: http.client.HTTPResponse, url: str) -> tuple[int, int, int]:
    match = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if match is None:
        raise BankError(f"The host of {url} does not say which part of the file it gives.")
    return int(match[1]), int(match[2]), int(match[3])


def _version(answer: http.client.HTTPResponse) -> str:
    return answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""


def _body(answer: http.client.HTTPResponse, url: str, count: int) -> bytes:
    try:
        body = answer.read(count)
    except (OSError, http.client.HTTPException) as error:
        raise _Refused(f"{url} broke off: {error}.", _AGAIN) from None
    if len(body) != count:
        raise _Refused(f"{url} broke off after {len(body):,} of {count:,} bytes.", _AGAIN)
    return body


def url_of(address: str) -> str:
    """Where an address is asked: hf://datasets/OWNER/NAME/FILE at the hub, others at themselves.

    Raises CallError for an address that names no file, MissingPackageError for hf:// without the
    hub's package.
    """
    scheme, _, rest = address.partition("://")
    if scheme != "hf":
        return address
    need("An address hf://", "remote", "huggingface_hub")
    from huggingface_hub import hf_hub_url

    kinds = {"datasets": "dataset", "models": "model", "spaces": "space"}
    parts = rest.split("/")
    kind = kinds.get(parts[0])
    if kind is not None:
        parts = parts[1:]
    if len(parts) < 3 or not all(parts):
        raise CallError(
            f"{address} names no file of the hub.", "Write hf://datasets/OWNER/NAME/FILE."
        )
    owner, (name, _, revision) = parts[0], parts[1].partition("@")
    return hf_hub_url(
        f"{owner}/{name}", "/".join(parts[2:]), repo_type=kind or "model", revision=revision or None
    )


@dataclass
class Door:
    """The bank behind an address as a connection can attach it, under `name`, until it is shut."""

    name: str
    is_shut: bool = False

    def shut(self) -> None:
        """Let no statement open the file again; what is attached stays so."""
        self.is_shut = True


def register(connection: DuckDBPyConnection, address: str) -> Door:
    """Let a connection attach the bank behind an address.

    Raises BankError if there is none, or if it is not a DuckDB file, which its first bytes say;
    CallError and MissingPackageError as `url_of`.
    """
    need("A bank behind an address", "remote", "fsspec")
    remote, start = found(url_of(address))
    if start[8:12] != b"DUCK":
        raise BankError(
            f"{address} is not a bank: it is not a DuckDB file.", "Give the address of a bank (-b)."
        )
    door = Door(f"{_SCHEME}://bank")
    connection.register_filesystem(_filesystem(remote, door))
    return door


def _filesystem(remote: Remote, door: Door) -> Any:
    import fsspec

    class OneFile(fsspec.AbstractFileSystem):  # type: ignore[misc]
        """A file system with the one file; there is no other, and no log beside it."""

        protocol = _SCHEME
        cachable = False

        def _open(self, path: str, mode: str = "rb", **_: Any) -> _File:
            if mode != "rb" or door.is_shut:
                raise OSError("Permission denied: only the bank can be read")
            return _File(remote)

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            if not self.exists(path):
                raise FileNotFoundError(path)
            return {"name": path, "size": remote.size, "type": "file"}

        def exists(self, path: str, **_: Any) -> bool:
            return not door.is_shut and path.rstrip("/").endswith("bank")

        def modified(self, path: str) -> datetime:
            return datetime(2000, 1, 1, tzinfo=UTC)

    return OneFile()


class _File:
    """A file as DuckDB reads it, from several threads: each has a place of its own in it."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._place = threading.local()

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place, counted from the start, from here or from the end."""
        base = (0, self.tell(), self._remote.size)[whence]
        self._place.at = base + place
        return base + place

    def tell(self) -> int:
        """The place of this thread."""
        return getattr(self._place, "at", 0)

    def read(self, count: int = -1) -> bytes:
        """The next bytes."""
        start = self.tell()
        count = self._remote.size - start if count < 0 else count
        try:
            body = part(self._remote, start, count)
        except BankError as error:
            raise OSError(as_text(error)) from error
        self._place.at = start + len(body)
        return body

    def close(self) -> None:
        """Nothing is open between two parts."""
