"""The write-ahead log beside a bank: whether it belongs to the bank, and whether it is complete.

DuckDB reads the log when it opens a file. If it cannot make sense of the log, it ignores it
silently, and the next commit overwrites it. So the log is checked here.

A log begins with an entry that is a list of fields. A field is its number in two bytes, then its
value; the number 0xFFFF ends the entry. Field 100 is the kind of the entry (98), 101 the version of
the log, 102 the identifier of the database (a count, then each byte as a LEB128 number), 103 the
number of the checkpoint that the log follows. Every later entry is its size in 8 bytes, a checksum
in 8 bytes, and then as many bytes as the size says. The last entry of a transaction has the kind
100, and nothing else in it (duckdb `src/storage/write_ahead_log.cpp`, `wal_replay.cpp`).
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
    """The log beside a bank ends in the middle of a transaction, which DuckDB leaves out."""


def check_log(path: Path) -> None:
    """Check the log beside a bank that was just opened.

    Raises BankError if it is no log, or belongs to another database. Warns with TornLogWarning if
    it ends in the middle of a transaction, as after a kill.
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
                return  # a log of another version has another form, which is not known here
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
    """The identifier and the checkpoint in the first entry of a log, and where the entry ends.

    None if the log does not begin with such an entry. Raises IndexError if the log ends within it.
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
    """A LEB128 number (7 bits per byte, the lowest first), and the offset of the byte after it."""
    value = shift = 0
    while True:
        value |= (start[at] & 127) << shift
        shift += 7
        at += 1
        if not start[at - 1] & 128:
            return value, at


def _checkpoints(head: bytes) -> set[int]:
    """The checkpoints that a log of a bank may follow, from its two headers of 4,096 bytes.

    A log that follows the checkpoint before the newest is in the file already: the process was
    killed after the checkpoint and before it removed the log.
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
