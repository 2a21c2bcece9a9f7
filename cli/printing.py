"""The one way in which a command prints what people read.

Names and texts come from corpora, models and banks of other people, and a terminal obeys control
characters: it can be made to show another text, or to type one.
"""

from __future__ import annotations

import click

closed: set[str] = set()
"""Which of stdout and stderr were closed when the program began."""


def say(*lines: str, err: bool = False, nl: bool = True) -> None:
    """Print lines: each argument is one and stays one, with its control characters written out.

    Without `nl` the last one is left open, for a question.
    """
    click.echo("\n".join(map(shown, lines)), err=err, nl=nl)


def shown(text: str) -> str:
    """A text in one line, as a terminal can show it: control characters are written out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
