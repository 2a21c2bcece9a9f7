"""Probes over two runs of a tiny model, with random parameters in double precision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import oracle_probe as slow
import polars as pl
import torch
from torch import nn

from attnbank.ingest.derived.probes import KINDS, ProbeOptions
from attnbank.ingest.derived.probes.tasks import ProbeBatch, Task, read_task
from attnbank.ingest.derived.probes.training import make_scorer
from attnbank.sql.bank.opening import open_to_read

LEARNING = tuple(kind for kind in KINDS if kind != "right_branching")
CPU = torch.device("cpu")
TRAIN, TEST = "stories/model", "press/model"


def task(connection: duckdb.DuckDBPyConnection, kind: str, root_at: str = "root") -> Task:
    (model,) = connection.execute("select distinct name from model").fetchall()[0]
    options = ProbeOptions(root_at=root_at, batch_sentences=5, model=model)
    return read_task(connection, Path("bank.duckdb"), kind, TRAIN, TEST, options)


def random_scorer(task: Task) -> nn.Module:
    """A scorer with random parameters, in double precision."""
    scorer = make_scorer(task).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3)
    return scorer


def double(batch: ProbeBatch) -> ProbeBatch:
    return replace(
        batch,
        opens=batch.opens.double(),
        closes=batch.closes.double(),
        words=batch.words.double(),
        attention=None if batch.attention is None else batch.attention.double(),
    )


def slow_sentences(connection: duckdb.DuckDBPyConnection, run: str) -> list[slow.Sentence]:
    row = connection.execute(
        "select run.id, model.heads from run inner join model on model.id = run.model"
        " where run.name = ?",
        [run],
    ).fetchone()
    assert row is not None
    return slow.read(connection, *row)


def table(path: Path, statement: str) -> pl.DataFrame:
    with open_to_read(path) as connection, connection.cursor() as cursor:
        frame: pl.DataFrame = cursor.query(statement).pl()
        return frame
