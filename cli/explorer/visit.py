"""What one request asks, and the page that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import polars as pl

from attnbank.cli.explorer.desk import Answer, Desk, Opened
from attnbank.queries import Bank
from attnbank.sql.errors import CallError

_LONGEST = 20_000


@dataclass(frozen=True)
class Page:
    """A page is a template with what it shows, and a status of HTTP."""

    template: str
    title: str
    shown: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Picture:
    """A picture is a document of SVG in UTF-8, which a page shows as an image."""

    svg: bytes


@dataclass(frozen=True)
class Visit:
    """One request: the parts of its address, and the bank that is asked.

    `given` has the parameters that have a value; a form sends empty fields, too.
    """

    desk: Desk
    opened: Opened
    given: Mapping[str, str]
    parts: Mapping[str, str]
    path: str

    @property
    def bank(self) -> Bank:
        """Return the open bank."""
        return self.opened.bank

    def ask(self, name: str, /, **values: Any) -> Answer:
        """Return the rows of an analysis, which are kept in memory. Raises as `Bank.query`."""
        return self.opened.ask(name, **values)

    def text(self, name: str, default: str = "") -> str:
        """Return a parameter. Raises CallError where it has more characters than anyone types."""
        found = self.given.get(name, default)
        if len(found) > _LONGEST:
            raise CallError(f"{name} has {len(found):,} characters.", f"Give at most {_LONGEST:,}.")
        return found

    def optional(self, name: str) -> str | None:
        """Return a parameter, or None where it is not given. Raises as `text`."""
        return self.text(name) or None

    def chosen(self, name: str, choices: Mapping[str, Any] | tuple[str, ...]) -> str:
        """One of some values, by default the first. Raises CallError for another one."""
        found = self.text(name, next(iter(choices)))
        if found not in choices:
            raise CallError(f"{name} cannot be {found}.", f"It is one of: {', '.join(choices)}.")
        return found

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a whole number from `least` to `most`. Raises CallError for anything else."""
        text = self.text(name, str(default))
        if not (text.isascii() and text.isdecimal() and least <= int(text[:9]) <= most):
            raise CallError(f"{name} cannot be {text}.", f"Give a number from {least} to {most}.")
        return int(text)

    def flag(self, name: str) -> bool:
        """Return whether a box is ticked."""
        return self.given.get(name, "") not in ("", "0", "no", "false")

    @property
    def run(self) -> str | None:
        """Return the run that the address names, by name or id, or None."""
        return self.optional("run")

    def runs(self) -> list[dict[str, Any]]:
        """Return the rows of `Bank.choices`, for the box that chooses a run."""
        found: pl.DataFrame = self.opened.once("choices", self.bank.choices)
        return found.to_dicts()


def link(path: str, **values: Any) -> str:
    """An address of the explorer; values that are None, empty or False are left out."""
    kept = {
        name: "1" if value is True else str(value)
        for name, value in values.items()
        if value is not None and value is not False and value != ""
    }
    return quote(path, safe="/") + (f"?{urlencode(kept)}" if kept else "")
