"""A request to the explorer: its parameters, links, and paged tables."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import polars as pl

from attnbank.cli.explorer.bank_cache import BankCache, BankHandle, NotedFrame
from attnbank.queries import Bank
from attnbank.queries.table_formats import FormattedColumn, columns_as_text
from attnbank.sql.errors import CallError
from attnbank.sql.names import sql_literal as value_of
from attnbank.sql.registry import find_analysis

_LONGEST_VALUE = 20_000
# Characters of a cell on a page.
_LONGEST_CELL = 2000
# Rows of a table on one page.
ROWS = 500

# Makes the address that a cell links to from the values of its row.
Link = Callable[[Mapping[str, Any]], str | None]


@dataclass(frozen=True)
class Paging:
    """Rows `first` to `last` (from 1) of `total`; `has_more`: the total is cut off."""

    first: int
    last: int
    total: int
    has_more: bool
    previous: str | None
    next: str | None

    def slice(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the page."""
        start = max(0, self.first - 1)
        return frame.slice(start, self.last - start)


@dataclass(frozen=True)
class PagedTable:
    """The rows on a page; a cell is its text and the address of its link, or None."""

    columns: list[FormattedColumn]
    rows: list[tuple[tuple[str, str | None], ...]]
    paging: Paging


class Visit:
    """A request whose client may disconnect before it is answered."""

    def __init__(self) -> None:
        self.has_begun = False
        self.has_left = False
        self._stop: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def is_wanted(self) -> bool:
        """Whether to start the work: not for a client that has disconnected."""
        with self._lock:
            self.has_begun = not self.has_left
            return self.has_begun

    def leave(self) -> None:
        """Note that the client has disconnected, and call `stop` if work is being done for it
        alone.
        """
        with self._lock:
            self.has_left = True
            stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Context manager in which another thread calls `stop` when the client disconnects."""
        with self._lock:
            self._stop, has_left = stop, self.has_left
        if has_left:
            stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None


@dataclass(frozen=True)
class RequestContext:
    """One request: the bank, the parts of the path, and the non-empty parameters.

    If not `is_live`, the page is written to a file and links to no view that queries the bank.
    """

    cache: BankCache
    handle: BankHandle
    parameters: Mapping[str, str]
    parts: Mapping[str, str]
    path: str
    is_live: bool = True
    visit: Visit = field(default_factory=Visit)

    @property
    def bank(self) -> Bank:
        """The open bank."""
        return self.handle.bank

    @property
    def run_name(self) -> str | None:
        """The run in the address, by name or id."""
        return self.text_parameter("run") or None

    def query(self, name: str, /, **values: Any) -> NotedFrame:
        """The rows of an analysis, cached. Raises what `Bank.query` raises."""
        arguments = {key: value for key, value in values.items() if value is not None}
        key = ("query", name, repr(sorted(arguments.items())))
        return self.handle.cached_rows(key, lambda: self.bank.query(name, **arguments))

    def command(self, what: str, **options: Any) -> str:
        """The command that prints what a view shows; None and empty options are left out."""
        parts = [f"attnbank -b {shlex.quote(str(self.cache.path))} {what}"]
        for name, value in options.items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                parts.append(flag)
            elif value not in (None, False, ""):
                parts.append(f"{flag} {shlex.quote(str(value))}")
        return " ".join(parts)

    def rows_command(self, name: str, arguments: Mapping[str, Any], **column_values: Any) -> str:
        """The command that prints the rows of an analysis, or only the rows with these column
        values.

        `arguments` are those of `Bank.query`, or texts from the address.
        """
        if not any(value is not None for value in column_values.values()):
            return self.command(f"query {name}", **_as_options(name, arguments))
        parameters = (
            f"{key} := {value_of(value)}" for key, value in arguments.items() if value is not None
        )
        conditions = (f"{key} = {value_of(value)}" for key, value in column_values.items())
        statement = f"from {name}({', '.join(parameters)}) where {' and '.join(conditions)}"
        return self.command(f"sql {shlex.quote(statement)}")

    def plot_command(self, name: str, arguments: Mapping[str, Any], **options: Any) -> str:
        """The command that draws the picture of an analysis with these arguments."""
        all_options = _as_options(name, arguments) | options
        return self.command(f"plot {name}", **all_options, output=f"{name}.svg")

    def text_parameter(self, name: str, default: str = "") -> str:
        """A parameter as text. Raises CallError if it is too long."""
        value = self.parameters.get(name, default)
        if len(value) > _LONGEST_VALUE:
            raise CallError(
                f"{name} has {len(value):,} characters.", f"Give at most {_LONGEST_VALUE:,}."
            )
        return value

    def choice_parameter(self, name: str, choices: Collection[str]) -> str:
        """A parameter with choices, by default the first. Raises CallError for another value."""
        choice = self.text_parameter(name, next(iter(choices)))
        if choice not in choices:
            raise CallError(f"{name} cannot be {choice}.", f"Use one of: {', '.join(choices)}.")
        return choice

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A parameter that is an integer from `least` to `most`. Raises CallError."""
        text = self.text_parameter(name, str(default))
        if not (text.isascii() and text.isdecimal() and least <= int(text[:9]) <= most):
            raise CallError(f"{name} cannot be {text}.", f"Give a number from {least} to {most}.")
        return int(text)

    def flag(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.parameters.get(name, "") not in ("", "0", "no", "false")

    def run_choices(self) -> list[dict[str, Any]]:
        """The rows of `Bank.choices`, for the menu of runs."""
        return self.handle.compute_once("choices", lambda: self.bank.choices().to_dicts())

    def relations(self) -> list[str]:
        """The relations of the trees, without subtypes, and the saved ones."""

        def query_relations() -> list[str]:
            rows = self.bank.connection.execute(
                "select distinct without_subtype(word.deprel) as relation from word"
                " where word.head_index > 0 order by relation"
            ).fetchall()
            names = [name for (name,) in rows if name]
            return ["all", *names, *self.bank.saved()["name"]]

        return self.handle.compute_once("relations", query_relations)

    def page_number(self, name: str = "page") -> int:
        """The requested page, from 1. Raises CallError for anything but a number."""
        return self.number(name, 1, 1, 1_000_000)

    def paging(
        self, total: int, *, size: int = ROWS, name: str = "page", has_more: bool = False
    ) -> Paging:
        """The requested page of `total` rows; `name` is its parameter. Raises CallError."""
        page = self.page_number(name)
        pages = max(1, -(-total // size))
        if page > pages:
            remedy = "There is one page." if pages == 1 else f"There are {pages:,} pages."
            raise CallError(f"{name} cannot be {page:,}.", remedy)

        def to(number: int) -> str | None:
            if not 1 <= number <= pages:
                return None
            return link(self.path, **{**self.parameters, name: number if number > 1 else None})

        first = (page - 1) * size + 1 if total else 0
        last = min(page * size, total)
        return Paging(first, last, total, has_more, to(page - 1), to(page + 1))

    def table(
        self,
        frame: pl.DataFrame,
        links: Mapping[str, Link] | None = None,
        *,
        hides: tuple[str, ...] = (),
        name: str = "page",
        has_more: bool = False,
    ) -> PagedTable:
        """The requested page of a frame; `name` is the parameter with the page number.

        Heads and sentences link to their pages, unless `links` overrides it. Columns in
        `hides` are left out, and `run` if it has one value.
        """
        paging = self.paging(frame.height, name=name, has_more=has_more)
        frame = paging.slice(frame)
        if "run" in frame.columns and frame["run"].n_unique() <= 1:
            hides = (*hides, "run")
        targets = _usual_links(frame, self.run_name) | dict(links or {})
        values = frame.to_dicts()
        columns = columns_as_text(frame.drop(hides, strict=False))
        cells = []
        for column in columns:
            target = targets.get(column.name)
            cells.append(
                [
                    (_shorten_name(text), target(row) if target and text else None)
                    for text, row in zip(column.cells, values, strict=True)
                ]
            )
        return PagedTable(columns, list(zip(*cells, strict=True)), paging)


def _as_options(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an analysis as command-line options; switches have no value."""
    switches = {
        parameter.name
        for parameter in find_analysis(name).parameters
        if parameter.type == "boolean"
    }
    options: dict[str, Any] = {}
    for key, value in arguments.items():
        if key in switches and value is not None:
            options[key if str(value).lower() == "true" else f"no_{key}"] = True
        else:
            options[key] = value
    return options


def link(path: str, **values: Any) -> str:
    """Make an address of the explorer; None, empty and False values are left out."""
    query = {
        name: "1" if value is True else str(value)
        for name, value in values.items()
        if value is not None and value is not False and value != ""
    }
    return quote(path, safe="/") + (f"?{urlencode(query)}" if query else "")


def hit_of(row: Mapping[str, Any], nodes: Collection[str]) -> str:
    """The words of a hit, as an address marks them: SENTENCE:WORDS."""
    words = sorted({row[node] for node in nodes if row[node]})
    return f"{row['sentence']}:{','.join(map(str, words))}" if words else ""


def _shorten_name(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"


def _usual_links(frame: pl.DataFrame, run: str | None) -> dict[str, Link]:
    links: dict[str, Link] = {}
    for end in ("", "_a", "_b"):
        if f"layer{end}" in frame.columns and f"head{end}" in frame.columns:
            links[f"head{end}"] = _to_head(end, run)
    if "sent_id" in frame.columns:
        links["sent_id"] = lambda row: link("/sentence", sentence=row["sent_id"], run=run)
    return links


def _to_head(end: str, run: str | None) -> Link:
    def target(row: Mapping[str, Any]) -> str | None:
        layer, head = row[f"layer{end}"], row[f"head{end}"]
        if not isinstance(layer, int) or not isinstance(head, int):
            return None
        return link(
            f"/head/{layer}-{head}",
            run=row.get(f"run{end}") if end else run,
            relation=row.get("relation"),
            direction=row.get(f"direction{end}"),
        )

    return target
