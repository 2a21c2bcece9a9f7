"""The sentences of a run with their trees, as flat arrays with one entry per position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from attnbank.ingest.derived.probes.data.runs import ProbeRun
from attnbank.sql import registry
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.suggest import listed

PIECE_SEPARATOR = "\x1f"
PUNCTUATION = frozenset({"punct", "p"})
"""The relations that UAS leaves out, in Universal and in Stanford Dependencies."""

ROOT = 0
"""Candidate heads are numbered: 0 is ROOT, p + 1 is the word at position p."""

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Sentences:
    """The sentences of a run that have a tree: S sentences, N positions in all.

    Per sentence, [S]: `sequence` and `document` are ids. `start` [S + 1] is the entry at which the
    positions of each sentence begin.

    Per position, [N]: `is_word`; `opens` ([CLS]); `closes` ([SEP] and any other special token);
    `gold`, the candidate that is the gold head; `relation`, an index into `relations`; `is_scored`,
    a word that is not punctuation; `form` and `pieces`. For special tokens `gold` and `relation`
    are -1, and `form` and `pieces` None.
    """

    sequence: Ints
    document: Ints
    start: Ints
    is_word: Bools
    opens: Bools
    closes: Bools
    gold: Ints
    relation: Ints
    is_scored: Bools
    relations: tuple[str, ...]
    form: pa.Array
    pieces: pa.Array

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
    """The sentences of a run, in the order of their ids; those without a tree are left out.

    Raises QueryError if the run has no sentences, if none has a tree, or if special tokens are
    between words; CallError for a split that the run does not have.
    """
    table = connection.query(
        registry.statement("derived/probe_positions"), params={"run": run.id, "split": split}
    ).to_arrow_table()
    table = table.combine_chunks()
    if table.num_rows == 0:
        raise _no_rows(connection, run, split)
    sequence = _ints(table["sequence"])
    begins = np.flatnonzero(np.diff(sequence, prepend=-1))
    lengths = np.diff(begins, append=len(sequence))
    is_word = table["kind"].to_numpy() == "word"
    head = _ints(table["head_index"], -1)
    has_tree = np.logical_and.reduceat(~is_word | (head >= 0), begins) & (
        np.add.reduceat(is_word, begins) > 0
    )
    if not has_tree.any():
        raise QueryError(
            f"The run {run.name} has no trees: no sentence of {run.corpus} says what the heads of"
            " its words are.",
            "Give a run over a corpus with dependencies (CoNLL-U, a relations file, or text that"
            " was ingested with --spacy PIPELINE).",
        )
    kept = np.repeat(has_tree, lengths)
    table, is_word, head = table.filter(pa.array(kept)), is_word[kept], head[kept]
    lengths, first_rows = lengths[has_tree], begins[has_tree]
    start = np.concatenate([[0], np.cumsum(lengths)])
    position = np.arange(start[-1]) - np.repeat(start[:-1], lengths)
    # The arrays rely on word k of a sentence being k - 1 positions after its first word.
    first_word = np.repeat(position[_first(is_word, start)], lengths)
    index = _ints(table["index"], -1)
    if not np.array_equal(position[is_word], (first_word + index - 1)[is_word]):
        raise QueryError(
            f"The run {run.name} has special tokens between the words of a sentence.",
            "A probe cannot use it.",
        )
    relations = table["relation"].combine_chunks().dictionary_encode()
    names = tuple(name or "" for name in relations.dictionary.to_pylist())
    relation = _ints(relations.indices, -1)
    relation[~is_word] = -1
    punctuation = [at for at, name in enumerate(names) if name in PUNCTUATION]
    kind = table["kind"].to_numpy()
    return Sentences(
        sequence=sequence[first_rows],
        document=_ints(table["document"])[start[:-1]],
        start=start,
        is_word=is_word,
        opens=kind == "cls",
        closes=(kind != "cls") & ~is_word,
        gold=np.where(is_word, np.where(head == 0, ROOT, first_word + head), -1),
        relation=relation,
        is_scored=is_word & ~np.isin(relation, punctuation),
        relations=names,
        form=table["form"].combine_chunks(),
        pieces=table["pieces"].combine_chunks(),
    )


def _first(is_word: Bools, start: Ints) -> Ints:
    """The entry of the first word of each sentence, [S]; every sentence must have a word."""
    words = np.flatnonzero(is_word)
    return words[np.searchsorted(words, start[:-1])]


def _ints(column: pa.ChunkedArray | pa.Array, null: int = 0) -> Ints:
    filled: Ints = column.fill_null(null).to_numpy().astype(np.int64)
    return filled


def _no_rows(
    connection: DuckDBPyConnection, run: ProbeRun, split: str | None
) -> CallError | QueryError:
    """The error for a run, or a split of it, that has no sentences."""
    if split is None:
        return QueryError(f"The run {run.name} holds no sentence.", "Give another run.")
    splits = connection.execute(
        "select distinct document.split from document"
        " inner join sequence on sequence.document = document.id"
        " where sequence.run = ? and document.split is not null order by document.split",
        [run.id],
    ).fetchall()
    has = f"It has: {listed(row[0] for row in splits)}." if splits else "It has no splits."
    return CallError(f"The run {run.name} has no sentence of split {split}.", has)
