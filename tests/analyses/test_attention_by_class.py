"""Attention by class of word equals a slow implementation written apart."""

from __future__ import annotations

from pathlib import Path

import oracle_surface as slow
import pytest
from bank_factory import BankFactory

from attnbank.sql.bank.opening import open_to_read


@pytest.mark.usual("gpt2-*")
@pytest.mark.parametrize(
    ("model", "unit"),
    [("minilm", "token"), ("bert", "token"), ("bert", "word"), ("gpt2", "word")],
)
def test_received_and_given(few_stories: Path, model: str, unit: str, bank_of: BankFactory) -> None:
    is_causal = model == "gpt2"
    path = bank_of(few_stories, model, unit=unit, first_word="word" if is_causal else None)
    with open_to_read(path) as connection:
        rows = connection.execute(
            "select classification, class, layer, head, received, given, chance"
            " from attention_by_class()"
        ).fetchall()
        inputs, words = slow.inputs(connection), slow.words(connection)
        expected = slow.by_class(inputs, words, is_causal=is_causal)
    found: dict[slow.Key, float] = {}
    for row in rows:
        for which, value in zip(("received", "given", "chance"), row[4:], strict=True):
            if value is not None:
                found[*row[:4], which] = value
    named = {row[1] for row in rows if row[0] == "class"}
    special = set() if is_causal else {"cls", "sep"}
    assert named == {"negation", "noun", "object", "pronoun", "subject", "verb"} | special
    slow.assert_close(found, expected)


def test_text_without_trees_has_the_classes_that_need_none(bank_of: BankFactory) -> None:
    text = {"text.txt": "The dog did not bark .\n\nNobody saw it fall .\n"}
    with open_to_read(bank_of(text, unit="token")) as connection:
        rows = connection.execute(
            "select classification, class, layer, head, received, given from attention_by_class()"
        ).fetchall()
        expected = slow.by_class(slow.inputs(connection), slow.words(connection))
    found: dict[slow.Key, float] = {}
    for *key, received, given in rows:
        found[*key, "received"] = received
        found[*key, "given"] = given
    assert {row[1] for row in rows} == {"cls", "sep", "negation"}
    slow.assert_close(found, {key: expected[key] for key in expected if key[-1] != "chance"})
