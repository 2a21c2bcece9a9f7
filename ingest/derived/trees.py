"""Dependency trees and phrases decoded from attention, without training.

After Raganato and Tiedemann 2018, Htut et al. 2019 (single heads), Limisiewicz et al. 2020
(ensembles of heads for each relation) and Kim et al. 2020 (phrases). The words of a tree are the
positions of a sentence; the head of a root is ROOT. Ties between trees of the same weight are
broken in a fixed order, which each function states, so that the same scores always give the same
tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from attnbank.ingest.derived.head_distances import maps_of_run
from attnbank.ingest.derived.probes.sentences import PUNCTUATION
from attnbank.ingest.progress import OnProgress, Progress
from attnbank.sql import registry
from attnbank.sql.errors import QueryError
from attnbank.sql.names import TO_DEPENDENT, TO_EARLIER, TO_HEAD
from attnbank.sql.run_choice import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROOT = -1
_BIDIRECTIONAL = (TO_HEAD, TO_DEPENDENT)
_BOTH = "both"

# An ensemble is chosen on at most so many sentences (as in the paper), and weights.
_MOST_SENTENCES = 1_000
_MOST_WEIGHTS = 128_000_000
# A relation needs so many dependents to have an ensemble.
_FEWEST = 10


def tree_ensemble(
    connection: DuckDBPyConnection, run: Run, on_progress: OnProgress, ensemble: int
) -> pa.Table:
    """Choose the heads that together find each relation; return rows of table tree_ensemble.

    For each relation and direction: the head that finds most dependencies and then, up to
    `ensemble` heads, the head whose weights, added to those of the chosen ones, find most, as long
    as that is more than before. Chosen on half of the documents, on at most 1,000 sentences
    (Limisiewicz et al. 2020, section 3). A tree uses the direction that finds more of the relation
    (of equal ones dependent_to_head).
    """
    inputs = _sentences_by_input(connection, run)
    chosen = _sample_sentences(inputs, run.layers * run.heads)
    examples: dict[tuple[str, str], list[tuple[NDArray[np.float32], int]]] = defaultdict(list)
    for sentence, attention in _sentences_with_maps(connection, run, inputs, on_progress):
        if (sentence.sequence, sentence.sentence) not in chosen:
            continue
        between = attention[:, sentence.positions[:, None], sentence.positions]
        for dependent, head, relation in sentence.pairs:
            for direction, maps in zip(
                _BIDIRECTIONAL, (between, between.transpose(0, 2, 1)), strict=True
            ):
                row = maps[:, dependent].copy()
                row[:, dependent] = -1  # a word is not its own head
                examples[relation, direction].append((row, head))
    ensembles = {
        key: list(_best_union(pairs, ensemble))
        for key, pairs in sorted(examples.items())
        if key[0] not in PUNCTUATION and len(pairs) >= _FEWEST
    }
    correct_of = {key: heads[-1][1] if heads else 0 for key, heads in ensembles.items()}
    rows = [
        (
            *(relation, direction, rank, *divmod(head, run.heads), correct),
            len(examples[relation, direction]),
            direction == max(_BIDIRECTIONAL, key=lambda way: correct_of[relation, way]),
        )
        for (relation, direction), heads in ensembles.items()
        for rank, (head, correct) in enumerate(heads, 1)
    ]
    columns = list(zip(*rows, strict=True)) or [()] * 8
    layers = np.array(run.numbers)[np.array(columns[3], dtype=np.int64)]
    return pa.table(
        {
            "run": np.full(len(rows), run.id),
            "relation": pa.array(columns[0], pa.string()),
            "direction": pa.array(columns[1], pa.string()),
            "rank": pa.array(columns[2], pa.int16()),
            "layer": layers,
            "head": np.array(columns[4], dtype=np.int64) + 1,
            "correct": pa.array(columns[5], pa.int64()),
            "n": pa.array(columns[6], pa.int64()),
            "in_tree": pa.array(columns[7], pa.bool_()),
        }
    )


def _sample_sentences(
    inputs: dict[int, list[_TreeSentence]], maps_of_each: int
) -> set[tuple[int, int]]:
    """Return the sentences that an ensemble is chosen on, evenly spread over the half."""
    half = [
        sentence
        for sentences in inputs.values()
        for sentence in sentences
        if sentence.is_chosen_on and sentence.pairs
    ]
    most = min(len(half), _MOST_SENTENCES)
    size = sum(
        2 * maps_of_each * len(sentence.pairs) * len(sentence.positions) for sentence in half
    )
    # `size` is the number of weights of the whole half, in both directions.
    if size * most > _MOST_WEIGHTS * len(half):
        most = max(1, _MOST_WEIGHTS * len(half) // size)
    indices = np.linspace(0, len(half), most, endpoint=False).astype(int)
    return {(half[at].sequence, half[at].sentence) for at in indices}


def _best_union(
    pairs: list[tuple[NDArray[np.float32], int]], most: int
) -> Iterator[tuple[int, int]]:
    """Yield the heads that together find most gold heads, and how many they find so far.

    `pairs` are the weights [H, n] of a dependent, -1 at its own index, and the index of its head.
    """
    width = max(row.shape[1] for row, _ in pairs)
    weights = np.full((len(pairs), len(pairs[0][0]), width), -1, dtype=np.float32)
    for at, (row, _) in enumerate(pairs):
        weights[at, :, : row.shape[1]] = row
    gold = np.array([head for _, head in pairs])
    total, before = np.zeros((len(pairs), 1, width), dtype=np.float32), 0
    chosen: list[int] = []
    for _ in range(most):
        counts = ((total + weights).argmax(axis=2) == gold[:, None]).sum(axis=0)
        counts[chosen] = -1  # each head only once
        best = int(counts.argmax())
        if counts[best] <= before:
            return
        before = int(counts[best])
        chosen.append(best)
        total = total + weights[:, best : best + 1]
        yield best, before


def attention_tree(
    connection: DuckDBPyConnection,
    run: Run,
    on_progress: OnProgress,
    root: str,
    decoder: str,
    ensemble: int,
) -> pa.Table:
    """Decode trees over every sentence of a run; return rows of table attention_tree.

    `root` is none or gold, `decoder` spanning or projective; `ensemble` is the option of
    tree_ensemble, whose rows this reads. Raises BankError for incomplete attention maps, QueryError
    for special tokens between the words of a sentence.
    """
    inputs = _sentences_by_input(connection, run)
    trees = _TreeDecoder(connection, run, is_projective=decoder == "projective")
    rows = _TreeRows(run)
    for sentence, attention in _sentences_with_maps(connection, run, inputs, on_progress):
        between = attention[:, sentence.positions[:, None], sentence.positions].astype(np.float64)
        heads, weight = trees.decode(between, sentence.root if root == "gold" else None)
        rows.add_sentence(
            sentence, heads=np.where(heads == ROOT, ROOT, sentence.positions[heads]), weight=weight
        )
    source, layer, head, direction = zip(*trees.labels, strict=True)
    return rows.to_arrow(
        {"root": root, "decoder": decoder},
        {"source": source, "layer": layer, "head": head, "direction": direction},
    )


def attention_span(
    connection: DuckDBPyConnection, run: Run, on_progress: OnProgress, distance: str
) -> pa.Table:
    """Decode the phrases of every sentence of a run; return rows of table attention_span.

    `distance` is jensen_shannon or hellinger, between the attention of two neighbours to all
    positions. Raises BankError and QueryError as attention_tree does.
    """
    inputs = _sentences_by_input(connection, run, kinds=("word", "first"))
    sources = _Sources(run)
    rows = _TreeRows(run)
    for sentence, attention in _sentences_with_maps(connection, run, inputs, on_progress):
        maps = sources.with_means(attention[:, sentence.positions].astype(np.float64))
        first, last = split_spans(neighbour_distances(maps, distance))
        rows.add_sentence(
            sentence, firsts=sentence.positions[first], lasts=sentence.positions[last]
        )
    source, layer, head = zip(*sources.labels, strict=True)
    return rows.to_arrow({"distance": distance}, {"source": source, "layer": layer, "head": head})


def neighbour_distances(attention: Floats, distance: str) -> Floats:
    """Return the distances [T, n - 1] of neighbours' distributions [T, n, m] (Kim et al. 2020).

    `distance` is jensen_shannon (a divergence, in nats) or hellinger. Rows are scaled to sum to 1.
    """
    total = attention.sum(axis=2, keepdims=True)
    shares = np.divide(attention, total, out=np.zeros_like(attention), where=total > 0)
    left, right = shares[:, :-1], shares[:, 1:]
    if distance == "hellinger":
        distances = np.sqrt(((np.sqrt(left) - np.sqrt(right)) ** 2).sum(axis=2) / 2)
    else:
        distances = _entropy((left + right) / 2) - (_entropy(left) + _entropy(right)) / 2
    return np.asarray(distances)


def _entropy(shares: Floats) -> Floats:
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=2))


class _Sources:
    """The attention that trees are decoded from: each head, the mean of each layer and of all.

    `labels` are the source, the layer and the head of each.
    """

    def __init__(self, run: Run) -> None:
        self._heads = run.heads
        self.labels: list[tuple[str, int | None, int | None]] = [
            ("head", layer, head) for layer in run.numbers for head in range(1, run.heads + 1)
        ]
        if run.heads > 1:
            self.labels += [("layer", layer, None) for layer in run.numbers]
        self.labels.append(("all", None, None))

    def with_means(self, attention: Floats) -> Floats:
        """Return the attention [H, n, m] of all heads, followed by the means."""
        means = [attention.mean(axis=0, keepdims=True)]
        if self._heads > 1:
            shape = (-1, self._heads, *attention.shape[1:])
            means.insert(0, attention.reshape(shape).mean(axis=1))
        return np.concatenate([attention, *means])


class _TreeDecoder:
    """Decodes the T trees of a sentence; `labels` are their source, layer, head and direction."""

    def __init__(self, connection: DuckDBPyConnection, run: Run, *, is_projective: bool) -> None:
        self._is_projective = is_projective
        self._ensemble = _weights_of_ensemble(connection, run)
        ((is_causal,),) = connection.execute(
            "select coalesce(model.causal, false) from run inner join model on model.id = run.model"
            " where run.id = ?",
            [run.id],
        ).fetchall()
        # In a causal model words only attend to earlier ones, whichever is the head.
        self._directions = (TO_EARLIER,) if is_causal else (*_BIDIRECTIONAL, _BOTH)
        self._sources = _Sources(run)
        self.labels = [(*label, way) for way in self._directions for label in self._sources.labels]
        if self._ensemble.any():
            self.labels.append(("ensemble", None, None, self._directions[-1]))

    def decode(self, attention: Floats, root: int | None) -> tuple[Ints, Floats]:
        """Return the heads [T, n] for attention [H, n, n], and the summed scores of the arcs [T].

        `root` is the index of the root, if it is given.
        """
        maps = self._sources.with_means(attention)
        turned = maps.transpose(0, 2, 1)
        scores_of = {
            TO_HEAD: maps,
            TO_DEPENDENT: turned,
            _BOTH: (maps + turned) / 2,
            TO_EARLIER: maps + turned,  # of each two weights one is 0
        }
        scores = [scores_of[direction] for direction in self._directions]
        trees = [
            self._tree(direction_scores, root, way)
            for direction_scores, way in zip(scores, self._directions, strict=True)
        ]
        if self._ensemble.any():
            to_head, seeing = np.tensordot(self._ensemble, attention, axes=1)
            scores.append((to_head + seeing.T)[None])
            trees.append(self._tree(scores[-1], root))
        heads, weights = np.concatenate(trees), np.concatenate(scores)
        arcs = np.take_along_axis(weights, np.maximum(heads, 0)[..., None], axis=2)[..., 0]
        return heads, (arcs * (heads != ROOT)).sum(axis=1)

    def _tree(self, scores: Floats, root: int | None, direction: str = "") -> Ints:
        if self._is_projective:
            return projective_trees(scores, root)
        if direction in (_BOTH, TO_EARLIER):
            return spanning_trees(scores, root or 0)
        return arborescences(scores, root)


def _weights_of_ensemble(connection: DuckDBPyConnection, run: Run) -> Floats:
    """Return the weight of each map in each direction [2, H]; they sum to 1, or are all 0.

    A relation weighs as much as it is frequent, and its heads share that. (With equal weights for
    all relations, in both directions, a tree of minilm has 43 % of the edges of GUM dev instead of
    59 %.)
    """
    rows = connection.execute(
        registry.internal_statement("derived/heads_of_trees"), {"run": run.id}
    )
    weights = np.zeros((len(_BIDIRECTIONAL), run.layers * run.heads))
    for direction, layer, head, weight in rows.fetchall():
        map_index = run.numbers.index(layer) * run.heads + head - 1
        weights[_BIDIRECTIONAL.index(direction), map_index] += weight
    return weights


class _TreeRows:
    """Collects the T rows of each sentence into one table."""

    def __init__(self, run: Run) -> None:
        self._run = run.id
        self._sentences: list[_TreeSentence] = []
        self._columns: dict[str, list[NDArray[Any]]] = defaultdict(list)

    def add_sentence(self, sentence: _TreeSentence, **columns: NDArray[Any]) -> None:
        """Add the rows of a sentence: columns of numbers [T] or of lists [T, n]."""
        self._sentences.append(sentence)
        for name, values in columns.items():
            self._columns[name].append(values)

    def to_arrow(self, same: dict[str, str], labels: dict[str, tuple[Any, ...]]) -> pa.Table:
        """Return the table, with columns that are the `same` in all rows, and the `labels` [T]."""
        times, count = len(self._sentences), len(next(iter(labels.values())))
        columns: dict[str, Any] = {"run": pa.repeat(self._run, times * count)}
        columns |= {name: pa.repeat(value, times * count) for name, value in same.items()}
        for name, values in labels.items():
            column = pa.array(values, pa.string() if isinstance(values[0], str) else pa.int16())
            columns[name] = column.take(pa.array(np.tile(np.arange(count), times)))
        for name, numbers in (
            ("sequence", [sentence.sequence for sentence in self._sentences]),
            ("sentence", [sentence.sentence for sentence in self._sentences]),
            ("first_position", [int(sentence.positions[0]) for sentence in self._sentences]),
        ):
            columns[name] = np.repeat(np.array(numbers, dtype=np.int64), count)
        columns |= {name: _arrow_column(values) for name, values in self._columns.items()}
        return pa.table(columns)


def _arrow_column(arrays: list[NDArray[Any]]) -> pa.Array:
    """Concatenate arrays [T], or [T, n] of different n as lists; ROOT is null in a list."""
    if arrays[0].ndim == 1:
        return pa.array(np.concatenate(arrays))
    sizes = np.repeat([array.shape[1] for array in arrays], arrays[0].shape[0])
    flat = np.concatenate([array.ravel() for array in arrays])
    offsets = pa.array(np.append(0, np.cumsum(sizes)).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(flat.astype(np.int16), mask=flat == ROOT))


@dataclass
class _TreeSentence:
    """A sentence of an input: its `positions` [n], ascending, and its gold `pairs`.

    A pair is the index in `positions` of a dependent, that of its head, and the relation. `root` is
    the index of the gold root. If that is not one of the positions (but a first word that is set
    apart), it is the first word without a head among them.
    """

    sequence: int
    sentence: int
    positions: Ints
    is_chosen_on: bool = False
    pairs: list[tuple[int, int, str]] = field(default_factory=list)
    root: int = 0


def _sentences_with_maps(
    connection: DuckDBPyConnection,
    run: Run,
    inputs: dict[int, list[_TreeSentence]],
    on_progress: OnProgress,
) -> Iterator[tuple[_TreeSentence, NDArray[np.float32]]]:
    """Yield every sentence of some inputs in order, with the maps [H, m, m] of its input."""
    done = 0
    for group in maps_of_run(connection, run):
        for sequence, attention in group.items():
            for sentence in inputs.get(sequence, ()):
                yield sentence, attention
        done += len(group)
        on_progress(Progress("computing", min(done, len(inputs)), len(inputs)))


def _sentences_by_input(
    connection: DuckDBPyConnection, run: Run, kinds: tuple[str, ...] = ("word",)
) -> dict[int, list[_TreeSentence]]:
    """Read the sentences of a run that have words, by their input."""
    statement = registry.internal_statement("derived/tree_words")
    words = connection.execute(statement, {"run": run.id, "kinds": list(kinds)}).fetchnumpy()
    of_word = np.stack([words["sequence"], words["sentence"]], axis=1).astype(np.int64)
    new = np.flatnonzero((np.diff(of_word, axis=0, prepend=-1) != 0).any(axis=1))
    sentences: dict[tuple[int, int], _TreeSentence] = {}
    for positions in np.split(np.arange(len(of_word)), new[1:]) if len(new) else ():
        sequence, sentence = of_word[positions[0]].tolist()
        sentence_positions = words["position"][positions].astype(np.int64)
        if sentence_positions[-1] - sentence_positions[0] != len(sentence_positions) - 1:
            raise QueryError(
                f"The run {run.name} has special tokens between the words of a sentence.",
                "Use another run: trees cannot be decoded from this one.",
            )
        sentences[sequence, sentence] = _TreeSentence(sequence, sentence, sentence_positions)
    without: dict[tuple[int, int], set[int]] = defaultdict(set)
    gold = connection.execute(
        registry.internal_statement("derived/tree_pairs"), {"run": run.id}
    ).fetchall()
    for sequence, sentence, position, head, relation, is_root, is_chosen_on in gold:
        own_sentence = sentences[sequence, sentence]
        own_sentence.is_chosen_on = is_chosen_on
        start = int(own_sentence.positions[0])
        if is_root:
            without[sequence, sentence].add(position - start)
        else:
            own_sentence.pairs.append((position - start, head - start, relation))
    by_input: dict[int, list[_TreeSentence]] = defaultdict(list)
    for key, tree_sentence in sentences.items():
        headless = {*range(len(tree_sentence.positions))} - {
            dependent for dependent, _, _ in tree_sentence.pairs
        }
        tree_sentence.root = min(without[key] or headless, default=0)
        by_input[tree_sentence.sequence].append(tree_sentence)
    return by_input


def spanning_trees(scores: Floats, root: int = 0) -> Ints:
    """Return the heads [T, n] of the maximum spanning trees of symmetric scores [T, n, n] (Prim).

    All arcs point away from `root`. Of equal scores the leftmost word is added first, to the word
    that was added first.
    """
    trees, n, _ = scores.shape
    tree = np.arange(trees)
    heads = np.full((trees, n), root)
    heads[:, root] = ROOT
    best = scores[:, root].copy()  # the best score of each word with a word of the tree
    is_added = np.zeros((trees, n), dtype=bool)
    is_added[:, root] = True
    for _ in range(n - 1):
        best[is_added] = -np.inf
        added = best.argmax(axis=1)
        is_added[tree, added] = True
        new = scores[tree, added]
        is_better = (new > best) & ~is_added
        heads = np.where(is_better, added[:, None], heads)
        best = np.where(is_better, new, best)
    return heads


def arborescences(scores: Floats, root: int | None = None) -> Ints:
    """Return the heads [T, n] of the maximum directed trees (Chu and Liu 1965, Edmonds 1967).

    `scores` [T, n, n] go from dependent to head. Without `root`, any single word may be the root.
    Of equal trees it is the one that the package ufal.chu_liu_edmonds finds.
    """
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    trees, n, _ = scores.shape
    if n == 1:
        return np.full((trees, 1), ROOT)
    heads = np.empty((trees, n), dtype=np.int64)
    for tree, rooted in enumerate(_add_root(scores, root, absent=np.nan)):
        heads[tree] = chu_liu_edmonds(rooted)[0][1:]
    return heads - 1


def _add_root(scores: Floats, root: int | None, absent: float) -> Floats:
    """Return scores [T, n + 1, n + 1] with an artificial head of the root at index 0.

    An arc to it costs more than all other arcs together can gain, so that there is only one.
    """
    trees, n, _ = scores.shape
    rooted = np.full((trees, n + 1, n + 1), absent)
    rooted[:, 1:, 1:] = scores
    rooted[:, range(n + 1), range(n + 1)] = absent
    if root is None:
        rooted[:, 1:, 0] = -1 - 2 * n * np.abs(scores).max(axis=(1, 2))[:, None]
    else:
        rooted[:, root + 1, 0] = 0
    return rooted


def projective_trees(scores: Floats, root: int | None = None) -> Ints:
    """Return the heads [T, n] of the maximum trees without crossing arcs (Eisner 1996).

    `scores` [T, n, n] go from dependent to head; `root` is as in `arborescences`, and no arc
    crosses the one to it. Of equal trees, the one whose spans are split further left.
    """
    rooted = _add_root(scores, root, absent=-np.inf)
    trees, size, _ = rooted.shape
    shape = (2, trees, size, size)
    # Eisner's incomplete spans (an arc between their ends) and complete spans (a word and all its
    # dependents on one side), by the side of the head: 0 left, 1 right.
    arc, side = np.full(shape, -np.inf), np.full(shape, -np.inf)
    arc_at, side_at = np.zeros(shape, dtype=np.int16), np.zeros(shape, dtype=np.int16)
    side[:, :, range(size), range(size)] = 0
    for width in range(1, size):
        start = np.arange(size - width)
        end = start + width
        split = start[:, None] + np.arange(width)
        first, last = start[:, None], end[:, None]
        inner = side[0][:, first, split] + side[1][:, split + 1, last]
        at = inner.argmax(axis=2)
        best = np.take_along_axis(inner, at[..., None], axis=2)[..., 0]
        arc[0][:, start, end] = best + rooted[:, end, start]
        arc[1][:, start, end] = best + rooted[:, start, end]
        arc_at[:, :, start, end] = start + at
        for direction, candidates in (
            (0, arc[0][:, first, split + 1] + side[0][:, split + 1, last]),
            (1, side[1][:, first, split] + arc[1][:, split, last]),
        ):
            at = candidates.argmax(axis=2)
            side[direction][:, start, end] = np.take_along_axis(candidates, at[..., None], axis=2)[
                ..., 0
            ]
            side_at[direction][:, start, end] = start + at + (direction == 0)
    heads = np.empty((trees, size), dtype=np.int64)
    for tree in range(trees):
        _backtrack(arc_at[:, tree].tolist(), side_at[:, tree].tolist(), heads[tree])
    return heads[:, 1:] - 1


def _backtrack(arc_at: list[list[list[int]]], side_at: list[list[list[int]]], heads: Ints) -> None:
    """Fill in the heads of one tree from the indices at which its spans were split."""
    open_spans = [(False, 0, 0, len(heads) - 1)]  # is an arc, side of its head, start, end
    while open_spans:
        is_arc, direction, start, end = open_spans.pop()
        if start == end:
            continue
        if is_arc:
            heads[end if direction == 0 else start] = start if direction == 0 else end
            at = arc_at[direction][start][end]
            open_spans += [(False, 0, start, at), (False, 1, at + 1, end)]
        else:
            at = side_at[direction][start][end]
            left, right = (start, at), (at, end)
            open_spans += [(direction == 0, direction, *left), (direction == 1, direction, *right)]


def split_spans(distances: Floats) -> tuple[Ints, Ints]:
    """Return the first and last words [T, n - 1] of the phrases of binary trees (Kim et al. 2020).

    The sentence is split where the distance [T, n - 1] of two neighbours is largest (of equal ones
    at the leftmost), and so is each part. So the phrase that is split between two words extends to
    the nearest larger distances on both sides.
    """
    width = distances.shape[1]
    earlier = np.tri(width, k=-1, dtype=bool)  # [index, other]: whether other < index
    distance, other_distance = distances[:, :, None], distances[:, None, :]
    before = (other_distance >= distance) & earlier
    after = (other_distance > distance) & earlier.T
    index = np.arange(width)
    first = np.where(before, index + 1, 0).max(axis=2, initial=0)
    last = np.where(after, index, width).min(axis=2, initial=width)
    return first, last
