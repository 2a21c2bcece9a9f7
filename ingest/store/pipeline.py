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
from typing import Generic, Protocol, Self, TypeVar

import duckdb
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
from attnbank.sql.interrupts import postponed

ROWS_AT_ONCE = 1_000_000
WEIGHTS_AT_ONCE = 16_000_000
"""Rows of a table, and weights, after which a transaction is committed. The checkpoint that follows
writes the last row group of every table anew, so that many small transactions would cost much."""

_TABLES = (
    "sequence", "position", "attention", "attention_map", "gradient", "peak", "skipped",
)  # fmt: skip

_Item = TypeVar("_Item")


_IN_FLIGHT = 2
"""Batches whose attention is in memory: one is computed while another is merged. As many have their
rows there: one is merged while another is written."""


@dataclass
class _Computed:
    """A batch, and what the model looks at in it."""

    batch: Batch
    attentions: list[Tensor]  # taken from it as they are merged
    measured: Measured | None

    def forget(self) -> None:
        """Free what is left of it, which can take some hundred megabytes."""
        self.attentions, self.measured = [], None


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
    unwritten = threading.Semaphore(_IN_FLIGHT)  # batches whose rows are not all in the bank
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
        planned.close()

    tally = None
    if masked is not None and masked.ablation is not None:
        ablation = masked.ablation
        tally = Tally(connection, facts.run, ablation.variants, ablation.replacement)

    def merge() -> None:
        for each in computed:
            _wait_for(unwritten, stop)
            rows = rows_of(each.batch, each.attentions, facts, each.measured)
            each.forget()
            room.release()  # the next batch may be computed while this one is written
            merged.put(rows)
        merged.close()

    def write() -> None:
        with Writer(connection, facts, tally, turns) as writer:
            for rows in merged:
                writer.add(rows)
                rows.tables.clear()  # or they would be kept until the next batch comes
                unwritten.release()
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
    """Writes the rows of batches, several batches in a transaction.

    A context in which batches are added; what was not committed when it ends is rolled back.
    """

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
        self._open = _Transaction()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open.batches:
            with suppress(duckdb.Error):  # a failed commit has ended the transaction
                self._connection.rollback()

    def add(self, rows: BatchRows) -> None:
        """Write the rows of the next batch; commit when enough are written."""
        if not self._open.batches:
            self._connection.execute("begin")
        self._open.count(rows)
        for table in _TABLES:
            if table in rows.tables:
                insert(self._connection, table, rows.tables[table])
        if self._tally is not None and rows.losses is not None:
            self._tally.add(rows.losses, rows.masked)
        if self._open.rows >= ROWS_AT_ONCE or self._open.weights >= WEIGHTS_AT_ONCE:
            self.commit()

    def commit(self) -> None:
        """Commit the batches since the last time, and make them last."""
        if not self._open.batches:
            return
        with self._turns:
            if self._tally is not None:
                self._tally.write(self._connection)
            self._connection.execute(
                "update run set batches = ?, unknown_words = unknown_words + ? where id = ?",
                [self._open.last_batch, self._open.unknown_words, self._facts.run],
            )
            self._connection.execute("commit")
            self._open = _Transaction()
            self._connection.execute("checkpoint")  # or a torn log could lose the transaction
            forget_blocks(self._connection)


@dataclass
class _Transaction:
    """What the batches of a transaction come to."""

    batches: int = 0
    last_batch: int = 0
    rows: int = 0
    weights: int = 0
    unknown_words: int = 0

    def count(self, rows: BatchRows) -> None:
        self.batches += 1
        self.last_batch = rows.batch
        self.rows += rows.rows
        self.weights += rows.weights
        self.unknown_words += rows.unknown_words


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
