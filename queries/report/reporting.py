"""The report on a bank: the method of Bank for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast, overload

from attnbank.queries.connections.opened import OpenBank
from attnbank.sql.errors import CallError
from attnbank.sql.outputs import files as outputs

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank

ENDINGS = (".html", ".htm")
"""The endings of the names that a report can have."""

OnSection = Callable[[int, int], None]
"""Is called with how many sections are done, and how many there are."""


class Reports(OpenBank):
    """The part of a Bank that writes reports."""

    if TYPE_CHECKING:  # typing keeps overloads, and all that their module knows, until the very end

        @overload
        def report(
            self,
            path: str | Path,
            *,
            run: str | int | None = None,
            on_section: OnSection | None = None,
        ) -> None: ...

        @overload
        def report(
            self,
            path: None = None,
            *,
            run: str | int | None = None,
            on_section: OnSection | None = None,
        ) -> str: ...

    def report(
        self,
        path: str | Path | None = None,
        *,
        run: str | int | None = None,
        on_section: OnSection | None = None,
    ) -> str | None:
        """Write every table and figure that the bank can answer into one HTML file.

        The file asks for nothing outside itself; it is written whole or not at all. Without `path`
        the page is returned as text instead. `run` names the run of words over single sentences
        that the sections on syntax read, by name or id; other kinds of run are chosen among those
        of its model. `on_section` is called with how many sections are done, and how many there
        are. What the bank cannot answer is listed on the page, with the command that would fill it.

        Raises CallError where there is no such run, or no such page can be written at the path;
        MissingPackageError where a package is not installed; BankError where the bank is damaged;
        AttnbankError where the file cannot be written.
        """
        from attnbank.queries.report.page import need_packages, page

        if path is not None:
            check_place(path, self.path)
        need_packages()
        text = page(cast("Bank", self), run, on_section or _unheard)
        if path is None:
            return text
        with outputs.output_file(path, self.path) as file:
            file.write(text.encode(errors="backslashreplace"))
        return None


def check_place(path: str | Path, bank: Path) -> None:
    """Raise CallError where no report on the bank can be written at the path."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise CallError(f"A report is a page; {path} does not end in .html.", "End it in .html.")
    outputs.check_output(path, bank)


def _unheard(done: int, total: int) -> None:
    """Tell nobody."""
