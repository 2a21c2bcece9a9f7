"""Print to the terminal; no command prints in any other way.

Names and texts come from other people's corpora, models and banks, and a terminal obeys control
characters: they can make it show a different text, or type one.
"""

from __future__ import annotations

from typing import BinaryIO

import click

from attnbank.sql.messages import END_ISOLATE, ISOLATE, escape_control

# Which of stdout and stderr were closed when the program started.
closed: set[str] = set()


def safe_echo(*lines: str, err: bool = False, nl: bool = True) -> None:
    """Print lines, with control characters and line breaks escaped; `nl` ends the last one."""
    click.echo("\n".join(map(escape_control, lines)), err=err, nl=nl)


def notify(*lines: str) -> None:
    """Print lines on standard error, unless -q was given."""
    if not is_quiet():
        safe_echo(*lines, err=True)


def is_quiet() -> bool:
    """Whether -q was given."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and "attnbank.quiet" in ctx.meta


class Terminal:
    """A terminal that gets control characters escaped, except line breaks and tabs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        """Write text in UTF-8, and return the number of bytes given."""
        lines = data.decode(errors="replace").split("\n")
        text = "\n".join("\t".join(map(_escape_but_isolates, line.split("\t"))) for line in lines)
        self._file.write(text.encode())
        return len(data)

    def flush(self) -> None:
        """Flush the terminal."""
        self._file.flush()


def _escape_but_isolates(text: str) -> str:
    """Escape control characters, but keep the isolates of right-to-left cells if each is closed."""
    parts = text.split(ISOLATE)
    if END_ISOLATE in parts[0] or any(part.count(END_ISOLATE) != 1 for part in parts[1:]):
        return escape_control(text)
    escaped = escape_control(parts[0])
    for part in parts[1:]:
        inside, _, after = part.partition(END_ISOLATE)
        escaped += f"{ISOLATE}{escape_control(inside)}{END_ISOLATE}{escape_control(after)}"
    return escaped
