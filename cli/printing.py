"""The one way in which a command prints what people read.

Names and texts come from corpora, models and banks of other people, and a terminal obeys control
characters: it can be made to show another text, or to type one.
"""

from __future__ import annotations

import click

closed: set[str] = set()
"""Which of stdout and stderr were closed when the program began."""


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print lines, with every control character but the ends of lines written out."""
    click.echo("\n".join(map(shown, text.split("\n"))), err=err, nl=nl)


def shown(text: str) -> str:
    """A text in one line, as a terminal can show it: control characters are written out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
