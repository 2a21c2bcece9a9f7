"""The one way in which a command prints what people read.

Names and texts come from corpora, models and banks of other people, and a terminal obeys control
characters: it can be made to show another text, or to type one.
"""

from __future__ import annotations

from typing import BinaryIO

import click

from attnbank.sql.outputs.lines import shown

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
        text = "\n".join("\t".join(map(shown, line.split("\t"))) for line in lines)
        self._file.write(text.encode())
        return len(data)

    def flush(self) -> None:
        """Have everything shown that was written."""
        self._file.flush()
