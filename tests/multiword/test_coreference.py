"""Antecedents where head words of mentions stand in multiword tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from multiword import coreference
from multiword_cases import Case, Make

TEXT = """# newdoc id = one
# global.Entity = GRP-etype-infstat-centering-minspan-link-identity
# sent_id = s1
1-2	Selas	_	_	_	_	_	_	_	_
1	se	él	PRON	_	Person=3	3	obj	_	Entity=(1-person-new-cf1-1-coref)
2	la	él	PRON	_	Person=3	3	iobj	_	Entity=(1-person-new-cf1-1-coref)
3	da	dar	VERB	_	_	0	root	_	_
4	ella	él	PRON	_	Person=3	3	nsubj	_	Entity=(1-person-new-cf1-1-coref)

"""
KEY = "m.first_word - $zero, m.last_word - $zero, m.entity_name"


def _check_candidates(documents: Case) -> int:
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
    return len(expected)


def test_candidates_are_mentions_at_other_positions(documents: Case) -> None:
    assert _check_candidates(documents) > 30


@pytest.mark.slow
def test_mentions_of_one_entity_in_one_token(
    read: Make, tmp_path: Path, multilingual_model: Path
) -> None:
    """Neither is the other's candidate; a later mention has both, at one position."""
    source = tmp_path / "text.conllu"
    source.write_text(TEXT, encoding="utf-8")
    case = read(source, multilingual_model, "written", "document")
    assert _check_candidates(case) == 1
    rows = case.rows(
        "select antecedents, candidates, antecedent_positions, mention_distance"
        " from coreference_mention()"
    )
    assert rows == [(2, 2, [1], 1)]
    predicted = case.rows(
        "select distinct predicted_position, is_right from coreference_prediction()"
    )
    assert predicted == [(1, True)]


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


@pytest.mark.usual("written-mentions")
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


@pytest.mark.usual("written-mentions")
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
