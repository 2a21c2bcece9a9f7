"""Banks of earlier formats, and what to compare of a bank before and after an upgrade."""

from __future__ import annotations

import lzma
from pathlib import Path

import duckdb

_BANKS = Path(__file__).resolve().parents[1] / "banks"

Rows = list[tuple[object, ...]]


def format_1(path: Path) -> Path:
    """Write the bank of format 1 that is kept in the repository to a path."""
    path.write_bytes(lzma.decompress((_BANKS / "format-1.duckdb.xz").read_bytes()))
    return path


def format_4(path: Path) -> Path:
    """Write the bank of format 4 that is kept in the repository to a path."""
    path.write_bytes(lzma.decompress((_BANKS / "format-4.duckdb.xz").read_bytes()))
    return path


def columns(path: Path) -> dict[str, list[str]]:
    """The names of the columns of every table of a bank, by table."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            str(table): list(names)
            for table, names in connection.execute(
                "select table_name, list(column_name order by column_index) from duckdb_columns()"
                " where schema_name = 'main' and not internal"
                " and table_name in (select table_name from duckdb_tables())"
                " group by table_name order by table_name"
            ).fetchall()
        }


def rows(path: Path, of: dict[str, list[str]], without: tuple[str, ...] = ()) -> dict[str, Rows]:
    """The rows of a bank's tables as sorted texts, of the columns that `of` names for each."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            table: connection.execute(
                "select "
                + ", ".join(f'cast("{name}" as varchar)' for name in names)
                + f" from {table} order by all"
            ).fetchall()
            for table, names in of.items()
            if table not in without
        }
