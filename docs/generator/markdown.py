"""Parts of Markdown that all generated pages use: the first line, sentences, tables, code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence


def made_by(source: str) -> str:
    """The first line of a generated page, which names its source."""
    return f"<!-- Made by make docs from {source}; do not edit. -->"


def plain(text: str) -> str:
    """A text escaped for Markdown, so that <s> is no tag and ** is not bold."""
    return re.sub(r"[*`\\]", r"\\\g<0>", text).replace("&", "&amp;").replace("<", "&lt;")


def sentence(text: str) -> str:
    """A text as a sentence, with a capital and a full stop, escaped for Markdown."""
    return plain(f"{text[:1].upper()}{text[1:].rstrip('.')}.")


def cell(text: str) -> str:
    """A text as a cell of a table, escaped for Markdown."""
    return plain(text).replace("|", "\\|")


def code(text: str) -> str:
    """Code within a line or a cell."""
    return f"`{text}`".replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table whose cells are Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join('---' for _ in head)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def block(text: str, language: str = "text", indent: str = "") -> Iterator[str]:
    """The lines of a block of code; with an indent it can be inside a tab or a box."""
    for line in (f"```{language}", *text.rstrip("\n").split("\n"), "```"):
        yield f"{indent}{line}".rstrip()


def page(lines: Iterable[str]) -> str:
    """The text of a page."""
    return "\n".join(lines) + "\n"
