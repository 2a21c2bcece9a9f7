"""The runs that a probe reads, and their sentences with trees, as flat arrays over positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from attnbank.sql import registry
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.header import RunChoice
from attnbank.sql.messages import join_names
from attnbank.sql.run_choice import choose_finished_run

PIECE_SEPARATOR = "\x1f"
# The relations that UAS does not count, in Universal and in Stanford Dependencies.
PUNCTUATION = ("punct", "p")

# Candidate heads are numbered: 0 is ROOT, p + 1 is the word at position p.
ROOT = 0

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ProbeRun:
    """A finished run of context sentence and unit word, and its model."""

    id: int
    name: str
    corpus: str
    model: str
    revision: str | None
    sha256: str
    random_seed: int | None
    heads: int  # of each layer
    numbers: Sequence[int]  # of the layers that have attention
    trained_sha256: str | None = None  # of the trained weights, if the bank has it

    @property
    def maps_per_sentence(self) -> int:
        """The number of attention maps of a sentence."""
        return len(self.numbers) * self.heads

    @property
    def model_label(self) -> str:
        """The name of the model, with its random seed or the digest of its weights."""
        if self.random_seed is not None:
            return f"{self.model} with random weights (seed {self.random_seed})"
        return f"{self.model} (weights {self.sha256[:8]})"


def find_probe_run(
    connection: DuckDBPyConnection, bank: Path, named: str, *, reads_attention: bool = True
) -> ProbeRun:
    """Find the run of this name or id.

    Raises CallError if a probe cannot use it.
    """
    choice = RunChoice("word", ("sentence",), weights="true" if reads_attention else None)
    run = choose_finished_run(connection, bank, choice, "attnbank probe", named)
    (columns,) = connection.execute(
        "select run.id, run.name, corpus.name, model.name,"
        " model.revision, model.sha256, model.random_seed, coalesce(run.heads, model.heads),"
        " coalesce(model.layer_numbers, range(1, model.layers + 1)),"
        # For a control, that of the trained model of the same name, if the bank has exactly one.
        " coalesce(if(model.random_seed is null, model.sha256, null), (select"
        " if(count(distinct sha256) = 1, min(sha256), null) from model as trained"
        " where random_seed is null and trained.name = model.name"
        " and trained.revision is not distinct from model.revision))"
        " from run"
        " inner join model on model.id = run.model"
        " inner join corpus on corpus.id = run.corpus"
        " where run.id = ?",
        [run.id],
    ).fetchall()
    return ProbeRun(*columns)


@dataclass(frozen=True)
class Sentences:
    """The S sentences of a run that have a tree, with N positions in all and K words of each.

    K is 1 unless words share a position (those of a multiword token). Then each word whose head is
    at another position has an entry, in order; those whose head is at the same position have none.
    """

    sequence: Ints  # [S] ids
    cluster: Ints  # [S] a number for each document that the source marks
    start: Ints  # [S + 1] index of the first position of each sentence
    is_word: Bools  # [N]
    opens: Bools  # [N] whether it is [CLS]
    closes: Bools  # [N] whether it is [SEP] or any other special token
    gold: Ints  # [K, N] the candidate that is the gold head; -1 for no word
    relation: Ints  # [K, N] index into `relations`; -1 for no word
    is_scored: Bools  # [K, N] whether it is a word and not punctuation
    is_head_scored: Bools  # [K, N] whether the head is a word and not punctuation
    relations: tuple[str, ...]
    form: pa.Array  # [N] None for special tokens
    pieces: pa.Array  # [N] joined by PIECE_SEPARATOR; None for special tokens

    @property
    def clusters(self) -> Ints:
        """The units of resampling, from 0, [S]: documents, or sentences if all are of one."""
        names, numbers = np.unique(self.cluster, return_inverse=True)
        return numbers if len(names) > 1 else np.arange(len(self.cluster))

    @property
    def lengths(self) -> Ints:
        """The number of positions of each sentence, [S]."""
        return np.diff(self.start)

    @property
    def position(self) -> Ints:
        """The 0-based position of each entry in its sentence, [N]."""
        return np.arange(self.start[-1]) - np.repeat(self.start[:-1], self.lengths)


def read_sentences(
    connection: DuckDBPyConnection, run: ProbeRun, split: str | None = None
) -> Sentences:
    """Read the sentences of a run that have a tree, in the order of their ids.

    Raises QueryError if there are none and for special tokens between words, CallError for an
    unknown split.
    """
    # Each row is a special token, or a word of a position.
    table = connection.query(
        registry.internal_statement("derived/probe_positions"),
        params={"run": run.id, "split": split},
    ).to_arrow_table()
    if table.num_rows == 0:
        raise _no_sentences_error(connection, run, split)
    sequence = _ints(table["sequence"])
    begins = np.flatnonzero(np.diff(sequence, prepend=-1))
    is_word = table["kind"].to_numpy() == "word"
    head = _ints(table["head_index"], -1)
    has_tree = np.logical_and.reduceat(~is_word | (head >= 0), begins) & (
        np.add.reduceat(is_word, begins) > 0
    )
    if not has_tree.any():
        raise QueryError(
            f"The run {run.name} has no trees: no sentence of {run.corpus} has dependencies.",
            "Give a run over a corpus with dependencies (CoNLL-U, a relations file, or text that"
            " was ingested with --spacy PIPELINE).",
        )
    is_kept = np.repeat(has_tree, np.diff(begins, append=len(sequence)))
    table = table.filter(pa.array(is_kept)).combine_chunks()
    sequence, input_position = _ints(table["sequence"]), _ints(table["position"])
    is_new = np.diff(sequence, prepend=-1) != 0
    is_first = is_new | (np.diff(input_position, prepend=-1) != 0)  # of the rows of its position
    first = np.flatnonzero(is_first)
    start = np.append(np.flatnonzero(is_new[first]), len(first))
    kind = table["kind"].to_numpy()
    words = np.flatnonzero(kind == "word")
    position = np.cumsum(is_first) - 1  # of each row, among all N
    of_position = table.take(pa.array(first)).combine_chunks()
    return Sentences(
        sequence=sequence[first][start[:-1]],
        cluster=_ints(of_position["cluster"])[start[:-1]],
        start=start,
        is_word=kind[first] == "word",
        opens=kind[first] == "cls",
        closes=(kind[first] != "cls") & (kind[first] != "word"),
        form=of_position["form"].combine_chunks(),
        pieces=of_position["pieces"].combine_chunks(),
        **_gold_fields(run, table.take(pa.array(words)).combine_chunks(), position[words], start),
    )


def _gold_fields(run: ProbeRun, words: pa.Table, at: Ints, start: Ints) -> dict[str, Any]:
    """Return the fields of `Sentences` that are [K, N]; `at` are the positions of the words."""
    sentence = np.searchsorted(start, at, "right") - 1
    opening = np.searchsorted(sentence, np.arange(len(start) - 1))  # first word of each sentence
    in_order = np.arange(len(at)) - opening[sentence] + 1
    steps = np.diff(at, prepend=at[:1])
    steps[opening] = 0
    if not np.array_equal(_ints(words["index"]), in_order) or (steps > 1).any():
        raise QueryError(
            f"The run {run.name} has special tokens between the words of a sentence.",
            "Use another run: a probe cannot use this one.",
        )
    encoded = words["relation"].combine_chunks().dictionary_encode()
    relations = tuple(name or "" for name in encoded.dictionary.to_pylist())
    relation = _ints(encoded.indices, -1)
    punctuation = [number for number, name in enumerate(relations) if name in PUNCTUATION]
    is_scored = ~np.isin(relation, punctuation)
    head_index = _ints(words["head_index"])
    is_root = head_index == 0
    head = np.where(is_root, 0, opening[sentence] + head_index - 1)
    gold = np.where(is_root, ROOT, at[head] - start[sentence] + 1)
    outside = np.flatnonzero(is_root | (at[head] != at))
    of_position = at[outside]
    # The index of each word among those of its position.
    number = np.arange(len(outside)) - np.searchsorted(of_position, of_position)
    shape = (int(number.max(initial=0)) + 1, int(start[-1]))

    def laid_out(values: np.ndarray, empty: int) -> np.ndarray:
        out = np.full(shape, empty, dtype=values.dtype)
        out[number, of_position] = values[outside]
        return out

    return {
        "gold": laid_out(gold, -1),
        "relation": laid_out(relation, -1),
        "is_scored": laid_out(is_scored, False),
        "is_head_scored": laid_out(~is_root & is_scored[head], False),
        "relations": relations,
    }


def _ints(column: pa.ChunkedArray | pa.Array, null: int = 0) -> Ints:
    filled: Ints = column.fill_null(null).to_numpy().astype(np.int64)
    return filled


def _no_sentences_error(
    connection: DuckDBPyConnection, run: ProbeRun, split: str | None
) -> CallError | QueryError:
    if split is None:
        return QueryError(f"The run {run.name} has no sentences.", "Give another run.")
    splits = connection.execute(
        "select distinct document.split from document"
        " inner join sequence on sequence.document = document.id"
        " where sequence.run = ? and document.split is not null order by document.split",
        [run.id],
    ).fetchall()
    has = f"It has: {join_names(row[0] for row in splits)}." if splits else "It has no splits."
    return CallError(f"The run {run.name} has no sentences in split {split}.", has)
