"""Reading, running and writing at the same time.

Four threads hand batches on through short queues: one reads sentences and tokenises them, the
caller's runs the model, one merges pieces and finds peaks, one writes. Memory is bounded by the
queues, not by the corpus.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection
from torch import Tensor

from attnbank.ingest.attention.forward import run_model
from attnbank.ingest.attention.rows import BatchRows, RunFacts, rows_of
from attnbank.ingest.inputs.plan import Batch, Planner
from attnbank.ingest.inputs.reading import IN_NO_TURNS, asking
from attnbank.ingest.masked.ablation import Tally
from attnbank.ingest.masked.passes import MaskedPasses, Measured
from attnbank.ingest.models.loading import Model
from attnbank.ingest.store.arrow import insert
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.interrupts import postponed

ROWS_AT_ONCE = 122_880
WEIGHTS_AT_ONCE = 16_000_000
"""Rows (one row group) and weights (64 MB) that a transaction gathers before it is committed: a
checkpoint costs too much to be had for less."""

_TABLES = (
    "sequence", "position", "attention", "attention_map", "gradient", "peak", "skipped",
)  # fmt: skip

_Item = TypeVar("_Item")


_IN_FLIGHT = 2
"""Batches whose attention is in memory: one is computed while another is merged."""


@dataclass
class _Computed:
    """A batch, and what the model looks at in it."""

    batch: Batch
    attentions: tuple[Tensor, ...]
    measured: Measured | None

    def forget(self) -> None:
        """Free the attention, which takes some hundred megabytes."""
        self.attentions, self.measured = (), None


class _Stop(Exception):
    """Another thread has failed, or the work was interrupted."""


class _Pipe(Generic[_Item]):
    """A short queue between two threads that lets go when the work stops."""

    def __init__(self, length: int, stop: threading.Event) -> None:
        self._queue: queue.Queue[_Item | None] = queue.Queue(length)
        self._stop = stop

    def put(self, item: _Item | None) -> None:
        while True:
            if self._stop.is_set():
                raise _Stop
            try:
                return self._queue.put(item, timeout=0.1)
            except queue.Full:
                continue

    def close(self) -> None:
        self.put(None)

    def __iter__(self) -> Iterator[_Item]:
        while True:
            if self._stop.is_set():
                raise _Stop
            try:
                item = self._queue.get(timeout=0.1)
            except queue.Empty:
                continue
            if item is None:
                return
            yield item


class Worker(threading.Thread):
    """A thread that keeps its error for the caller."""

    def __init__(self, work: Callable[[], None], stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._stop_all = stop
        self.error: BaseException | None = None

    def run(self) -> None:
        """Work, and keep what goes wrong for whoever waits."""
        try:
            self._work()
        except _Stop:
            pass
        except BaseException as error:
            self.error = error
            self._stop_all.set()


class BatchRunner(Protocol):
    """What runs the batches of a run after the first `done` ones, and writes their rows."""

    def __call__(
        self,
        connection: DuckDBPyConnection,
        model: Model,
        planner: Planner,
        facts: RunFacts,
        done: int,
        progress: BatchProgress,
        masked: MaskedPasses | None = None,
        /,
    ) -> None:
        """Raise what goes wrong; the bank then holds whole batches."""


class BatchProgress(Protocol):
    """Is told how far a run is; counts are of the sentences that its plan counts."""

    def looked(self, inputs: int) -> None:
        """Tell how many inputs were gone through so far, to draw a sample or to count them."""

    def begun(self, before: int, total: int) -> None:
        """The plan is made, and batches with `before` of its `total` sentences are written."""

    def written(self, sentences: int) -> None:
        """Tell that a batch that accounts for this many sentences was handed to the bank."""


def run_batches(
    connection: DuckDBPyConnection,
    model: Model,
    planner: Planner,
    facts: RunFacts,
    done: int,
    progress: BatchProgress,
    masked: MaskedPasses | None = None,
) -> None:
    """Run the model over every batch after the first `done` ones and write what it looks at.

    `progress` is told how far it is, from the threads; `masked` are the passes over the masked
    inputs, where the run makes any. Raises what any of the threads raises; then, as when the
    process is killed, the bank holds the batches that were committed and no others. Whatever is
    raised, and however often somebody interrupts, no thread is left: one that lives on while the
    connection is closed, or the interpreter ends, aborts the process.
    """
    stop = threading.Event()
    planned: _Pipe[Batch] = _Pipe(4, stop)
    computed: _Pipe[_Computed] = _Pipe(_IN_FLIGHT, stop)
    merged: _Pipe[BatchRows] = _Pipe(1, stop)
    room = threading.Semaphore(_IN_FLIGHT)
    is_planned = threading.Event()
    reading = connection.cursor()
    turns = threading.Lock()

    def looked(inputs: int) -> None:
        if stop.is_set():
            raise _Stop
        progress.looked(inputs)

    def read() -> None:
        plan = planner.plan(asking(reading, turns), facts.corpus, looked)
        before, has_begun = 0, False
        for batch in plan.batches:
            if stop.is_set():
                raise _Stop
            if batch.number <= done:
                before += batch.sentences
                continue
            if not has_begun:
                progress.begun(before, plan.sentences)
                has_begun = True
            planned.put(batch)
        if not has_begun:
            progress.begun(before, plan.sentences)
        is_planned.set()
        planned.close()

    tally = None
    if masked is not None and masked.ablation is not None:
        ablation = masked.ablation
        tally = Tally(connection, facts.run, ablation.variants, ablation.replacement)
    writer = Writer(connection, facts, tally, turns)

    def merge() -> None:
        for each in computed:
            rows = rows_of(each.batch, each.attentions, facts, each.measured)
            each.forget()
            room.release()  # the next batch may be computed while this one is written
            merged.put(rows)
        merged.close()

    def write() -> None:
        for rows in merged:
            writer.add(rows)
            if is_planned.is_set():  # else the last ones are all written when the model is done
                writer.commit()
            progress.written(rows.sentences)
        writer.commit()

    workers = [Worker(read, stop), Worker(merge, stop), Worker(write, stop)]

    def interrupted() -> None:
        stop.set()
        with suppress(duckdb.Error):  # it is closed
            reading.interrupt()  # the other thread ends the transaction that it is in

    with postponed(interrupted) as interrupts:
        try:
            for worker in workers:
                worker.start()
            with suppress(_Stop):
                for batch in planned:
                    _wait_for(room, stop)
                    with interrupts.at_once():
                        found = _Computed(batch, *run_model(model, batch, masked))
                    computed.put(found)
                    del found  # or its attention would be kept until the next is computed
                computed.close()
        except BaseException:
            stop.set()
            raise
        finally:
            for worker in workers:
                if worker.ident is not None:
                    worker.join()
            reading.close()
    for worker in workers:
        if worker.error is not None:
            raise worker.error


def _wait_for(room: threading.Semaphore, stop: threading.Event) -> None:
    """Wait until another batch may be in flight. Raises _Stop where the work has stopped."""
    while not room.acquire(timeout=0.1):
        if stop.is_set():
            raise _Stop


class Writer:
    """Gathers the rows of whole batches and commits them together."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        facts: RunFacts,
        tally: Tally | None = None,
        turns: AbstractContextManager[object] = IN_NO_TURNS,
    ) -> None:
        self._connection = connection
        self._facts = facts
        self._tally = tally
        self._turns = turns
        self._pending: list[BatchRows] = []

    def add(self, rows: BatchRows) -> None:
        """Take the rows of the next batch; commit when enough are gathered."""
        self._pending.append(rows)
        weights = sum(each.weights for each in self._pending)
        longest = sum(each.rows for each in self._pending)
        if longest >= ROWS_AT_ONCE or weights >= WEIGHTS_AT_ONCE:
            self.commit()

    def commit(self) -> None:
        """Write the gathered batches in one transaction, and make it last."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        with self._turns:
            self._write(pending)

    def _write(self, pending: list[BatchRows]) -> None:
        with transaction(self._connection):
            for table in _TABLES:
                parts = [each.tables[table] for each in pending if table in each.tables]
                if parts:
                    insert(self._connection, table, pa.concat_tables(parts))
            if self._tally is not None:
                for each in pending:
                    if each.losses is not None:
                        self._tally.add(each.losses, each.masked)
                self._tally.write(self._connection)
            self._connection.execute(
                "update run set batches = ?, unknown_words = unknown_words + ? where id = ?",
                [
                    pending[-1].batch,
                    sum(each.unknown_words for each in pending),
                    self._facts.run,
                ],
            )
        self._connection.execute("checkpoint")  # a torn log could lose a committed transaction
        forget_blocks(self._connection)


def forget_blocks(connection: DuckDBPyConnection) -> None:
    """Let DuckDB drop its cache of written blocks: it would grow with the bank."""
    found = connection.execute("select current_setting('memory_limit')").fetchone()
    assert found is not None
    try:
        connection.execute("set memory_limit = '64MB'")
    except duckdb.OutOfMemoryException:
        pass  # what cannot be dropped is in use
    finally:
        connection.execute(f"set memory_limit = '{found[0]}'")
