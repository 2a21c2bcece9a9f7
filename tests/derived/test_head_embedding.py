"""The heads in a plane, and what they do."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import bounds
import numpy as np
import pytest
from bank_factory import BankFactory
from bank_rows import query_bank

from attnbank.ingest.derived.computations import compute
from attnbank.ingest.derived.head_distances import (
    classical_scaling,
    rotate_to_principal_axes,
    scale_distances,
    stress,
)
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import CallError

pytest.importorskip("sklearn", reason="multidimensional scaling needs scikit-learn")


def _distances(places: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.linalg.norm(places[:, None] - places, axis=-1)
    return found


def test_a_picture_of_the_plane_is_found_again() -> None:
    places = np.random.default_rng(1).normal(size=(12, 2))
    found = rotate_to_principal_axes(scale_distances(_distances(places), seed=0, starts=8))
    # An iteration that stops where it gets no better: near, and not equal.
    assert stress(_distances(places), found) < 1e-3
    assert _distances(found) == pytest.approx(_distances(places), abs=0.01)
    assert found.mean(axis=0) == pytest.approx([0, 0], abs=bounds.sums(12) * np.abs(found).max())
    assert np.abs(found[:, 0]).mean() > np.abs(found[:, 1]).mean()
    assert (found[0] <= 0).all()


def test_classical_scaling_finds_a_plane_and_sees_none_where_there_is_none() -> None:
    places = np.random.default_rng(3).normal(size=(9, 2))
    assert stress(_distances(places), classical_scaling(_distances(places))) < 1e-12
    line = np.arange(5.0)[:, None] * [1, 0]
    assert stress(_distances(line), classical_scaling(_distances(line))) < 1e-6
    # Four points in one plane cannot all be equally far from each other.
    even = 1 - np.eye(4)
    assert 0.1 < stress(even, classical_scaling(even)) < 1


def test_a_classical_start_is_among_the_starts() -> None:
    """Distances of 40 points of 10 dimensions, on which few random starts end where it does."""
    places = np.random.default_rng(5).normal(size=(40, 10)) * np.linspace(1, 0.2, 10)
    distances = _distances(places)
    alone = stress(distances, scale_distances(distances, seed=0, starts=0))
    assert alone < stress(distances, classical_scaling(distances))
    for seed in range(3):
        both = stress(distances, scale_distances(distances, seed=seed, starts=1))
        assert both <= alone


def test_what_is_not_installed_is_told_before_anything_is_computed(
    token_bank: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(token_bank("bert"), tmp_path / "bank.duckdb"))
    monkeypatch.setitem(sys.modules, "sklearn", None)  # Python's own way to bar an import
    with pytest.raises(CallError) as told:
        compute(path, "head_embedding")
    assert told.value.fact == "Computing head_embedding needs scikit-learn, which is not installed."
    assert told.value.remedy == "In a clone of attnbank, type: pip install '.[cluster]'"
    with open_to_read(path) as connection:
        assert connection.execute("select count(*) from main.head_distance").fetchone() == (0,)


def test_stress_of_one_point_is_1_and_of_the_plane_itself_0() -> None:
    places = np.random.default_rng(1).normal(size=(5, 2))
    assert stress(_distances(places), places) == pytest.approx(0, abs=np.sqrt(bounds.sums(25)))
    assert stress(_distances(places), np.zeros((5, 2))) == pytest.approx(1, rel=bounds.sums(25))


def test_turning_keeps_distances_and_is_the_same_for_a_mirror_image() -> None:
    places = np.random.default_rng(2).normal(size=(7, 2)) * [1, 3]
    found = rotate_to_principal_axes(places)
    # A rotation, of numbers up to 10: a few roundings each.
    assert _distances(found) == pytest.approx(_distances(places), abs=10 * bounds.sums(7))
    assert rotate_to_principal_axes(places[:, ::-1] * [1, -1] + 5) == pytest.approx(
        found, abs=100 * bounds.sums(7)
    )


@pytest.mark.slow
def test_seeded(token_bank: Callable[[str], Path], tmp_path: Path) -> None:
    pictures = []
    for name, seed in (("a", 0), ("b", 0)):
        path = Path(shutil.copy(token_bank("bert"), tmp_path / f"{name}.duckdb"))
        done = compute(path, "head_embedding", seed=seed)
        assert done.rows == {"head_distance": 66, "head_embedding": 12}
        with open_to_read(path) as connection:
            rows = connection.execute("from head_embedding() order by layer, head")
            pictures.append(rows.fetchall())
    assert pictures[0] == pictures[1]


@pytest.mark.slow
def test_behaviours_and_roles(sample_bank: Path, bank_of: BankFactory) -> None:
    embedded = ("compute head_embedding --run 2",)
    path = bank_of("sample", "minilm", after=sample_bank, then=embedded, unit="token")
    thresholds = {"position_threshold": 0.4, "broad_threshold": 2.2, "target_threshold": 0.55}
    given = ", ".join(f"{name} := {value}" for name, value in thresholds.items())
    rows = query_bank(
        path, f"select layer, head, behaviour, strength from head_embedding(run := '2', {given})"
    )
    figures = query_bank(
        path,
        "select layer, head, next, previous, entropy, cls, sep, punctuation"
        " from relative_position(run := '2') join entropy(run := '2') using (layer, head)"
        " join special_tokens(run := '2') using (layer, head)",
    )
    best = query_bank(
        path,
        "select layer, head, relation, best.gain, best.accuracy, p_corrected"
        " from best_head() as best join best_relation(min_count := 10, most := 9999)"
        " using (layer, head, relation, direction)",
    )
    roles: dict[tuple[int, int], tuple[float, str, float]] = {}
    for layer, head, relation, gain, accuracy, p in best:
        if relation not in ("all", "punct") and gain > 0.1 and p < 0.05:
            known = roles.get((layer, head))
            if known is None or (-gain, relation) < (-known[0], known[1]):
                roles[layer, head] = (gain, relation, accuracy)
    expected: dict[tuple[int, int], tuple[str, float | None]] = {}
    hidden: set[str] = set()
    for layer, head, next_, previous, entropy, cls, sep, punctuation in figures:
        behaviour, strength = "other", None
        for name, value, least in (  # as in the published code: the last that holds is seen
            ("next", next_, 0.4),
            ("previous", previous, 0.4),
            ("broad", entropy, 2.2),
            ("cls", cls, 0.55),
            ("sep", sep, 0.55),
            ("punctuation", punctuation, 0.55),
        ):
            if value > least:
                behaviour, strength = name, value
        if (layer, head) in roles:
            hidden.add(behaviour)
            _, behaviour, strength = roles[layer, head]
        expected[layer, head] = (behaviour, strength)
    found = {row[:2]: row[2:] for row in rows}
    assert found.keys() == expected.keys()
    for key, (behaviour, strength) in expected.items():
        assert found[key][0] == behaviour
        # Means over 127 inputs, which DuckDB's threads may add in another order each time.
        near = None if strength is None else pytest.approx(strength, rel=bounds.sums(127))
        assert found[key][1] == near
    named = {behaviour for behaviour, _ in expected.values()}
    assert {"next", "previous", "broad", "cls", "other"} < named
    assert hidden > {"other"}  # some head with a role has another behaviour too
    assert named & {relation for _, relation, _ in roles.values()}
