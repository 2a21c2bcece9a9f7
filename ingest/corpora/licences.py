"""The licence and the citation of a corpus, from the README beside its files.

The README of a treebank of Universal Dependencies has a line `License: CC BY-SA 4.0`, and a BibTeX
entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_NAMES = ("README.md", "README.txt", "README")
_MOST_BYTES = 1_000_000  # of a README
_LONGEST = 500  # characters of a licence
_LONGEST_CITATION = 4000  # characters
_LICENCE = re.compile(
    r"^[ \t>*_#-]*licen[sc]e[*_]*[ \t]*:[*_ \t]*(\S[^\n]*)$", re.IGNORECASE | re.MULTILINE
)
_ENTRY = re.compile(r"^[ \t]*@[a-z]+\{", re.IGNORECASE | re.MULTILINE)


class Declared(NamedTuple):
    """The licence and the citation of a corpus, None if unknown."""

    licence: str | None = None
    citation: str | None = None


def licence_of_files(files: Iterable[Path]) -> Declared:
    """Return what the READMEs beside files declare; nothing if they differ."""
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
    """Return the first BibTeX entry, up to its closing brace."""
    start = _ENTRY.search(text)
    if start is None:
        return None
    depth = 0
    for at in range(start.start(), min(len(text), start.start() + _LONGEST_CITATION)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if text[at] == "}" and not depth:
            return text[start.start() : at + 1].strip()
    return None
