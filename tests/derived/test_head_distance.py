"""Distances between heads, computed into the bank, equal a slow implementation."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import bounds
import duckdb
import numpy as np
import oracle_surface as slow
import pytest
from bank_rows import change_bank, query_bank
from command_line import Cli
from fixture_types import Options

from attnbank.ingest import ingest
from attnbank.ingest.derived.computations import compute
from attnbank.ingest.derived.head_distances import Distances
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import BankError, CallError, QueryError


def within(sizes: Sequence[int]) -> float:
    """What float32 sums may change of a distance over maps of so many tokens, in nats.

    A block of 1,024 products s ln s is summed in float32: off by sqrt(1024) roundings of the sum of
    their sizes, and by 8 for the logarithm (good to 4 units), the sum p + q and the product. Blocks
    are added in float64, and err independently. A row of s sums to 2, so the sizes of a row sum to
    2 ln n at most. The distance is half of it.
    """
    blocks = max(1.0, sum(n * n for n in sizes) / 1024)
    summed = sum(n * 2 * np.log(n) for n in sizes)
    return float(0.5 * (math.sqrt(1024) + 8) * bounds.SINGLE * summed / math.sqrt(blocks))


@pytest.fixture
def writable(token_bank: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    def copy(name: str) -> Path:
        return Path(shutil.copy(token_bank(name), tmp_path / f"{name}.duckdb"))

    return copy


@pytest.mark.usual("bert-0.0")
@pytest.mark.parametrize(
    ("name", "smoothing"), [("sample", 0.001), ("wiki", 0.001), ("bert", 0.001), ("bert", 0.0)]
)
def test_of_every_pair(writable: Callable[[str], Path], name: str, smoothing: float) -> None:
    path = writable(name)
    told: list[tuple[int, int | None]] = []
    done = compute(
        path,
        "head_distance",
        on_progress=lambda how_far: told.append((how_far.done, how_far.total)),
        smoothing=smoothing,
    )
    with open_to_read(path) as connection:
        rows = connection.execute(
            "from head_distance(smoothing := $s)", {"s": smoothing}
        ).fetchall()
        inputs = slow.inputs(connection)
    expected = slow.divergences(inputs, smoothing)
    found = {tuple(row[:4]): row[4] for row in rows}
    assert done.rows == {"head_distance": len(rows)}
    assert told[-1] == (len(inputs), len(inputs))
    assert found.keys() == expected.keys()
    np.testing.assert_allclose(
        [found[key] for key in expected],
        list(expected.values()),
        rtol=0,
        atol=within([len(input.tokens) for input in inputs]),
    )
    assert {row[5] for row in rows} == {sum(len(each.tokens) for each in inputs)}


def test_layers_within_and_between(writable: Callable[[str], Path]) -> None:
    path = writable("bert")
    compute(path, "head-distance")
    with open_to_read(path) as connection:
        rows = connection.execute("from layer_similarity()").fetchall()
        inputs = slow.inputs(connection)
    tokens = sum(len(input.tokens) for input in inputs)
    distances = slow.divergences(inputs, 0.001)
    off = within([len(each.tokens) for each in inputs]) / tokens
    for layer, near, between, ratio, pairs_within, pairs_between, _ in rows:
        inside: list[float] = []
        outside: list[float] = []
        for (layer_a, _, layer_b, _), distance in distances.items():
            if layer is None or layer in (layer_a, layer_b):
                (inside if layer_a == layer_b else outside).append(distance / tokens)
        assert near == pytest.approx(np.mean(inside), abs=off)
        assert between == pytest.approx(np.mean(outside), abs=off)
        # Both ends of the ratio may be off.
        exact = float(np.mean(inside) / np.mean(outside))
        assert ratio == pytest.approx(exact, abs=off * (1 + exact) / float(np.mean(outside)))
        assert (pairs_within, pairs_between) == (len(inside), len(outside))
    assert [row[0] for row in rows] == [1, 2, 3, None]


def test_equal_heads_and_opposite_heads() -> None:
    left, right = np.eye(4)[[0, 0, 0, 0]], np.eye(4)[[1, 1, 1, 1]]
    found = Distances(3, smoothing=0.0)
    found.add_maps([np.stack([left, left, right]).astype(np.float32)])
    assert found.matrix() == pytest.approx(
        4 * np.log(2) * np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]]), abs=within([4])
    )


def test_the_same_whatever_the_threads_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    maps = [random.dirichlet(np.ones(n), (5, n)).astype(np.float32) for n in (3, 40, 200)]
    one, many = Distances(5, 0.001), Distances(5, 0.001)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    one.add_maps(maps)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    for map in maps:
        many.add_maps([map])
    assert many.matrix() == pytest.approx(one.matrix(), abs=2 * within([3, 40, 200]))
    assert one.tokens == many.tokens == 243


def test_a_run_without_distances_says_what_to_type(writable: Callable[[str], Path]) -> None:
    path = writable("bert")
    with (
        open_to_read(path) as connection,
        pytest.raises(duckdb.Error, match="attnbank compute head_distance --run 1"),
    ):
        connection.execute("from head_distance()").fetchall()
    compute(path, "head_distance", smoothing=0.5)
    assert len(query_bank(path, "from head_distance(smoothing := 0.5)")) == 66
    with pytest.raises(duckdb.Error, match=r"--smoothing 0\.001"):
        query_bank(path, "from head_distance()")


@pytest.mark.slow
def test_computing_again_replaces(writable: Callable[[str], Path]) -> None:
    path = writable("bert")
    for smoothing in (0.001, 0.001, 0.25):
        compute(path, "head_distance", run="1", smoothing=smoothing)
    with open_to_read(path) as connection:
        rows = connection.execute(
            "select smoothing, count(*) from head_distance group by smoothing order by smoothing"
        )
        assert rows.fetchall() == [(0.001, 66), (0.25, 66)]


@pytest.mark.parametrize(
    ("step", "options", "message"),
    [
        ("head_distances", {}, "head_distance, head_embedding"),
        ("head_distance", {"run": "nowhere"}, r"no run nowhere in .*\nIt has: stories"),
        ("head_distance", {"seed": 1}, "It takes: smoothing"),
        ("head_distance", {"smoothing": 1}, "from 0 to below 1"),
    ],
)
def test_wrong_calls(
    writable: Callable[[str], Path], step: str, options: dict[str, float], message: str
) -> None:
    with pytest.raises(CallError, match=message):
        compute(writable("bert"), step, **options)  # type: ignore[arg-type]


def test_a_bank_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BankError, match="There is no bank"):
        compute(tmp_path / "none.duckdb", "head_distance")
    assert not (tmp_path / "none.duckdb").exists()


def test_an_unfinished_run_is_refused(writable: Callable[[str], Path], cli: Cli) -> None:
    path = writable("bert")
    change_bank(path, "update run set finished = null")
    with pytest.raises(CallError, match="unfinished"):
        compute(path, "head_distance", run=1)
    with pytest.raises(QueryError, match="it is not finished"):
        compute(path, "head_distance")
    told = cli("-b", path, "compute", "special_tokens", "--run", "1", status=2).err
    assert "is unfinished, so the answer would soon be out of date" in told


@pytest.mark.slow
def test_ingesting_again_forgets_what_was_computed(
    writable: Callable[[str], Path], options_for: Options
) -> None:
    path = writable("bert")
    compute(path, "head_distance")
    options = {"context": "pair", "max_tokens": 48, "unit": "token"}
    ingest(options_for(path, replace=True, **options))
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("select count(*) from head_distance").fetchone() == (0,)
