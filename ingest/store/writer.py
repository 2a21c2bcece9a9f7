"""Opens and closes a bank for writing, inserts rows, and finds the next ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from attnbank.ingest.arrow_tables import table_schema
from attnbank.sql import provenance, registry
from attnbank.sql.bank.compaction import checkpoint_and_compact
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import BankError, translate_errors
from attnbank.sql.ids import LARGEST_OWNER
from attnbank.sql.names import quoted

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
        checkpoint_and_compact(connection, bank, has_deleted=has_deleted)


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
        f"insert into {table} ({', '.join(map(quoted, values))}) values ({marks})",
        [*values.values()],
    )


def matching_rows(
    connection: DuckDBPyConnection, table: str, **columns: Any
) -> list[dict[str, Any]]:
    """Return the rows of a table in which columns have these values, those of later ids first."""
    statement = f"select * from {table} where {_condition(columns)} order by 1 desc"
    return rows_by_name(connection.execute(statement, [*columns.values()]))


def delete_matching(connection: DuckDBPyConnection, table: str, **columns: Any) -> None:
    """Delete the rows of a table in which columns have these values."""
    statement = f"delete from {table} where {_condition(columns)}"
    connection.execute(statement, [*columns.values()])


def _condition(columns: Iterable[str]) -> str:
    return " and ".join(f"{quoted(name)} is not distinct from ?" for name in columns)


class Rows:
    """Collects rows of a table of a bank, to insert them together."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.schema = table_schema(table)
        self._columns: list[list[Any]] = [[] for _ in self.schema]

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, *values: Any) -> None:
        """Add a row, with its values in the order of the table's columns."""
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def extend(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self._columns)
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)

    def insert(self, connection: DuckDBPyConnection) -> None:
        """Insert the collected rows, and clear them."""
        if len(self):
            columns = dict(zip(self.schema.names, self._columns, strict=True))
            insert(connection, self.table, pa.Table.from_pydict(columns, schema=self.schema))
            self._columns = [[] for _ in self.schema]


def insert(connection: DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert an Arrow table into a table of the bank; columns are matched by name."""
    connection.register("arriving", rows)
    try:
        connection.execute(f"insert into {table} by name select * from arriving")
    finally:
        connection.unregister("arriving")


def rows_by_name(result: DuckDBPyConnection) -> list[dict[str, Any]]:
    """Fetch the rows of a result as dicts by column."""
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def next_id(connection: DuckDBPyConnection, kind: str) -> int:
    """Return the next free id of a kind (corpus, model, run, probe).

    Raises BankError if all are used.
    """
    id = next_ids(connection)[kind]
    if id >= LARGEST_OWNER:
        raise BankError(
            f"The bank has used every number of a {kind}: {LARGEST_OWNER - 1:,}.",
            "Use a new bank (-b FILE).",
        )
    return id


def next_ids(connection: DuckDBPyConnection) -> dict[str, int]:
    """Return the next id of each kind; ids of deleted rows are not used again."""
    return dict(connection.execute(registry.internal_statement("ingest/next_ids")).fetchall())


def forget_blocks(connection: DuckDBPyConnection) -> None:
    """Make DuckDB drop its cache of written blocks, which would grow with the bank."""
    ((limit,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    try:
        with suppress(duckdb.OutOfMemoryException):  # raised for blocks that are in use
            connection.execute("set memory_limit = '64MB'")
    finally:
        connection.execute(f"set memory_limit = '{limit}'")
