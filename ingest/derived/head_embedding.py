"""The heads of a run in a plane that preserves their distances (section 6, figure 6)."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection

from attnbank.ingest.progress import OnProgress
from attnbank.sql import registry
from attnbank.sql.extras import need
from attnbank.sql.runs import Run


def head_embedding(
    connection: DuckDBPyConnection,
    run: Run,
    on_progress: OnProgress,
    smoothing: float,
    seed: int,
    starts: int,
) -> pa.Table:
    """Metric multidimensional scaling of the stored distances, as rows of table head_embedding.

    Distances are means over tokens, so that the picture does not depend on the size of the corpus.
    One picture starts from classical scaling, and `starts` start at random; that with the least
    stress is kept. It is turned so that x is the axis on which the heads differ most and head 1-1
    is to the lower left: rotations and reflections keep all distances, and scikit-learn's choice of
    them is arbitrary. Raises MissingPackageError if scikit-learn is not installed.
    """
    distances = _stored(connection, run, smoothing)
    places = turned(scaled(distances, seed, starts))
    number = len(places)
    return pa.table(
        {
            "run": pa.array(np.full(number, run.id, dtype=np.int32)),
            "smoothing": pa.array(np.full(number, smoothing)),
            "seed": pa.array(np.full(number, seed, dtype=np.int32)),
            "layer": pa.array((np.arange(number) // run.heads + 1).astype(np.int16)),
            "head": pa.array((np.arange(number) % run.heads + 1).astype(np.int16)),
            "x": pa.array(places[:, 0]),
            "y": pa.array(places[:, 1]),
            "stress": pa.array(np.full(number, stress(distances, places))),
        }
    )


def scaled(distances: np.ndarray, seed: int, starts: int) -> np.ndarray:
    """Places [n, 2] whose distances are close to the given ones [n, n], by scikit-learn.

    They are those with the least stress of all starts, classical scaling first and then `starts`
    random ones (of equals the first). Raises MissingPackageError if scikit-learn is not installed.
    """
    need("Multidimensional scaling", "sklearn")
    found = [_descended(distances, start=classical(distances))]
    if starts > 0:
        found.append(_descended(distances, seed=seed, starts=starts))
    return min(found, key=lambda places: stress(distances, places))


def classical(distances: np.ndarray) -> np.ndarray:
    """Places [n, 2] by classical scaling (Torgerson 1952) of the distances [n, n].

    They are the two leading eigenvectors of the doubly centred squares, each scaled by the root of
    its eigenvalue; a negative one, which distances that no space has can give, counts as 0.
    """
    squares = distances**2
    centred = -(squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    places: np.ndarray = vectors[:, :-3:-1] * np.sqrt(np.clip(values[:-3:-1], 0, None))
    return places


def _descended(
    distances: np.ndarray, *, start: np.ndarray | None = None, seed: int = 0, starts: int = 1
) -> np.ndarray:
    """Places [n, 2] that scikit-learn finds from `start` [n, 2], or the best from random starts."""
    from sklearn.manifold import MDS

    settings: dict[str, Any] = {
        "n_components": 2,
        "n_init": starts,
        "max_iter": 1000,
        "eps": 1e-10,
        "random_state": seed,
        "normalized_stress": False,
    }
    known = inspect.signature(MDS).parameters
    if "metric_mds" in known:  # renamed in scikit-learn 1.8
        settings |= {"metric": "precomputed", "metric_mds": True, "init": "random"}
    else:
        settings |= {"dissimilarity": "precomputed", "metric": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        places: np.ndarray = MDS(**settings).fit_transform(distances, init=start)
    return places


def turned(places: np.ndarray) -> np.ndarray:
    """The same places [n, 2], centred and rotated to their principal axes.

    They are reflected so that the first place has no positive coordinate.
    """
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    along = centred @ axes.T
    turned_: np.ndarray = along * np.where(along[0] > 0, -1.0, 1.0)
    return turned_


def stress(distances: np.ndarray, places: np.ndarray) -> float:
    """Kruskal's normalised stress: 0 if every distance [n, n] is kept, 1 if all places are one."""
    kept = np.linalg.norm(places[:, None] - places, axis=-1)
    upper = np.triu_indices(len(distances), 1)
    wanted = distances[upper]
    return float(np.sqrt(((kept[upper] - wanted) ** 2).sum() / (wanted**2).sum()))


def _stored(connection: DuckDBPyConnection, run: Run, smoothing: float) -> np.ndarray:
    """The distances of table head_distance, [heads, heads], in nats per token."""
    rows = connection.execute(
        registry.statement("derived/stored_distances"), {"run": run.id, "smoothing": smoothing}
    ).fetchnumpy()
    heads = run.layers * run.heads
    first = (rows["layer_a"].astype(int) - 1) * run.heads + rows["head_a"] - 1
    second = (rows["layer_b"].astype(int) - 1) * run.heads + rows["head_b"] - 1
    distances = np.zeros((heads, heads))
    distances[first, second] = distances[second, first] = rows["distance"]
    return distances
