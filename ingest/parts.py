"""Fills an export by many machines, in place of a bank.

The corpus is read and planned once on this machine, into a small bank beside the export, which has
everything but the big tables. These are written by the other machines as Parquet files, in parts of
some batches each, and committed part by part. An engine hands the parts out: any that calls a
Python function, `write_part`, on other machines can be one; `SparkEngine` is that of Spark.

A task may be retried after its machine was lost, or run twice at the same time. So a file is
written under a hidden name and renamed when it is complete, if no other task was faster.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import pickle
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import duckdb
import pyarrow as pa
from torch import Tensor

from attnbank.ingest.attention.merged_maps import Maps, RunFacts
from attnbank.ingest.attention.rows import BatchRows, rows_of_batch, run_model
from attnbank.ingest.candidate_inputs import cursor_query
from attnbank.ingest.model_setup import load_model
from attnbank.ingest.models.loading import Model, ModelFacts
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.planning import Batch
from attnbank.ingest.progress import OnProgress, ignore_progress
from attnbank.ingest.reports import Report
from attnbank.ingest.run import ingest_run, report_columns
from attnbank.ingest.store.pipeline import PendingRun
from attnbank.sql import registry
from attnbank.sql.bank.bank_format import columns_of_this_format
from attnbank.sql.bank.connections import connected
from attnbank.sql.errors import AttnbankError, CallError, first_line, is_full_disk
from attnbank.sql.export_format import (
    ROUNDED,
    ExportedFile,
    copy,
    exported_file,
    is_by_run,
    write_tables,
)
from attnbank.sql.interrupts import postponed
from attnbank.sql.names import literal
from attnbank.sql.outputs import MANIFEST, expanded, take_name, unwritten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A part has no further batch once it has so many weights (128 MB) ...
WEIGHTS = 32_000_000
# ... or so many inputs, because their rows are committed together.
INPUTS = 20_000
# The tables, besides position, that `report_columns` counts words and sentences in.
_COUNTED = ("corpus", "document", "model", "run", "run_part", "sentence", "sequence", "word")


@dataclass(frozen=True)
class Work:
    """What all batches of a run share; it is pickled and sent to other machines.

    `device` is that of the machine that planned the run.
    """

    facts: RunFacts
    model: ModelFacts
    device: str


@dataclass(frozen=True)
class FolderPart:
    """The batches of one task, in the order of the plan."""

    batches: tuple[Batch, ...]

    @property
    def first(self) -> int:
        """The number of the first batch."""
        return self.batches[0].number

    @property
    def last(self) -> int:
        """The number of the last batch."""
        return self.batches[-1].number


@dataclass(frozen=True)
class WrittenPart:
    """A part that was written: its files by table, and its rows of the small tables.

    `rows` has, for each batch, the tables without files (`sequence`, `skipped`).
    """

    first: int
    last: int
    files: dict[str, ExportedFile]
    rows: tuple[BatchRows, ...]

    def to_line(self) -> str:
        """Return a line of JSON for the list of parts."""
        files = {table: asdict(file) for table, file in self.files.items()}
        return json.dumps({"first": self.first, "last": self.last, "files": files}) + "\n"


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

    def log_part(self, part: WrittenPart) -> None:
        """Add a part to the list.

        This precedes the commit of its batches: parts after the last committed batch do not count.
        """
        try:
            with self.parts.open("a", encoding="utf-8") as file:
                file.write(part.to_line())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritten(self.parts, error) from error

    def delete_uncommitted(self, batches: int) -> None:
        """Delete the files of parts after the last committed batch, which are written again."""
        parts = self.written_parts(batches)
        committed = {self.export / file.path for _, files in parts for file in files.values()}
        try:
            for file in self.export.rglob("*"):
                if file.is_file() and file not in committed:
                    file.unlink()
            rewritten = self.parts.with_suffix(".new")
            rewritten.write_text("".join(f"{line}\n" for line, _ in parts), encoding="utf-8")
            rewritten.replace(self.parts)
        except OSError as error:
            raise unwritten(self.folder, error) from error


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
        _run_parts(engine(workspace.export), workspace, pending)

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


def _run_parts(engine: Engine, workspace: _Workspace, pending: PendingRun) -> None:
    workspace.delete_uncommitted(pending.done)
    facts = pending.model.facts
    work = Work(pending.facts, facts, str(pending.model.device))
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
                    workspace.log_part(part)
                    writer.add(*part.rows)
                    writer.commit()
                    for rows in part.rows:
                        pending.progress.add(rows.sentences, rows.effort)


def split_batches(batches: Iterator[Batch], maps: int) -> Iterator[FolderPart]:
    """Yield the batches in parts; `maps` is the number of maps of an input."""
    gathered: list[Batch] = []
    size = inputs = 0
    for batch in batches:
        gathered.append(batch)
        size += maps * sum(len(model_input.encoded.positions) ** 2 for model_input in batch.inputs)
        inputs += len(batch.inputs) + len(batch.skips)
        if size >= WEIGHTS or inputs >= INPUTS:
            yield FolderPart(tuple(gathered))
            gathered, size, inputs = [], 0, 0
    if gathered:
        yield FolderPart(tuple(gathered))


def write_part(folder: Path, work: Work, part: FolderPart) -> WrittenPart:
    """Run the model over the batches of a part, and write its files into the folder of an export.

    Raises what loading a model raises, and AttnbankError if the model is not that of the run, or if
    a file cannot be written.
    """
    model = _load_model_once(work)
    rows = []
    for batch in part.batches:
        maps: list[Tensor] = []
        run_model(model, batch, work.facts, maps.append)
        rows.append(rows_of_batch(batch, Maps.from_list(maps) if maps else None, work.facts))
    files = {}
    by_run = [name for name, columns in columns_of_this_format().items() if is_by_run(columns)]
    for table in by_run:
        if table_rows := [
            batch_rows.tables[table] for batch_rows in rows if table in batch_rows.tables
        ]:
            path = f"{table}/run={work.facts.run}/part-{part.first:08}.parquet"
            splits = work.facts.options.decimals is None or table not in ROUNDED
            count = _write_rows_file(
                folder / path, table, pa.concat_tables(table_rows), splits_floats=splits
            )
            files[table] = exported_file(folder, path, count)
    small = [
        replace(
            batch_rows,
            tables={
                name: arrow_table
                for name, arrow_table in batch_rows.tables.items()
                if name not in by_run
            },
            weights=0,  # they are in the files
        )
        for batch_rows in rows
    ]
    return WrittenPart(part.first, part.last, files, tuple(small))


@lru_cache(maxsize=1)
def _load_model_once(work: Work) -> Model:
    model = load_model(work.facts.options, work.device)
    for name in ("sha256", "tokenizer_sha256"):
        if getattr(model.facts, name) != getattr(work.model, name):
            what = "tokenizer" if name.startswith("tokenizer") else "weights"
            raise AttnbankError(
                f"The model {model.facts.name} does not have the same {what} on a machine of the"
                " cluster as here.",
                "Put the same files there, or name a commit of the hub (--revision).",
            )
    return model


def _write_rows_file(file: Path, table: str, rows: pa.Table, *, splits_floats: bool) -> int:
    """Write rows to a file that appears when it is complete; return their number."""
    columns = columns_of_this_format()[table]
    select = ", ".join(f'cast("{name}" as {type_}) as "{name}"' for name, type_ in columns.items())
    hidden = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with connected() as connection:
            connection.register("arriving", rows)
            count = copy(
                connection, f"select {select} from arriving", hidden, splits_floats=splits_floats
            )
        with hidden.open("rb+") as opened:
            os.fsync(opened.fileno())
        take_name(hidden, file)  # does nothing if another task was faster
    except OSError as error:
        raise unwritten(file, error) from error
    except duckdb.Error as error:  # about a file of the export, not about a bank
        number = errno.ENOSPC if is_full_disk(error) else errno.EIO
        raise unwritten(file, OSError(number, first_line(error))) from error
    finally:
        with suppress(OSError):
            hidden.unlink()
    return count


def parse_part_list(
    lines: Sequence[str], batches: int
) -> list[tuple[str, dict[str, ExportedFile]]]:
    """Parse a list of parts up to a batch: the last line of each part, and its files by table."""
    parts: dict[int, tuple[str, dict[str, ExportedFile]]] = {}
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:  # cut off by a crash, before its batches were committed
            continue
        if record["last"] <= batches:
            files = {table: ExportedFile(**file) for table, file in record["files"].items()}
            parts[record["first"]] = (line, files)
    return [parts[first] for first in sorted(parts)]


_AT_ONCE = 4  # parts for each task that can run at the same time


class SparkEngine:
    """Runs parts on the executors of a Spark session, `at_once` of them at a time.

    The executors must have attnbank and its extra `ingest` installed, have the model under the same
    name, and have the folder under the same path.
    """

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self.at_once: int = _AT_ONCE * session.sparkContext.defaultParallelism

    def write_parts(self, work: Work, parts: Sequence[FolderPart]) -> Iterator[WrittenPart]:
        """Compute and write parts, each as a job of its own, and yield them in order.

        Raises AttnbankError, with the reason, if a task fails.
        """
        context, task = self._session.sparkContext, _task(self._folder, work)

        def run_part(part: FolderPart) -> bytes | tuple[str, str]:
            (result,) = context.parallelize([pickle.dumps(part)], 1).map(task).collect()
            return result

        pool = ThreadPoolExecutor(len(parts))
        try:
            with _translate_spark_errors():
                for result in pool.map(run_part, parts):
                    if isinstance(result, tuple):
                        raise AttnbankError(*result)
                    yield pickle.loads(result)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _task(folder: Path, work: Work) -> Callable[[bytes], bytes | tuple[str, str]]:
    """Return the function of a task: from a pickled part to a pickled WrittenPart, or an error.

    The tasks are those of an RDD, because pyspark 4 has no `mapInArrow` without pandas.

    Objects of attnbank are sent as bytes: a local executor can only import attnbank, and unpickle
    them, once it has the import paths of this process.
    """
    paths, pickled, folder_name = list(sys.path), pickle.dumps(work), str(folder)

    def task(part: bytes) -> bytes | tuple[str, str]:
        import pathlib
        import pickle
        import sys
        from importlib import import_module

        sys.path += [path for path in paths if path not in sys.path]
        errors, own = map(import_module, ("attnbank.sql.errors", "attnbank.ingest.parts"))
        try:
            written = own.write_part(
                pathlib.Path(folder_name), pickle.loads(pickled), pickle.loads(part)
            )
        except errors.AttnbankError as error:
            return error.fact, error.remedy
        return pickle.dumps(written)

    return task


@contextmanager
def _translate_spark_errors() -> Iterator[None]:
    """Context manager that raises errors of Spark, such as a dead executor, as AttnbankError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    # PySpark would also log the error, with its stack trace.
    log = logging.getLogger("SQLQueryContextLogger")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        # The most informative line: the last that names an error, or else the first.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        telling = [line for line in lines if "Error" in line.split(":")[0] or "crashed" in line]
        reason = ["it does not say why", *lines[:1], *telling][-1][:300].rstrip(".")
        raise AttnbankError(
            f"Spark could not run some of the batches: {reason}.",
            "Everything written so far is safe. Type the same command: it resumes where it"
            " stopped.",
        ) from error
    finally:
        log.disabled = was_disabled
