"""What heads find where positions hold several words equals loops over the words of the text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fixture_types import Models
from multiword import trees
from multiword_cases import Case, Make

from attnbank.queries import open_bank


def _accuracy(case: Case) -> dict[tuple[str, trees.Head], trees.Counts]:
    return {
        (row["relation"], (row["layer"], row["head"], row["direction"])): (row["correct"], row["n"])
        for row in case.query("head_accuracy")
    }


def test_accuracy_of_every_head_and_relation(case: Case) -> None:
    assert _accuracy(case) == trees.accuracy(case.judged, case.inputs)


@pytest.mark.slow
def test_a_decoder_sees_nothing_after_a_position(
    read: Make, mentions: Path, tiny_model: Models
) -> None:
    """Each direction can find the heads that stand on one side."""
    case = read(mentions, tiny_model("gpt2"), "written", "sentence", "--first-word", "word")
    assert case.has_shared
    assert _accuracy(case) == trees.accuracy(case.judged, case.inputs, causal=True)


def test_every_dependency_that_is_judged(case: Case) -> None:
    """Each word outside its head's position is a dependent of its own; those inside are none."""
    found = Counter(
        (
            case.sequences.index(row["sequence"]),
            row["dependent"] - case.first_word,
            row["position"],
            row["head_position"],
            row["relation"],
        )
        for row in case.query("gold_dependency")
    )
    assert found == Counter(
        (arc.input, arc.word.place, arc.position, arc.gold, arc.relation) for arc in case.judged
    )
    assert bool(case.inside) == case.has_shared


@pytest.mark.usual("own-written-*")
@pytest.mark.parametrize(
    "request_",
    ["pattern { H -[case]-> D }", "pattern { D [upos=ADP]; H [upos=DET|NOUN]; D < H }"],
    ids=["gold", "neighbours"],
)
def test_pairs_of_a_request(case: Case, request_: str) -> None:
    """Those of which the two words share a position are left out, whatever the request."""
    words = case.corpus.words
    pairs = set()
    for word in words:
        if request_.startswith("pattern { H"):
            if word.relation == "case" and word.governor is not None:
                pairs.add((word.place, word.governor))
        elif word.upos == "ADP" and word.place + 1 < len(words):
            after = words[word.place + 1]
            if after.sentence == word.sentence and after.upos in ("DET", "NOUN"):
                pairs.add((word.place, after.place))
    arcs, within = [], 0
    for number, input in enumerate(case.inputs):
        stands = trees.places(input)
        for dependent, head in pairs:
            if dependent in stands and stands[dependent] != stands[head]:
                arcs.append(trees.Arc(number, words[dependent], stands[dependent], stands[head]))
            within += dependent in stands and stands[dependent] == stands[head]
    assert (within > 0) == case.has_shared
    expected = {
        head: counts
        for (name, head), counts in trees.accuracy(arcs, case.inputs).items()
        if name == "all"
    }
    with open_bank(case.path) as bank:
        rows = bank.score(request_, dependent="D", head="H", every=True).to_dicts()
    assert {
        (row["layer"], row["head"], row["direction"]): (row["correct"], row["n"]) for row in rows
    } == expected
