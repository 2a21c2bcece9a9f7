"""Antecedents where head words of mentions stand in multiword tokens."""

from __future__ import annotations

import pytest
from multiword import coreference
from multiword_cases import Case

KEY = "m.first_word - $zero, m.last_word - $zero, m.entity_name"


def test_candidates_are_mentions_at_other_positions(documents: Case) -> None:
    found: dict[tuple[int, int, str], list[tuple[int, tuple[int, int, str], bool, bool]]] = {}
    for row in documents.rows(
        f"select {KEY}, p.nearness, c.first_word - $zero, c.last_word - $zero, c.entity_name,"
        " p.is_antecedent, p.same_text from coreference_candidate() as p"
        " inner join mention as m on m.id = p.mention"
        " inner join mention as c on c.id = p.candidate",
        zero=documents.first_word,
    ):
        found.setdefault(row[:3], []).append((row[3], row[4:7], row[7], row[8]))
    expected = {
        each.mention.key: [
            (
                place,
                candidate.key,
                candidate.entity == each.mention.entity,
                coreference.same_text(documents.corpus, candidate, each.mention),
            )
            for place, candidate in enumerate(each.candidates, start=1)
        ]
        for each in coreference.judged(documents.corpus, documents.inputs)
    }
    assert {key: sorted(each) for key, each in found.items()} == expected
    assert len(expected) > 30


def test_where_mentions_and_their_antecedents_stand(documents: Case) -> None:
    found = {
        row[:3]: row[3:]
        for row in documents.rows(
            f"select {KEY}, j.position, j.antecedent_positions, j.candidate_positions,"
            " j.antecedents, j.candidates, j.mention_distance, j.kind"
            " from coreference_mention() as j inner join mention as m on m.id = j.mention",
            zero=documents.first_word,
        )
    }
    expected = {}
    for each in coreference.judged(documents.corpus, documents.inputs):
        right = [one for one in each.candidates if one.entity == each.mention.entity]
        expected[each.mention.key] = (
            each.at(each.mention),
            sorted(each.right),
            sorted({each.at(candidate) for candidate in each.candidates}),
            len(right),
            len(each.candidates),
            each.candidates.index(right[0]) + 1,
            each.mention.kind,
        )
    assert found == expected


@pytest.mark.parametrize("candidates", ["mentions", "words"])
def test_where_each_head_looks(documents: Case, candidates: str) -> None:
    judged = coreference.judged(documents.corpus, documents.inputs)
    right = {each.mention.key: each.right for each in judged}
    found = {
        (row[:3], row[3], row[4]): row[5:]
        for row in documents.rows(
            f"select {KEY}, p.layer, p.head, p.predicted_position, p.is_right"
            " from coreference_prediction(candidates := $candidates) as p"
            " inner join mention as m on m.id = p.mention",
            zero=documents.first_word,
            candidates=candidates,
        )
    }
    expected = coreference.predictions(judged, documents.inputs, candidates)
    assert found == {key: (at, at in right[key[0]]) for key, at in expected.items()}


@pytest.mark.parametrize("candidates", ["mentions", "words"])
def test_accuracy(documents: Case, candidates: str) -> None:
    judged = coreference.judged(documents.corpus, documents.inputs)
    found = {
        (row["layer"], row["head"], row["kind"]): (row["correct"], row["n"])
        for row in documents.query("coreference_accuracy", candidates=candidates)
    }
    assert found == coreference.accuracy(judged, documents.inputs, candidates)


def test_baselines(documents: Case) -> None:
    judged = coreference.judged(documents.corpus, documents.inputs)
    taken = {
        (row[:3], row[3]): row[4:7] if row[4] is not None else None
        for row in documents.rows(
            f"select {KEY}, p.baseline, c.first_word - $zero, c.last_word - $zero, c.entity_name"
            " from coreference_baseline_prediction() as p"
            " inner join mention as m on m.id = p.mention"
            " left join mention as c on c.id = p.candidate where p.baseline <> 'rule_based'",
            zero=documents.first_word,
        )
    }
    assert taken == {
        (each.mention.key, name): None if candidate is None else candidate.key
        for each in judged
        for name, candidate in coreference.baselines(documents.corpus, each).items()
    }
    found = {
        (row["baseline"], row["kind"]): (row["correct"], row["n"])
        for row in documents.query("coreference_baseline")
        if row["baseline"] != "rule_based"
    }
    assert found == coreference.baseline_accuracy(documents.corpus, judged)
