"""Requests with attention: runs, names of special tokens, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_bank import make_bank
from judged import Judged

from attnbank.queries import Bank, open_bank
from attnbank.queries.patterns import RequestError
from attnbank.sql.errors import CallError


@pytest.fixture
def bank(judged_sample: Judged) -> Bank:
    return judged_sample[0]


def test_a_node_may_be_called_sep(bank: Bank) -> None:
    hits = bank.find("pattern { SEP [upos=VERB]; A =[3-1]=> SEP }", context=False)
    same = bank.find("pattern { B [upos=VERB]; A =[3-1]=> B }", context=False)
    assert sorted(hits.select("sent_id", "A", "SEP").rows()) == sorted(
        same.select("sent_id", "A", "B").rows()
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
    hits = bank.find("pattern { A =[3-1]=> B }", run="sample/minilm", context=False)
    assert hits.equals(bank.find("pattern { A =[3-1]=> B }", context=False))
    with pytest.raises(CallError, match="no run nowhere"):
        bank.find("pattern { A =[3-1]=> B }", run="nowhere")
    with pytest.raises(CallError, match="does not ask about attention"):
        bank.find("pattern { A -> B }", run="sample/minilm")
    with open_bank(sample_text_bank) as without, pytest.raises(Exception, match="has no run"):
        without.find("pattern { A =[3-1]=> B }")


def test_a_weight_on_the_word_itself_is_one_of_its_weights(tmp_path: Path) -> None:
    given = {
        "word": "id,sentence,index,form\n1,1,1,It\n2,1,2,rains\n",
        "sequence": "id,run,sentence,positions\n1,1,1,2\n",
        "position": "sequence,position,word\n1,0,1\n1,1,2\n",
        "attention": "sequence;layer;head;from_position;weights\n"
        "1;1;1;0;[0.9, 0.1]\n1;1;1;1;[0.6, 0.4]\n",
    }
    with open_bank(make_bank(tmp_path / "bank.duckdb", given)) as bank:
        for edge, hits in (
            ("A =[1-1 > 0.5]=> *", [(1,), (2,)]),
            ("A =[1-1 > 0.5]=> A", [(1,)]),
            ("A =[1-1 > 0.5]=> B", [(2, 1)]),
            ("A =[1-1 > 0.5]=> B$", [(1, 1), (2, 1)]),
        ):
            frame = bank.find(f"pattern {{ {edge} }}", context=False)
            assert frame.drop("sent_id", "run").rows() == hits, edge
