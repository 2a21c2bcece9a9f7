"""An export that is filled by many machines in place of a bank.

The corpus is read and planned here once, into a small bank beside the export; it holds everything
except the big tables, which the machines write. What they have done is committed part by part, so
that a run that was killed goes on with the next. The export gets its name when it is whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from duckdb import DuckDBPyConnection

from attnbank.ingest.attention.rows import RunFacts
from attnbank.ingest.engines.parts import Part, Written, listed_parts, parts_of
from attnbank.ingest.engines.work import Work
from attnbank.ingest.inputs.plan import Planner
from attnbank.ingest.inputs.reading import asking
from attnbank.ingest.masked.ablation import Tally
from attnbank.ingest.masked.passes import MaskedPasses
from attnbank.ingest.models.loading import Model
from attnbank.ingest.options import IngestOptions, Report
from attnbank.ingest.progress import OnProgress, unheard
from attnbank.ingest.run import fill
from attnbank.ingest.store.pipeline import BatchProgress, Writer
from attnbank.sql import registry
from attnbank.sql.bank.opening import empty
from attnbank.sql.errors import CallError
from attnbank.sql.outputs.files import expanded, unwritten
from attnbank.sql.outputs.manifests import MANIFEST, ExportedFile
from attnbank.sql.outputs.tables import write_tables
from attnbank.sql.quoting import literal

_COUNTED = ("document", "model", "run", "sentence", "sequence", "word")
"""The tables that a run is counted from, beside its positions."""


class Engine(Protocol):
    """What runs parts on other machines."""

    at_once: int

    def write(self, work: Work, parts: Sequence[Part]) -> list[Written]:
        """Compute and write parts, and return them in order."""
        ...


@dataclass(frozen=True)
class _Place:
    """Where an export is filled: the folder beside it with all that is not whole yet."""

    target: Path

    @property
    def folder(self) -> Path:
        return self.target.with_name(f".{self.target.name}.ingest")

    @property
    def bank(self) -> Path:
        return self.folder / "bank.duckdb"

    @property
    def export(self) -> Path:
        return self.folder / "export"

    @property
    def parts(self) -> Path:
        return self.folder / "parts.jsonl"

    def lines(self) -> list[str]:
        """The list of the parts that are written, one in a line."""
        try:
            return self.parts.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []


def ingest_to_export(
    options: IngestOptions,
    folder: str | Path,
    engine: Callable[[Path], Engine],
    on_progress: OnProgress = unheard,
) -> Report:
    """Fill an export as `ingest` fills a bank, with the batches run by an engine.

    `engine` makes one for the folder that it writes into, such as `spark.OnSpark`. `options.bank`
    is not used. The rows are those of a bank that `ingest` fills with the same options: the same
    batches and sequences. The export appears when it is whole, its manifest last; an ingest that
    was interrupted goes on where it stopped if it is given the same options.

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

    def through(*given: Any) -> None:
        _run_parts(engine(place.export), place, own, *given)

    report = fill(own, on_progress, through)
    files: dict[str, list[ExportedFile]] = {}
    for _, part in listed_parts(place.lines(), report.batches):
        for table, file in part.items():
            files.setdefault(table, []).append(file)
    with suppress(OSError):  # one that was killed after its last step: what it lists is made anew
        (place.export / MANIFEST).unlink()
    write_tables(place.bank, place.export, None, str(folder), written=files)
    report = _counted(report, place, files)
    try:
        with suppress(FileNotFoundError):
            place.target.rmdir()  # it is empty
        place.export.rename(place.target)
    except OSError as error:
        raise unwritten(folder, error) from error
    shutil.rmtree(place.folder, ignore_errors=True)
    return report


def _counted(report: Report, place: _Place, files: dict[str, list[ExportedFile]]) -> Report:
    """The report with what is counted from the positions, which are not in the bank."""
    if "position" not in files:
        return report
    own = {each: [f"{each}.parquet"] for each in _COUNTED}
    own["position"] = [file.path for file in files["position"]]
    with empty() as connection:
        for script in registry.schema():
            connection.execute(script)
        for table, paths in own.items():
            listed = ", ".join(literal(str(place.export / path)) for path in paths)
            connection.execute(f"drop table {table}")
            connection.execute(f"create view {table} as from read_parquet([{listed}])")
        ((run,),) = connection.execute("select id from run").fetchall()
        totals = connection.execute(
            registry.statement("ingest/run_totals"), {"run": run}
        ).fetchone()
    assert totals is not None
    return replace(report, words=totals[3], sentences=totals[4], inner_dependencies=totals[5])


def _free(folder: str | Path) -> Path:
    """The folder to fill, with links followed. Raises CallError unless it is new or empty."""
    place = expanded(folder)
    if place.is_symlink() and not place.exists():
        raise CallError(f"{folder} is a link to nothing.", "Remove it, or name another folder.")
    target = place.resolve()
    if target.exists() and not target.is_dir():
        raise CallError(f"{folder} is no folder.", "Name another, or one that does not exist yet.")
    if target.is_dir() and any(target.iterdir()):
        if (left := _Place(target)).folder.is_dir() and not left.export.exists():
            shutil.rmtree(left.folder, ignore_errors=True)  # killed while it cleared up
        raise CallError(f"The folder {folder} is not empty.", "Name another, or remove it first.")
    return target


def _run_parts(
    engine: Engine,
    place: _Place,
    options: IngestOptions,
    connection: DuckDBPyConnection,
    model: Model,
    planner: Planner,
    facts: RunFacts,
    done: int,
    progress: BatchProgress,
    masked: MaskedPasses | None,
) -> None:
    """Run every batch after the first `done` ones, part by part, and commit each in its turn."""
    _forget_after(place, done)
    work = Work(options, facts, model.facts, str(model.device))
    tally = None
    if masked is not None and masked.ablation is not None:
        ablation = masked.ablation
        tally = Tally(connection, facts.run, ablation.variants, ablation.replacement)
    reading = connection.cursor()
    try:
        plan = planner.plan(asking(reading), facts.corpus, progress.looked)
        before = sum(each.sentences for each in islice(plan.batches, done))
        progress.begun(before, plan.sentences)
        parts = parts_of(plan.batches, model.facts.layers * model.facts.heads)
        with Writer(connection, facts, tally) as writer:
            while wave := list(islice(parts, engine.at_once)):
                for part in engine.write(work, wave):
                    _keep(place, part)
                    for rows in part.rows:
                        writer.add(rows)
                    writer.commit()
                    progress.written(sum(rows.sentences for rows in part.rows))
    finally:
        reading.close()


def _keep(place: _Place, part: Written) -> None:
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
    parts = listed_parts(place.lines(), batches)
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
