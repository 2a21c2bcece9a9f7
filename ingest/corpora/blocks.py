"""What the line-based formats share: blocks of lines with a blank line between, and their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attnbank.ingest.corpora.bounds import MOST_ROWS, MOST_SENTENCE
from attnbank.ingest.corpora.faults import SentenceError

BOM = b"\xef\xbb\xbf"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def blocks(
    lines: Iterable[bytes], most: int = MOST_SENTENCE, most_rows: int = MOST_ROWS
) -> Iterator[tuple[int, bytes]]:
    """Yield each run of lines that are not blank, with the 1-based number of its first line.

    Byte-order marks at the start of a run are dropped: files may have been joined. The last block
    need not be followed by a blank line. Of a run with more than `most_rows` lines or `most` bytes
    only as much is kept as `decode` needs to refuse it.
    """
    block: list[bytes] = []
    begin = size = 0
    for number, line in enumerate(lines, start=1):
        if not block:
            while line.startswith(BOM):
                line = line[len(BOM) :]
        if not line.isspace() and line:
            if not block:
                begin, size = number, 0
            if size <= most and len(block) <= most_rows:
                block.append(line)
                size += len(line)
        elif block:
            yield begin, b"".join(block)
            block = []
    if block:
        yield begin, b"".join(block)


def decode(block: bytes, line: int, most: int = MOST_SENTENCE, most_rows: int = MOST_ROWS) -> str:
    """Decode a block that begins at `line`, and drop spaces and carriage returns at line ends.

    Raises SentenceError: sentence-too-long, not-utf8, control-character, carriage-return or
    byte-order-mark, with the line that it stands on.
    """
    if len(block) > most:
        raise SentenceError(
            "sentence-too-long", f"more than {most:,} bytes to the next blank line", line
        )
    if len(block) > most_rows and block.count(b"\n") >= most_rows + 1:
        fact = f"more than {most_rows:,} lines to the next blank line"
        raise SentenceError("sentence-too-long", fact, line)
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        at = line + block.count(b"\n", 0, error.start)
        fact = f"byte 0x{block[error.start]:02x} is not UTF-8 here"
        raise SentenceError("not-utf8", fact, at) from None
    control = _CONTROL.search(text)
    if control:
        at = line + text.count("\n", 0, control.start())
        raise SentenceError("control-character", f"character U+{ord(control[0]):04X}", at)
    if "\n\ufeff" in text:
        at = line + 1 + text.count("\n", 0, text.index("\n\ufeff"))
        raise SentenceError("byte-order-mark", "a byte-order mark within the sentence", at)
    if "\r" in text or " \n" in text or text.endswith(" "):
        text = "\n".join(row.rstrip(" \r") for row in text.split("\n"))
        if "\r" in text:
            at = line + text.count("\n", 0, text.index("\r"))
            raise SentenceError("carriage-return", "a carriage return within the line", at)
    return text


def rows(text: str) -> list[str]:
    """Split a block at its line feeds (alone: U+2028 and the like may stand in a word)."""
    return text.removesuffix("\n").split("\n")
