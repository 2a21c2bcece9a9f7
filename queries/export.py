"""A bank as Parquet files, with the SQL that makes a bank from them again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.queries.bank import Bank
from attnbank.sql.bank.paths import address_of, located
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.export_format import LOAD, SCHEMA, is_manifest, write_tables
from attnbank.sql.outputs import MANIFEST, check_folder, output_folder
from attnbank.sql.quoting import literal
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
        arguments = (located(bank.path), part.path, run, str(folder), origin)
        check = _Moving(bank.path, part.path).check_progress
        with Worker(bank.path, write_tables, *arguments, check=check) as worker:
            for _ in worker:
                pass
        names = [file.relative_to(part.path) for file in sorted(part.path.rglob("*.*"))]
    return [folder / name for name in names]


def check_export(folder: Path, bank: Path, *, force: bool) -> Path:
    """The folder to export into; CallError as `export`, and if the bank itself is in it."""
    target = check_folder(folder, last=LOAD, owns=_owns, force=force)
    if address_of(bank) is None and bank.resolve().is_relative_to(target):
        raise CallError(f"The bank {bank} is in the folder {folder}.", "Name another folder.")
    return target


def _owns(folder: Path) -> Callable[[Path], bool]:
    """Which files of a folder an export wrote: those of its load.sql, and big tables'."""
    has_manifest = is_manifest(folder / MANIFEST)
    read = ""
    with suppress(OSError):
        read = (folder / LOAD).read_text(encoding="utf-8", errors="replace")

    def is_own(path: Path) -> bool:
        if path.name in (LOAD, SCHEMA):
            return len(path.parts) == 1
        if path == Path(MANIFEST):
            return has_manifest
        is_part = len(path.parts) == 3 and path.parts[1].startswith("run=")
        return literal(path.as_posix()) in read or (is_part and path.name == "rows.parquet")

    return is_own


class _Moving:
    def __init__(self, bank: Path, folder: Path) -> None:
        self._bank, self._folder = bank, folder
        self._before, self._since = -1, time.monotonic()

    def check_progress(self, process: psutil.Process) -> BankError | None:
        """BankError if it has not read or written a byte for PATIENCE seconds."""
        import psutil

        try:
            done = sum(process.io_counters())
        except (AttributeError, psutil.AccessDenied):  # no counters: the sizes of what it wrote
            done = sum(file.stat().st_size for file in self._folder.rglob("*.parquet"))
        if done != self._before:
            self._before, self._since = done, time.monotonic()
        elif time.monotonic() - self._since > PATIENCE:
            return BankError(
                f"The bank {self._bank} seems to be damaged: DuckDB has read and written nothing"
                f" for {PATIENCE:.0f} s; nothing was exported.",
                "Use an intact copy of it, or ingest again into a new file.",
            )
        return None
