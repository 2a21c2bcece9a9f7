"""Answers that `attnbank compute` kept in the bank, returned again while they are valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from attnbank.queries import parameters
from attnbank.queries.connections.opened import OpenBank
from attnbank.queries.results import frame_of_arrow
from attnbank.sql import registry
from attnbank.sql.bank import kept
from attnbank.sql.header import Analysis
from attnbank.sql.runs import Run, choose_run, settled


@dataclass(frozen=True)
class Kept:
    """A kept answer: its rows, when it was computed (UTC), and how many seconds that took."""

    rows: pl.DataFrame
    finished: datetime
    seconds: float

    @property
    def told(self) -> str:
        """A phrase for people: since when it is kept, and what to type to compute it anew."""
        return f"kept since {self.finished:%Y-%m-%d %H:%M} UTC (--fresh computes it anew)"


def find(
    connection: DuckDBPyConnection, analysis: Analysis, given: Mapping[str, Any], run: Run | None
) -> Kept | None:
    """The kept answer of an analysis with these values and this run; None if none is valid.

    An answer that cannot be read, or whose columns are not those of the header, was kept by another
    version, and is ignored.
    """
    if (run is not None and not run.is_finished) or not kept.exists(connection):
        return None
    try:
        # The row first, then its answer: a filter over the whole table reads every answer in it.
        rows = connection.execute(
            f"select rowid, row_count, finished, seconds from {kept.TABLE}"
            " where analysis = ? and parameters = ? and run is not distinct from ? and reads = ?"
            " order by finished desc limit 1",
            [
                analysis.name,
                kept.parameters_text(connection, analysis, given),
                None if run is None else run.id,
                kept.reads(connection, analysis, given),
            ],
        ).fetchall()
        if not rows:
            return None
        number, count, finished, seconds = rows[0]
        ((answer,),) = connection.execute(
            f"select answer from {kept.TABLE} where rowid = ?", [number]
        ).fetchall()
        with pa.ipc.open_stream(answer) as reader:
            table = reader.read_all()
        table.validate(full=True)
        frame = frame_of_arrow(table, [])
    except (duckdb.BinderException, duckdb.CatalogException, pa.ArrowException, OSError):
        return None
    if frame.columns != [each.name for each in analysis.columns] or frame.height != count:
        return None
    return Kept(frame, finished, seconds)


class KeptAnswers(OpenBank):
    """The part of a Bank that returns kept answers."""

    reads_kept = True
    """Whether `query` returns kept answers; if it is False, everything is computed anew."""

    def kept(self, name: str, /, **values: Any) -> Kept | None:
        """The answer that `attnbank compute` has kept for `query` with the same arguments.

        None if there is none that is still valid: the analysis, the version of attnbank, or what
        the analysis reads besides its run may have changed since. Raises as `query` does.
        """
        analysis = registry.find(name)
        given = parameters.check(analysis, values)
        with self._answering():
            run = self._choose(analysis, given)
            return find(self.connection, analysis, given, run)

    def _choose(self, analysis: Analysis, given: Mapping[str, Any]) -> Run | None:
        """The run that an analysis reads, chosen once for the same kind of run and the same names.

        Nothing writes to a bank while it is open to read, so that the choice stays as it is. Raises
        as `choose_run`.
        """
        named = [each.name for each in analysis.parameters if each.names_run]
        choice = None if analysis.run is None else settled(self.connection, analysis, given)
        key = choice, tuple((name, given.get(name)) for name in named)
        if key not in self._chosen:
            self._chosen[key] = choose_run(self.connection, self.path, analysis, given)
        return self._chosen[key]

    def _kept_rows(
        self, analysis: Analysis, given: Mapping[str, Any], run: Run | None
    ) -> pl.DataFrame | None:
        """The rows that `query` can return without computing them; None if there are none."""
        if not self.reads_kept:
            return None
        found = find(self.connection, analysis, given, run)
        return None if found is None else found.rows


def as_bytes(rows: pl.DataFrame) -> bytes:
    """Rows in the form in which they are kept: the bytes of an Arrow IPC stream."""
    table = rows.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
