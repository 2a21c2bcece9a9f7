"""What the line-based formats share: blocks of lines with a blank line between, and their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attnbank.ingest.faults import Faulty

BOM = b"\xef\xbb\xbf"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def blocks(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield each run of lines that are not blank, with the 1-based number of its first line.

    A byte-order mark at the start of the file is dropped. The last block need not be followed
    by a blank line.
    """
    block: list[bytes] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        if number == 1 and line.startswith(BOM):
            line = line[len(BOM) :]
        if not line.isspace() and line:
            block.append(line)
        elif block:
            yield number - len(block), b"".join(block)
            block = []
    if block:
        yield number - len(block) + 1, b"".join(block)


def decode(block: bytes, line: int) -> str:
    """Decode a block that begins at `line`, and drop spaces and carriage returns at line ends.

    Raises Faulty: not-utf8 or control-character, with the line that it stands on.
    """
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        at = line + block.count(b"\n", 0, error.start)
        fact = f"byte 0x{block[error.start]:02x} is not UTF-8 here"
        raise Faulty("not-utf8", fact, at) from None
    control = _CONTROL.search(text)
    if control:
        at = line + text.count("\n", 0, control.start())
        raise Faulty("control-character", f"character U+{ord(control[0]):04X}", at)
    if "\r" in text or " \n" in text or text.endswith(" "):
        return "\n".join(row.rstrip(" \r") for row in text.split("\n"))
    return text


def rows(text: str) -> list[str]:
    """Split a block at its line feeds (alone: U+2028 and the like may stand in a word)."""
    return text.removesuffix("\n").split("\n")
