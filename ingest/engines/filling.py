"""Fills an export by many machines, in place of a bank.

The corpus is read and planned once on this machine, into a small bank beside the export, which has
everything but the big tables. These are written by the other machines, and committed part by part.
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

from attnbank.ingest.engines.parts import (
    FolderPart,
    Work,
    WrittenPart,
    parse_part_list,
    split_batches,
)
from attnbank.ingest.inputs.candidate_inputs import cursor_query
from attnbank.ingest.options import IngestOptions, Report
from attnbank.ingest.progress import OnProgress, ignore_progress
from attnbank.ingest.run import ingest_run, report_columns
from attnbank.ingest.store.pipeline import PendingRun
from attnbank.sql import registry
from attnbank.sql.bank.connections import connected
from attnbank.sql.errors import CallError
from attnbank.sql.export_format import ExportedFile, write_tables
from attnbank.sql.interrupts import postponed
from attnbank.sql.outputs import MANIFEST, expanded, unwritten
from attnbank.sql.quoting import literal

# The tables, besides position, that `report_columns` counts words and sentences in.
_COUNTED = ("corpus", "document", "model", "run", "run_part", "sentence", "sequence", "word")


class Engine(Protocol):
    """Runs parts on other machines, `at_once` of them at a time."""

    at_once: int

    def write_parts(self, work: Work, parts: Sequence[FolderPart]) -> Iterable[WrittenPart]:
        """Compute and write parts, and yield them in order, each as soon as it is complete."""


class _Workspace:
    """The folder beside an export in which it is filled."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.folder = target.with_name(f".{target.name}.ingest")
        self.bank = self.folder / "bank.duckdb"
        self.export = self.folder / "export"
        self.parts = self.folder / "parts.jsonl"

    def written_parts(self, batches: int) -> list[tuple[str, dict[str, ExportedFile]]]:
        """Read the list of parts: see `parse_part_list`."""
        try:
            lines = self.parts.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return parse_part_list(lines, batches)


def ingest_to_export(
    options: IngestOptions,
    folder: str | Path,
    engine: Callable[[Path], Engine],
    on_progress: OnProgress = ignore_progress,
) -> Report:
    """Fill an export as `ingest` fills a bank, with the batches run by an engine.

    `engine` makes an engine for the folder that it writes into, such as `spark.SparkEngine`.
    `options.bank` is not used. The rows are those of a bank that `ingest` fills with the same
    options. The export appears when it is complete; an interrupted ingest resumes where it stopped.

    Raises what `ingest` raises, CallError if `folder` is not empty, and AttnbankError if the engine
    fails.
    """
    workspace = _Workspace(_check_target(folder))
    bank_options = replace(options, bank=workspace.bank)
    try:
        workspace.folder.mkdir(parents=True, exist_ok=True)
        workspace.export.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritten(folder, error) from error

    def run_parts(pending: PendingRun) -> None:
        _run_parts(engine(workspace.export), workspace, bank_options, pending)

    report = ingest_run(bank_options, on_progress, run_parts)
    files: dict[str, list[ExportedFile]] = {}
    for _, part in workspace.written_parts(report.batches):
        for table, file in part.items():
            files.setdefault(table, []).append(file)
    # A process that was killed after `write_tables` leaves a manifest, which is written again.
    with suppress(OSError):
        (workspace.export / MANIFEST).unlink()
    write_tables(workspace.bank, workspace.export, None, str(folder), written=files)
    report = _with_counts(report, workspace, files)
    try:
        with suppress(FileNotFoundError):
            workspace.target.rmdir()  # empty, as `_check_target` made sure
        workspace.export.rename(workspace.target)
    except OSError as error:
        raise unwritten(folder, error) from error
    shutil.rmtree(workspace.folder, ignore_errors=True)
    return report


def _with_counts(
    report: Report, workspace: _Workspace, files: dict[str, list[ExportedFile]]
) -> Report:
    """Return the report with the counts of positions, which are not in the small bank."""
    if "position" not in files:
        return report
    paths_by_table = {table: [f"{table}.parquet"] for table in _COUNTED}
    paths_by_table["position"] = [file.path for file in files["position"]]
    with connected() as connection:
        for script in registry.schema_scripts():
            connection.execute(script)
        for table, paths in paths_by_table.items():
            listed = ", ".join(literal(str(workspace.export / path)) for path in paths)
            connection.execute(f"drop table {table}")
            connection.execute(f"create view {table} as from read_parquet([{listed}])")
        ((run,),) = connection.execute("select id from run").fetchall()
        columns = report_columns(connection, run)
    counted = ("words", "sentences", "inner_dependencies")
    return replace(report, **{name: columns[name] for name in counted})


def _check_target(folder: str | Path) -> Path:
    """Return the folder to fill, with links resolved. Raises CallError unless new or empty."""
    path = expanded(folder)
    if path.is_symlink() and not path.exists():
        raise CallError(f"{folder} is a broken link.", "Remove it, or name another folder.")
    target = path.resolve()
    if target.exists() and not target.is_dir():
        raise CallError(
            f"{folder} is not a folder.", "Name another, or one that does not exist yet."
        )
    if target.is_dir() and any(target.iterdir()):
        if (leftover := _Workspace(target)).folder.is_dir() and not leftover.export.exists():
            shutil.rmtree(leftover.folder, ignore_errors=True)  # of a process killed at the end
        raise CallError(f"The folder {folder} is not empty.", "Name another, or remove it first.")
    return target


def _run_parts(
    engine: Engine, workspace: _Workspace, options: IngestOptions, pending: PendingRun
) -> None:
    _delete_uncommitted(workspace, pending.done)
    facts = pending.model.facts
    work = Work(options, pending.facts, facts, str(pending.model.device))
    with pending.connection.cursor() as reading:
        parts = split_batches(pending.batches(cursor_query(reading)), facts.layers * facts.heads)
        with postponed() as interrupts, pending.writer() as writer:
            while wave := list(islice(parts, engine.at_once)):
                written = iter(engine.write_parts(work, wave))
                while True:
                    with interrupts.at_once():
                        part = next(written, None)
                    if part is None:
                        break
                    _log_part(workspace, part)
                    writer.add(*part.rows)
                    writer.commit()
                    for rows in part.rows:
                        pending.progress.add(rows.sentences, rows.effort)


def _log_part(workspace: _Workspace, part: WrittenPart) -> None:
    """Add a part to the list.

    This precedes the commit of its batches: parts after the last committed batch do not count.
    """
    try:
        with workspace.parts.open("a", encoding="utf-8") as file:
            file.write(part.to_line())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise unwritten(workspace.parts, error) from error


def _delete_uncommitted(workspace: _Workspace, batches: int) -> None:
    """Delete the files of parts after the last committed batch, which are written again."""
    parts = workspace.written_parts(batches)
    committed_files = {
        workspace.export / file.path for _, files in parts for file in files.values()
    }
    try:
        for file in workspace.export.rglob("*"):
            if file.is_file() and file not in committed_files:
                file.unlink()
        rewritten = workspace.parts.with_suffix(".new")
        rewritten.write_text("".join(f"{line}\n" for line, _ in parts), encoding="utf-8")
        rewritten.replace(workspace.parts)
    except OSError as error:
        raise unwritten(workspace.folder, error) from error
