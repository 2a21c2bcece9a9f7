"""The one way in which a command prints what people read.

Names and texts come from corpora, models and banks of other people, and a terminal obeys control
characters: it can be made to show another text, or to type one.
"""

from __future__ import annotations

from typing import BinaryIO

import click

from attnbank.queries.directions import END, ISOLATE

closed: set[str] = set()
"""Which of stdout and stderr were closed when the program began."""


def say(*lines: str, err: bool = False, nl: bool = True) -> None:
    """Print lines: each argument is one and stays one, with its control characters written out.

    Without `nl` the last one is left open, for a question.
    """
    click.echo("\n".join(map(shown, lines)), err=err, nl=nl)


class Terminal:
    """Standard output where a person looks at it: what is written to it is shown, as by `say`.

    Ends of lines and tabulators stay, which the formats for programs have between their rows.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        """Write text in UTF-8; how many bytes it had."""
        lines = data.decode(errors="replace").split("\n")
        text = "\n".join("\t".join(map(_isolates_shown, line.split("\t"))) for line in lines)
        self._file.write(text.encode())
        return len(data)

    def flush(self) -> None:
        """Have everything shown that was written."""
        self._file.flush()


_JOINERS = "\u200c\u200d"
"""Characters without a picture of their own that Persian, Hindi and others spell words with."""


def shown(text: str) -> str:
    """A text in one line, as a terminal can show it: control characters are written out."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in _JOINERS else repr(each)[1:-1] for each in text
    )


def _isolates_shown(text: str) -> str:
    """The same, but that a table may set cells apart that run from right to left.

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
