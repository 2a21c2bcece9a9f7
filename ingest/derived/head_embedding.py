"""The heads of a run in a plane that keeps their distances (section 6 of the paper, figure 6)."""

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
    The picture with the least stress, of one that starts from classical scaling and `starts` that
    start at random, is turned so that x is the axis on which the heads differ most, and so that
    head 1-1 lies to the lower left: rotations and reflections keep all distances, and
    scikit-learn's are arbitrary.
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
    """Places [n, 2] whose distances are near the given ones [n, n], by scikit-learn.

    Of the picture that starts from classical scaling and of `starts` random ones, the one with the
    least stress (of equals the first). Raises MissingPackageError where scikit-learn is not
    installed.
    """
    need("Multidimensional scaling", "sklearn")
    found = [_descended(distances, start=classical(distances))]
    if starts > 0:
        found.append(_descended(distances, seed=seed, starts=starts))
    return min(found, key=lambda places: stress(distances, places))


def classical(distances: np.ndarray) -> np.ndarray:
    """Places [n, 2] by classical scaling (Torgerson 1952) of the distances [n, n].

    The two leading eigenvectors of the doubly centred squares, each as long as the root of its
    eigenvalue; one that is negative, of distances that no plane has, gives 0.
    """
    squares = distances**2
    centred = -(squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    places: np.ndarray = vectors[:, :-3:-1] * np.sqrt(np.clip(values[:-3:-1], 0, None))
    return places


def _descended(
    distances: np.ndarray, *, start: np.ndarray | None = None, seed: int = 0, starts: int = 1
) -> np.ndarray:
    """Places [n, 2] where scikit-learn ends, from `start` [n, 2] or the best of random ones."""
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
    """The same places [n, 2] around their mean, along their principal axes, the first one low."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    along = centred @ axes.T
    turned_: np.ndarray = along * np.where(along[0] > 0, -1.0, 1.0)
    return turned_


def stress(distances: np.ndarray, places: np.ndarray) -> float:
    """Kruskal's normalised stress: 0 where every distance [n, n] is kept, 1 at one point."""
    kept = np.linalg.norm(places[:, None] - places, axis=-1)
    upper = np.triu_indices(len(distances), 1)
    wanted = distances[upper]
    return float(np.sqrt(((kept[upper] - wanted) ** 2).sum() / (wanted**2).sum()))


def _stored(connection: DuckDBPyConnection, run: Run, smoothing: float) -> np.ndarray:
    """The distances of table head_distance divided by its tokens, [heads, heads], in nats."""
    rows = connection.execute(
        registry.statement("derived/stored_distances"), {"run": run.id, "smoothing": smoothing}
    ).fetchnumpy()
    heads = run.layers * run.heads
    first = (rows["layer_a"].astype(int) - 1) * run.heads + rows["head_a"] - 1
    second = (rows["layer_b"].astype(int) - 1) * run.heads + rows["head_b"] - 1
    distances = np.zeros((heads, heads))
    distances[first, second] = distances[second, first] = rows["distance"]
    return distances
