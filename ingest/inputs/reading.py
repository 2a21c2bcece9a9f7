"""How a plan reads the bank: whole answers, and in turns with whatever writes there.

A checkpoint of DuckDB fails while a statement that began before the last committed update is still
read. So the statements of a plan end before anything else is done with their rows, and where
another thread writes, the two take turns.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.sql import registry

Ask = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]
"""All rows of a statement of the registry, by its name and with its parameters."""

IN_NO_TURNS: AbstractContextManager[object] = nullcontext()
"""For a bank that one thread reads and writes."""


def asking(
    connection: DuckDBPyConnection, turns: AbstractContextManager[object] = IN_NO_TURNS
) -> Ask:
    """A way to ask a connection, within `turns` from a statement's start to its last row."""

    def ask(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        with turns:
            return connection.execute(registry.statement(name), parameters).fetchall()

    return ask
