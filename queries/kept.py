"""Answers that `attnbank compute` kept in the bank, given again where they still hold."""

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
from attnbank.sql.runs import Run, choose_run


@dataclass(frozen=True)
class Kept:
    """An answer that was kept: its rows, when it was computed (UTC), and how long that took."""

    rows: pl.DataFrame
    finished: datetime
    seconds: float

    @property
    def told(self) -> str:
        """That it was kept, and how it is computed anew, for people."""
        return f"kept since {self.finished:%Y-%m-%d %H:%M} UTC (--fresh computes it anew)"


def find(
    connection: DuckDBPyConnection, analysis: Analysis, given: Mapping[str, Any], run: Run | None
) -> Kept | None:
    """What was kept of an analysis with these values and this run, where it still holds.

    What cannot be read, or does not have the columns of the header, was not kept by this version.
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
    """The part of a Bank that gives again what was kept."""

    reads_kept = True
    """Whether `query` gives kept answers; where it is false everything is computed anew."""

    def kept(self, name: str, /, **values: Any) -> Kept | None:
        """The answer that `attnbank compute` kept to `query` with the same arguments.

        None where there is none that still holds: the analysis, the version of attnbank or what it
        reads beside its run has changed since. Raises as `query` does.
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
        key = analysis.run, tuple((name, given.get(name)) for name in named)
        if key not in self._chosen:
            self._chosen[key] = choose_run(self.connection, self.path, analysis, given)
        return self._chosen[key]

    def _kept_rows(
        self, analysis: Analysis, given: Mapping[str, Any], run: Run | None
    ) -> pl.DataFrame | None:
        """The rows that `query` gives without computing them; None where there are none."""
        if not self.reads_kept:
            return None
        found = find(self.connection, analysis, given, run)
        return None if found is None else found.rows


def as_bytes(rows: pl.DataFrame) -> bytes:
    """Rows as they are kept: an Arrow stream."""
    table = rows.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
