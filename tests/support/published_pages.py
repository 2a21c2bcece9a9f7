"""A visitor of a published bank in a browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import browsers
import polars as pl

from attnbank.queries.table_formats import columns_as_text


class Page(browsers.Visitor):
    """A visitor of a published bank, whose addresses stand after the #."""

    def __init__(
        self,
        browser: Any,
        address: str,
        width: int = 1300,
        scheme: str = "light",
        path: str = "",
        **values: object,
    ) -> None:
        self.base = address
        super().__init__(browser, self.address_of(path, **values), width, scheme)
        self.host = "/".join(address.split("/")[:3])
        self.ready()

    def ready(self) -> Any:
        """The page, once it is filled; DuckDB may say that the bank has no log."""
        for _ in range(2400):
            is_filled = self.page.evaluate(
                "document.querySelector('main')?.getAttribute('aria-busy') === null"
                " && document.querySelector('main')?.dataset.address === location.hash"
                " && !document.getElementById('status').textContent"
            )
            if is_filled:
                break
            self.page.wait_for_timeout(25)
        else:
            raise AssertionError("the page is not filled after a minute")
        self.said[:] = [each for each in self.said if ".wal" not in each]
        return self.page

    def address_of(self, path: str, **values: object) -> str:
        """The address of a view."""
        query = f"?{urlencode(values)}" if values else ""
        return f"{self.base}#{quote(path)}{query}" if path else self.base

    def see(self, path: str, **values: object) -> Any:
        """Go to a view, and wait until it is filled; a statement runs when it is sent off."""
        self.page.goto(self.address_of(path, **values))
        self.ready()
        if "statement" in values:
            self.page.locator("main form button").first.click()
        return self.ready()

    def rows(self, at: int = 0) -> list[list[str]]:
        """The cells of a table of the page, as they stand there."""
        found: list[list[str]] = self.page.evaluate(
            "at => [...document.querySelectorAll('main table')[at].tBodies[0].rows]"
            ".map(row => [...row.cells].map(cell => cell.textContent.trim()))",
            at,
        )
        return found


def cells(frame: pl.DataFrame, *left_out: str) -> list[list[str]]:
    """The cells of a table as commands print them."""
    columns = columns_as_text(frame.drop(left_out, strict=False))
    return [
        list(map(str.strip, row)) for row in zip(*(each.cells for each in columns), strict=True)
    ]
