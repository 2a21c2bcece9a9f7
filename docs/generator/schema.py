"""The page of every table, view and function of a bank, and a diagram of the tables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql.registry import analyses_by_section
from generator.diagram import diagram
from generator.markdown import cell, made_by, page, plain, table

if TYPE_CHECKING:
    from attnbank.queries import Bank

_TITLES = {"table": "Tables", "view": "Views", "function": "Functions"}


def pages() -> dict[str, str]:
    """The text of the page, by name of file."""
    from attnbank.queries import open_bank
    from attnbank.sql.bank.opening import open_to_write

    with tempfile.TemporaryDirectory(prefix="attnbank-docs-") as folder:
        path = Path(folder, "empty.duckdb")
        open_to_write(path, "docs").close()
        with open_bank(path) as bank:
            return {"schema.md": page(_lines(bank))}


def _columns(bank: Bank, name: str) -> list[tuple[str, str, str]]:
    """The columns of a table or a view: name, type and comment.

    Bank.schema is not used for this, because an analysis may have the same name (head_distance) and
    other columns.
    """
    return bank.connection.execute(
        "select column_name, data_type, coalesce(comment, '') from duckdb_columns()"
        " where database_name = current_database() and schema_name = 'main' and table_name = ?"
        " order by column_index",
        [name],
    ).fetchall()


def _lines(bank: Bank) -> Iterator[str]:
    yield from (made_by("the schema"), "", "# What is in a bank", "")
    yield "A bank is a DuckDB file with these tables, views and functions. `attnbank schema` prints"
    yield "the same of yours. The diagram has the columns that hold an `id`, and a line from each"
    yield "to its table."
    yield ""
    yield from diagram(
        {
            name: [(column, type_) for column, type_, _ in _columns(bank, name)]
            for kind, name, _ in bank.schema().rows()
            if kind == "table"
        },
        bank.connection,
    )
    yield from _relations(bank)
    yield from ("", "## Analyses", "")
    yield "Every analysis is a table macro of the bank, and those of the paper's tables and figures"
    yield "are views as well."
    for title, those in analyses_by_section().items():
        yield from ("", f"### {title}", "")
        yield from table(
            ("relation", "a row is", ""),
            (
                (
                    f"[`{each.relation}`](commands.md#attnbank-query-{each.name})",
                    cell(each.grain.removeprefix("one row per ")),
                    cell(f"{each.title}."),
                )
                for each in those
            ),
        )


def _relations(bank: Bank) -> Iterator[str]:
    from attnbank.queries import analyses

    everything = bank.schema().rows()
    for kind, title in _TITLES.items():
        yield from ("", f"## {title}")
        for each, name, comment in everything:
            is_analysis = kind != "table" and name.removeprefix("paper.") in analyses()
            if each != kind or is_analysis:
                continue
            yield from ("", f"### {name}", "", plain(comment))
            if kind != "function":
                yield ""
                yield from table(
                    ("column", "type", ""),
                    (
                        (f"`{column}`", f"`{type_}`", cell(text))
                        for column, type_, text in _columns(bank, name)
                    ),
                )
