"""All that is in a bank, so that two can be compared table by table."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from attnbank.sql.names import sql_literal as literal

Rows = list[tuple[object, ...]]

_TEXT = (
    "corpus",
    "document",
    "sentence",
    "word",
    "enhanced_dependency",
    "constituent",
    "mention",
    "departure",
    "model",
)
_OF_RUNS = {
    "run": "select * exclude (started, finished) from run",
    "sequence": "select * exclude (batch) from sequence",
    "ablation": "select * replace (round(loss, 12) as loss) from ablation",  # a mean of means
    "skipped": "select * exclude (batch) from skipped",
    **{
        table: f"select * from {table}"
        for table in ("position", "attention", "attention_map", "peak", "gradient")
    },
}


def query_bank(bank: Path | str, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    """The rows of a statement, without attnbank.

    By a connection that stays, since to make one and end it takes as long as most statements.
    """
    path, connection = str(bank), _memory()
    try:
        connection.execute(f"attach {literal(path)} as bank_of_rows (read_only)")
    except duckdb.Error:  # this process has it open
        with duckdb.connect(path, read_only=True) as own:
            return own.execute(statement, values).fetchall()
    try:
        connection.execute("use bank_of_rows")
        return connection.execute(statement, values).fetchall()
    finally:
        connection.execute("use memory")
        connection.execute("detach bank_of_rows")


@cache
def _memory() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def change_bank(bank: Path | str, *statements: str) -> None:
    """Execute statements on a bank, as a user may without attnbank."""
    with duckdb.connect(str(bank)) as connection:
        for statement in statements:
            connection.execute(statement)


def model_of(bank: Path, run: int = 1) -> str:
    """The model of a run, which a command that reads a folder must be given."""
    select = "select model.name from run inner join model on model.id = run.model where run.id = ?"
    ((name,),) = query_bank(bank, select, [run])
    return str(name)


def rows(bank: Path) -> dict[str, Rows]:
    """The rows of each table in an order of their own, without times and numbers of batches."""
    selects = {table: f"select * from {table}" for table in _TEXT} | _OF_RUNS
    with duckdb.connect(str(bank), read_only=True) as connection:
        return {
            table: connection.execute(f"{select} order by all").fetchall()
            for table, select in selects.items()
        }
