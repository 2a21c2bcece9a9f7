"""Classes of words, rare words and neighbours where positions hold several words."""

from __future__ import annotations

import bounds
import pytest
from multiword import surface
from multiword_cases import Case


def _close(found: float, expected: float, terms: int) -> bool:
    return found == pytest.approx(expected, rel=bounds.sums(terms), abs=1e-15)


def _terms(case: Case) -> int:
    """How many weights a figure is a sum of, at most."""
    return sum(len(each.positions) ** 2 for each in case.inputs)


def _check_classes(case: Case) -> None:
    expected = surface.by_class(case.corpus, case.inputs)
    rows = {
        (row["classification"], row["class"], row["layer"], row["head"]): row
        for row in case.query("attention_by_class")
    }
    assert rows.keys() == expected.keys()
    for key, (received, given, chance, positions, inputs) in expected.items():
        row = rows[key]
        assert (row["positions"], row["sequences"]) == (positions, inputs)
        for name, value in (("received", received), ("given", given), ("chance", chance)):
            assert _close(row[name], value, _terms(case)), (key, name)


def _check_rare_words(case: Case) -> None:
    expected = surface.functions(case.corpus, case.inputs)
    found = {
        (row["layer"], row["head"], name): row[name]
        for row in case.query("head_function")
        for name in {name for *_, name in expected}
    }
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert _close(found[key], value, _terms(case)), key


def _check_surface(case: Case) -> None:
    expected = surface.of_heads(case.inputs)
    seen = set()
    for analysis in ("relative_position", "special_tokens", "entropy"):
        for row in case.query(analysis):
            assert row["sequences"] == len(case.inputs)
            for layer, head, name in expected:
                if (layer, head) == (row["layer"], row["head"]) and name in row:
                    assert _close(row[name], expected[layer, head, name], _terms(case)), name
                    seen.add((layer, head, name))
    assert seen == expected.keys()


def test_a_position_is_of_each_class_that_one_of_its_words_has(case: Case) -> None:
    _check_classes(case)


def test_the_rarest_word_is_the_token_as_it_is_written(case: Case) -> None:
    _check_rare_words(case)


@pytest.mark.slow
def test_surface_patterns_know_positions_alone(case: Case) -> None:
    _check_surface(case)


@pytest.mark.slow
def test_tokens(tokens: Case) -> None:
    """A piece is of the classes of all words of its token, and as rare as the token is."""
    _check_classes(tokens)
    _check_rare_words(tokens)
    _check_surface(tokens)
