"""Coreference as older corpora write it: the type before the id, and the attributes of CorefUD 0.x.

GUM before 2.8 and AMALGUM have the type before the id and declare nothing, GUM 2.8 declares it.
"""

from __future__ import annotations

import pytest

from attnbank.ingest.corpora.document import Mention, Problem, Sentence
from attnbank.ingest.corpora.formats.conllu import read_conllu

FORMS = ["Anna", "met", "Peter", "near", "the", "lake", "."]


def sentences(*rows: str, declared: str = "", strict: bool = False) -> list[Sentence | Problem]:
    """Read sentences of FORMS; a row has MISC of each of the first words, separated by spaces."""
    text = f"# global.Entity = {declared}\n" if declared else ""
    for number, row in enumerate(rows, start=1):
        cells = row.split() + ["_"] * len(FORMS)
        text += f"# sent_id = s{number}\n"
        for index, form in enumerate(FORMS, start=1):
            head, relation = (0, "root") if index == 2 else (2, "dep")
            misc = cells[index - 1]
            text += f"{index}\t{form}\t_\tX\t_\t_\t{head}\t{relation}\t_\t{misc}\n"
        text += "\n"
    return list(read_conllu(text.encode().splitlines(keepends=True), strict=strict))


def mentions(*rows: str, declared: str = "") -> list[list[tuple[str, str | None, int, int]]]:
    """Entity, type, first and last word of the mentions of sentences that have no departure."""
    rows_of_mentions = []
    for sentence in sentences(*rows, declared=declared):
        assert isinstance(sentence, Sentence), sentence
        assert not sentence.departures
        rows_of_mentions.append([_facts(mention) for mention in sentence.mentions])
    return rows_of_mentions


def _facts(mention: Mention) -> tuple[str, str | None, int, int]:
    return mention.entity, mention.type, mention.first, mention.last


@pytest.mark.parametrize(
    ("rows", "declared"),
    [
        (["Entity=(person-1) _ Entity=(person-2) _ Entity=(place-3 Entity=place-3)"], ""),
        (
            [
                "Entity=(person-1-Anna) _ Entity=(person-2-) _ Entity=(place-3-Lake-Superior"
                " Entity=place-3)"
            ],
            "entity-GRP-identity",
        ),
        (["Entity=(1-person) _ Entity=(2-person) _ Entity=(3-place Entity=3)"], "GRP-etype"),
        (["Entity=(person-1) _ Entity=(person-2) _ Entity=(place-3 Entity=3)"], "etype-eid"),
    ],
)
def test_the_id_is_where_it_is_declared_or_the_number_behind_the_type(
    rows: list[str], declared: str
) -> None:
    assert mentions(*rows, declared=declared) == [
        [("1", "person", 1, 1), ("2", "person", 3, 3), ("3", "place", 5, 6)]
    ]


def test_the_first_bracket_decides_for_the_file() -> None:
    first, second, third = mentions(
        "Entity=(5)", "Entity=(person-1)", "Entity=(e1-2 _ Entity=e1-2)"
    )
    assert first == [("5", None, 1, 1)]
    assert second == [("1", "person", 1, 1)]
    assert third == [("2", "e1", 1, 3)]


@pytest.mark.parametrize("bracket", ["(e1-2)", "(1-2)", "(Anna-person)"])
def test_an_order_that_could_be_another_is_told_once(bracket: str) -> None:
    rows = [f"Entity={bracket}", f"Entity={bracket}"]
    first, second = sentences(*rows)
    assert isinstance(first, Sentence) and isinstance(second, Sentence)
    (departure,) = first.departures
    assert (departure.id, departure.line) == ("undeclared-entity", 2)
    id = bracket[1:].partition("-")[0]
    assert departure.fact == (
        f"without # global.Entity, {id!r} in {bracket[:-1]} is taken for the entity"
    )
    assert not second.departures
    assert [mention.entity for mention in second.mentions] == [id]
    refused, _ = sentences(*rows, strict=True)
    assert isinstance(refused, Problem) and refused.id == "undeclared-entity"


def test_attributes_of_corefud_0() -> None:
    """On the head of each mention; several of one head are numbered; a span may have gaps."""
    rows = (
        "ClusterId=c1|ClusterType=person|MentionSpan=1 _"
        " ClusterId[1]=c2|MentionSpan[1]=3|ClusterId[2]=c3|ClusterType[2]=group|MentionSpan[2]=1,3"
        " _ _ ClusterId=c4|MentionSpan=5-6"
    )
    assert mentions(rows, "ClusterId=c1") == [
        [("c3", "group", 1, 3), ("c1", "person", 1, 1), ("c2", None, 3, 3), ("c4", None, 5, 6)],
        [("c1", None, 1, 1)],
    ]
    (sentence,) = sentences(rows)
    assert isinstance(sentence, Sentence)
    assert [mention.head for mention in sentence.mentions] == [3, 1, 3, 6]


@pytest.mark.parametrize("span", ["8", "0", "6-5", "x", "", "1-"])
def test_a_span_outside_the_sentence_is_a_fault(span: str) -> None:
    (problem,) = sentences(f"ClusterId=c1|MentionSpan={span}")
    assert isinstance(problem, Problem) and problem.id == "bad-entity"


@pytest.mark.parametrize("misc", ["Entity=(e1-place-1)", "ClusterId=e1"])
def test_a_mention_on_the_line_of_a_multiword_token_is_a_fault(misc: str) -> None:
    text = (
        f"1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t{misc}\n1\tde\t_\tADP\t_\t_\t3\tcase\t_\t_\n"
        "2\tle\t_\tDET\t_\t_\t3\tdet\t_\t_\n3\tlac\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    )
    (problem,) = read_conllu(text.encode().splitlines(keepends=True))
    assert isinstance(problem, Problem)
    assert (problem.id, problem.line) == ("bad-entity", 1)
