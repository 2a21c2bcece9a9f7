"""Attention by class of word equals a slow implementation written apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import slow_surface as slow

from attnbank.ingest import IngestOptions, ingest
from attnbank.sql.opening import open_to_read


@pytest.mark.parametrize(("model", "unit"), [("minilm", "token"), ("bert", "word")])
def test_received_and_given(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], model: str, unit: str
) -> None:
    path = tmp_path / "bank.duckdb"
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
