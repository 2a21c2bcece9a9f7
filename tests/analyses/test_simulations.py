"""The simulations of docs/trust.md: what they draw is what they say, and their tables are there."""

from __future__ import annotations

import numpy as np
import pytest
import simulations
from simulations import Population, Simulations


@pytest.fixture(scope="module")
def few() -> Simulations:
    return Simulations(draws=6)


@pytest.mark.parametrize("spread", simulations.SPREADS)
def test_corpora_are_as_good_as_they_are_said_to_be(spread: float) -> None:
    numbers = np.random.default_rng(1)
    population = Population(spread)
    pairs = simulations.draw_pairs(numbers, 400, 50, population, 0.05)
    assert pairs.n.mean() == pytest.approx(40, rel=0.05)
    assert pairs.right.sum() / pairs.n.sum() == pytest.approx(0.45, abs=0.01)
    assert pairs.differences.sum() / pairs.n.sum() == pytest.approx(0.05, abs=0.01)
    n, offset, right = simulations.draw_heads(numbers, 200, 50, population, [0.2, *[0.0] * 23])
    shares = right.sum((0, 2)) / n.sum()
    assert offset.sum() / n.sum() == pytest.approx(0.4, abs=0.01)
    assert shares == pytest.approx([0.6, *[0.4] * 23], abs=0.025)
    relations = simulations.draw_relations(numbers, 200, 20, population)
    assert abs(relations.sum(2).mean(0)).max() < 0.1 * relations.std() * 20


@pytest.mark.parametrize("documents", [5, 13])
@pytest.mark.parametrize("is_two_sided", [False, True])
def test_corrected_p_values_are_those_of_the_analyses(
    few: Simulations, documents: int, is_two_sided: bool
) -> None:
    numbers = np.random.default_rng(documents)
    differences = numbers.integers(-3, 5, (3, 20, documents))
    _, p = few.macros.largest(differences, is_two_sided=is_two_sided, compared=0)
    for of_corpus, told in zip(differences, p, strict=True):
        assert few.macros.corrected(of_corpus, is_two_sided=is_two_sided) == pytest.approx(told)


def test_the_page_has_the_tables_that_are_made(few: Simulations) -> None:
    """Row by row, by what they are of; their figures take minutes (make simulations)."""
    page = simulations.PAGE.read_text("utf-8")
    _, _, rest = page.partition(simulations.BEGIN)
    kept, _, _ = rest.partition(simulations.END)
    measures = (
        few.coverage, few.selection, few.false_positives, few.power, few.larger_model
    )  # fmt: skip
    for measure in measures:
        for name, share in measure(12, 0.3).items():
            assert f"\n| {name} | " in kept
            assert share is not None and 0 <= share <= 1
    words, spread, needed, *_ = few.needed(0.3, 40)
    assert f"\n| {words} | {spread} | {needed} | " in kept
    assert simulations.between_markers(page, kept.strip()) == page
