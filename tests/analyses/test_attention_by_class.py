"""Attention by class of word equals a slow implementation written apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import new_banks
import oracle_surface as slow
import pytest

from attnbank.ingest import IngestOptions, ingest
from attnbank.sql.bank.opening import open_to_read


@pytest.mark.usual("bert-*")
@pytest.mark.parametrize(
    ("model", "unit"), [("minilm", "token"), ("bert", "token"), ("bert", "word")]
)
def test_received_and_given(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], model: str, unit: str
) -> None:
    path = new_banks.put(tmp_path / "bank.duckdb")
    name = model if model == "minilm" else str(tiny_model(model))
    corpus = str(sample / "conversations.conllu")
    ingest(IngestOptions((corpus,), path, name, unit="token" if unit == "token" else "word"))
    with open_to_read(path) as connection:
        rows = connection.execute(
            "select classification, class, layer, head, received, given, chance"
            " from attention_by_class()"
        ).fetchall()
        expected = slow.by_class(slow.inputs(connection), slow.words(connection))
    found: dict[slow.Key, float] = {}
    for row in rows:
        for which, value in zip(("received", "given", "chance"), row[4:], strict=True):
            if value is not None:
                found[*row[:4], which] = value
    named = {row[1] for row in rows if row[0] == "class"}
    assert named == {"cls", "negation", "noun", "object", "pronoun", "sep", "subject", "verb"}
    slow.assert_close(found, expected)


def test_text_without_trees_has_the_classes_that_need_none(
    token_bank: Callable[[str], Path],
) -> None:
    with open_to_read(token_bank("wiki")) as connection:
        rows = connection.execute(
            "select classification, class, layer, head, received, given from attention_by_class()"
        ).fetchall()
        expected = slow.by_class(slow.inputs(connection), slow.words(connection))
    found: dict[slow.Key, float] = {}
    for *key, received, given in rows:
        found[*key, "received"] = received
        found[*key, "given"] = given
    assert {row[1] for row in rows} <= {"cls", "sep", "negation"}
    slow.assert_close(found, {key: expected[key] for key in expected if key[-1] != "chance"})
