"""A decoder sees nothing after a position, so that each direction can find half of the heads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from multiword import requests, trees
from multiword_cases import Case, Make

from attnbank.queries import open_bank

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def decoder(read: Make, mentions: Path, tiny_model: Callable[[str], Path]) -> Case:
    how = ("written", "sentence", "--first-word", "word")
    return read(mentions, tiny_model("gpt2"), *how)


def test_heads(decoder: Case) -> None:
    expected = trees.accuracy(decoder.judged, decoder.inputs, causal=True)
    found = {
        (row["relation"], (row["layer"], row["head"], row["direction"])): (row["correct"], row["n"])
        for row in decoder.query("head_accuracy")
    }
    assert found == expected


@pytest.mark.parametrize("direction", trees.DIRECTIONS)
def test_errors(decoder: Case, direction: str) -> None:
    head = (2, 1, direction)
    expected = trees.errors(decoder.judged, decoder.inputs, decoder.corpus, head, causal=True)
    rows = decoder.query("head_error", head="2-1", direction=direction)
    assert {(row["breakdown"], row["value"]): row["n"] for row in rows} == expected
    assert sum(expected.values()) > 30 and ("upos", "none") not in expected


def test_tags_of_what_is_looked_at(decoder: Case) -> None:
    tags = requests.looked_at(decoder.corpus, decoder.inputs, 1, 1)
    starts = dict(
        decoder.rows(
            "select sentence.name, min(word.id) from sentence"
            " inner join word on word.sentence = sentence.id group by sentence.name"
        )
    )
    key = "looks_at(1-1, A).upos"
    with open_bank(decoder.path) as bank:
        hits = bank.find("pattern { A [upos] }", columns=key)
    found = {
        starts[row["sent_id"]] - decoder.first_word + row["A"] - 1: row[key]
        for row in hits.iter_rows(named=True)
    }
    assert {word: tag for word, tag in found.items() if tag is not None} == tags
    assert 0 < len(tags) < len(found)
