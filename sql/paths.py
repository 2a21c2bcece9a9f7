"""Where a bank may be: every path is checked here before DuckDB sees it.

DuckDB does not take every name for a file (`:memory:`, `md:x`), and would fetch an extension from
the network for the files of some other programs.
"""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path

from attnbank.sql.errors import BankError, CallError
from attnbank.sql.outputs import kind_of_file

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # one letter is a drive of Windows


# How an address begins; a Path makes one slash of two.
_ADDRESS = re.compile(r"(https?|hf):/{1,2}(?=[^/])")
_SECRETS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:/{1,2})(?:[^\s/?#@]*@)?([^\s?]*)(\?[^\s'\"]*)?")


def address_of(path: str | Path) -> str | None:
    """The address of a bank on another machine (https://..., hf://...); None for a file."""
    text = os.fspath(path)
    match = _ADDRESS.match(text)
    return None if match is None else f"{match[1]}://{text[match.end() :]}"


# The whole of each address that has a query, by its printable form; see `printable_path`.
_QUERIES: dict[str, str] = {}
_LEFT_OUT = "?…"


def printable_path(path: str | Path) -> Path:
    """The path of a bank as it may be printed and stored.

    The query of an address may be a signature that lets anybody read the file, so it is kept in
    this process alone (`whole_address`). Raises CallError for an address with a password, which
    would be sent to nobody.
    """
    address = address_of(path)
    if address is None or address in _QUERIES:
        return Path(path)
    bare, mark, _ = address.partition("?")
    if "@" in bare.split("/")[2]:
        raise CallError(
            "An address with a user name or a password cannot be read.",
            "Fetch the file with another program (curl), and give its path (-b FILE).",
        )
    if not mark:
        return Path(address)
    if address.endswith(_LEFT_OUT):
        raise CallError(
            f"{address} is not the whole address: the part after ? is missing.",
            "Give the address that the host gave you.",
        )
    own = (f"{bare}{_LEFT_OUT}{number or ''}" for number in count())
    printable = next(whole for whole in own if _QUERIES.get(whole, address) == address)
    _QUERIES[printable] = address
    return Path(printable)


def whole_address(address: str) -> str:
    """The address of a printable one, with its query."""
    return _QUERIES.get(address, address)


def addresses() -> dict[str, str]:
    """The addresses with a query of this process, to be given to another one."""
    return _QUERIES


def without_secrets(text: str) -> str:
    """A text without the names, passwords and queries of the addresses in it."""
    return _SECRETS.sub(lambda match: f"{match[1]}{match[2]}{_LEFT_OUT if match[3] else ''}", text)


def typed_path(path: str | Path) -> str:
    """A path as it was typed: an address with both of its slashes."""
    return address_of(path) or os.fspath(path)


def located(path: str | Path) -> Path:
    """The path of a bank from any folder: an address stays, a file is absolute."""
    return Path(path) if address_of(path) is not None else Path(path).absolute()


def bank_file(path: str | Path) -> Path:
    """The absolute path of a bank's file, which need not exist; a link would get its own log.

    Raises CallError if the path cannot name a file, BankError if what is there is not a file.
    """
    text = os.fspath(path)
    if not text:
        raise CallError("The bank has no name.", "Give the path of a file (-b FILE).")
    if address_of(text) is not None:
        address = typed_path(printable_path(text))
        raise CallError(
            f"{address} is an address: a bank behind one can only be read.",
            f"Fetch it first: attnbank fetch {address}",
        )
    if text.startswith(":memory:"):
        raise CallError(
            "A bank in memory would be gone when the command ends.", "Give a file (-b FILE)."
        )
    if _SCHEME.match(text):
        printable = without_secrets(text)
        raise CallError(
            f"{printable} is not a valid path: a bank is a file on this machine.",
            f"Give the path of a file; for a file of this name, type ./{printable}",
        )
    if "?" in Path(text).name:  # DuckDB reads what follows as options, as in a URL
        raise CallError(
            f"The name of a bank cannot contain a question mark: {text}.",
            "Give it another name (-b FILE).",
        )
    try:
        text.encode()
        place = Path(text).expanduser().resolve()
        mode = place.stat().st_mode
    except UnicodeEncodeError:
        raise CallError(f"The name of the bank is not UTF-8: {text}.", "Rename it (mv).") from None
    except FileNotFoundError:
        return place
    except NotADirectoryError:
        raise BankError(
            f"{text} cannot exist: a part of its path is a file.", "Check the path."
        ) from None
    except (OSError, RuntimeError, ValueError) as error:  # no permission, a circle of links, a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise BankError(f"{text} cannot be opened: {reason}.", "Check the path.") from None
    if kind := kind_of_file(mode):
        raise BankError(f"{text} is {kind}, and a bank is a file.", "Give another path (-b FILE).")
    return place


def check_is_duckdb(path: str | Path, place: Path) -> None:
    """Raise BankError if the file at a bank's place is neither empty nor a DuckDB database.

    By the first bytes of other files, DuckDB would look for an extension that can open them.
    """
    try:
        with place.open("rb") as file:
            start = file.read(12)
    except FileNotFoundError:
        return
    except PermissionError:
        raise BankError(
            f"No permission to open {path}.", "Check its owner, or use another path (-b)."
        ) from None
    except OSError as error:
        raise BankError(f"{path} cannot be read: {error.strerror}.", "Check the disk.") from None
    if start and start[8:] != b"DUCK":
        raise BankError(
            f"{path} is not a bank: it is not a DuckDB file.", "Give the path of a bank (-b)."
        )
