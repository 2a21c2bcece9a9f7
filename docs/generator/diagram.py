"""The tables of a bank as a picture: boxes with columns, and arrows from references to tables.

It is plain SVG, so that a page needs no script to show it. All sizes are in pixels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from attnbank.sql.bank.references import references

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LINE = 15  # height of a column's line
_HEAD = 22  # height of a table's name
_WIDTH = 210  # of a box
_ACROSS = 80  # between two columns of boxes: arrows run here
_BELOW = 18  # between two boxes
_MARGIN = 12
_STYLE = """
svg { background: #ffffff; }
text { font: 11px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #202124; }
.name { font-weight: bold; font-size: 12px; fill: #ffffff; }
.type { fill: #80868b; }
.box { fill: #ffffff; stroke: #5c6bc0; }
.head { fill: #3f51b5; }
.arrow { fill: none; stroke: #7986cb; stroke-width: 1.2; }
.reference { fill: #283593; font-weight: bold; }
"""


@dataclass(frozen=True)
class Table:
    """A table: its name, its comment, and the names and types of its columns."""

    name: str
    comment: str
    columns: tuple[tuple[str, str], ...]

    @property
    def height(self) -> int:
        """The height of its box."""
        return _HEAD + _LINE * len(self.columns) + 6


@dataclass(frozen=True)
class Arrow:
    """A column of a table that holds ids of another table."""

    table: str
    column: str
    target: str


def arrows(tables: list[Table], connection: DuckDBPyConnection) -> list[Arrow]:
    """What refers to what: the package's references, and columns such as `head_word`.

    A column of integers that is called `..._word` holds the id of a word. The package's references
    do not include it, because rows of `mention` are deleted with their document. A column that
    would close a circle back to its own table is left out.
    """
    found = [Arrow(each.table, each.column, each.target) for each in references(connection)]
    known = {(each.table, each.column) for each in found}
    with_id = {each.name for each in tables if ("id", "INTEGER") in each.columns}
    for table in tables:
        for column, type_ in table.columns:
            target = column.rpartition("_")[2]
            is_new = (table.name, column) not in known and target != column
            is_id = target in with_id and type_ == "INTEGER"
            if is_new and is_id and not _leads(target, table.name, found):
                found.append(Arrow(table.name, column, target))
    return found


def _leads(start: str, end: str, found: list[Arrow]) -> bool:
    """Whether the arrows lead from one table to another, through any number of others."""
    if start == end:
        return True
    return any(_leads(each.target, end, found) for each in found if each.table == start)


def diagram(tables: list[Table], connection: DuckDBPyConnection) -> str:
    """The picture, as the text of an SVG file."""
    lines = arrows(tables, connection)
    places = _places(tables, lines)
    by_name = {each.name: each for each in tables}
    width = max(x for x, _ in places.values()) + _WIDTH + _MARGIN
    height = max(y + by_name[name].height for name, (_, y) in places.items()) + _MARGIN
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img">',
        "<title>The tables of a bank</title>",
        f"<style>{_STYLE}</style>",
        *(_path(each, by_name, places) for each in lines),
    ]
    for table in tables:
        parts += _box(
            table, *places[table.name], {each.column for each in lines if each.table == table.name}
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _places(tables: list[Table], lines: list[Arrow]) -> dict[str, tuple[int, int]]:
    """The left upper corner (x, y) of each box.

    A box is to the right of all that it refers to, and as near to the middle of that as possible.
    """
    targets = {
        table.name: sorted(
            {each.target for each in lines if each.table == table.name} - {table.name}
        )
        for table in tables
    }

    def level(name: str) -> int:
        return 1 + max(map(level, targets[name]), default=-1)

    levels = {table.name: level(table.name) for table in tables}
    linked = {each for name, those in targets.items() if those for each in (name, *those)}
    places: dict[str, tuple[int, int]] = {}
    for number in range(max(levels.values()) + 1):
        those = [each for each in tables if levels[each.name] == number]
        those.sort(key=lambda each: (each.name not in linked, _middle(each.name, targets, places)))
        y = _MARGIN
        for table in those:
            places[table.name] = (_MARGIN + number * (_WIDTH + _ACROSS), y)
            y += table.height + _BELOW
    return places


def _middle(
    name: str, targets: dict[str, list[str]], places: dict[str, tuple[int, int]]
) -> tuple[float, str]:
    """The key to sort a table by: the mean y of the tables that it refers to, then its name."""
    heights = [places[each][1] for each in targets[name] if each in places]
    return (sum(heights) / len(heights) if heights else 0.0, name)


def _box(table: Table, x: int, y: int, referring: set[str]) -> Iterator[str]:
    yield f"<g><title>{escape(table.comment)}</title>"
    yield f'<rect class="box" x="{x}" y="{y}" width="{_WIDTH}" height="{table.height}" rx="4"/>'
    top = f"v{4 - _HEAD} q0 -4 4 -4 h{_WIDTH - 8} q4 0 4 4 v{_HEAD - 4} z"
    yield f'<path class="head" d="M{x} {y + _HEAD} {top}"/>'
    yield f'<text class="name" x="{x + 8}" y="{y + 15}">{escape(table.name)}</text>'
    for at, (column, type_) in enumerate(table.columns):
        line = y + _HEAD + _LINE * at + 13
        kind = ' class="reference"' if column in referring else ""
        yield f'<text{kind} x="{x + 8}" y="{line}">{escape(column)}</text>'
        yield (
            f'<text class="type" x="{x + _WIDTH - 8}" y="{line}" text-anchor="end">'
            f"{escape(_short(type_))}</text>"
        )
    yield "</g>"


def _path(arrow: Arrow, tables: dict[str, Table], places: dict[str, tuple[int, int]]) -> str:
    """A curve from the column to the name of the table, with a dot at its end."""
    x, y = places[arrow.table]
    at = [column for column, _ in tables[arrow.table].columns].index(arrow.column)
    start = y + _HEAD + _LINE * at + 9
    to_x, to_y = places[arrow.target][0] + _WIDTH, places[arrow.target][1] + 11
    if to_x <= x:
        bend = min((x - to_x) // 2, 90)
        curve = f"M{x} {start} C{x - bend} {start} {to_x + bend} {to_y} {to_x} {to_y}"
    else:  # the target is not to the left, so the curve goes around the right side
        right = x + _WIDTH
        bend = max(right, to_x) + 50
        curve = f"M{right} {start} C{bend} {start} {bend} {to_y} {to_x} {to_y}"
    return (
        f'<path class="arrow" d="{curve}"/><circle cx="{to_x}" cy="{to_y}" r="3" fill="#7986cb"/>'
    )


def _short(type_: str) -> str:
    return type_.lower().replace("varchar", "text").replace("timestamp", "time")
