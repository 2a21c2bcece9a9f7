"""Requests: every word of a position looks as the position does, and is looked at likewise."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from multiword import requests
from multiword_cases import Case

from attnbank.queries import open_bank


def _find(case: Case, request: str, columns: str = "") -> list[dict[str, Any]]:
    with open_bank(case.path) as bank:
        return list(bank.find(request, columns=columns, context=False).to_dicts())


def _pair(starts: dict[str, int], row: dict[str, Any], one: str, other: str) -> requests.Pair:
    """The places in the corpus of two words of a hit."""
    start = starts[row["sent_id"]]
    return start + row[one], start + row[other]


def _starts(case: Case) -> dict[str, int]:
    """Of each sentence, by its name, the place before its first word."""
    return {
        name: first - case.first_word - 1
        for name, first in case.rows(
            "select sentence.name, min(word.id) from sentence"
            " inner join word on word.sentence = sentence.id group by sentence.id, sentence.name"
        )
    }


def test_what_words_look_at_most(case: Case) -> None:
    starts = _starts(case)
    found = [_pair(starts, row, "A", "B") for row in _find(case, "pattern { A =[1-2]=> B }")]
    expected = requests.looks(case.inputs, 1, 2)
    assert sorted(found) == sorted(expected)
    assert len(found) > 1000


@pytest.mark.slow
def test_gold_edges_along_which_a_head_looks_and_others(case: Case) -> None:
    starts = _starts(case)
    looks = requests.looks(case.inputs, 1, 2)
    pairs = set(requests.edges(case.corpus, "case"))
    hits = _find(case, "pattern { V -[case]-> O; O =[1-2]=> V }")
    assert {_pair(starts, row, "O", "V") for row in hits} == pairs & looks
    hits = _find(case, "pattern { V -[case]-> O } without { O =[1-2]=> V }")
    assert {_pair(starts, row, "O", "V") for row in hits} == pairs - looks
    assert pairs & looks and pairs - looks


def test_weights_of_pairs_and_none_within_a_position(case: Case) -> None:
    starts = _starts(case)
    weights = requests.weights(case.inputs, 2, 3)
    key = "weight(2-3, O, V)"
    hits = _find(case, "pattern { V -[case]-> O }", key)
    expected = [weights[_pair(starts, row, "O", "V")] for row in hits]
    assert [row[key] for row in hits] == expected
    assert len(hits) == len(list(requests.edges(case.corpus, "case"))) > 0
    assert (None in expected) == case.has_shared


@pytest.mark.slow
def test_pairs_by_their_weight(case: Case) -> None:
    """The largest and the smallest weights, a tenth each; two words of one position have none."""
    starts = _starts(case)
    told = {
        pair: weight
        for pair, weight in requests.weights(case.inputs, 2, 1).items()
        if weight is not None
    }
    order = sorted(told.values())
    for sign, at, holds in ((">", 0.9, operator.gt), ("<=", 0.1, operator.le)):
        limit = round(order[int(at * len(order))], 6)
        hits = _find(case, f"pattern {{ A =[2-1 {sign} {limit:.6f}]=> B }}")
        expected = [pair for pair, weight in told.items() if holds(weight, limit)]
        assert sorted(_pair(starts, row, "A", "B") for row in hits) == sorted(expected)
        assert len(hits) > 100


@pytest.mark.slow
def test_the_tags_of_what_a_word_looks_at_are_joined(case: Case) -> None:
    starts = _starts(case)
    joined = 0
    for layer, head in ((1, 1), (2, 2)):
        tags = requests.looked_at(case.corpus, case.inputs, layer, head)
        key = f"looks_at({layer}-{head}, A).upos"
        hits = _find(case, "pattern { A [upos] }", key)
        assert len(hits) == len(case.corpus.words)
        for row in hits:
            assert row[key] == tags.get(starts[row["sent_id"]] + row["A"])
            joined += "+" in (row[key] or "")
    assert (joined > 0) == case.has_shared


def test_what_words_look_at_across_sentences(documents: Case) -> None:
    starts = _starts(documents)
    with open_bank(documents.path) as bank:
        hits = bank.find("pattern { A =[1-2]=> B }", within="document", context=False).to_dicts()
    found = [
        (starts[row["A.sent_id"]] + row["A"], starts[row["B.sent_id"]] + row["B"]) for row in hits
    ]
    assert sorted(found) == sorted(requests.looks(documents.inputs, 1, 2))
    assert any(row["A.sent_id"] != row["B.sent_id"] for row in hits)


@pytest.mark.slow
def test_words_that_look_and_are_looked_at(case: Case) -> None:
    """A star stands for any other word; CLS is looked at by each word as by its position."""
    starts = _starts(case)
    looks = requests.looks(case.inputs, 1, 2)
    for request, expected in (
        ("pattern { A =[1-2]=> * }", {one for one, _ in looks}),
        ("pattern { * =[1-2]=> A }", {other for _, other in looks}),
        ("pattern { A =[1-2 > 0.02]=> CLS }", requests.rests(case.inputs, 1, 2, 0.02)),
    ):
        hits = _find(case, request)
        assert sorted(starts[row["sent_id"]] + row["A"] for row in hits) == sorted(expected)
        assert hits
