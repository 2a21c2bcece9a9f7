"""Some batches of a run as Parquet files, one for each big table, each written once.

Whatever can call a Python function on another machine can call `write_part`.

A task may be tried again after its machine was lost, or run twice at the same time. So a file is
written under a hidden name and gets its own when it is whole, if no other task was faster.
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

from attnbank.ingest.attention.merging import Maps
from attnbank.ingest.attention.rows import BatchRows, RunFacts, rows_of_batch, run_masked, run_model
from attnbank.ingest.inputs.plan import Batch
from attnbank.ingest.masked.passes import MaskedPasses
from attnbank.ingest.models.loading import Model, ModelFacts
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.run import load_model
from attnbank.sql.bank.connections import connected
from attnbank.sql.bank.error_messages import is_full_disk
from attnbank.sql.bank.upgrading import columns_of_this_format
from attnbank.sql.errors import AttnbankError, first_line
from attnbank.sql.outputs.atomic import take_name, unwritten
from attnbank.sql.outputs.manifests import ExportedFile, exported_file
from attnbank.sql.outputs.tables import ROUNDED, copy, is_by_run

WEIGHTS = 32_000_000
"""The weights (128 MB) from which on a part takes no further batch."""
INPUTS = 20_000
"""The inputs from which on it takes none, either: their rows are committed together."""


@dataclass(frozen=True)
class Work:
    """What the batches of a run share, to be pickled and sent elsewhere.

    `device` is that of the machine that planned the run.
    """

    options: IngestOptions
    facts: RunFacts
    model: ModelFacts
    device: str


@dataclass(frozen=True)
class FolderPart:
    """Batches that one task computes, in the order of the plan."""

    batches: tuple[Batch, ...]

    @property
    def first(self) -> int:
        """The number of its first batch."""
        return self.batches[0].number

    @property
    def last(self) -> int:
        """The number of its last batch."""
        return self.batches[-1].number


@dataclass(frozen=True)
class WrittenPart:
    """A part that is written: its files by table, and the rows that go into the small tables.

    `rows` has, for each batch, the tables without files (`sequence`, `skipped`), and its losses.
    """

    first: int
    last: int
    files: dict[str, ExportedFile]
    rows: tuple[BatchRows, ...]

    def to_line(self) -> str:
        """Its files as a line of JSON, for the list of parts."""
        files = {table: asdict(file) for table, file in self.files.items()}
        return json.dumps({"first": self.first, "last": self.last, "files": files}) + "\n"


def split_batches(batches: Iterator[Batch], maps: int) -> Iterator[FolderPart]:
    """The batches in parts of about so many weights; `maps` are the maps of one input."""
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

    Raises what loading a model raises, and AttnbankError if it is another one than the run was
    planned with, or if a file cannot be written.
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
            weights=0,  # none of those that stay
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
                f"The model {work.options.model} has different {what} on a machine of the cluster"
                " than here.",
                "Put the same files there, or name a commit of the hub (--revision).",
            )
    return model, masked


def _write_rows_file(file: Path, table: str, rows: pa.Table, *, splits_floats: bool) -> int:
    """Write rows as a bank has them to a file that appears when it is whole; how many they are."""
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
        take_name(hidden, file)  # unless another task was faster
    except OSError as error:
        raise unwritten(file, error) from error
    except duckdb.Error as error:  # of a file of an export, not of a bank
        number = errno.ENOSPC if is_full_disk(error) else errno.EIO
        raise unwritten(file, OSError(number, first_line(error))) from error
    finally:
        with suppress(OSError):
            hidden.unlink()
    return count


def parse_part_list(
    lines: Sequence[str], batches: int
) -> list[tuple[str, dict[str, ExportedFile]]]:
    """The lines of a list of parts, each the last of its part, and the files, up to a batch."""
    parts: dict[int, tuple[str, dict[str, ExportedFile]]] = {}
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:  # the machine failed while it was written: its batches are not committed
            continue
        if record["last"] <= batches:
            files = {table: ExportedFile(**file) for table, file in record["files"].items()}
            parts[record["first"]] = (line, files)
    return [parts[first] for first in sorted(parts)]
