"""Edges of attention, special tokens, coreference: what loops over maps and mentions find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_maps import Sentence, read_sentences

from attnbank.queries import Bank, open_bank
from attnbank.queries.patterns import RequestError
from attnbank.sql.errors import CallError

Hit = tuple[Any, ...]


@pytest.fixture(scope="module")
def bank(sample_bank: Path) -> Iterator[Bank]:
    with open_bank(sample_bank) as opened:
        yield opened


@pytest.fixture(scope="module")
def sentences(bank: Bank) -> list[Sentence]:
    return read_sentences(bank)


def _check(bank: Bank, request: str, expected: list[Hit]) -> None:
    found = bank.find(request, context=False)
    assert found["run"].unique().to_list() == ["sample/minilm"]
    assert sorted(found.drop("run").rows()) == sorted(expected)
    assert len(expected) > 3


def test_what_a_head_looks_at_most(bank: Bank, sentences: list[Sentence]) -> None:
    _check(bank, "pattern { A =[3-1]=> B }", [
        (each.name, one, other)
        for each in sentences for one, other in each.pairs() if each.peak(3, 1, one) == other
    ])  # fmt: skip


def test_objects_that_look_at_their_verb_and_those_that_do_not(
    bank: Bank, sentences: list[Sentence]
) -> None:
    edges = [(each, head, word) for each in sentences for head, word in each.edges("obj")]
    looks = [(each.name, v, o) for each, v, o in edges if each.peak(3, 1, o) == v]
    others = [(each.name, v, o) for each, v, o in edges if each.peak(3, 1, o) != v]
    _check(bank, "pattern { V -[obj]-> O; O =[3-1]=> V }", looks)
    _check(bank, "pattern { V -[obj]-> O } with { O =[3-1]=> V }", looks)
    _check(bank, "pattern { V -[obj]-> O } without { O =[3-1]=> V }", others)
    _check(bank, "pattern { V -[obj]-> O } with { O =[3-1]=> W }",
           [hit for hit in others if _peak(sentences, hit) is not None])  # fmt: skip


def _peak(sentences: list[Sentence], hit: Hit) -> int | None:
    (found,) = [each for each in sentences if each.name == hit[0]]
    return found.peak(3, 1, hit[2])


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_weights_above_and_below(bank: Bank, sentences: list[Sentence], sign: str) -> None:
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign]
    _check(bank, f"pattern {{ V -[obj]-> O; V =[2-4 {sign} 0.05]=> O }}", [
        (each.name, head, word)
        for each in sentences for head, word in each.edges("obj")
        if compare(each.weight(2, 4, head, word), 0.05)
    ])  # fmt: skip


@pytest.mark.parametrize("head", ["3-*", "*-1", "*"])
def test_some_head(bank: Bank, sentences: list[Sentence], head: str) -> None:
    """Unnamed, an edge of some head is one hit however many heads there are; named, each is one."""
    layers, heads = sentences[0].maps.shape[:2]
    chosen = [
        (layer, number)
        for layer in range(1, layers + 1)
        for number in range(1, heads + 1)
        if head == "*" or head == f"{layer}-*" or head == f"*-{number}"
    ]
    assert len(chosen) > 5
    named = [
        (each.name, o, v, f"{layer}-{number}")
        for each in sentences
        for v, o in each.edges("obj")
        for layer, number in chosen
        if each.peak(layer, number, o) == v
    ]
    _check(bank, f"pattern {{ e: O =[{head}]=> V; V -[obj]-> O }}", named)
    _check(bank, f"pattern {{ O =[{head}]=> V; V -[obj]-> O }}", list({hit[:3] for hit in named}))


def test_the_weight_of_a_named_edge(bank: Bank, sentences: list[Sentence]) -> None:
    found = bank.find("pattern { e: A =[*-2]=> B; e.weight > 0.6; e.label <> \"1-2\" }",
                      columns="e.weight, e.label")  # fmt: skip
    by_name = {each.name: each for each in sentences}
    expected = {
        (each.name, one, layer)
        for each in sentences
        for layer in range(2, each.maps.shape[0] + 1)
        for one in each.place
        if (peak := each.peak(layer, 2, one)) and each.weight(layer, 2, one, peak) > 0.6
    }
    assert {(n, a, int(e.split("-")[0])) for n, a, _, e, *_ in found.rows()} == expected
    for name, one, other, label, weight, same, _ in found.rows():
        layer, head = map(int, label.split("-"))
        assert weight == by_name[name].weight(layer, head, one, other) and same == label


def test_special_tokens(bank: Bank, sentences: list[Sentence]) -> None:
    for token, kind, head, least in (("CLS", "cls", 12, 0.5), ("SEP", "sep", 12, 0.001)):
        _check(bank, f"pattern {{ A =[2-{head} > {least}]=> {token} }}", [
            (each.name, index)
            for each in sentences for index, at in each.place.items()
            if any(each.maps[1, head - 1, at, other] > least
                   for other, found in enumerate(each.kinds) if found == kind)
        ])  # fmt: skip


def test_a_node_may_be_called_sep(bank: Bank) -> None:
    found = bank.find("pattern { SEP [upos=VERB]; A =[3-1]=> SEP }", context=False)
    same = bank.find("pattern { B [upos=VERB]; A =[3-1]=> B }", context=False)
    assert sorted(found.select("sent_id", "A", "SEP").rows()) == sorted(
        same.select("sent_id", "A", "B").rows()
    )


def test_mentions_of_one_entity(bank: Bank) -> None:
    mentions = bank.sql(
        "select sentence.name, word.index, mention.entity, mention.kind, mention.type from mention"
        " inner join word on word.id = mention.head_word"
        " inner join sentence on sentence.id = word.sentence"
    ).rows()
    pairs = {
        (one[0], one[1], other[1])
        for one in mentions
        for other in mentions
        if one[0] == other[0] and one[2] == other[2] and one[1] != other[1]
    }
    assert sorted(bank.find("pattern { A ~ B }", context=False).rows()) == sorted(pairs)
    pronouns = {(name, index) for name, index, _, kind, _ in mentions if kind == "pronoun"}
    found = bank.find(
        "pattern { A ~ B; A [mention=pronoun]; B [mention<>pronoun]; B << A }", context=False
    ).rows()
    assert sorted(found) == sorted(
        (name, a, b)
        for name, a, b in pairs
        if b < a and (name, a) in pronouns and (name, b) not in pronouns
    )
    assert len(found) > 1
    heads = {(name, index) for name, index, *_ in mentions}
    words = bank.find("pattern { A [upos] }", context=False).rows()
    assert set(bank.find("pattern { A [mention, upos] }", context=False).rows()) == heads
    assert (
        set(bank.find("pattern { A [!mention, upos] }", context=False).rows()) == set(words) - heads
    )


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("pattern { A =[7-1]=> B }", "no head 7-1.\nIt has 6 layers of 12 heads"),
        ("pattern { A =[0-1]=> B }", "no head 0-1"),
        ("pattern { A =[3-13]=> B }", "no head 3-13"),
        ("pattern { A =[3-1]=> SEP }", "Ask for a weight"),
        ("pattern { SEP =[3-1]=> A }", "SEP =[3-1 > 0.5]=> A"),
        ("pattern { A =[3-1]=> A2 } without { * =[3-1]=> * }", "a node on at least one side"),
        ("pattern { A [] } without { * =[3-1 > 0.2]=> SEP }", "a node on at least one side"),
        ("pattern { e: A =[3-1]=> B; e.2 = pass }", "has no 2"),
        ("pattern { e: A =[3-1 > 0.1]=> SEP; e.length > 3 }", "a special token, which has no"),
        ("pattern { A [upos] } without { * ~ * }", "a node on at least one side"),
    ],
)
def test_errors(bank: Bank, request_: str, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        bank.find(request_)
    assert says in str(caught.value)


def test_runs(bank: Bank, sample_text_bank: Path) -> None:
    found = bank.find("pattern { A =[3-1]=> B }", run="sample/minilm", context=False)
    assert found.equals(bank.find("pattern { A =[3-1]=> B }", context=False))
    with pytest.raises(CallError, match="no run nowhere"):
        bank.find("pattern { A =[3-1]=> B }", run="nowhere")
    with pytest.raises(CallError, match="does not ask about attention"):
        bank.find("pattern { A -> B }", run="sample/minilm")
    with open_bank(sample_text_bank) as without, pytest.raises(Exception, match="has no run"):
        without.find("pattern { A =[3-1]=> B }")


def test_a_document_run_reads_the_same_sentences(full_bank: Path) -> None:
    """Nodes stand in one sentence also where the model read the whole document."""
    with open_bank(full_bank) as opened:
        runs = opened.runs()
        name = runs.filter(runs["context"] == "document")["name"][0]
        found = opened.find("pattern { A =[1-1]=> B }", run=name, context=False)
        expected = opened.sql(
            "select sentence.name, one.index as a, other.index as b from peak"
            " inner join sequence on sequence.id = peak.sequence"
            " inner join run on run.id = sequence.run"
            " inner join position as p on p.sequence = sequence.id and p.position = peak.position"
            " inner join position as q on q.sequence = sequence.id"
            " and q.position = peak.most_attended"
            " inner join word as one on one.id = p.word"
            " inner join word as other on other.id = q.word"
            " inner join sentence on sentence.id = one.sentence"
            " where run.name = $name and layer = 1 and head = 1 and one.sentence = other.sentence"
            " order by sentence.id, 2, 3", {"name": name}
        )  # fmt: skip
        assert found.drop("run").rows() == expected.rows()
        assert 0 < found.height < opened.find("pattern { A [upos] }").height


def test_coreference_over_sentences(bank: Bank) -> None:
    mentions = bank.sql(
        "select sentence.name, word.index, mention.entity, mention.kind, word.deprel,"
        " word.head_index from mention"
        " inner join word on word.id = mention.head_word"
        " inner join sentence on sentence.id = word.sentence"
    ).rows()
    pairs = {
        (one[:2], other[:2])
        for one in mentions
        for other in mentions
        if one[2] == other[2] and one[:2] != other[:2]
    }
    found = bank.find("pattern { A ~ B }", within="document", context=False)
    assert found.columns == ["sent_id", "A", "B", "A.sent_id", "B.sent_id"]
    assert {((a, i), (b, j)) for _, i, j, a, b in found.rows()} == pairs
    assert found.height == len(pairs) > bank.find("pattern { A ~ B }").height
    heads = {each[:2]: (each[0], each[5]) for each in mentions if each[4] == "nsubj"}
    pronouns = {each[:2] for each in mentions if each[3] == "pronoun"}
    request = "pattern { V -[nsubj]-> A; A ~ B } without { A ~ P; P [mention=pronoun] }"
    few = bank.find(request, within="document", context=False)
    assert {((a, i), (b, j)) for _, _, i, j, _, a, b in few.rows()} == {
        (a, b)
        for a, b in pairs
        if a in heads and not any((a, p) in pairs for p in pronouns - {b, heads[a]})
    }
    assert few.height > 3


def test_attention_over_sentences(full_bank: Path) -> None:
    with open_bank(full_bank) as opened:
        runs = opened.runs()
        name = runs.filter(runs["context"] == "document")["name"][0]
        found = opened.find("pattern { A =[1-1]=> B }", within="document", context=False)
        assert found["run"].unique().to_list() == [name]  # chosen by itself
        expected = opened.sql(
            "select one_sentence.name, one.index as a, other.index as b, one_sentence.name as c,"
            " other_sentence.name as d from peak"
            " inner join sequence on sequence.id = peak.sequence"
            " inner join run on run.id = sequence.run"
            " inner join position as p on p.sequence = sequence.id and p.position = peak.position"
            " inner join position as q on q.sequence = sequence.id"
            " and q.position = peak.most_attended"
            " inner join word as one on one.id = p.word"
            " inner join word as other on other.id = q.word"
            " inner join sentence as one_sentence on one_sentence.id = one.sentence"
            " inner join sentence as other_sentence on other_sentence.id = other.sentence"
            " where run.name = $name and layer = 1 and head = 1", {"name": name}
        )  # fmt: skip
        assert sorted(found.drop("run").rows()) == sorted(expected.rows())
        crossing = found.filter(found["A.sent_id"] != found["B.sent_id"])
        assert 0 < crossing.height < found.height
        alone = opened.find(
            "pattern { A =[1-1]=> B; C [] }", within="document", limit=50, context=False
        )
        assert {row[0] for row in alone.select("C.sent_id").rows()} == {
            row[0] for row in alone.select("A.sent_id").rows()
        }
