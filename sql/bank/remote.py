"""A bank behind an address, read by parts: DuckDB asks for ranges of the file, and nothing else.

The host must answer requests for a part of a file (RFC 9110, section 14). Whatever it answers is
checked: the status, the length, the size of the whole, and that the file is still the same one.
fsspec's own file system for HTTP checks none of these, and does not bound a body.
"""

from __future__ import annotations

import http.client
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from attnbank.sql.errors import BankError, CallError, encode_error, require_extra
from attnbank.sql.paths import whole_address, without_secrets

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TIMEOUT = 30.0  # seconds that a host may be silent
SLOWEST = 5_000  # bytes in a second below which a host is given up, once TIMEOUT has passed as well
PAUSE = 0.5  # seconds before the second try; twice as long before each further one
_TRIES = 3
_MOST_AT_ONCE = 1 << 26  # bytes of one part; DuckDB asks for blocks of 256 KiB
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
_HUB = re.compile(
    r"(?:(dataset|model|space)s/)?+([^/]+/[^/@]+)(?:@([^/]*))?/([^/]+(?:/[^/]+)*)", re.DOTALL
)
_AGAIN = "Try again later, or fetch it: attnbank fetch URL"
_Result = TypeVar("_Result")


class RefusedError(BankError):
    """A failure that may pass: it is worth another try."""


class BrokenOffError(RefusedError):
    """The connection broke off; a second request goes on where it stopped."""


def register(connection: DuckDBPyConnection, address: str) -> RemoteFile:
    """Let a connection attach the bank behind an address, until the file is revoked.

    Raises BankError if there is none, or if it is not a DuckDB file, which its first bytes say;
    CallError and MissingPackageError as `url_of`.
    """
    require_extra("A bank behind an address", "remote", "fsspec")
    file = RemoteFile(address)
    connection.register_filesystem(_filesystem(file))
    return file


class RemoteFile:
    """The file behind an address, as DuckDB reads it from several threads: each has its place."""

    name = "attnbank://bank"  # as a connection attaches it

    def __init__(self, address: str) -> None:
        self.is_revoked = False
        self._address = address
        self._url = url_of(address)
        self._printable = without_secrets(self._url)
        self._place = threading.local()
        self.size, self._version = retry(self._ask_size, RefusedError, _TRIES)

    def revoke(self) -> None:
        """Let no statement open the file again; what is attached stays so."""
        self.is_revoked = True

    def _ask_size(self) -> tuple[int, str]:
        with request(self._url, 0, 16) as response:
            size = response.size or 0
            if response.read(12, least=min(size, 12))[8:] != b"DUCK":
                raise BankError(
                    f"{self._address} is not a bank: it is not a DuckDB file.",
                    "Give the address of a bank (-b).",
                )
            if not response.is_part:
                raise BankError(
                    f"The host of {self._printable} does not answer requests for a part of a file.",
                    f"Fetch the whole file: attnbank fetch {self._printable}",
                )
            return size, response.version

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place, counted from the start, from here or from the end."""
        self._place.at = (0, self.tell(), self.size)[whence] + place
        return self.tell()

    def tell(self) -> int:
        """The place of this thread."""
        place: int = getattr(self._place, "at", 0)
        return place

    def read(self, count: int = -1) -> bytes:
        """The next bytes, requested again if the host fails. Raises OSError, as DuckDB expects."""
        start = self.tell()
        end = self.size if count < 0 else min(start + count, self.size)
        try:
            body = retry(lambda: self._read_part(start, end), RefusedError, _TRIES)
        except BankError as error:
            raise OSError(encode_error(error)) from error
        self._place.at = start + len(body)
        return body

    def _read_part(self, start: int, end: int) -> bytes:
        if not 0 <= start <= self.size or end - start > _MOST_AT_ONCE:
            raise BankError(f"{self._printable} is damaged: it names parts that it does not have.")
        if end == start:
            return b""
        with request(self._url, start, end) as response:
            if not response.is_part:
                raise RefusedError(
                    f"The host of {self._printable} gave all of a file for a part of it."
                )
            if (response.size, response.version) != (self.size, self._version):
                raise BankError(
                    f"{self._printable} was replaced while it was read.",
                    "Type the same command again.",
                )
            if (response.first, response.last) != (start, end - 1):
                raise BankError(f"The host of {self._printable} sent another part than requested.")
            return response.read(end - start, least=end - start)

    def close(self) -> None:
        """Nothing is open between two parts."""


def _filesystem(file: RemoteFile) -> Any:
    import fsspec

    class OneFile(fsspec.AbstractFileSystem):  # type: ignore[misc]
        """A file system with the one file; there is no other, and no log beside it."""

        protocol = "attnbank"
        cachable = False

        def _open(self, path: str, mode: str = "rb", **_: Any) -> RemoteFile:
            if mode != "rb" or file.is_revoked:
                raise OSError("Permission denied: only the bank can be read")
            file.seek(0)
            return file

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            if not self.exists(path):
                raise FileNotFoundError(path)
            return {"name": path, "size": file.size, "type": "file"}

        def exists(self, path: str, **_: Any) -> bool:
            return not file.is_revoked and path.rstrip("/").endswith("bank")

        def modified(self, path: str) -> datetime:
            return datetime(2000, 1, 1, tzinfo=UTC)

    return OneFile()


def url_of(address: str) -> str:
    """The URL of an address: that of the hub for hf://datasets/OWNER/NAME/FILE, else the same.

    Raises CallError for an address that names no file, MissingPackageError for hf:// without the
    hub's package.
    """
    address = whole_address(address)
    scheme, _, rest = address.partition("://")
    if scheme != "hf":
        return address
    require_extra("An address hf://", "remote", "huggingface_hub")
    from huggingface_hub import hf_hub_url

    match = _HUB.fullmatch(rest)
    if match is not None:
        kind, repository, revision, file = match.groups()
        with suppress(ValueError):  # a name that the hub does not allow
            return hf_hub_url(
                repository, file, repo_type=kind or "model", revision=revision or None
            )
    raise CallError(f"{address} names no file of the hub.", "Write hf://datasets/OWNER/NAME/FILE.")


def retry(run: Callable[[], _Result], failure: type[BankError], tries: int) -> _Result:
    """The result of a function that is called again, after a pause, when it fails in this way."""
    for number in range(1, tries):
        try:
            return run()
        except failure:
            time.sleep(PAUSE * 2 ** (number - 1))
    return run()


class Response:
    """The answer of a host: what its headers say of a file, and its body.

    `first` and `last` are the places of its bytes in the file, if it is a part; `size` is that of
    the whole file, None where the host does not say it. `version` changes when the file does; it
    is empty where the host says nothing. Raises BankError for headers that contradict each other.
    """

    def __init__(self, raw: http.client.HTTPResponse, printable: str) -> None:
        self._raw, self._printable = raw, printable
        self.is_part = raw.status == 206
        self.version = raw.headers.get("ETag") or raw.headers.get("Last-Modified") or ""
        self.first, self.last, self.size = 0, -1, None
        length = raw.headers.get("Content-Length")
        if self.is_part:
            match = _RANGE.fullmatch(raw.headers.get("Content-Range", ""))
            if match is None:
                raise BankError(
                    f"The host of {printable} does not say which part of the file it gives."
                )
            self.first, self.last, self.size = (int(number) for number in match.groups())
        elif length is not None:
            if not _LENGTH.fullmatch(length):
                raise BankError(f"The host of {printable} does not say how large the file is.")
            self.size = int(length)

    def read(self, count: int, least: int = 0) -> bytes:
        """So many bytes, or all that there are.

        Raises BrokenOffError if there are fewer than `least`, or if they take too long: a host may
        give a byte at a time, and never be silent.
        """
        body, ends = bytearray(), time.monotonic() + TIMEOUT + count / SLOWEST
        while len(body) < count:
            if time.monotonic() > ends:
                fact = f"{self._printable} is too slow: {len(body):,} bytes came in time."
                raise BrokenOffError(fact, _AGAIN)
            try:
                piece = self._raw.read1(count - len(body))
            except (OSError, http.client.HTTPException, ValueError) as error:
                if body:
                    break
                raise BrokenOffError(f"{self._printable} broke off: {error}.", _AGAIN) from None
            if not piece:
                break
            body += piece
        if len(body) < least:
            fact = f"{self._printable} broke off after {len(body):,} of {count:,} bytes."
            raise BrokenOffError(fact, _AGAIN)
        return bytes(body)


class _SameSecurity(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        address, scheme = without_secrets(req.full_url), newurl.partition(":")[0].lower()
        if scheme not in ("http", "https"):
            raise BankError(
                f"{address} leads to an address that is not of the web ({scheme[:9]}:)."
            )
        if req.type == "https" and scheme != "https":
            raise BankError(f"{address} leads to an address without encryption.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


# It opens http and https alone: addresses are nothing else, nor are redirects that it follows.
_opener = urllib.request.build_opener(_SameSecurity)


@contextmanager
def request(url: str, start: int | None = None, end: int | None = None) -> Iterator[Response]:
    """Context manager that asks for a file, or for its bytes from `start` to before `end`.

    Raises BankError if the host cannot be reached, or says that there is no such file.
    """
    headers = {"Accept-Encoding": "identity", "User-Agent": "attnbank"}
    if start is not None:
        headers["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
    printable = without_secrets(url)
    try:
        raw = _opener.open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            raise BankError(f"There is no bank at {printable}.", "Check the address.") from None
        fact = (
            f"{printable} answers {error.code} {http.client.responses.get(error.code, '')}".rstrip()
        )
        raise RefusedError(f"{fact}.", _AGAIN) from None
    except (http.client.InvalidURL, ValueError):  # which repeat the address
        raise BankError(f"{printable} is not a valid address.", "Check the address.") from None
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise RefusedError(f"{printable} cannot be reached: {reason}.", _AGAIN) from None
    with raw:
        yield Response(raw, printable)
