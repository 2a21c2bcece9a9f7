"""The tables of a bank as a Mermaid diagram: what refers to what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.ingest.store.deleting import table_references

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Tables = dict[str, list[tuple[str, str]]]
"""The columns of each table, with their types."""

SCRIPT = Path(__file__).parents[1] / "assets" / "mermaid.min.js"
"""Mermaid itself, which `make docs` takes from npm: pages fetch nothing when they are read."""


def diagram(tables: Tables, connection: DuckDBPyConnection) -> Iterator[str]:
    """The lines of the diagram, with the columns that hold ids; its source, without the script."""
    if SCRIPT.is_file():
        yield from (f'<script src="assets/{SCRIPT.name}"></script>', "")
    yield from ("```mermaid" if SCRIPT.is_file() else "```text", "erDiagram", "  direction LR")
    found = [*_references(tables, connection)]
    shown = {(table, column) for table, column, _ in found}
    for name, columns in tables.items():
        yield f'  "{name}" {{'
        for column, type_ in columns:
            if column == "id" or (name, column) in shown:
                yield f"    {type_.lower()} {column}"
        yield "  }"
    for table, column, target in found:
        yield f'  "{target}" ||--o{{ "{table}" : {column}'
    yield "```"


def _references(tables: Tables, connection: DuckDBPyConnection) -> Iterator[tuple[str, str, str]]:
    """Tables, their columns that hold ids, and the tables whose ids they are.

    These are the package's references, and the columns of integers that are called `..._word`. The
    references do not include those, because rows of `mention` are deleted with their document.
    """
    known = [(each.table, each.column, each.target) for each in table_references(connection)]
    yield from known
    for table, columns in tables.items():
        for column, type_ in columns:
            if (
                column.endswith("_word")
                and type_ in ("INTEGER", "BIGINT")
                and (table, column, "word") not in known
            ):
                yield table, column, "word"
