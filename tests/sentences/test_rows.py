"""The rows of a sentence are what the tables say, read slowly."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from case_bank import make_bank
from sentence_pictures import read

from attnbank.ingest.store.saved import SavedRelation, save_pairs
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError

SENTENCES = ("sample_story-1", "sample_story-2", "sample_story-3")
HEADS = ((1, 1), (2, 4), (3, 2))
NAMES = [f"{layer}-{head}" for layer, head in HEADS]


@pytest.mark.usual(4)
@pytest.mark.few(2)
@pytest.mark.filterwarnings("ignore:The input has:attnbank.sql.errors.AttnbankWarning")
@pytest.mark.parametrize("run", ["single", "document", "pair", "decoder"])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_word_looks_at_what_the_weights_say(
    shown_bank: Path, run_names: dict[str, str], run: str, sentence: str
) -> None:
    with open_bank(shown_bank) as bank:
        rows = bank.show(sentence, NAMES, run=run_names[run]).rows
    for layer, head in HEADS:
        slow = read(shown_bank, run_names[run], sentence, (layer, head))
        own = slow.own(sentence)
        found = rows.filter((pl.col("layer") == layer) & (pl.col("head") == head))
        assert found["position"].to_list() == own and len(own) > 2
        for row in found.iter_rows(named=True):
            place = row["position"]
            top = slow.top(place)
            assert row["looks_at_position"] == top
            assert row["index"] == slow.positions[place]["index"]
            if top is not None:
                assert row["weight"] == slow.weights[place][top]
            heads = slow.head_of(place)
            gold = slow.positions[heads[0]]["form"] if heads else None
            assert row["gold_head"] == gold
            is_hidden = run == "decoder" and heads and (heads[0] > place or 0 in (heads[0], place))
            assert row["correct"] == (top in heads if heads and not is_hidden else None)
            special = sum(slow.weights[place][other] for other in slow.special)
            assert row["special"] == pytest.approx(special, abs=1e-12)


def test_what_looks_at_a_word_most(shown_bank: Path, run_names: dict[str, str]) -> None:
    with open_bank(shown_bank) as bank:
        rows = bank.show(SENTENCES[0], "2-4", direction="head_to_dependent").rows
    slow = read(shown_bank, run_names["single"], SENTENCES[0], (2, 4))
    assert rows.height == 15
    for row in rows.iter_rows(named=True):
        most = slow.most_attending(row["position"])
        assert row["looked_at_by_position"] == most
        heads = slow.head_of(row["position"])
        assert row["correct"] == (most in heads if heads else None)


@pytest.mark.usual("odd-*")
@pytest.mark.parametrize("direction", ["dependent_to_head", "head_to_dependent"])
@pytest.mark.parametrize(
    ("run", "corpus", "sentences"),
    [("odd", "odd", 2), ("single", "stories", 24), ("decoder", "stories", 24)],
)
def test_marks_are_those_that_head_accuracy_counts(
    shown_bank: Path,
    run_names: dict[str, str],
    run: str,
    corpus: str,
    sentences: int,
    direction: Any,
) -> None:
    """Summed over every sentence, the marks of a head are the accuracy of the analysis."""
    every: dict[str, Any] = {"hits": sentences, "corpus": corpus, "run": run_names[run]}
    with open_bank(shown_bank) as bank:
        rows = bank.show("pattern { W [] }", NAMES, direction=direction, **every).rows
        scores = bank.query("head_accuracy", run=run_names[run])
    assert rows["sent_id"].n_unique() == sentences
    marks = rows.with_columns(pl.col("relation").str.split(":").list.first())
    for layer, head in HEADS:
        known = scores.filter(layer=layer, head=head, direction=direction)
        assert known.height >= 5
        for relation, n, correct in known.select("relation", "n", "correct").rows():
            if relation != "all":
                of_it = marks.filter(layer=layer, head=head, relation=relation)["correct"]
                assert (of_it.count(), of_it.sum()) == (n, correct), relation


def test_a_saved_relation_has_its_own_pairs(shown_bank: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    shutil.copy(shown_bank, copy)
    with open_bank(copy) as bank:
        request = "pattern { V -[obj]-> O; V -[nsubj]-> S }"
        pairs, statement, _ = bank.pairs(request, dependent="S", head="O")
        before = bank.show("sample_story-1", "3-2", relation="obj").rows
    save_pairs(copy, SavedRelation("doing", request, "S", "O", None, statement), pairs.to_arrow())
    with open_bank(copy) as bank:
        figure = bank.show("sample_story-1", "3-2", relation="doing")
    kept = figure.rows.filter(pl.col("relation").is_not_null())
    assert kept.select("dependent", "gold_head", "relation").rows() == [
        ("Jonas", "lighthouse", "doing"), ("he", "boy", "doing")
    ]  # fmt: skip
    assert kept["correct"].to_list() == (kept["looks_at"] == kept["gold_head"]).to_list()
    assert figure.rows["looks_at"].to_list() == before["looks_at"].to_list()
    (panel,) = figure.panels
    assert panel.gold.select("from_position", "to_position").rows() == [(2, 6), (11, 14)]


PIECES = {
    "model": "id,name,causal\n1,m,true\n",
    "run": "id,name,unit\n1,pieces,token\n",
    "word": "id,sentence,index,form,head_index,deprel\n1,1,1,Lisbon,2,nsubj\n"
    "2,1,2,sees,0,root\n3,1,3,do,5,aux\n4,1,4,n't,3,advmod\n5,1,5,rain,2,obj\n",
    "sequence": "id,positions\n1,5\n",
    "position": "position,kind,word,last_word,text\n0,first,1,,Lis\n1,token,1,,bon\n"
    "2,token,2,,sees\n3,token,3,4,don't\n4,token,5,,rain\n",
    "attention": 'from_position,weights\n0,"[1, 0, 0, 0, 0]"\n1,"[1, 0, 0, 0, 0]"\n'
    '2,"[0.25, 0.75, 0, 0, 0]"\n3,"[0.5, 0.25, 0.25, 0, 0]"\n4,"[0, 0, 0.25, 0.75, 0]"\n',
    "peak": "position,most_attended,most_attended_weight,most_attending,most_attending_weight\n"
    "1,,,2,0.75\n2,1,0.75,4,0.25\n3,1,0.25,4,0.75\n4,3,0.75,,\n",
    "saved_relation": "name,request\nhelps,pattern { A -> B }\n",
    "saved_pair": "relation,word,head_word\nhelps,2,5\nhelps,2,1\nhelps,5,4\n",
}
"""Pieces of words: the first word has two, of which one is set apart; two words share one."""


def test_of_pieces_any_may_be_found_and_words_of_one_piece_do_not_find_each_other(
    tmp_path: Path,
) -> None:
    with open_bank(make_bank(tmp_path / "bank.duckdb", PIECES)) as bank:
        tree = bank.show(1, "1-1", run="pieces", relation="all", direction="later_to_earlier")
        back = bank.show(1, "1-1", run="pieces", relation="all", direction="head_to_dependent")
        saved = bank.show(1, "1-1", run="pieces", relation="helps")
    columns = ("position", "index", "gold_head", "correct")
    assert tree.rows.select(columns).rows() == [
        (0, 1, "sees", None), (1, 1, "sees", None), (2, 2, None, None),
        (3, 3, "rain", None), (3, 4, "do", None), (4, 5, "sees", False),
    ]  # fmt: skip
    assert [row[3] for row in back.rows.select(columns).rows()] == [
        None, True, None, True, None, None
    ]  # fmt: skip
    # From the later word of a pair to the first piece of the earlier one.
    assert tree.panels[0].gold.rows() == [(2, 0, True), (4, 3, True), (4, 2, False)]
    assert back.panels[0].gold.rows() == [(2, 0, True), (4, 3, True), (2, 4, False)]
    # Of several heads in a saved relation the first counts.
    assert saved.rows.filter(pl.col("relation") == "helps").select(columns).rows() == [
        (2, 2, "Lisbon", True), (4, 5, "n't", True)
    ]  # fmt: skip
    assert saved.panels[0].gold.rows() == [(2, 0, True), (2, 4, False), (4, 3, True)]


def test_nor_do_words_of_one_piece_in_a_run_that_sees_both_ways(
    tmp_path: Path,
) -> None:
    both_ways = PIECES | {"model": PIECES["model"].replace("true", "false")}
    with open_bank(make_bank(tmp_path / "bank.duckdb", both_ways)) as bank:
        rows = bank.show(1, "1-1", run="pieces", relation="all").rows
    assert rows.select("index", "gold_head", "correct").rows() == [
        (1, "sees", None), (1, "sees", False), (2, None, None),
        (3, "rain", False), (4, "do", None), (5, "sees", False),
    ]  # fmt: skip


def test_words_are_marked_by_their_indexes(shown_bank: Path, run_names: dict[str, str]) -> None:
    """As the words that a request finds are, in one sentence that is named."""
    with open_bank(shown_bank) as bank:
        figure = bank.show(SENTENCES[0], "2-4", run=run_names["single"], matched=(2, 5))
        words = figure.panels[0].words
        assert words.filter("is_matched")["index"].to_list() == [2, 5]
        assert list(figure.marked.values()) == [frozenset({2, 5})]
        with pytest.raises(CallError, match=r"has no word 99\.\nIts words are 1 to 15"):
            bank.show(SENTENCES[0], "2-4", matched=[2, 99])
