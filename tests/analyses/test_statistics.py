"""Tests and intervals by documents: exact beside enumeration, and right on simulated nulls."""

from __future__ import annotations

import random
from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl
import pytest
from case_bank import make_bank
from oracle_statistics import (
    corrected,
    documents_to_detect,
    interval,
    of_one_size,
    paired_interval,
    sign_flips,
    student_quantile,
)

from attnbank.queries import Bank, open_bank
from attnbank.sql import registry


@pytest.fixture(scope="module")
def functions() -> duckdb.DuckDBPyConnection:
    """A database that has nothing but the functions of a bank."""
    connection = duckdb.connect()
    connection.execute(registry.script("0_functions"))
    return connection


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    """A bank without words."""
    with open_bank(make_bank(tmp_path_factory.mktemp("empty") / "bank.duckdb", {})) as bank:
        yield bank


def test_sign_flips_are_those_that_are_counted(functions: duckdb.DuckDBPyConnection) -> None:
    random_ = random.Random(1)
    for size in [*range(1, 12)] * 4:
        differences = [random_.randint(-4, 6) for _ in range(size)]
        ((found,),) = functions.execute("select sign_flips(?)", [differences]).fetchall()
        assert found == pytest.approx(sign_flips(differences), rel=1e-14), differences


def test_students_quantile(functions: duckdb.DuckDBPyConnection) -> None:
    for freedom in (1, 1.3, 2, 2.5, 3, 4, 7.9, 20, 99):
        ((found,),) = functions.execute("select student_quantile(?)", [freedom]).fetchall()
        assert found == pytest.approx(student_quantile(freedom), rel=5e-5)


@pytest.mark.parametrize(("right", "n"), [((3, 1, 0), (5, 4, 2)), ((4, 0), (9, 1)), ((2,), (3,))])
def test_documents_without_anything_to_count_are_not_counted(
    functions: duckdb.DuckDBPyConnection, right: tuple[int, ...], n: tuple[int, ...]
) -> None:
    told = interval([[True] * r + [False] * (m - r) for r, m in zip(right, n, strict=True)])
    for empty in range(3):
        rows = [*zip(right, n, strict=True), *[(0, 0)] * empty]
        functions.register("given", pl.DataFrame(rows, ["r", "n"], orient="row").to_arrow())
        ((effect, low, high, margin),) = functions.execute(
            "with told as (select sum(r) / sum(n) as p, clustered_n(r, n) as m,"
            " clustered_effect(r, n) as effect, clustered_margin(r, n) as margin from given)"
            " select effect, wilson_low(p * m, m), wilson_high(p * m, m), margin from told"
        ).fetchall()
        if told is None:
            assert (effect, low, high, margin) == (None, None, None, None)
            continue
        assert (effect, low, high) == pytest.approx(told, rel=1e-3)
        share = sum(right) / sum(n)
        apart = sum((r - share * m) ** 2 for r, m in zip(right, n, strict=True))
        among = len(n) / (len(n) - 1) * apart / sum(n) ** 2
        freedom = of_one_size(n) - 1
        assert margin == pytest.approx(student_quantile(freedom) * among**0.5, rel=1e-4)


def test_the_interval_of_a_difference_is_that_of_its_pairs(
    functions: duckdb.DuckDBPyConnection,
) -> None:
    """Beside a loop over documents, and where no pair differs at all."""
    random_ = random.Random(3)
    for documents in (1, 2, 3, 8, 30):
        for most in (0, 1, 4, 20):
            pairs = []
            for _ in range(documents):
                only_a, only_b = random_.randint(0, most), random_.randint(0, most)
                pairs.append((only_a, only_b, only_a + only_b + random_.randint(1, 9)))
            frame = pl.DataFrame(pairs, ["a", "b", "n"], orient="row")
            functions.register("pairs", frame.to_arrow())
            ((low, high, needed),) = functions.execute(
                "with told as (select sum(a) as a, sum(b) as b, sum(n) as n, count(*) as d,"
                " clustered_pairs(a, b, n) as m, clustered_variance(a - b, n) as v from pairs)"
                " select paired_low(a, b, n, m), paired_high(a, b, n, m),"
                " clusters_to_detect(0.05, v, d) from told"
            ).fetchall()
            told = paired_interval(pairs)
            assert needed == documents_to_detect(pairs, 0.05)
            if told is None:
                assert (low, high) == (None, None)
                continue
            assert (low, high) == pytest.approx(told, abs=1e-3), pairs
            difference = sum(a - b for a, b, _ in pairs) / sum(n for *_, n in pairs)
            assert low < difference < high


@pytest.mark.parametrize("clusters", [1, 5, 11, 14])
@pytest.mark.parametrize("is_two_sided", [False, True])
def test_a_correction_is_that_of_the_largest_statistic(
    empty: Bank, clusters: int, is_two_sided: bool
) -> None:
    """Beside all flips in NumPy, of twenty sums that have a part in common; some lack clusters."""
    random_ = random.Random(clusters)
    common = [random_.randint(-2, 3) for _ in range(clusters)]
    differences = {
        number: {
            cluster + 1: common[cluster] + random_.randint(-3, 3)
            for cluster in range(clusters)
            if random_.random() < 0.9
        }
        for number in range(20)
    }
    differences[20] = dict.fromkeys(range(1, clusters + 1), 0)
    entries = [
        [number, cluster, difference]
        for number, of_cluster in differences.items()
        for cluster, difference in of_cluster.items()
    ]
    told = empty.sql(
        "select number, p_corrected from flip_test(differences := $entries, is_two_sided := $both)",
        {"entries": entries, "both": is_two_sided},
    ).rows()
    assert dict(told) == pytest.approx(corrected(differences, is_two_sided=is_two_sided))


@pytest.mark.parametrize(
    ("is_two_sided", "clusters", "p_value"),
    [(False, 4, None), (False, 5, 1 / 32), (True, 5, None), (True, 6, 2 / 64)],
)
def test_a_p_value_needs_clusters_enough_to_be_small(
    empty: Bank, is_two_sided: bool, clusters: int, p_value: float | None
) -> None:
    """In each of the clusters only a finds one of two cases."""
    pairs = [[1, cluster, 2, 1, 0] for cluster in range(clusters)]
    rows = empty.sql(
        "select p_value, p_corrected from paired_test(pairs := $pairs, family := [1],"
        " is_two_sided := $both)",
        {"pairs": pairs, "both": is_two_sided},
    ).rows()
    assert rows == [(p_value, p_value)]


def test_the_size_of_a_difference(functions: duckdb.DuckDBPyConnection) -> None:
    """Cohen (1988), table 6.2.2: the angles of 0.40 and 0.60, and of 0 and 1."""
    ((h, most),) = functions.execute("select cohens_h(0.6, 0.4), cohens_h(1, 0)").fetchall()
    assert h == pytest.approx(1.772 - 1.369, abs=1e-3) and most == pytest.approx(np.pi)


@pytest.mark.slow
def test_heads_that_are_no_better_are_seldom_called_better(
    functions: duckdb.DuckDBPyConnection,
) -> None:
    """100 corpora of 16 documents, in each of which 144 heads are now better, now worse.

    By pairs at least one of the heads is nearly always called better; by documents in 5 % at most,
    which 12 of 100 would be a chance of 1 in 300 to be.
    """
    numbers = np.random.default_rng(7)
    corpora, heads, documents = 100, 144, 16
    n = np.broadcast_to(
        numbers.geometric(1 / 8, (corpora, 1, documents)), (corpora, heads, documents)
    )
    only_head = numbers.binomial(n, numbers.beta(5, 5, n.shape))
    nulls = pl.DataFrame({
        "corpus": np.repeat(np.arange(corpora), heads),
        "head": only_head.sum(2).ravel(),
        "other": (n - only_head).sum(2).ravel(),
        "differences": (2 * only_head - n).reshape(-1, documents).tolist(),
    })  # fmt: skip
    functions.register("nulls", nulls.to_arrow())
    rows = functions.execute(
        "select count(*) filter (where pairs < 0.05), count(*) filter (where documents < 0.05),"
        " avg(alone) from (select corpus, min(mcnemar_better(head, other)) * 144 as pairs,"
        " min(sign_flips(differences)) * 144 as documents,"
        " avg(case when sign_flips(differences) < 0.05 then 1 else 0 end) as alone"
        " from nulls group by corpus)"
    ).fetchall()
    ((by_pairs, by_documents, alone),) = rows
    assert by_pairs > 40 and by_documents < 12 and 0.03 < alone < 0.055


@pytest.mark.parametrize("shape", [1, 0.4], ids=["uneven", "very-uneven"])
def test_intervals_hold_what_they_say(functions: duckdb.DuckDBPyConnection, shape: float) -> None:
    """The share of 1,000 simulated corpora whose interval has the true accuracy, 0.7.

    Of 16 documents the largest hold a third of all words, or more than half.
    """
    numbers = np.random.default_rng(3)
    n = 1 + numbers.poisson(numbers.gamma(shape, 30 / shape, (1000, 16)))
    right = numbers.binomial(n, numbers.beta(7, 3, n.shape))
    corpus = np.repeat(np.arange(1000), 16)
    frame = pl.DataFrame({"corpus": corpus, "k": right.ravel(), "n": n.ravel()})
    functions.register("documents", frame.to_arrow())
    ((by_documents, by_pairs),) = functions.execute(
        "with told as (select sum(k) as k, sum(n) as n, sum(k) / sum(n) as p,"
        " clustered_n(k, n) as m from documents group by corpus)"
        " select avg(cast(0.7 between wilson_low(p * m, m) and wilson_high(p * m, m) as integer)),"
        " avg(cast(0.7 between wilson_low(k, n) and wilson_high(k, n) as integer)) from told"
    ).fetchall()
    assert by_documents > 0.92 and by_pairs < 0.7
