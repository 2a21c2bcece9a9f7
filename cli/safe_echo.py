"""The only way in which a command prints what people read.

Names and texts come from corpora, models and banks of other people, and a terminal obeys control
characters: they can make it show a different text, or type one.
"""

from __future__ import annotations

from typing import BinaryIO

import click

from attnbank.queries.directions import END, ISOLATE
from attnbank.sql.suggest import escape_control

# Which of stdout and stderr were closed when the program began.
closed: set[str] = set()


def safe_echo(*lines: str, err: bool = False, nl: bool = True) -> None:
    """Print lines, control characters and line breaks escaped; `nl` ends the last one."""
    click.echo("\n".join(map(escape_control, lines)), err=err, nl=nl)


def notify(*lines: str) -> None:
    """Print lines for people on standard error, unless the command was given -q."""
    if not is_quiet():
        safe_echo(*lines, err=True)


def is_quiet() -> bool:
    """Whether the command that runs was given -q."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and "attnbank.quiet" in ctx.meta


class Terminal:
    """A terminal: control characters are escaped, but for line breaks and tabs of formats."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        """Write text in UTF-8; the number of bytes that were given."""
        lines = data.decode(errors="replace").split("\n")
        text = "\n".join("\t".join(map(_escape_but_isolates, line.split("\t"))) for line in lines)
        self._file.write(text.encode())
        return len(data)

    def flush(self) -> None:
        """Flush the terminal."""
        self._file.flush()


def _escape_but_isolates(text: str) -> str:
    """As `shown`, but with the isolates of tables from right to left, if each of them closes."""
    parts = text.split(ISOLATE)
    if END in parts[0] or any(part.count(END) != 1 for part in parts[1:]):
        return escape_control(text)
    escaped = escape_control(parts[0])
    for part in parts[1:]:
        inside, _, after = part.partition(END)
        escaped += f"{ISOLATE}{escape_control(inside)}{END}{escape_control(after)}"
    return escaped
