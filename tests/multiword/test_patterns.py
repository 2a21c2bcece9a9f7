"""Requests: every word of a position looks as the position does, and is looked at likewise."""

from __future__ import annotations

from typing import Any

from multiword import requests
from multiword_cases import Case

from attnbank.queries import open_bank


def _find(case: Case, request: str, columns: str = "") -> list[dict[str, Any]]:
    with open_bank(case.path) as bank:
        return list(bank.find(request, columns=columns).to_dicts())


def _places(case: Case, names: dict[str, int], row: dict[str, Any], *nodes: str) -> tuple[int, ...]:
    """The places in the corpus of the words of a hit."""
    return tuple(names[row["sent_id"]] + row[node] for node in nodes)


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
    found = [
        _places(case, starts, row, "A", "B") for row in _find(case, "pattern { A =[1-2]=> B }")
    ]
    expected = requests.looks(case.inputs, 1, 2)
    assert sorted(found) == sorted(expected)
    assert len(found) > 1000


def test_gold_edges_along_which_a_head_looks_and_others(case: Case) -> None:
    starts = _starts(case)
    looks = requests.looks(case.inputs, 1, 2)
    for relation in ("case", "det", "obj"):
        edge = f"V -[{relation}]-> O"
        pairs = set(requests.edges(case.corpus, relation))
        hits = _find(case, f"pattern {{ {edge}; O =[1-2]=> V }}")
        assert {_places(case, starts, row, "O", "V") for row in hits} == pairs & looks
        hits = _find(case, f"pattern {{ {edge} }} without {{ O =[1-2]=> V }}")
        assert {_places(case, starts, row, "O", "V") for row in hits} == pairs - looks


def test_weights_of_pairs_and_none_within_a_position(case: Case) -> None:
    starts = _starts(case)
    weights = requests.weights(case.inputs, 2, 3)
    key = "weight(2-3, O, V)"
    nothing = 0
    for relation in ("case", "det", "obj"):
        hits = _find(case, f"pattern {{ V -[{relation}]-> O }}", key)
        for row in hits:
            expected = weights[_places(case, starts, row, "O", "V")]
            assert row[key] == expected
            nothing += expected is None
        assert len(hits) == len(list(requests.edges(case.corpus, relation))) > 0
    assert (nothing > 0) == case.has_shared


def test_pairs_by_their_weight(case: Case) -> None:
    starts = _starts(case)
    weights = requests.weights(case.inputs, 2, 1)
    for sign, holds in ((">", lambda weight: weight > 0.2), ("<=", lambda weight: weight <= 0.001)):
        hits = _find(case, f"pattern {{ A =[2-1 {sign} {0.2 if sign == '>' else 0.001}]=> B }}")
        expected = [
            pair for pair, weight in weights.items() if weight is not None and holds(weight)
        ]
        assert sorted(_places(case, starts, row, "A", "B") for row in hits) == sorted(expected)
        assert len(hits) > 100


def test_the_tags_of_what_a_word_looks_at_are_joined(case: Case) -> None:
    starts = _starts(case)
    tags = requests.looked_at(case.corpus, case.inputs, 1, 1)
    key = "looks_at(1-1, A).upos"
    joined = 0
    for row in _find(case, "pattern { A [upos=NOUN] }", key):
        (place,) = _places(case, starts, row, "A")
        assert row[key] == tags[place]
        joined += "+" in row[key]
    assert (joined > 0) == case.has_shared
