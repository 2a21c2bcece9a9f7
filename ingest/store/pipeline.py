"""Reads, runs and writes batches in parallel: for the attention of a run, and for its losses.

Four threads pass batches on through short queues: one reads sentences and tokenises them, the
caller's runs the model, one makes rows of the results (merges pieces, finds peaks), one writes.
Memory is bounded by the queues, not by the corpus.
"""

from __future__ import annotations

import collections
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import chain
from threading import Event
from typing import Generic, Protocol, Self, TypeVar

import duckdb
from duckdb import DuckDBPyConnection
from torch import Tensor

from attnbank.ingest.attention.merged_maps import Maps, RunFacts
from attnbank.ingest.attention.rows import BatchRows, rows_of_batch, run_model
from attnbank.ingest.candidate_inputs import NO_LOCK, Query, cursor_query
from attnbank.ingest.models.loading import Model
from attnbank.ingest.planning import Batch, Planner
from attnbank.ingest.progress import ProgressCounter
from attnbank.ingest.store.writer import forget_blocks, insert
from attnbank.sql.bank.connections import begin
from attnbank.sql.interrupts import Postponed, postponed

# Rows of a table, and weights, after which a transaction is committed. The checkpoint that follows
# rewrites the last row group of every table, so that many small transactions are slow.
ROWS_AT_ONCE = 1_000_000
WEIGHTS_AT_ONCE = 16_000_000
# Seconds after which it is committed in any case, so that a process that is killed loses no more.
SECONDS_AT_ONCE = 30.0

# Columns of run_part, and fields of BatchRows.
_COUNTED = ("unknown_words", "joined_words", "misspelled_words")

_Item = TypeVar("_Item")
_Planned = TypeVar("_Planned")
_Result = TypeVar("_Result")
_IN_FLIGHT = 2  # batches whose attention is in memory: one is computed, another is merged
_WAITING = 2**24  # weights of a batch that wait to be merged, at least those of one layer


@dataclass
class _Computed:
    """A batch and its attention."""

    batch: Batch
    attentions: Maps | None  # its layers arrive while earlier ones are merged


class _Stopped(Exception):
    """Another thread failed, or the work was interrupted."""


class _BoundedQueue(Generic[_Item]):
    """A short queue between two threads, whose calls raise _Stopped when the work stops."""

    def __init__(self, length: int, stop: Event) -> None:
        self._queue: queue.Queue[_Item | None] = queue.Queue(length)
        self._stop = stop

    def put(self, item: _Item | None) -> None:
        while not self._stop.is_set():
            with suppress(queue.Full):
                return self._queue.put(item, timeout=0.1)
        raise _Stopped

    def end(self) -> None:
        self.put(None)

    def items(self, while_waiting: Callable[[], None] = lambda: None) -> Iterator[_Item]:
        while not self._stop.is_set():
            try:
                item = self._queue.get(timeout=0.1)
            except queue.Empty:
                while_waiting()
                continue
            if item is None:
                return
            yield item
        raise _Stopped


class PipelineThread(threading.Thread):
    """A thread that stores its error for the caller, and stops the other threads."""

    def __init__(self, work: Callable[[], None], stop: Event) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._stop_all = stop
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the work, and store its error."""
        try:
            self._work()
        except _Stopped:
            pass
        except BaseException as error:
            self.error = error
            self._stop_all.set()


class BatchJob(Protocol[_Planned, _Result]):
    """What `run_batches` runs; each method in a thread of its own, `compute` in the caller's."""

    connection: DuckDBPyConnection  # only the writer uses it meanwhile
    progress: ProgressCounter

    def batches(self, query: Query, check: Callable[[], None]) -> Iterator[_Planned]:
        """Plan the batches; `check` is called often, and raises if the work is stopped."""

    def compute(self, batch: _Planned, interrupts: Postponed, stop: Event) -> Iterator[_Result]:
        """Yield one result; what it waits for may be computed after it was taken."""

    def rows(self, result: _Result) -> BatchRows:
        """Make the rows of a batch."""

    def writer(self, turns: AbstractContextManager[object]) -> Writer:
        """Make the writer of the rows, which holds `turns` while it commits."""


def pending_batches(
    planner: Planner,
    query: Query,
    corpus: int,
    progress: ProgressCounter,
    is_done: Callable[[Batch], bool],
    check: Callable[[], None],
) -> Iterator[Batch]:
    """Plan all batches, and yield those from the first one that is not done.

    `check` is called again and again until that one, and may raise.
    """

    def looked(inputs: int) -> None:
        check()
        progress.report_planning(inputs)

    plan = planner.plan(query, corpus, looked)
    before, effort = 0, 0.0
    batches = plan.batches
    for batch in batches:
        check()
        if not is_done(batch):
            batches = chain([batch], batches)
            break
        before, effort = before + batch.sentence_count, effort + batch.effort
    progress.start(before, effort, plan.sentences)
    yield from batches


@dataclass
class PendingRun:
    """The rest of a run: its batches after the first `done`, and what runs them."""

    connection: DuckDBPyConnection
    model: Model
    planner: Planner
    facts: RunFacts
    done: int
    progress: ProgressCounter

    def batches(self, query: Query, check: Callable[[], None] = lambda: None) -> Iterator[Batch]:
        """Yield the batches after the first `done`: this is how a run resumes."""
        return pending_batches(
            self.planner, query, self.facts.corpus, self.progress,
            lambda batch: batch.number <= self.done, check,
        )  # fmt: skip

    def compute(self, batch: Batch, interrupts: Postponed, stop: Event) -> Iterator[_Computed]:
        """Run the model; the layers arrive while earlier ones are merged."""
        longest = max((len(model_input.encoded.ids) for model_input in batch.inputs), default=1)
        # How many layers of the batch may wait to be merged.
        waiting = _WAITING // (max(1, len(batch.inputs)) * self.shape[1] * longest**2)
        layers: _BoundedQueue[Tensor] = _BoundedQueue(max(1, waiting), stop)
        maps = Maps(*self.shape, layers.items()) if batch.inputs else None
        yield _Computed(batch, maps)
        del maps  # or its memory would be held until the next batch
        with interrupts.at_once():
            run_model(self.model, batch, self.facts, layers.put)
        layers.end()

    def rows(self, computed: _Computed) -> BatchRows:
        """Merge the attention of a batch into rows, and free its memory."""
        rows = rows_of_batch(computed.batch, computed.attentions, self.facts)
        computed.attentions = None  # it can be hundreds of megabytes
        return rows

    @property
    def shape(self) -> tuple[int, int]:
        """The number of layers, and of maps in each."""
        known = self.model.facts
        return known.layers, self.facts.options.maps_per_layer(known.heads)

    def writer(self, turns: AbstractContextManager[object] = NO_LOCK) -> Writer:
        """Return the writer of the rows."""
        return Writer(self.connection, self.facts.run, turns)


# Runs batches and writes their rows. If it raises, the bank has whole batches only.
BatchRunner = Callable[[PendingRun], None]


def run_batches(job: BatchJob[_Planned, _Result]) -> None:
    """Run the model over the batches of a job, and write their rows.

    Raises what any of the threads raises; the bank then has the batches whose rows were all
    written.
    """
    stop = Event()
    planned: _BoundedQueue[_Planned] = _BoundedQueue(4, stop)
    computed: _BoundedQueue[_Result] = _BoundedQueue(_IN_FLIGHT, stop)
    merged: _BoundedQueue[BatchRows] = _BoundedQueue(1, stop)
    free_slots = threading.Semaphore(_IN_FLIGHT)
    unwritten = threading.Semaphore(_IN_FLIGHT)  # batches whose rows are not all in the bank
    reading = job.connection.cursor()
    turns = threading.Lock()

    def raise_if_stopped() -> None:
        if stop.is_set():
            raise _Stopped

    def wait_for(slots: threading.Semaphore) -> None:
        while not slots.acquire(timeout=0.1):
            raise_if_stopped()

    def read_batches() -> None:
        for batch in job.batches(cursor_query(reading, turns), raise_if_stopped):
            planned.put(batch)
        planned.end()

    def merge() -> None:
        for result in computed.items():
            wait_for(unwritten)
            rows = job.rows(result)
            free_slots.release()  # the next batch may be computed while this one is written
            merged.put(rows)
        merged.end()

    def write_rows() -> None:
        with job.writer(turns) as writer:
            for rows in merged.items(writer.commit_if_due):
                writer.add(rows)
                rows.tables.clear()  # or their memory would be held until the next batch
                unwritten.release()
                job.progress.add(rows.sentences, rows.effort)
            writer.commit()

    workers = [
        PipelineThread(read_batches, stop),
        PipelineThread(merge, stop),
        PipelineThread(write_rows, stop),
    ]

    def interrupted() -> None:
        stop.set()
        with suppress(duckdb.Error):  # it is closed
            reading.interrupt()  # not the writing cursor, which ends its transaction first

    with postponed(interrupted) as interrupts:
        try:
            for worker in workers:
                worker.start()
            with suppress(_Stopped):
                for batch in planned.items():
                    wait_for(free_slots)
                    for result in job.compute(batch, interrupts, stop):
                        computed.put(result)
                computed.end()
        except BaseException:
            stop.set()
            raise
        finally:
            # Always: a thread that outlives the connection or the interpreter aborts the process.
            for worker in workers:
                if worker.ident is not None:
                    worker.join()
            reading.close()
    for worker in workers:
        if worker.error is not None:
            raise worker.error


class Writer:
    """Context manager that writes the rows of batches, several batches in a transaction.

    After an error or an interrupt it commits, unless a batch is half written: then it rolls the
    transaction back. It counts the batches of `run`; without one, the rows are not the attention of
    a run. `clock` returns seconds.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        run: int | None = None,
        turns: AbstractContextManager[object] = NO_LOCK,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._run = run
        self._turns = turns
        self._clock = clock
        self._open: collections.Counter[str] = collections.Counter()  # of the transaction
        self._last_batch = 0
        self._is_whole = True  # no batch is half written, and no commit is half done
        self._committed = clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            with suppress(duckdb.Error):  # a failed commit has ended the transaction
                if self._is_whole:
                    self.commit()
                else:
                    self._connection.rollback()

    def add(self, *batches: BatchRows) -> None:
        """Write the rows of the next batches together; commit if enough are written."""
        self._is_whole = False
        for rows in batches:
            if not self._open:
                begin(self._connection)
            self._last_batch = rows.batch
            counted = ("max_rows", "weights", *_COUNTED)
            self._open.update({name: getattr(rows, name) for name in counted})
            for table, arriving in rows.tables.items():
                insert(self._connection, table, arriving)
            self.add_sums(rows)
        self._is_whole = True
        if self._open["max_rows"] >= ROWS_AT_ONCE or self._open["weights"] >= WEIGHTS_AT_ONCE:
            self.commit()
        else:
            self.commit_if_due()

    def add_sums(self, rows: BatchRows) -> None:
        """Add a batch to sums over the run, for a writer that has any."""

    def write_sums(self) -> None:
        """Write these sums; called before each commit."""

    def commit_if_due(self) -> None:
        """Commit if the last commit is SECONDS_AT_ONCE ago."""
        if self._clock() - self._committed >= SECONDS_AT_ONCE:
            self.commit()

    def commit(self) -> None:
        """Commit the batches since the last commit, and write them to the file."""
        self._committed = self._clock()
        if not self._open:
            return
        self._is_whole = False
        # DuckDB cannot checkpoint while a statement that began before the commit is still read.
        with self._turns:
            self.write_sums()
            if self._run is not None:
                sums = ", ".join(f"{name} = {name} + ?" for name in _COUNTED)
                counts = [self._open[name] for name in _COUNTED]
                self._connection.execute(
                    f"update run_part set batches = ?, {sums} where run = ?",
                    [self._last_batch, *counts, self._run],
                )
            self._connection.execute("commit")
            self._open.clear()
            self._is_whole = True
            self._connection.execute("checkpoint")  # a damaged log could lose the transaction
            forget_blocks(self._connection)
