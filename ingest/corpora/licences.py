"""Under which licence a corpus is, as the README beside its files says, and how it is cited.

A treebank of Universal Dependencies has both in its README: a line `License: CC BY-SA 4.0`, and an
entry for BibTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_NAMES = ("README.md", "README.txt", "README")
_MOST_BYTES = 1_000_000
_LONGEST = 500
_LONGEST_CITATION = 4000
_LICENCE = re.compile(
    r"^[ \t>*_#-]*licen[sc]e[*_]*[ \t]*:[*_ \t]*(\S[^\n]*)$", re.IGNORECASE | re.MULTILINE
)
_ENTRY = re.compile(r"^[ \t]*@[a-z]+\{", re.IGNORECASE | re.MULTILINE)


class Declared(NamedTuple):
    """What stands beside a corpus: its licence and how to cite it, None where nothing does."""

    licence: str | None = None
    citation: str | None = None


def licence_of_files(files: Iterable[Path]) -> Declared:
    """What the READMEs beside some files say; None where they say nothing, or differ."""
    folders = {path.resolve().parent for path in files}
    licences = {_licence_of_folder(folder) for folder in folders}
    return licences.pop() if len(licences) == 1 else Declared()


def _licence_of_folder(folder: Path) -> Declared:
    for name in _NAMES:
        try:
            with (folder / name).open("rb") as file:
                text = file.read(_MOST_BYTES).decode("utf-8", errors="replace")
        except OSError:
            continue
        licences = {" ".join(match.split()).strip("*_ ") for match in _LICENCE.findall(text)}
        licence = licences.pop()[:_LONGEST] if len(licences) == 1 else None
        return Declared(licence, _entry(text))
    return Declared()


def _entry(text: str) -> str | None:
    """The first entry for BibTeX, to the bracket that closes it."""
    start = _ENTRY.search(text)
    if start is None:
        return None
    depth = 0
    for at in range(start.start(), min(len(text), start.start() + _LONGEST_CITATION)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if text[at] == "}" and not depth:
            return text[start.start() : at + 1].strip()
    return None
