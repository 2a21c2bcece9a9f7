"""Confidence, positional, syntactic and rare-word heads equal a slow implementation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import oracle_surface as slow
import pytest
from bank_factory import BankFactory

from attnbank.sql.bank.opening import open_to_read

FIGURES = (
    "confidence",
    "positional",
    "offset",
    "rare_word",
    "rare_word_maxima",
    "rare_word_chance",
)


@pytest.mark.usual("bert")
@pytest.mark.parametrize("name", ["sample", "wiki", "bert"])
def test_of_tokens(token_bank: Callable[[str], Path], name: str) -> None:
    columns = ", ".join(f'"{column}"' for column in FIGURES)
    with open_to_read(token_bank(name)) as connection:
        rows = connection.execute(
            f"select layer, head, syntactic, {columns} from head_function()"
        ).fetchall()
        expected = slow.functions(slow.inputs(connection), slow.words(connection))
    assert {row[2] for row in rows} == {None}  # relations are of words
    found = {
        (layer, head, figure): value
        for layer, head, _, *values in rows
        for figure, value in zip(FIGURES, values, strict=True)
    }
    slow.assert_close(found, expected)


@pytest.mark.usual("bert")
@pytest.mark.parametrize("model", ["minilm", "bert"])
def test_relations_found_better_than_their_commonest_offset(
    model: str, bank_of: BankFactory
) -> None:
    is_tiny = model != "minilm"
    path = bank_of("stories" if is_tiny else "sample", model)
    least = 4 if is_tiny else 12
    margin = 0.1 if model == "minilm" else -0.1  # a random head finds nothing
    with open_to_read(path) as connection:
        rows = connection.execute(
            "select layer, head, syntactic, significant"
            " from head_function(margin := $margin, min_count := $least)",
            {"margin": margin, "least": least},
        ).fetchall()
        tested = connection.execute(
            "select layer, head, relation from best_relation(most := 10000, min_count := 10)"
            " where gain > 0 and p_corrected < 0.05"
        ).fetchall()
        gold = {
            dependent: (relation.split(":")[0], head)
            for dependent, head, relation in connection.execute(
                "select dependent, head, relation from dependency where head is not null"
            ).fetchall()
            if relation != "punct"
        }
        expected = slow.syntactic(slow.inputs(connection), gold, margin, least)
    syntactic, significant = (
        {(row[0], row[1]): set(row[at].split(", ")) if row[at] else set() for row in rows}
        for at in (2, 3)
    )
    assert syntactic == expected
    assert significant == {
        head: {relation for relation in relations if (*head, relation) in tested}
        for head, relations in expected.items()
    }
    assert any(significant.values()) != is_tiny
    assert sum(map(len, expected.values())) > 5
