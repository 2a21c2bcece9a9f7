"""Texts for people: names that were mistyped, lists of names, foreign text, frames as HTML."""

from __future__ import annotations

import difflib
import shlex
import unicodedata
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql.errors import CallError
from attnbank.sql.paths import typed_path

if TYPE_CHECKING:
    import polars as pl

# Characters without a picture of their own that Persian, Hindi and others spell words with.
_JOINERS = "\u200c\u200d"


def to_type(path: Path, command: str) -> str:
    """Say what to type: a command with its arguments, on a bank."""
    return f"Type: attnbank -b {shlex.quote(str(path))} {command}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """'Did you mean a or b?' for the known names nearest to `name`; empty where none is near."""
    by_folded = {name.casefold().replace("-", "_"): name for name in known}
    folded = name.casefold().replace("-", "_")
    ratio = {
        candidate: difflib.SequenceMatcher(None, candidate, folded).ratio()
        for candidate in by_folded
    }
    near = sorted(
        (candidate for candidate in by_folded if ratio[candidate] >= 0.6),
        key=lambda candidate: -ratio[candidate],
    )
    near = near[:3]
    if not near:  # a part of a name is not a near match by difflib's measure
        near = [candidate for candidate in by_folded if len(folded) > 2 and folded in candidate][:3]
    if not near:
        return ""
    names = [by_folded[candidate] for candidate in near]
    return f"Did you mean {', '.join(names[:-1]) + ' or ' if names[1:] else ''}{names[-1]}?"


def unknown_name(
    kind: str, name: str, bank: str | Path, known: Collection[str], more: str = ""
) -> CallError:
    """The error for a run, a corpus, ... that a bank does not have; `more` ends the hint.

    sql/shared/chosen_run.sql and cli/viewer/published/main.js say the same.
    """
    has = f"It has: {join_names(known)}." if known else "It has none."
    return CallError(
        f"There is no {kind} {name} in {typed_path(bank)}.",
        " ".join(filter(None, (did_you_mean(name, known), has, more))),
    )


def join_names(names: Iterable[str], most: int = 20) -> str:
    """Names joined by commas, at most `most` of them, and then how many more there are."""
    every = list(names)
    rest = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + rest


def escape_control(text: str) -> str:
    """A text as one line that a terminal can show safely: control characters are escaped."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in _JOINERS else repr(character)[1:-1]
        for character in text
    )


# Between these two characters a text runs its own way, and does not turn its neighbours around.
ISOLATE, END_ISOLATE = "\u2068", "\u2069"
_RIGHT_TO_LEFT = ("R", "AL")


def is_right_to_left(text: str) -> bool:
    """Whether a text runs from right to left: its first letter that has a direction says so."""
    directions = map(unicodedata.bidirectional, text)
    return (
        next((direction for direction in directions if direction in ("L", *_RIGHT_TO_LEFT)), "L")
        != "L"
    )


def isolated(text: str) -> str:
    """The text, set apart from its neighbours where a part of it runs from right to left."""
    ways = set() if text.isascii() else {*map(unicodedata.bidirectional, text)}
    return text if ways.isdisjoint((*_RIGHT_TO_LEFT, "AN")) else f"{ISOLATE}{text}{END_ISOLATE}"


# The most rows of a frame in a notebook.
_MOST_ROWS = 50


def html_table(frame: pl.DataFrame, title: str) -> str:
    """The first 50 rows of a frame as an HTML table, and how many more there are.

    Text in a bank may come from anyone, so all of it is escaped.
    """
    from html import escape  # imported late: it takes long, and only notebooks need it

    right, left = ' style="text-align: right"', ' style="text-align: left" dir="auto"'
    aligned = [right if dtype.is_numeric() else left for dtype in frame.dtypes]
    rows = ""
    for row in frame.head(_MOST_ROWS).rows():
        cells = zip(map(_cell_text, row), aligned, strict=True)
        rows += f"<tr>{''.join(f'<td{how}>{escape(text)}</td>' for text, how in cells)}</tr>"
    further = frame.height - _MOST_ROWS
    more = f"<p>and {further:,} more</p>" if further > 0 else ""
    named = zip(frame.columns, aligned, strict=True)
    heads = "".join(f"<th{how}>{escape(name)}</th>" for name, how in named)
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{more}"
    )


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
