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
    `form` and `pieces`, which are None for special tokens.

    Per word and position, [K, N]: `gold`, the candidate that is the gold head; `relation`, an index
    into `relations`; `is_scored`, a word that is not punctuation; `is_head_scored`, the head is a
    word and not punctuation. Where there is no such word, `gold` and `relation` are -1. K is 1 if
    each position has one word. The words of a multiword token that is read as written share one
    position: those whose head stands elsewhere have an entry each, in order, and those whose head
    stands at the same position have none.
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
    is_head_scored: Bools
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
    kept = np.repeat(has_tree, np.diff(begins, append=len(sequence)))
    return _sentences(run, table.filter(pa.array(kept)).combine_chunks())


def _sentences(run: ProbeRun, table: pa.Table) -> Sentences:
    """The sentences of rows in order, each of which is a special token or a word of a position."""
    sequence, place = _ints(table["sequence"]), _ints(table["position"])
    is_new = np.diff(sequence, prepend=-1) != 0
    is_first = is_new | (np.diff(place, prepend=-1) != 0)  # of the rows of its position
    at = np.cumsum(is_first) - 1  # [rows] the position of each row, among all N
    first = np.flatnonzero(is_first)
    start = np.append(np.flatnonzero(is_new[first]), len(first))
    kind = table["kind"].to_numpy()[first]
    word_rows = np.flatnonzero(table["kind"].to_numpy() == "word")
    examples = _Examples.of(run, table, word_rows, at, start)
    return Sentences(
        sequence=sequence[first][start[:-1]],
        document=_ints(table["document"])[first][start[:-1]],
        start=start,
        is_word=kind == "word",
        opens=kind == "cls",
        closes=(kind != "cls") & (kind != "word"),
        gold=examples.gold,
        relation=examples.relation,
        is_scored=examples.is_scored,
        is_head_scored=examples.is_head_scored,
        relations=examples.relations,
        form=table["form"].combine_chunks().take(pa.array(first)),
        pieces=table["pieces"].combine_chunks().take(pa.array(first)),
    )


@dataclass(frozen=True)
class _Examples:
    """The fields of `Sentences` by word and position."""

    gold: Ints
    relation: Ints
    is_scored: Bools
    is_head_scored: Bools
    relations: tuple[str, ...]

    @classmethod
    def of(cls, run: ProbeRun, table: pa.Table, rows: Ints, at: Ints, start: Ints) -> _Examples:
        """Those of the word rows; `at` [rows] are their positions, `start` as in Sentences."""
        at = at[rows]
        sentence = np.searchsorted(start, at, "right") - 1
        opening = np.searchsorted(sentence, np.arange(len(start) - 1))  # each one's first word
        index = _ints(table["index"])[rows]
        in_order = np.arange(len(rows)) - opening[sentence] + 1
        steps = np.diff(at, prepend=at[:1])
        steps[opening] = 0
        if not np.array_equal(index, in_order) or (steps > 1).any():
            raise QueryError(
                f"The run {run.name} has special tokens between the words of a sentence.",
                "A probe cannot use it.",
            )
        encoded = table["relation"].combine_chunks().take(pa.array(rows)).dictionary_encode()
        names = tuple(name or "" for name in encoded.dictionary.to_pylist())
        relation = _ints(encoded.indices, -1)
        punctuation = [number for number, name in enumerate(names) if name in PUNCTUATION]
        is_scored = ~np.isin(relation, punctuation)
        head_index = _ints(table["head_index"])[rows]
        is_root = head_index == 0
        head = np.where(is_root, 0, opening[sentence] + head_index - 1)
        gold = np.where(is_root, ROOT, at[head] - start[sentence] + 1)
        outside = np.flatnonzero(is_root | (at[head] != at))
        of_position = at[outside]
        # Which of the words of its position it is, counting from 0.
        first = np.searchsorted(of_position, of_position)
        number = np.arange(len(outside)) - first
        shape = (int(number.max(initial=0)) + 1, int(start[-1]))

        def laid_out(values: np.ndarray, empty: int) -> np.ndarray:
            out = np.full(shape, empty, dtype=values.dtype)
            out[number, of_position] = values[outside]
            return out

        return cls(
            gold=laid_out(gold, -1),
            relation=laid_out(relation, -1),
            is_scored=laid_out(is_scored, False),
            is_head_scored=laid_out(~is_root & is_scored[head], False),
            relations=names,
        )


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
