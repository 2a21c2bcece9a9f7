"""The plan of a corpus without running a model: a bank with its text alone, and the batches."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from attnbank.ingest.corpora.document import Sentence
from attnbank.ingest.corpora.sources import find_sources, read
from attnbank.ingest.inputs.plan import Batch, Planner
from attnbank.ingest.models import loading as models
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.store.corpus_rows import CorpusFacts, write_corpus
from attnbank.sql.bank.opening import open_to_write


def text_bank(path: Path, corpus: Path, format: str | None = None) -> duckdb.DuckDBPyConnection:
    """A new bank with the text of a corpus, which is corpus 1."""
    connection = open_to_write(path, "test")
    sources = find_sources([str(corpus)], format)
    items = [item for item in read(sources, format) if isinstance(item, Sentence)]
    facts = CorpusFacts(corpus.stem, "any", str(corpus), "0", "none", None)
    for _ in write_corpus(connection, facts, items):
        pass
    return connection


@cache
def _layout(model: str) -> InputTokenizer:
    return models.describe(model).layout


def plan(connection: duckdb.DuckDBPyConnection, model: str, **options: Any) -> list[Batch]:
    """The batches of corpus 1 for a model's tokenizer."""
    chosen: dict[str, Any] = {"unit": "token", "max_tokens": 128, "batch_tokens": 2048} | options
    planner = Planner(_layout(model), **chosen)
    return list(planner.plan(connection, 1).batches)
