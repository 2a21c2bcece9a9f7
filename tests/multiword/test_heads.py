"""What heads find where positions hold several words equals loops over the words of the text."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from multiword import trees
from multiword_cases import Case

from attnbank.queries import open_bank


def _accuracy(case: Case) -> dict[tuple[str, trees.Head], trees.Counts]:
    return trees.accuracy(case.judged, case.inputs)


def _offset_rows(case: Case, **params: Any) -> dict[tuple[str, int], trees.Counts]:
    return {
        (row["relation"], row["offset"]): (row["correct"], row["n"])
        for row in case.query("offset_baseline", **params)
    }


def test_accuracy_of_every_head_and_relation(case: Case) -> None:
    found = {
        (row["relation"], (row["layer"], row["head"], row["direction"])): (row["correct"], row["n"])
        for row in case.query("head_accuracy")
    }
    assert found == _accuracy(case)


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


@pytest.mark.usual("written-False")
@pytest.mark.parametrize("clamped", [False, True])
def test_offsets_count_positions(case: Case, clamped: bool) -> None:
    found = _offset_rows(case, clamped=clamped)
    assert found == trees.offsets(case.judged, case.inputs, case.corpus, clamped=clamped)


def test_the_best_head_beside_the_best_offset(case: Case) -> None:
    baseline = trees.offsets(case.judged, case.inputs, case.corpus)
    found = {
        row["relation"]: (
            row["n"],
            (row["layer"], row["head"], row["direction"]),
            round(row["accuracy"] * row["n"]),
            row["offset"],
            round(row["offset_accuracy"] * row["n"]),
        )
        for row in case.query("best_head", min_count=1)
    }
    assert found == trees.best(_accuracy(case), baseline)


@pytest.mark.usual("written-None")
@pytest.mark.parametrize("relation", [None, "case"])
def test_what_is_found_instead(case: Case, relation: str | None) -> None:
    """Of a position that holds several words the relations and the tags are joined."""
    layers, heads = case.inputs[0].maps.shape[:2]
    joined = 0
    for layer, head, direction in (
        (1, 2, "dependent_to_head"),
        (layers, heads, "head_to_dependent"),
    ):
        rows = case.query(
            "head_error", head=f"{layer}-{head}", direction=direction, relation=relation
        )
        found = {(row["breakdown"], row["value"]): row["n"] for row in rows}
        expected = trees.errors(
            case.judged, case.inputs, case.corpus, (layer, head, direction), relation
        )
        assert found == expected
        joined += sum("+" in value for _, value in found)
    assert (joined > 0) == case.has_shared


@pytest.mark.usual("written--0.1")
@pytest.mark.parametrize("margin", [0.1, -0.1])
def test_relations_found_better_than_their_commonest_offset(case: Case, margin: float) -> None:
    found = {
        (row["layer"], row["head"]): set((row["syntactic"] or "").split(", ")) - {""}
        for row in case.query("head_function", margin=margin, min_count=10)
    }
    assert found == trees.syntactic(case.judged, case.inputs, margin, 10)
    assert margin > 0 or any(found.values())


@pytest.mark.usual("written-gold")
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
