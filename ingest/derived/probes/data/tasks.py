"""Everything that a probe reads before it learns: runs, sentences and word vectors, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from attnbank.ingest.derived.probes.data.embeddings import MODEL, WordVectors, word_vectors
from attnbank.ingest.derived.probes.data.runs import (
    ProbeRun,
    check_not_learnt_from,
    check_same_model,
    check_weights,
    find_run,
)
from attnbank.ingest.derived.probes.data.sentences import Ints, Sentences, read_sentences
from attnbank.ingest.derived.probes.options import WITH_ATTENTION, WITH_WORDS, ProbeOptions


@dataclass(frozen=True)
class Part:
    """The training or the test part: a run, its sentences, and `vector` [N], a row per position.

    The rows are of `Task.vectors`. Row 0, the zero vector, is for special tokens and ROOT, and for
    all positions of a probe without words.
    """

    run: ProbeRun
    sentences: Sentences
    vector: Ints


@dataclass(frozen=True)
class Task:
    """What a probe learns from and is scored on. `train` is None if nothing is learnt.

    `vectors` [1 + V, D] float32 are scaled to a mean square of 1 over the distinct words of the
    training part, so that the learning rate means the same for any embeddings. `coverage` is the
    share of the words of the test part that have a vector, in [0, 1]. Both are None for a probe
    without words.
    """

    kind: str
    train: Part | None
    test: Part
    vectors: NDArray[np.float32] | None
    coverage: float | None


def read_task(
    connection: DuckDBPyConnection,
    kind: str,
    train_run: str | None,
    test_run: str,
    options: ProbeOptions,
) -> Task:
    """Find the runs, read their sentences and word vectors. Raises as train_probe does."""
    test = find_run(connection, test_run)
    if kind in WITH_ATTENTION:
        check_weights(test)
    if train_run is None:
        return Task(kind, None, _part(connection, test, options.test_split), None, None)
    train = find_run(connection, train_run)
    check_not_learnt_from(train, test, options.train_split, options.test_split)
    check_same_model(train, test)
    if kind in WITH_ATTENTION:
        check_weights(train)
    parts = (
        _part(connection, train, options.train_split),
        _part(connection, test, options.test_split),
    )
    if kind not in WITH_WORDS:
        return Task(kind, *parts, None, None)
    return _with_words(kind, *parts, options)


def _part(connection: DuckDBPyConnection, run: ProbeRun, split: str | None) -> Part:
    sentences = read_sentences(connection, run, split)
    return Part(run, sentences, np.zeros(len(sentences.is_word), dtype=np.int64))


def _with_words(kind: str, train: Part, test: Part, options: ProbeOptions) -> Task:
    """Number the distinct words of both parts and get a vector for each."""
    source = options.embeddings
    parts = (train, test)
    words = [part.sentences.pieces if source == MODEL else part.sentences.form for part in parts]
    encoded = pa.concat_arrays(words).dictionary_encode()
    row = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy() + 1
    rows = np.split(row, [len(words[0])])
    found = word_vectors(
        source,
        encoded.dictionary.to_pylist(),
        train.run,
        options.model,
        trust_remote_code=options.trust_remote_code,
    )
    is_word = test.sentences.is_word
    return Task(
        kind=kind,
        train=Part(train.run, train.sentences, rows[0]),
        test=Part(test.run, test.sentences, rows[1]),
        vectors=_scaled(found, np.unique(rows[0][train.sentences.is_word])),
        coverage=float(found.known[rows[1][is_word] - 1].mean()),
    )


def _scaled(found: WordVectors, training: Ints) -> NDArray[np.float32]:
    """The vectors below a zero row, divided by their root mean square over the training words."""
    known = found.vectors[training - 1][found.known[training - 1]].astype(np.float64)
    size = np.sqrt(np.mean(known**2)) if known.size else 0.0
    zero = np.zeros((1, found.vectors.shape[1]), dtype=np.float32)
    return np.concatenate([zero, found.vectors / np.float32(size or 1.0)])
