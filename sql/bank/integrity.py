"""What the rows of a bank must be for the rest to make sense: DuckDB checks their types alone.

A bank that somebody else made may hold anything. Its catalog (corpora, models, runs) is checked
whenever it is opened; all of it, which takes a second for some hundred megabytes, when it comes in:
by `import`, `merge` and `fetch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnbank.sql import registry
from attnbank.sql.bank.upgrading import columns_of_this_format
from attnbank.sql.ids import LARGEST_OWNER

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The most heads of a model in all its layers; the largest models have a sixth of that.
MOST_HEADS = 100_000

# The most characters of the name of a run: `ingest` takes 1,000 of a corpus and of a model.
LONGEST_NAME = 4_000

_WORDS = frozenset({"first_word", "last_word", "head_word"})

# Tables whose rows of no input are read by nobody: `merge` says that it leaves them out.
_OF_INPUTS = frozenset({"attention", "attention_top", "attention_map", "peak", "gradient"})


def fault_of_catalog(connection: DuckDBPyConnection) -> str | None:
    """What is wrong with the corpora, models and runs of the current database, in words."""
    values = {"longest": LONGEST_NAME, "heads": MOST_HEADS, "numbers": LARGEST_OWNER}
    return _first_fault(connection, "catalog", values)


def fault_of_rows(connection: DuckDBPyConnection) -> str | None:
    """What is wrong with the rows of the current database, a bank or an export, in words."""
    return (
        fault_of_catalog(connection)
        or _first_fault(connection, "text")
        or _lost_row(connection)
        or _first_fault(connection, "inputs")
        or _first_fault(connection, "weights")
    )


def _first_fault(
    connection: DuckDBPyConnection, name: str, values: dict[str, Any] | None = None
) -> str | None:
    rows = connection.execute(registry.internal_statement(f"check/{name}"), values).fetchall()
    return str(rows[0][0]) if rows else None


def _lost_row(connection: DuckDBPyConnection) -> str | None:
    """A table with a row that names one of another table which is not there."""
    tables = columns_of_this_format()
    selects = [
        f"select 'its table {table} has rows that belong to no {target}' from {table} as own"
        f" where own.{column} is not null and own.{column} not in (select id from {target})"
        for table, columns in tables.items()
        if table not in _OF_INPUTS
        for column, type_ in columns.items()
        if type_ in ("INTEGER", "BIGINT") and "id" in tables.get(target := _target(column), ())
    ]
    rows = connection.execute(f"{' union all '.join(selects)} limit 1").fetchall()
    return str(rows[0][0]) if rows else None


def _target(column: str) -> str:
    """The table that a column of ids refers to, by its name (`run`, `test_run`, `head_word`)."""
    if column.endswith("_run"):
        return "run"
    return "word" if column in _WORDS else column
