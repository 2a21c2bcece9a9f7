"""Distances between the heads of a run, and their embedding in a plane (section 6)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection

from attnbank.ingest.progress import OnProgress, Progress
from attnbank.sql import registry
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.run_choice import Run

# Weights of all heads that are compared at a time: few enough for the processor's cache.
_BLOCK = 1 << 16

# Weights that are read at a time: 32 MB, and as much again while DuckDB sorts them.
AT_ONCE = 8_000_000


def head_distance(
    connection: DuckDBPyConnection, run: Run, on_progress: OnProgress, smoothing: float
) -> pa.Table:
    """Compute the distance of every pair of heads of a run; return rows of table head_distance.

    It is the sum over tokens of the Jensen-Shannon divergence of their distributions, in nats.
    Raises CallError for a smoothing outside [0, 1), BankError for incomplete attention maps.
    """
    heads = run.layers * run.heads
    distances = Distances(heads, smoothing)
    (total,) = connection.execute(
        "select count(*) from sequence where run = ?", [run.id]
    ).fetchone() or (0,)
    done = 0
    for group in maps_of_run(connection, run):
        distances.add_maps(group.values())
        done += len(group)
        on_progress(Progress("computing", done, total))
    first, second = np.triu_indices(heads, 1)
    layer = np.array(run.numbers)
    return pa.table(
        {
            "run": np.full(len(first), run.id),
            "smoothing": np.full(len(first), smoothing),
            "layer_a": layer[first // run.heads],
            "head_a": first % run.heads + 1,
            "layer_b": layer[second // run.heads],
            "head_b": second % run.heads + 1,
            "js_divergence": distances.matrix()[first, second],
            "n_tokens": np.full(len(first), distances.tokens),
        }
    )


class Distances:
    """Sums of Jensen-Shannon divergences between all pairs of heads, in nats.

    JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 needs only one logarithm per pair and weight, that
    of s = p + q: 2 JS = sum(p ln p) + sum(q ln q) - sum(s ln s) + ln 2 sum(s). Sums are in float32
    within a block (an error of 1e-6 of the distance), and in float64 over blocks.
    """

    def __init__(self, heads: int, smoothing: float) -> None:
        if not 0 <= smoothing < 1:
            raise CallError(
                f"Smoothing cannot be {smoothing}.",
                "Give a number from 0 to below 1, or leave it out.",
            )
        self.heads = heads
        self.smoothing = smoothing
        self.tokens = 0
        self._alone = np.zeros(heads)  # sum(p ln p)
        self._mass = np.zeros(heads)  # sum(p)
        self._pairs = np.zeros((heads, heads))  # sum(s ln s), above the diagonal

    def add_maps(self, maps: Iterable[np.ndarray]) -> None:
        """Add the maps of some sequences, [heads, n, n] each."""
        flat = []
        for weights in maps:
            n = weights.shape[-1]
            self.tokens += n
            smoothed = weights.astype(np.float64) * (1 - self.smoothing) + self.smoothing / n
            flat.append(smoothed.reshape(self.heads, -1).astype(np.float32))
        all_weights = np.concatenate(flat, axis=1)
        width = min(max(_BLOCK // self.heads, 64), 1024)
        blocks = [
            all_weights[:, start : start + width] for start in range(0, all_weights.shape[1], width)
        ]
        with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
            # map() keeps the order of the blocks, so that the sums are always the same.
            for alone, mass, pairs in pool.map(self._block, blocks):
                self._alone += alone
                self._mass += mass
                self._pairs += pairs

    def _block(self, block: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sum(p ln p) [H], sum(p) [H] and sum(s ln s) [H, H] over a block [H, width]."""
        block = np.ascontiguousarray(block)
        wide = block.astype(np.float64)
        alone = (wide * _log(wide, self.smoothing)).sum(axis=1)
        pairs = np.zeros((self.heads, self.heads))
        buffer, logs = np.empty_like(block), np.empty_like(block)
        for head in range(self.heads - 1):
            later = slice(self.heads - 1 - head)
            both = np.add(block[head + 1 :], block[head], out=buffer[later])
            log = _log(both, self.smoothing, logs[later])
            pairs[head, head + 1 :] = np.matmul(both[:, None, :], log[:, :, None])[:, 0, 0]
        return alone, wide.sum(axis=1), pairs

    def matrix(self) -> np.ndarray:
        """The distances [heads, heads] in nats; symmetric, 0 on the diagonal."""
        # Rounding may make the distance of heads that attend alike slightly negative.
        twice = self._alone[:, None] + self._alone - self._pairs
        twice += np.log(2) * (self._mass[:, None] + self._mass)
        upper = np.triu(np.maximum(twice / 2, 0), 1)
        return upper + upper.T


def _log(values: np.ndarray, smoothing: float, out: np.ndarray | None = None) -> np.ndarray:
    if smoothing == 0:  # the smallest float in place of 0, so that 0 ln 0 is 0
        values = np.maximum(values, np.finfo(np.float32).tiny)
    return np.log(values, out=out)  # type: ignore[no-any-return]


def maps_of_run(connection: DuckDBPyConnection, run: Run) -> Iterator[dict[int, np.ndarray]]:
    """Yield the maps of all sequences of a run by id, in groups of at most AT_ONCE weights.

    The maps of n positions are [layers * heads, n, n] float32, from row to column. Raises BankError
    if the distribution of a position and head is missing.
    """
    heads = run.layers * run.heads
    rows = connection.execute(
        registry.internal_statement("derived/sequences_of_run"), {"run": run.id}
    ).fetchall()
    group: list[tuple[int, int]] = []
    weights = 0
    for sequence, positions in rows:
        size = heads * positions**2
        if group and weights + size > AT_ONCE:
            yield _read_maps(connection, run, group)
            group, weights = [], 0
        group.append((sequence, positions))
        weights += size
    if group:
        yield _read_maps(connection, run, group)


def _read_maps(
    connection: DuckDBPyConnection, run: Run, group: list[tuple[int, int]]
) -> dict[int, np.ndarray]:
    """Read the maps of consecutive sequences, given as ids and numbers of positions, by id."""
    table = connection.query(
        registry.internal_statement("derived/maps_of_sequences"),
        params={"first": group[0][0], "last": group[-1][0], "run": run.id},
    ).to_arrow_table()
    values = table["weights"].combine_chunks().flatten().to_numpy()
    heads = run.layers * run.heads
    ends = np.cumsum([heads * n * n for _, n in group])
    if table.num_rows != heads * sum(n for _, n in group) or len(values) != ends[-1]:
        raise BankError(
            f"The attention maps of the run {run.name} are incomplete.",
            "Ingest the corpus again with --replace.",
        )
    parts = np.split(values, ends[:-1])
    return {
        sequence: part.reshape(heads, n, n)
        for part, (sequence, n) in zip(parts, group, strict=True)
    }


def head_embedding(
    connection: DuckDBPyConnection,
    run: Run,
    on_progress: OnProgress,
    smoothing: float,
    seed: int,
    starts: int,
) -> pa.Table:
    """Embed the heads by their stored distances; return rows of table head_embedding.

    By metric multidimensional scaling. Distances are means over tokens. The plane is rotated so
    that x is the axis on which the heads differ most and head 1-1 is at the lower left:
    scikit-learn's rotation is arbitrary.
    """
    rows = connection.execute(
        registry.internal_statement("derived/head_distances"),
        {"run": run.id, "smoothing": smoothing},
    ).fetchnumpy()
    number = run.layers * run.heads
    first, second = (
        np.searchsorted(run.numbers, rows[f"layer_{side}"]) * run.heads + rows[f"head_{side}"] - 1
        for side in "ab"
    )
    distances = np.zeros((number, number))
    distances[first, second] = distances[second, first] = rows["distance"]
    points = rotate_to_principal_axes(scale_distances(distances, seed, starts))
    head = np.arange(number)
    return pa.table(
        {
            "run": np.full(number, run.id),
            "smoothing": np.full(number, smoothing),
            "seed": np.full(number, seed),
            "layer": np.array(run.numbers)[head // run.heads],
            "head": head % run.heads + 1,
            "x": points[:, 0],
            "y": points[:, 1],
            "stress": np.full(number, stress(distances, points)),
        }
    )


def scale_distances(distances: np.ndarray, seed: int, starts: int) -> np.ndarray:
    """Return the points [n, 2] of the least stress for the distances [n, n].

    The start is that of classical scaling, or the best of several random ones.
    """
    solutions = [_minimise_stress(distances, start=classical_scaling(distances))]
    if starts > 0:
        solutions.append(_minimise_stress(distances, seed=seed, starts=starts))
    return min(solutions, key=lambda points: stress(distances, points))


def classical_scaling(distances: np.ndarray) -> np.ndarray:
    """Return points [n, 2] by classical scaling (Torgerson 1952) of the distances [n, n]."""
    squares = distances**2
    centred = -(squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()) / 2
    values, vectors = np.linalg.eigh(centred)  # negative if the distances are not Euclidean
    points: np.ndarray = vectors[:, :-3:-1] * np.sqrt(np.clip(values[:-3:-1], 0, None))
    return points


def _minimise_stress(
    distances: np.ndarray, *, start: np.ndarray | None = None, seed: int = 0, starts: int = 1
) -> np.ndarray:
    """Return the points [n, 2] that scikit-learn finds from `start` [n, 2] or random starts."""
    from sklearn.manifold import MDS

    scaling = MDS(
        metric="precomputed",
        n_init=starts,
        init="random",
        max_iter=1000,
        eps=1e-10,
        random_state=seed,
        normalized_stress=False,
    )
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        points: np.ndarray = scaling.fit_transform(distances, init=start)
    return points


def rotate_to_principal_axes(points: np.ndarray) -> np.ndarray:
    """Centre points [n, 2] and rotate them to their principal axes.

    Axes point such that the first point has no positive coordinate.
    """
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    along = centred @ axes.T
    rotated: np.ndarray = along * np.where(along[0] > 0, -1.0, 1.0)
    return rotated


def stress(distances: np.ndarray, points: np.ndarray) -> float:
    """Kruskal's normalised stress: 0 if all distances [n, n] are exact, 1 if all points are one."""
    point_distances = np.linalg.norm(points[:, None] - points, axis=-1)
    upper = np.triu_indices(len(distances), 1)
    target = distances[upper]
    return float(np.sqrt(((point_distances[upper] - target) ** 2).sum() / (target**2).sum()))
