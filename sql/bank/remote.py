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

from attnbank.sql.bank.error_messages import encode_error
from attnbank.sql.bank.paths import whole_address, without_secrets
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.extras import require_extra

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TIMEOUT = 30.0
"""Seconds that a host may be silent."""
SLOWEST = 5_000
"""Bytes in a second below which a host is given up, once TIMEOUT has passed as well."""
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


class _SameSecurity(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        asked, scheme = without_secrets(req.full_url), newurl.partition(":")[0].lower()
        if scheme not in ("http", "https"):
            raise BankError(f"{asked} leads to an address that is not of the web ({scheme[:9]}:).")
        if req.type == "https" and scheme != "https":
            raise BankError(f"{asked} leads to an address without encryption.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_opener = urllib.request.OpenerDirector()  # build_opener's would read files and FTP as well
for _handler in (
    urllib.request.ProxyHandler, urllib.request.UnknownHandler, urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler, urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPErrorProcessor, _SameSecurity,
):  # fmt: skip
    _opener.add_handler(_handler())


def opened(url: str, start: int | None = None, end: int | None = None) -> http.client.HTTPResponse:
    """The answer to a request for a file, or for its bytes from `start` to before `end`.

    Raises BankError if the host cannot be reached, or says that there is no such file.
    """
    headers = {"Accept-Encoding": "identity", "User-Agent": "attnbank"}
    if start is not None:
        headers["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
    shown = without_secrets(url)
    try:
        response: http.client.HTTPResponse = _opener.open(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT
        )
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            raise BankError(f"There is no bank at {shown}.", "Check the address.") from None
        told = http.client.responses.get(error.code, "")
        raise _Refused(f"{shown} answers {error.code} {told}".strip() + ".", _AGAIN) from None
    except (http.client.InvalidURL, ValueError):  # which repeat the address
        raise BankError(f"{shown} is not a valid address.", "Check the address.") from None
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise _Refused(f"{shown} cannot be reached: {reason}.", _AGAIN) from None
    return response


class _Refused(BankError):
    """What may be otherwise a moment later."""


def found(url: str) -> tuple[Remote, bytes]:
    """The file behind an address, and its first bytes. Raises BankError as `opened` and `part`."""
    return _tried(lambda: _found(url))


def _found(url: str) -> tuple[Remote, bytes]:
    shown = without_secrets(url)
    with opened(url, 0, 16) as answer:
        if answer.status != 206:
            if body(answer, shown, 12)[8:] != b"DUCK":
                return Remote(url, 0, ""), b""
            raise BankError(
                f"The host of {shown} does not answer requests for a part of a file.",
                f"Fetch the whole file: attnbank fetch {shown}",
            )
        _, end, size = range_of(answer, shown)
        return Remote(url, size, version_of(answer)), body(answer, shown, end + 1)


def part(remote: Remote, start: int, count: int) -> bytes:
    """Bytes of a file, asked for again if the host fails. Raises BankError."""
    shown = without_secrets(remote.url)
    if not 0 <= start <= remote.size or count > _MOST_AT_ONCE:
        raise BankError(f"{shown} is damaged: it names parts that it does not have.")
    end = min(start + count, remote.size)
    if end == start:
        return b""

    def read() -> bytes:
        with opened(remote.url, start, end) as answer:
            if answer.status != 206:
                raise _Refused(f"The host of {shown} gave all of a file for a part of it.")
            first, last, size = range_of(answer, shown)
            if size != remote.size or version_of(answer) != remote.version:
                raise BankError(
                    f"{shown} was replaced while it was read.", "Type the same command again."
                )
            if (first, last) != (start, end - 1):
                raise BankError(f"The host of {shown} gave another part than was asked for.")
            return body(answer, shown, end - start)

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


def range_of(answer: http.client.HTTPResponse, shown: str) -> tuple[int, int, int]:
    """The first and the last byte that an answer gives, and the size of the whole file."""
    match = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if match is None:
        raise BankError(f"The host of {shown} does not say which part of the file it gives.")
    return int(match[1]), int(match[2]), int(match[3])


def version_of(answer: http.client.HTTPResponse) -> str:
    """What a host says of a file that is another for another file; nothing where it does not."""
    return answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""


def body(answer: http.client.HTTPResponse, shown: str, count: int) -> bytes:
    """So many bytes of an answer. Raises BankError if there are fewer, or if they take too long."""
    body = body_until(answer, shown, count)
    if len(body) != count:
        raise _Refused(f"{shown} broke off after {len(body):,} of {count:,} bytes.", _AGAIN)
    return body


def body_until(answer: http.client.HTTPResponse, shown: str, count: int) -> bytes:
    """As `body`, or all that there is. A host may give a byte at a time, and never be silent."""
    body, ends = bytearray(), time.monotonic() + TIMEOUT + count / SLOWEST
    while len(body) < count:
        if time.monotonic() > ends:
            raise _Refused(f"{shown} is too slow: {len(body):,} bytes came in time.", _AGAIN)
        try:
            part = answer.read1(count - len(body))
        except (OSError, http.client.HTTPException, ValueError) as error:
            if body:
                break
            raise _Refused(f"{shown} broke off: {error}.", _AGAIN) from None
        if not part:
            break
        body += part
    return bytes(body)


def url_of(address: str) -> str:
    """Where an address is asked: hf://datasets/OWNER/NAME/FILE at the hub, others at themselves.

    Raises CallError for an address that names no file, MissingPackageError for hf:// without the
    hub's package.
    """
    address = whole_address(address)
    scheme, _, rest = address.partition("://")
    if scheme != "hf":
        return address
    require_extra("An address hf://", "remote", "huggingface_hub")
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
    require_extra("A bank behind an address", "remote", "fsspec")
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
            raise OSError(encode_error(error)) from error
        self._place.at = start + len(body)
        return body

    def close(self) -> None:
        """Nothing is open between two parts."""
