"""Writing the rows of a probe into the bank, and finding them again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import sha256

import polars as pl
from duckdb import DuckDBPyConnection

from attnbank.ingest.derived.probes.data.tasks import Task
from attnbank.ingest.derived.probes.options import WITH_WORDS, ProbeOptions, ProbeReport
from attnbank.ingest.derived.probes.training import Learnt
from attnbank.sql import provenance, registry
from attnbank.sql.bank.references import references
from attnbank.sql.bank.transactions import transaction

_LIBRARIES = ("duckdb", "torch", "transformers", "tokenizers", "numpy", "pyarrow", "spacy")
_COLUMNS = frozenset({"embeddings", "root_at", "train_split", "test_split", "seed"})
"""Options that have a column of their own in table `probe`."""

_NO_MATTER = frozenset({"memory", "model", "trust_remote_code"})
"""Options that change no figure: probes that differ only in them are the same. Where the model is
makes no difference, since the word vectors that come from it are compared by their digest."""


@dataclass(frozen=True)
class Outcome:
    """The result of a probe: its scores, the weights of its heads, and how it learnt.

    For a kind that learns nothing, `train_sentences` and `held_out_sentences` are 0, and `learnt`
    and `test_loss` are None. `weights`, `opens` and `closes` are None for a kind that reads no
    attention. `test_loss` is in nats per word.
    """

    train_sentences: int
    held_out_sentences: int
    learnt: Learnt | None
    test_loss: float | None
    scores: pl.DataFrame
    weights: pl.DataFrame | None
    opens: float | None = None
    closes: float | None = None


def write(
    connection: DuckDBPyConnection,
    task: Task,
    options: ProbeOptions,
    outcome: Outcome,
    device: str,
    times: tuple[datetime, datetime],
) -> int:
    """Write a probe into a bank in place of those that `find_same` finds; returns its id.

    All of its rows are written, or none. `times` are when it started and finished.
    """
    with transaction(connection):
        probe = dict(connection.execute(registry.statement("ingest/next_ids")).fetchall())["probe"]
        for same in find_same(connection, task, options):
            _delete(connection, same)
        row = _row(probe, task, options, outcome, device, times)
        places = ", ".join("?" for _ in row)
        connection.execute(
            f"insert into probe ({', '.join(row)}) values ({places})", list(row.values())
        )
        for table, rows in (("probe_score", outcome.scores), ("probe_weight", outcome.weights)):
            if rows is not None:
                _insert(connection, table, rows.with_columns(pl.lit(probe).alias("probe")))
    return int(probe)


def report(
    connection: DuckDBPyConnection, task: Task, probe: int, seconds: float | None = None
) -> ProbeReport:
    """The report on a probe in the bank; `seconds` is None if it was not trained just now."""
    epochs, best = connection.execute(
        "select epochs, best_epoch from probe where id = ?", [probe]
    ).fetchall()[0]
    scores = connection.query(
        "select * exclude (probe) from probe_score where probe = $probe order by rowid",
        params={"probe": probe},
    )
    return ProbeReport(
        probe=probe,
        kind=task.kind,
        train_run=None if task.train is None else task.train.run.name,
        test_run=task.test.run.name,
        epochs=epochs,
        best_epoch=best,
        seconds=seconds or 0.0,
        scores=scores.pl(),
        is_new=seconds is not None,
    )


def find_same(connection: DuckDBPyConnection, task: Task, options: ProbeOptions) -> list[int]:
    """The ids of probes with the same kind, runs, options and word vectors, the newest first."""
    wanted = _asked(task, options)
    rows = connection.execute(
        "select id, options from probe"
        f" where {' and '.join(f'{name} is not distinct from ?' for name in wanted)}"
        " order by id desc",
        list(wanted.values()),
    ).fetchall()
    return [number for number, kept in rows if _matters(kept) == _matters(_further(options))]


def _matters(options: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in options.items() if name not in _NO_MATTER}


def _delete(connection: DuckDBPyConnection, probe: int) -> None:
    for each in references(connection):
        if each.target == "probe":
            connection.execute(f"delete from {each.place} where {each.condition(f'id = {probe}')}")
    connection.execute("delete from probe where id = ?", [probe])


def _asked(task: Task, options: ProbeOptions) -> dict[str, object]:
    """The columns of table `probe` that say what was asked for, by name."""
    vectors = None if task.vectors is None else sha256(task.vectors.tobytes()).hexdigest()
    return {
        "kind": task.kind,
        "train_run": None if task.train is None else task.train.run.id,
        "test_run": task.test.run.id,
        "train_split": None if task.train is None else options.train_split,
        "test_split": options.test_split,
        "embeddings": options.embeddings if task.kind in WITH_WORDS else None,
        "vectors_sha256": vectors,
        "root_at": options.root_at,
        "seed": options.seed,
    }


def _further(options: ProbeOptions) -> dict[str, str]:
    """The options that have no column of their own, as texts by name."""
    return {
        each.name: str(getattr(options, each.name))
        for each in fields(options)
        if each.name not in _COLUMNS
    }


def _row(
    probe: int,
    task: Task,
    options: ProbeOptions,
    outcome: Outcome,
    device: str,
    times: tuple[datetime, datetime],
) -> dict[str, object]:
    """The columns of table `probe` for a probe, by name."""
    learnt = outcome.learnt
    return {
        "id": probe,
        **_asked(task, options),
        "dimension": None if task.vectors is None else task.vectors.shape[1],
        "coverage": task.coverage,
        "options": _further(options),
        "train_sentences": outcome.train_sentences,
        "held_out_sentences": outcome.held_out_sentences,
        "test_sentences": len(task.test.sentences.sequence),
        "epochs": 0 if learnt is None else learnt.epochs,
        "best_epoch": 0 if learnt is None else learnt.best_epoch,
        "loss": None if learnt is None else learnt.loss,
        "held_out_loss": None if learnt is None else learnt.held_out_loss,
        "test_loss": outcome.test_loss,
        "opens": outcome.opens,
        "closes": outcome.closes,
        "device": device,
        "code_version": provenance.version(),
        "libraries": provenance.libraries(*_LIBRARIES),
        "started": times[0],
        "finished": times[1],
    }


def _insert(connection: DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    connection.register("arriving", rows.to_arrow())
    connection.execute(f"insert into {table} by name select * from arriving")
    connection.unregister("arriving")
