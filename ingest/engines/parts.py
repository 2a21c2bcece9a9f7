"""Writes parts of a run, some batches each, as Parquet files, one for each big table.

`write_part` can be called by any engine that calls Python functions on other machines.

A task may be retried after its machine was lost, or run twice at the same time. So a file is
written under a hidden name and renamed when it is complete, if no other task was faster.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa
from torch import Tensor

from attnbank.ingest.attention.pieces_and_peaks import Maps
from attnbank.ingest.attention.rows import BatchRows, RunFacts, rows_of_batch, run_masked, run_model
from attnbank.ingest.inputs.planning import Batch
from attnbank.ingest.masked.passes import MaskedPasses
from attnbank.ingest.models.loading import Model, ModelFacts
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.run import load_model
from attnbank.sql.bank.connections import connected
from attnbank.sql.bank.error_messages import is_full_disk
from attnbank.sql.bank.upgrading import columns_of_this_format
from attnbank.sql.errors import AttnbankError, first_line
from attnbank.sql.export_format import ROUNDED, ExportedFile, copy, exported_file, is_by_run
from attnbank.sql.outputs import take_name, unwritten

# A part has no further batch once it has so many weights (128 MB) ...
WEIGHTS = 32_000_000
# ... or so many inputs, because their rows are committed together.
INPUTS = 20_000


@dataclass(frozen=True)
class Work:
    """What all batches of a run share; it is pickled and sent to other machines.

    `device` is that of the machine that planned the run.
    """

    options: IngestOptions
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

    `rows` has, for each batch, the tables without files (`sequence`, `skipped`), and its losses.
    """

    first: int
    last: int
    files: dict[str, ExportedFile]
    rows: tuple[BatchRows, ...]

    def to_line(self) -> str:
        """Return a line of JSON for the list of parts."""
        files = {table: asdict(file) for table, file in self.files.items()}
        return json.dumps({"first": self.first, "last": self.last, "files": files}) + "\n"


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
    model, masked = _load_model_once(work)
    rows = []
    for batch in part.batches:
        measured = run_masked(model, batch, masked)
        maps: list[Tensor] = []
        run_model(model, batch, work.facts, maps.append)
        rows.append(
            rows_of_batch(batch, Maps.from_list(maps) if maps else None, work.facts, measured)
        )
    files = {}
    by_run = [name for name, columns in columns_of_this_format().items() if is_by_run(columns)]
    for table in by_run:
        if table_rows := [
            batch_rows.tables[table] for batch_rows in rows if table in batch_rows.tables
        ]:
            path = f"{table}/run={work.facts.run}/part-{part.first:08}.parquet"
            splits = work.facts.decimals is None or table not in ROUNDED
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
def _load_model_once(work: Work) -> tuple[Model, MaskedPasses | None]:
    model, masked = load_model(work.options, work.device)
    for name in ("sha256", "tokenizer_sha256"):
        if getattr(model.facts, name) != getattr(work.model, name):
            what = "tokenizer" if name.startswith("tokenizer") else "weights"
            raise AttnbankError(
                f"The model {work.options.model} does not have the same {what} on a machine of the"
                " cluster as here.",
                "Put the same files there, or name a commit of the hub (--revision).",
            )
    return model, masked


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
