"""A bank that an ingest writes into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import torch
from duckdb import DuckDBPyConnection

from attnbank.sql import provenance
from attnbank.sql.bank.explaining import is_full_disk
from attnbank.sql.bank.opening import explain, open_to_write
from attnbank.sql.bank.room import close_tidily
from attnbank.sql.errors import AttnbankError

WRITER = {
    "threads": "1",
    "memory_limit": "256MB",
    "write_buffer_row_group_count": "1",
}
"""One thread leaves the other cores to the model, and wrote the same rows in half the time."""


_AGAIN = (
    "type the same command: it goes on where it stopped (with --dry-run it says how much it takes)"
)


@contextmanager
def writing(bank: Path, *, has_deleted: bool = False) -> Iterator[DuckDBPyConnection]:
    """The bank, open for writing and tidied up at the end; errors of DuckDB become BankErrors."""
    connection = open_to_write(bank, provenance.version(), WRITER)
    try:
        yield connection
        close_tidily(connection, bank, has_deleted=has_deleted)
    except duckdb.Error as error:
        raise explain(error, bank, again=_AGAIN) from error
    except torch.OutOfMemoryError as error:
        raise AttnbankError(
            "The device has too little memory for a batch; what was committed is safe.",
            "Type the same command with --replace and a smaller --batch-tokens.",
        ) from error
    finally:
        connection.close()


@contextmanager
def counting(folder: Path) -> Iterator[None]:
    """Within, a bank in a folder for temporary files is filled to be counted, and thrown away.

    Raises AttnbankError where the disk of the folder is full.
    """
    try:
        yield
    except (duckdb.Error, AttnbankError, OSError) as error:
        if not is_full_disk(error):
            raise
        raise AttnbankError(
            f"The disk of {folder} is full, where a dry run counts; nothing was written elsewhere.",
            "Free some space, or name another folder for temporary files (TMPDIR).",
        ) from error
