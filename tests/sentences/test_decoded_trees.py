"""Decoded trees beside the gold one: the arcs of the table, and which of them are dashed."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from sentence_pictures import texts

from attnbank.queries import open_bank
from attnbank.sql.errors import CallError, QueryError

SENTENCE = "sample_story-2"


def _arcs(svg: str) -> list[list[bool]]:
    """Of each tree that is drawn, whether each arc is dashed."""
    trees = re.split('class="tree"', svg)[1:]
    return [
        ["stroke-dasharray" in arc for arc in re.findall("<path[^>]*tree-arc[^>]*>", tree)]
        for tree in trees
    ]


def _slow(bank: Path, run: str, source: str, layer: int | None, head: int | None) -> list[bool]:
    """Whether each arc of a tree joins words that no gold dependency joins, in their order.

    The tree is the one of the direction in which the source has most over the whole run.
    """
    with duckdb.connect(str(bank), read_only=True) as connection:
        (run_id,) = connection.execute("select id from run where name = ?", [run]).fetchone() or ()
        words = connection.execute(
            "select sequence.id, word.sentence, sentence.name, position.position, word.index,"
            " word.head_index, word.deprel from sequence join position"
            " on position.sequence = sequence.id and position.kind = 'word'"
            " join word on word.id = position.word join sentence on sentence.id = word.sentence"
            " where sequence.run = ? order by word.id",
            [run_id],
        ).fetchall()
        trees = connection.execute(
            "select sequence, sentence, direction, first_position, heads from main.attention_tree"
            " where run = ? and source = ? and layer is not distinct from ?"
            " and head is not distinct from ?",
            [run_id, source, layer, head],
        ).fetchall()
    gold: dict[int, set[tuple[int, int]]] = {}
    judged: dict[int, set[tuple[int, int]]] = {}
    place = {(sentence, index): at for _, sentence, _, at, index, _, _ in words}
    for _, sentence, _, at, _, to, relation in words:
        other = place.get((sentence, to))
        if other is not None:
            gold.setdefault(sentence, set()).update({(at, other), (other, at)})
            if relation != "punct":
                judged.setdefault(sentence, set()).update({(at, other), (other, at)})
    (wanted,) = {sentence for _, sentence, name, *_ in words if name == SENTENCE}
    found: dict[str, int] = {}
    drawn: dict[str, list[bool]] = {}
    for _, sentence, direction, first, heads in trees:
        arcs = [(first + at, to) for at, to in enumerate(heads) if to is not None]
        hits = {frozenset(arc) for arc in arcs if arc in judged.get(sentence, set())}
        found[direction] = found.get(direction, 0) + len(hits)
        if sentence == wanted:
            drawn[direction] = [arc not in gold[sentence] for arc in arcs]
    return drawn[min(found, key=lambda each: (-found[each], each))]


@pytest.mark.slow
@pytest.mark.parametrize("run", ["single", "decoder"])
@pytest.mark.parametrize("source", ["head", "layer", "all"])
def test_arcs_that_no_dependency_has_are_dashed(
    shown_bank: Path, run_names: dict[str, str], run: str, source: str
) -> None:
    with open_bank(shown_bank) as bank:
        figure = bank.show(SENTENCE, ["1-1", "3-4"], run=run_names[run], decoded=source)
    gold, *decoded = _arcs(figure.svg)
    assert not any(gold)
    parts: dict[str, list[tuple[int | None, int | None]]] = {
        "head": [(1, 1), (3, 4)], "layer": [(1, None), (3, None)], "all": [(None, None)],
    }  # fmt: skip
    assert decoded == [
        _slow(shown_bank, run_names[run], source, layer, head) for layer, head in parts[source]
    ]
    assert any(map(any, decoded)) and not all(map(all, decoded))
    printed = " ".join(texts(figure.svg))
    assert f"The gold tree of {SENTENCE}" in printed
    assert "Dashed arcs of a decoded tree join words that no gold dependency joins." in printed
    assert len(re.findall(r"by \S.*?: \d+ of 1\d gold dependencies", printed)) == len(decoded)


def test_a_word_of_a_decoded_tree_has_the_gold_relation_of_its_arc(
    shown_bank: Path, run_names: dict[str, str]
) -> None:
    with open_bank(shown_bank) as bank:
        figure = bank.show(SENTENCE, "1-1", run=run_names["single"], decoded="all")
    gold, decoded = figure.facts.trees.values()
    for at, head in enumerate(decoded.heads):
        if at in decoded.wrong or head is None:
            assert decoded.relations[at] is None
        else:
            assert decoded.relations[at] in (gold.relations[at], gold.relations[head])


def test_what_cannot_be_shown(shown_bank: Path, run_names: dict[str, str]) -> None:
    with open_bank(shown_bank) as bank:
        with pytest.raises(CallError, match="decoded cannot be best"):
            bank.show(SENTENCE, "1-1", decoded="best")
        with pytest.raises(QueryError, match="has no decoded trees of this kind"):
            bank.show(SENTENCE, "1-1", run=run_names["document"], decoded="head")
        part = bank.show(SENTENCE, "1-1", run=run_names["single"], decoded="head", words=(2, 6))
    assert all(len(tree.words) == 5 for tree in part.facts.trees.values())
