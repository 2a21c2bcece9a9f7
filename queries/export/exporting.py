"""A bank as Parquet files, with the SQL that makes a bank from them again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from attnbank.queries.bank import Bank
from attnbank.queries.sandbox.processes import end, has_spoken
from attnbank.sql.bank.explaining import broken_off
from attnbank.sql.errors import AttnbankError, BankError, CallError
from attnbank.sql.outputs.folders import Part, check_folder, output_folder
from attnbank.sql.outputs.manifests import MANIFEST, is_manifest
from attnbank.sql.outputs.tables import LOAD, SCHEMA
from attnbank.sql.quoting import literal

PATIENCE = 120.0
"""Seconds without a byte read or written after which a process that exports is ended."""

_LAST_STEPS = 10.0
"""Seconds that a process may take to end after it has closed its output."""

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from attnbank.sql.outputs.tables import main; main()"
)


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
    folder, and `manifest.json`, which counts the rows and has a digest of every file. The folder
    appears only when everything is written. With `force` an earlier export in
    it is replaced, and other files in it stay. `origin`, a text, goes into the metadata of every
    Parquet file, under the key attnbank. Returns the paths of the files that were written.

    Raises CallError for an unknown run, if `folder` is something other than a folder, and if it is
    not empty (unless `force`); BankError if the bank is damaged; AttnbankError if the folder cannot
    be written.
    """
    target = check_export(folder, bank.path, force=force)
    with output_folder(target, owns=_owns) as part:
        _in_a_process(bank.path, part, run, str(folder), origin)
        names = [each.relative_to(part.folder) for each in sorted(part.folder.rglob("*.*"))]
    return [folder / name for name in names]


def check_export(folder: Path, bank: Path, *, force: bool) -> Path:
    """The folder to export into, with links followed.

    Raises CallError as export does, and if the bank itself is in the folder.
    """
    target = check_folder(folder, last=LOAD, owns=_owns, force=force)
    if bank.resolve().is_relative_to(target):
        raise CallError(f"The bank {bank} is in the folder {folder}.", "Name another folder.")
    return target


def _owns(folder: Path) -> Callable[[Path], bool]:
    """Which files of a folder an export wrote: those that its load.sql names, and big tables'.

    The latter are TABLE/run=N/rows.parquet, and count even if load.sql is missing.
    """
    has_manifest = is_manifest(folder / MANIFEST)
    read = ""
    with suppress(OSError):
        read = (folder / LOAD).read_text(encoding="utf-8", errors="replace")

    def is_own(place: Path) -> bool:
        if place.name in (LOAD, SCHEMA):
            return len(place.parts) == 1
        if place == Path(MANIFEST):
            return has_manifest
        is_part = len(place.parts) == 3 and place.parts[1].startswith("run=")
        return literal(place.as_posix()) in read or (is_part and place.name == "rows.parquet")

    return is_own


def _in_a_process(bank: Path, part: Part, run: str | None, named: str, origin: str | None) -> None:
    """Write the tables in a separate process (`tables.main`), and end that process if it hangs.

    Raises the errors that the process reports, and BankError if it hangs or crashes. `named` is the
    folder as the user named it.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that a Ctrl-C in the terminal reaches only this process
        pass_fds=() if part.lock < 0 else (part.lock,),
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        asked = {
            "bank": str(bank.resolve()),
            "folder": str(part.folder),
            "run": run,
            "named": named,
            "origin": origin,
        }
        with suppress(BrokenPipeError):
            process.stdin.write(f"{json.dumps(asked)}\n".encode())
            process.stdin.flush()  # it stays open: when it closes, the process knows we are gone
        _wait(process, bank, part.folder)
        told = process.stdout.read()
        end(process, _LAST_STEPS)
    finally:
        end(process)
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                stream.close()
    if told:
        _raise(*json.loads(told))
    if process.returncode < 0:
        raise broken_off(bank, process.returncode)
    if process.returncode:
        raise _damaged(bank, f"DuckDB ended with status {process.returncode} while reading it")


def _raise(kind: str, fact: str, remedy: str) -> None:
    """Raise the error that the process reported; its kind is "" for an unexpected one."""
    if not kind:
        raise RuntimeError(fact)
    kinds = {each.__name__: each for each in (CallError, BankError)}
    raise kinds.get(kind, AttnbankError)(fact, remedy)


def _wait(process: subprocess.Popen[bytes], bank: Path, folder: Path) -> None:
    """Wait until a process writes something or ends.

    Raises BankError if it has not read or written a byte for PATIENCE seconds.
    """
    assert process.stdout is not None
    before, since = -1, time.monotonic()
    while not has_spoken(process.stdout, 0.2):
        done = _bytes_moved(process.pid, folder)
        if done != before:
            before, since = done, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            raise _damaged(bank, f"DuckDB has read and written nothing for {PATIENCE:.0f} s")


def _bytes_moved(process: int, folder: Path) -> int:
    """Bytes that a process has read and written; without /proc, the sizes of the files it wrote."""
    try:
        lines = Path(f"/proc/{process}/io").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("rchar", "wchar")))
    except (OSError, ValueError, IndexError):
        return sum(each.stat().st_size for each in folder.rglob("*.parquet"))


def _damaged(bank: Path, reason: str) -> BankError:
    return BankError(
        f"The bank {bank} seems to be damaged: {reason}; nothing was exported.",
        "Take a copy of it that is whole, or ingest again into a new file.",
    )
