"""A decoder sees nothing after a position: its first word looks nowhere."""

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
    return read(mentions, tiny_model("gpt2"))


def test_heads(decoder: Case) -> None:
    expected = trees.accuracy(decoder.judged, decoder.inputs)
    found = {
        (row["relation"], (row["layer"], row["head"], row["direction"])): (row["correct"], row["n"])
        for row in decoder.query("head_accuracy")
    }
    assert found == expected


@pytest.mark.parametrize("direction", trees.DIRECTIONS)
def test_errors(decoder: Case, direction: str) -> None:
    expected = trees.errors(decoder.judged, decoder.inputs, decoder.corpus, (2, 1, direction))
    rows = decoder.query("head_error", head="2-1", direction=direction)
    assert {(row["breakdown"], row["value"]): row["n"] for row in rows} == expected
    assert expected["upos", "none"] > 3


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
