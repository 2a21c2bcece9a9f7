"""Opens and closes a bank for writing, inserts single rows, and finds the next ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.sql import provenance, registry
from attnbank.sql.bank.compaction import checkpoint_and_compact
from attnbank.sql.bank.error_messages import translate_errors
from attnbank.sql.bank.opening import existing, open_to_write

# One thread leaves the other cores to the model, and wrote the same rows in half the time.
WRITER = {"threads": "1", "memory_limit": "256MB", "write_buffer_row_group_count": "1"}


@contextmanager
def open_for_changes(
    bank: Path,
    outcome: str,
    settings: Mapping[str, str] | None = None,
    *,
    has_deleted: bool = False,
    reads: Sequence[Path] = (),
) -> Iterator[DuckDBPyConnection]:
    """Context manager that opens an existing bank for writing, and compacts it at the end.

    Errors of DuckDB become BankErrors, whose message ends with `outcome`, the state of the bank.
    The only other files that the connection can read are `reads`. `has_deleted` says that rows may
    be deleted, whose space is then reclaimed.
    """
    version = provenance.version()
    connection = open_to_write(bank, version, dict(settings or {}), makes=False, reads=reads)
    with closing(connection), translate_errors(bank, outcome, "type the same command again"):
        yield connection
        checkpoint_and_compact(connection, existing(bank), has_deleted=has_deleted)


@contextmanager
def open_for_ingest(bank: Path, *, has_deleted: bool = False) -> Iterator[DuckDBPyConnection]:
    """Context manager that opens a bank for an ingest, and creates it if there is none.

    Errors of DuckDB become BankErrors.
    """
    connection = open_to_write(bank, provenance.version(), WRITER)
    again = (
        "type the same command: it resumes where it stopped"
        " (--dry-run prints how much space it needs)"
    )
    # Only DuckDB's: reading the corpus and running the model raise errors of their own here.
    with closing(connection), translate_errors(bank, again=again, only_duckdb=True):
        yield connection
        checkpoint_and_compact(connection, bank, has_deleted=has_deleted)


def insert_row(connection: DuckDBPyConnection, table: str, **values: Any) -> None:
    """Insert one row, its values by column."""
    marks = ", ".join("?" for _ in values)
    connection.execute(
        f"insert into {table} ({', '.join(values)}) values ({marks})", [*values.values()]
    )


def rows_by_name(result: DuckDBPyConnection) -> list[dict[str, Any]]:
    """Fetch the rows of a result as dicts by column."""
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def next_ids(connection: DuckDBPyConnection) -> dict[str, int]:
    """Return the next free id of each kind; ids of deleted rows are not used again."""
    return dict(connection.execute(registry.internal_statement("ingest/next_ids")).fetchall())


def forget_blocks(connection: DuckDBPyConnection) -> None:
    """Make DuckDB drop its cache of written blocks, which would grow with the bank."""
    ((limit,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    try:
        with suppress(duckdb.OutOfMemoryException):  # raised for blocks that are in use
            connection.execute("set memory_limit = '64MB'")
    finally:
        connection.execute(f"set memory_limit = '{limit}'")
