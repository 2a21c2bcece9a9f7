"""Transactions: either all of several statements take effect, or none of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def transaction(connection: DuckDBPyConnection) -> Iterator[None]:
    """Commit what is done within the block, or roll it back if anything is raised.

    A commit that fails, as on a full disk, has already ended the transaction. The error of a
    rollback after it is suppressed, since it would hide the reason.
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
