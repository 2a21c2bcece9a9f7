"""Tests and intervals by documents: exact beside enumeration, and right on simulated nulls."""

from __future__ import annotations

import random

import duckdb
import numpy as np
import polars as pl
import pytest
from oracle_statistics import interval, sign_flips, student_quantile

from attnbank.sql import registry


@pytest.fixture(scope="module")
def functions() -> duckdb.DuckDBPyConnection:
    """A database that has nothing but the functions of a bank."""
    connection = duckdb.connect()
    connection.execute(registry.script("0_functions"))
    return connection


def test_sign_flips_are_those_that_are_counted(functions: duckdb.DuckDBPyConnection) -> None:
    random_ = random.Random(1)
    for size in [*range(1, 12)] * 4:
        differences = [random_.randint(-4, 6) for _ in range(size)]
        ((found,),) = functions.execute("select sign_flips(?)", [differences]).fetchall()
        assert found == pytest.approx(sign_flips(differences), rel=1e-14), differences


def test_students_quantile(functions: duckdb.DuckDBPyConnection) -> None:
    for freedom in (1, 2, 3, 4, 7, 20, 99):
        ((found,),) = functions.execute("select student_quantile(?)", [freedom]).fetchall()
        assert found == pytest.approx(
            student_quantile(freedom), rel=1.3e-3 if freedom > 2 else 1e-8
        )


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
        assert margin == pytest.approx(student_quantile(len(n) - 1) * among**0.5, rel=1.3e-3)


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
    found = functions.execute(
        "select count(*) filter (where pairs < 0.05), count(*) filter (where documents < 0.05),"
        " avg(alone) from (select corpus, min(mcnemar_better(head, other)) * 144 as pairs,"
        " min(sign_flips(differences)) * 144 as documents,"
        " avg(case when sign_flips(differences) < 0.05 then 1 else 0 end) as alone"
        " from nulls group by corpus)"
    ).fetchall()
    ((by_pairs, by_documents, alone),) = found
    assert by_pairs > 40 and by_documents < 12 and 0.03 < alone < 0.055


def test_intervals_hold_what_they_say(functions: duckdb.DuckDBPyConnection) -> None:
    """The share of 400 simulated corpora whose interval has the true accuracy, 0.7."""
    numbers = np.random.default_rng(3)
    rows = []
    for _ in range(400):
        n = numbers.geometric(1 / 30, 16)
        right = numbers.binomial(n, numbers.beta(7, 3, 16))
        sums = (right, n, right * right, right * n, n * n)
        rows.append([int(each.sum()) for each in sums])
    functions.register(
        "drawn", pl.DataFrame(rows, ["k", "n", "kk", "kn", "nn"], orient="row").to_arrow()
    )
    ((by_documents, by_pairs),) = functions.execute(
        "with told as (select *, k / n as p,"
        " effective_n(n, 16, design_effect(k, n, 16, kk, kn, nn)) as m from drawn)"
        " select avg(cast(0.7 between wilson_low(p * m, m) and wilson_high(p * m, m) as integer)),"
        " avg(cast(0.7 between wilson_low(k, n) and wilson_high(k, n) as integer)) from told"
    ).fetchall()
    assert by_documents > 0.88 and by_pairs < 0.7
