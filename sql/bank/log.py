"""The write-ahead log beside a bank: whether it is the bank's own, and whole.

DuckDB reads the log when it opens a file. One that it cannot make sense of it passes over in
silence, and the next commit overwrites it. So it is looked at here.

A log begins with an entry of fields (two bytes of number, then the value; 0xFFFF ends it): 100 the
kind of the entry, 98, 101 the version of the log, 102 the identifier of the database, each byte as
a LEB128 number, 103 the checkpoint that it follows. Then come entries of 8 bytes of size, 8 of
checksum, and so many bytes; the last one of a transaction is of kind 100 (duckdb
`src/storage/write_ahead_log.cpp`, `wal_replay.cpp`).
"""

from __future__ import annotations

import warnings
from pathlib import Path

from attnbank.sql.bank.explaining import damaged_log
from attnbank.sql.errors import AttnbankWarning

_BEGINNING = bytes((100, 0, 98, 101, 0))
_IDENTIFIER, _CHECKPOINT = 102, 103
_VERSION = 2  # the one that files of DuckDB 1.5 have
_COMMIT = bytes((100, 0, 100, 255, 255))
_HEADER = 4096


class TornLogWarning(AttnbankWarning):
    """The log beside a bank ends within a transaction, which is left out."""


def check_log(path: Path) -> None:
    """Look at the log beside a bank that was just opened.

    Raises BankError where it is no log, or another database's. Warns with TornLogWarning where it
    ends within a transaction, as after a kill: DuckDB leaves that transaction out.
    """
    log = Path(f"{path}.wal")
    try:
        size = log.stat().st_size
        if not size:
            return
        with log.open("rb") as file, path.open("rb") as bank:
            start = file.read(_HEADER)
            if not _BEGINNING.startswith(start[: len(_BEGINNING)]):
                raise damaged_log(path, "it is no log of DuckDB")
            at = len(_BEGINNING)
            if size > at and start[at] != _VERSION:
                return
            try:
                owner = _owner(start, at + 1)
            except IndexError:  # it ends within its first entry
                _warn(path)
                return
            if owner is None:
                raise damaged_log(path, "its beginning is damaged")
            head = bank.read(3 * _HEADER)
            if owner[0] not in head[:_HEADER] or owner[1] not in _checkpoints(head):
                raise damaged_log(path, "it is of another database, or of another time")
            at = owner[2]
            last = b""
            while at + 16 <= size:
                file.seek(at)
                length = int.from_bytes(file.read(16)[:8], "little")
                if at + 16 + length > size:
                    break
                last = file.read(min(length, len(_COMMIT)))
                at += 16 + length
    except FileNotFoundError:
        return
    if at != size or last not in (b"", _COMMIT):
        _warn(path)


def _owner(start: bytes, at: int) -> tuple[bytes, int, int] | None:
    """Identifier and checkpoint in the first entry of a log, and where the entry ends.

    None where the log does not begin with such an entry. Raises IndexError where the log ends
    before.
    """
    if start[at] + 256 * start[at + 1] != _IDENTIFIER:
        return None
    count, at = start[at + 2], at + 3
    values = []
    for _ in range(count):
        value, at = _number(start, at)
        values.append(value)
    if start[at] + 256 * start[at + 1] != _CHECKPOINT or max(values, default=0) > 255:
        return None
    checkpoint, at = _number(start, at + 2)
    if start[at] & start[at + 1] != 255:
        return None
    return bytes(values), checkpoint, at + 2


def _number(start: bytes, at: int) -> tuple[int, int]:
    """A LEB128 number, and where it ends."""
    value = shift = 0
    while True:
        value |= (start[at] & 127) << shift
        shift += 7
        at += 1
        if not start[at - 1] & 128:
            return value, at


def _checkpoints(head: bytes) -> set[int]:
    """The checkpoints that a log of a bank may follow, from its two headers of 4,096 bytes.

    A log that follows the one before is done with: the process was killed before it was removed.
    """
    newest = max(int.from_bytes(head[at + 8 : at + 16], "little") for at in (_HEADER, 2 * _HEADER))
    return {newest, newest - 1}


def _warn(path: Path) -> None:
    warnings.warn(
        f"The log {path}.wal ends within a transaction: what a program was committing when it was"
        " killed is left out.",
        TornLogWarning,
        stacklevel=4,
    )
