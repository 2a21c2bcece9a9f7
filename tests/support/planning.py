"""The plan of a corpus without running a model: a bank with only its text, and the batches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import new_banks

from attnbank.ingest.candidate_inputs import cursor_query
from attnbank.ingest.corpora.corpus import Corpus, CorpusFacts
from attnbank.ingest.corpora.corpus_files import find_sources
from attnbank.ingest.models import loading
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.planning import Batch, Planner
from attnbank.ingest.progress import ignore_progress
from attnbank.ingest.store.corpus import read_text, write_corpus_once
from attnbank.sql.bank.opening import open_to_write

STORY = """\
Rain fell.
The dogs barked.
It stopped.

A door closed.
"""


def story(folder: Path, text: str = STORY) -> Path:
    """Write a file of plain text; by default it has a few sentences in two documents."""
    path = folder / "story.txt"
    path.write_text(text, encoding="utf-8")
    return path


def made_of(batches: Sequence[Batch]) -> list[str]:
    """Each input of a plan as its pieces, joined by spaces, in the order of the text."""
    inputs = sorted((each for b in batches for each in b.inputs), key=lambda each: each.words)
    return [" ".join(each.encoded.pieces) for each in inputs]


def text_bank(path: Path, corpus: Path, format: str | None = None) -> duckdb.DuckDBPyConnection:
    """A new bank with the text of a corpus, whose id is 1, open for writing."""
    connection = open_to_write(new_banks.put(path), "test")
    sources = find_sources([str(corpus)], format or ("lines" if corpus.suffix == ".txt" else None))
    facts = CorpusFacts(corpus.stem, "any", str(corpus), "0", "none", None)
    options = IngestOptions((str(corpus),), path, "none", skip_bad=True)
    checked = read_text(Corpus(sources, facts, options), ignore_progress)
    write_corpus_once(connection, checked, ignore_progress)
    return connection


@cache
def _layout(model: str) -> InputTokenizer:
    return loading.describe(model).input_tokenizer


def plan(connection: duckdb.DuckDBPyConnection, model: str, **options: Any) -> list[Batch]:
    """The batches of corpus 1 for a model's tokenizer; `options` are those of an ingest."""
    chosen: dict[str, Any] = {"unit": "token", "batch_tokens": 2048} | options
    most = chosen.pop("max_tokens", 128)
    planner = Planner(_layout(model), IngestOptions((), Path(), **chosen), most)
    return list(planner.plan(cursor_query(connection), 1).batches)
