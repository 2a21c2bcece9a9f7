"""Long tables in pages: which rows stand on the page that the address names, and how to others."""

from __future__ import annotations

from dataclasses import dataclass

from attnbank.cli.explorer.visit import Visit, link
from attnbank.sql.errors import CallError

ROWS = 500
"""Rows of a table that one page shows."""
_LAST = 1_000_000


@dataclass(frozen=True)
class Paging:
    """The part of some rows that a page shows: `first` and `last`, counted from 1.

    `total` is how many rows there are to page through. With `has_more` there are others that no
    page has. `previous` and `next` are addresses, None where there is no such page; `name` is the
    parameter of the address that numbers the pages.
    """

    first: int
    last: int
    total: int
    has_more: bool
    number: int
    pages: int
    previous: str | None
    next: str | None
    name: str

    @property
    def start(self) -> int:
        """Return the place of the first row of the page, counted from 0."""
        return max(0, self.first - 1)

    @property
    def size(self) -> int:
        """Return how many rows the page shows."""
        return self.last - self.start


def number_of(visit: Visit, name: str = "page") -> int:
    """The page that the address asks for, counted from 1. Raises CallError for what is none."""
    return visit.number(name, 1, 1, _LAST)


def paging(
    visit: Visit,
    total: int,
    *,
    size: int = ROWS,
    name: str = "page",
    has_more: bool = False,
) -> Paging:
    """The page of `total` rows that the address asks for by the parameter `name`.

    The links keep everything else that the address says, so that a page of a table is an address
    that can be shared. Raises CallError where there is no such page.
    """
    asked = number_of(visit, name)
    pages = max(1, -(-total // size))
    if asked > pages:
        told = "There is one page." if pages == 1 else f"There are {pages:,} pages."
        raise CallError(f"{name} cannot be {asked:,}.", told)

    def to(number: int) -> str | None:
        if not 1 <= number <= pages:
            return None
        others = {key: value for key, value in visit.given.items() if key != name}
        return link(visit.path, **others, **({} if number == 1 else {name: number}))

    first = (asked - 1) * size + 1 if total else 0
    return Paging(
        first=first,
        last=min(asked * size, total),
        total=total,
        has_more=has_more,
        number=asked,
        pages=pages,
        previous=to(asked - 1),
        next=to(asked + 1),
        name=name,
    )
