"""The only way in which a command prints what people read.

Names and texts come from corpora, models and banks of other people, and a terminal obeys control
characters: they can make it show a different text, or type one.
"""

from __future__ import annotations

from typing import BinaryIO

import click

from attnbank.queries.directions import END, ISOLATE
from attnbank.sql.outputs.lines import shown

closed: set[str] = set()
"""Which of stdout and stderr were closed when the program began."""


def say(*lines: str, err: bool = False, nl: bool = True) -> None:
    """Print lines, one per argument, with control characters escaped (so also line breaks).

    Without `nl` the last line is not ended, as for a question.
    """
    click.echo("\n".join(map(shown, lines)), err=err, nl=nl)


class Terminal:
    """Standard output that is a terminal: control characters in what is written are escaped.

    Line breaks and tabulators stay, because formats for programs have them between rows and cells.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        """Write text in UTF-8; the number of bytes that were given."""
        lines = data.decode(errors="replace").split("\n")
        text = "\n".join("\t".join(map(_isolates_shown, line.split("\t"))) for line in lines)
        self._file.write(text.encode())
        return len(data)

    def flush(self) -> None:
        """Flush the terminal."""
        self._file.flush()


def _isolates_shown(text: str) -> str:
    """The same as `shown`, but that a table may set cells apart that run from right to left.

    Every isolate that opens must close, so that it turns nothing around it.
    """
    parts = text.split(ISOLATE)
    if END in parts[0] or any(part.count(END) != 1 for part in parts[1:]):
        return shown(text)
    found = shown(parts[0])
    for part in parts[1:]:
        inside, _, after = part.partition(END)
        found += f"{ISOLATE}{shown(inside)}{END}{shown(after)}"
    return found
