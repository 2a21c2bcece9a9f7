"""Requests: every word of a position looks as the position does, and is looked at likewise."""

from __future__ import annotations

import pytest
from judged import check, judged_bank
from multiword_cases import Case

LOOKS = "pattern { A =[1-2]=> B }"
REQUESTS = (
    LOOKS,
    "pattern { V -[case]-> O; O =[1-2]=> V }",
    "pattern { V -[case]-> O } without { O =[1-2]=> V }",
    "pattern { A =[2-1 > 0.15]=> B }",
    "pattern { V -[case]-> O; O =[2-1 <= 0.05]=> V }",
    "pattern { A =[1-2]=> * }",
    "pattern { * =[1-2]=> A }",
    "pattern { A =[1-2 > 0.02]=> CLS }",
)


@pytest.mark.usual("own-written")
@pytest.mark.filterwarnings("ignore:No ")
def test_requests_find_what_the_matcher_finds(case: Case) -> None:
    """A star stands for any other word; two words of one position have no weight."""
    for judged in judged_bank(case.path):
        assert check(REQUESTS, judged) == len(REQUESTS)


def test_what_words_look_at_across_sentences(documents: Case) -> None:
    for judged in judged_bank(documents.path):
        assert check([LOOKS], judged, "document") == 1
        hits = judged[0].find(LOOKS, within="document", context=False)
        assert (hits["A.sent_id"] != hits["B.sent_id"]).any()


@pytest.mark.usual("own-written")
def test_weights_of_pairs_and_none_within_a_position(case: Case) -> None:
    key = "weight(2-3, O, V)"
    for bank, corpus in judged_bank(case.path):
        spots = {sentence.name: spot for spot, sentence in enumerate(corpus.sentences)}
        hits = bank.find("pattern { V -[case]-> O }", columns=key, context=False)
        expected: list[float | None] = []
        for name, v, o in hits.select("sent_id", "V", "O").rows():
            ((at, start),), ((_, end),) = (corpus.positions[spots[name], own] for own in (o, v))
            assert corpus.inputs is not None
            weight = float(corpus.inputs[at].weights[1, 2, start, end])
            expected.append(None if start == end else weight)
        assert hits[key].to_list() == expected != []
        assert (None in expected) == case.has_shared


@pytest.mark.slow
def test_the_tags_of_what_a_word_looks_at_are_joined(case: Case) -> None:
    key = "looks_at(2-2, A).upos"
    for bank, corpus in judged_bank(case.path):
        spots = {sentence.name: spot for spot, sentence in enumerate(corpus.sentences)}
        hits = bank.find("pattern { A [upos] }", columns=key, context=False)
        assert hits.height == len(case.corpus.words) and corpus.inputs is not None
        for name, index, tags in hits.select("sent_id", "A", key).rows():
            ((at, position),) = corpus.positions[spots[name], index]
            input = corpus.inputs[at]
            peak = int(input.peaks[1, 1, position])
            words = input.positions[peak][1] if peak >= 0 else []
            expected = [corpus.sentences[spot].words[i].features["upos"] for spot, i in words]
            assert tags == ("+".join(expected) or None)
        assert hits[key].str.contains("+", literal=True).any() == case.has_shared
