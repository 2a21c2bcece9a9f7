"""A bank as Parquet files, with the SQL that makes a bank from them again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.queries.bank import Bank
from attnbank.sql.bank.paths import address_of, located
from attnbank.sql.errors import AttnbankError, BankError, CallError
from attnbank.sql.export_format import LOAD, SCHEMA, read_manifest, write_tables
from attnbank.sql.outputs import MANIFEST, check_folder, output_folder
from attnbank.sql.worker import Worker

if TYPE_CHECKING:
    import psutil

# Seconds without a byte read or written after which a process that exports is ended.
PATIENCE = 120.0


def export(
    bank: Bank,
    folder: Path,
    *,
    run: str | None = None,
    force: bool = False,
    origin: str | None = None,
) -> list[Path]:
    """Write a bank, or one run of it with its corpus and model, as Parquet files.

    Beside them are `schema.sql` and `load.sql`, with which any DuckDB shell makes a bank from the
    folder, and `manifest.json`, with the rows and the digest of every file. With `force` an earlier
    export is replaced, and other files stay. `origin`, a text, goes into the metadata of every
    Parquet file, under the key attnbank. Returns the paths that were written. Raises CallError for
    an unknown run, or if `folder` is not a folder, or not empty (unless `force`); BankError if the
    bank is damaged; AttnbankError if the folder cannot be written.
    """
    target = check_export(folder, bank.path, force=force)
    with output_folder(target, owns=_owns) as part:
        # In a process of its own, since DuckDB can hang or crash on a damaged bank.
        arguments = (located(bank.path), part, run, str(folder), origin)
        check = _check_progress(bank.path, part)
        with Worker(bank.path, write_tables, *arguments, check=check) as worker:
            for _ in worker:
                pass
        names = [file.relative_to(part) for file in sorted(part.rglob("*.*"))]
    return [folder / name for name in names]


def check_export(folder: Path, bank: Path, *, force: bool) -> Path:
    """The folder to export into; CallError as `export`, and if the bank itself is in it."""
    target = check_folder(folder, last=LOAD, force=force)
    if address_of(bank) is None and bank.resolve().is_relative_to(target):
        raise CallError(f"The bank {bank} is in the folder {folder}.", "Name another folder.")
    return target


def _owns(folder: Path) -> Callable[[Path], bool]:
    """Which files of a folder an export wrote: by its manifest, which says what is beside it."""
    own: set[str] = set()
    with suppress(AttnbankError):  # there is none, or it is of something else, or damaged
        tables = read_manifest(folder).tables
        own = {SCHEMA, LOAD, MANIFEST, *(file.path for table in tables for file in table.files)}
    return lambda path: path.as_posix() in own


def _check_progress(bank: Path, folder: Path) -> Callable[[psutil.Process], BankError | None]:
    """What returns an error once a process has read and written nothing for PATIENCE seconds."""
    import psutil

    before, since = -1, time.monotonic()

    def check(process: psutil.Process) -> BankError | None:
        nonlocal before, since
        try:
            done = sum(process.io_counters())
        except (AttributeError, psutil.AccessDenied):  # no counters: the sizes of what it wrote
            done = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
        if done != before:
            before, since = done, time.monotonic()
        if time.monotonic() - since <= PATIENCE:
            return None
        return BankError(
            f"The bank {bank} seems to be damaged: DuckDB has read and written nothing"
            f" for {PATIENCE:.0f} s; nothing was exported.",
            "Use an intact copy of it, or ingest again into a new file.",
        )

    return check
