"""An export that is filled by many machines in place of a bank.

The corpus is read and planned here once, into a small bank beside the export; it holds everything
except the big tables, which the machines write. What they have done is committed part by part.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from attnbank.ingest.engines.parts import FolderPart, Work, Written, listed_parts, split_batches
from attnbank.ingest.inputs.candidate_inputs import asking
from attnbank.ingest.options import IngestOptions, Report
from attnbank.ingest.progress import OnProgress, ignore_progress
from attnbank.ingest.run import ingest_run, report_columns
from attnbank.ingest.store.pipeline import Remaining, Writer
from attnbank.sql import registry
from attnbank.sql.bank.connections import connected
from attnbank.sql.errors import CallError
from attnbank.sql.interrupts import postponed
from attnbank.sql.outputs.atomic import expanded, unwritten
from attnbank.sql.outputs.manifests import MANIFEST, ExportedFile
from attnbank.sql.outputs.tables import write_tables
from attnbank.sql.quoting import literal

_COUNTED = ("corpus", "document", "model", "run", "sentence", "sequence", "word")
"""The tables that a run is counted from, beside its positions."""


class Engine(Protocol):
    """What runs parts on other machines."""

    at_once: int

    def write_parts(self, work: Work, parts: Sequence[FolderPart]) -> Iterable[Written]:
        """Compute and write parts, and give them in order, each as soon as it is whole."""


class _Place:
    """Where an export is filled: the folder beside it with all that is not whole yet."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.folder = target.with_name(f".{target.name}.ingest")
        self.bank = self.folder / "bank.duckdb"
        self.export = self.folder / "export"
        self.parts = self.folder / "parts.jsonl"

    def written_parts(self, batches: int) -> list[tuple[str, dict[str, ExportedFile]]]:
        """The parts that are written: see `listed_parts`."""
        try:
            lines = self.parts.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return listed_parts(lines, batches)


def ingest_to_export(
    options: IngestOptions,
    folder: str | Path,
    engine: Callable[[Path], Engine],
    on_progress: OnProgress = ignore_progress,
) -> Report:
    """Fill an export as `ingest` fills a bank, with the batches run by an engine.

    `engine` makes one for the folder that it writes into, such as `spark.OnSpark`. `options.bank`
    is not used. The rows are those of a bank that `ingest` fills with the same options. The export
    appears when it is whole; an ingest that was interrupted goes on where it stopped.

    Raises as `ingest` does, CallError if there is something at `folder` already, and AttnbankError
    if the engine fails.
    """
    place = _Place(_free(folder))
    own = replace(options, bank=place.bank)
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
        place.export.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritten(folder, error) from error

    def run_parts(left: Remaining) -> None:
        _run_parts(engine(place.export), place, own, left)

    report = ingest_run(own, on_progress, run_parts)
    files: dict[str, list[ExportedFile]] = {}
    for _, part in place.written_parts(report.batches):
        for table, file in part.items():
            files.setdefault(table, []).append(file)
    with suppress(OSError):  # one that was killed after its last step: what it lists is made anew
        (place.export / MANIFEST).unlink()
    write_tables(place.bank, place.export, None, str(folder), written=files)
    report = _with_counts(report, place, files)
    try:
        with suppress(FileNotFoundError):
            place.target.rmdir()  # it is empty
        place.export.rename(place.target)
    except OSError as error:
        raise unwritten(folder, error) from error
    shutil.rmtree(place.folder, ignore_errors=True)
    return report


def _with_counts(report: Report, place: _Place, files: dict[str, list[ExportedFile]]) -> Report:
    """The report with what is counted from the positions, which are not in the bank."""
    if "position" not in files:
        return report
    own = {each: [f"{each}.parquet"] for each in _COUNTED}
    own["position"] = [file.path for file in files["position"]]
    with connected() as connection:
        for script in registry.schema_scripts():
            connection.execute(script)
        for table, paths in own.items():
            listed = ", ".join(literal(str(place.export / path)) for path in paths)
            connection.execute(f"drop table {table}")
            connection.execute(f"create view {table} as from read_parquet([{listed}])")
        ((run,),) = connection.execute("select id from run").fetchall()
        found = report_columns(connection, run)
    counted = ("words", "sentences", "inner_dependencies")
    return replace(report, **{name: found[name] for name in counted})


def _free(folder: str | Path) -> Path:
    """The folder to fill, with links followed. Raises CallError unless it is new or empty."""
    place = expanded(folder)
    if place.is_symlink() and not place.exists():
        raise CallError(f"{folder} is a link to nothing.", "Remove it, or name another folder.")
    target = place.resolve()
    if target.exists() and not target.is_dir():
        raise CallError(
            f"{folder} is not a folder.", "Name another, or one that does not exist yet."
        )
    if target.is_dir() and any(target.iterdir()):
        if (left := _Place(target)).folder.is_dir() and not left.export.exists():
            shutil.rmtree(left.folder, ignore_errors=True)  # killed while it cleared up
        raise CallError(f"The folder {folder} is not empty.", "Name another, or remove it first.")
    return target


def _run_parts(engine: Engine, place: _Place, options: IngestOptions, left: Remaining) -> None:
    _forget_after(place, left.done)
    facts = left.model.facts
    work = Work(options, left.facts, facts, str(left.model.device))
    tally = left.tally()
    with left.connection.cursor() as reading:
        parts = split_batches(left.batches(asking(reading)), facts.layers * facts.heads)
        with postponed() as interrupts, Writer(left.connection, left.facts, tally) as writer:
            while wave := list(islice(parts, engine.at_once)):
                written = iter(engine.write_parts(work, wave))
                while True:
                    with interrupts.at_once():
                        part = next(written, None)
                    if part is None:
                        break
                    _list_part(place, part)
                    writer.add(*part.rows)
                    writer.commit()
                    for rows in part.rows:
                        left.progress.add(rows.sentences, rows.effort)


def _list_part(place: _Place, part: Written) -> None:
    """Add a part to the list, before its batches are committed: the list may say too much."""
    try:
        with place.parts.open("a", encoding="utf-8") as file:
            file.write(part.line())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise unwritten(place.parts, error) from error


def _forget_after(place: _Place, batches: int) -> None:
    """Forget what was written of batches that were not committed: it is written again."""
    parts = place.written_parts(batches)
    wanted = {place.export / file.path for _, files in parts for file in files.values()}
    try:
        for file in place.export.rglob("*"):
            if file.is_file() and file not in wanted:
                file.unlink()
        anew = place.parts.with_suffix(".new")
        anew.write_text("".join(f"{line}\n" for line, _ in parts), encoding="utf-8")
        anew.replace(place.parts)
    except OSError as error:
        raise unwritten(place.folder, error) from error
