"""Transactions: all of some statements take effect, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def transaction(connection: DuckDBPyConnection) -> Iterator[None]:
    """Commit what is done within the block, or roll it back where anything is raised.

    A commit that fails, as on a full disk, has ended the transaction already: taking it back once
    more would hide the reason.
    """
    import duckdb

    connection.execute("begin")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise
