"""`bank.find`: columns, corpora, limits, and what is said where nothing is found."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError

OBJECTS = "pattern { e: V -[1=obj]-> O }"


def test_a_row_is_a_hit(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        found = bank.find(OBJECTS)
        assert found.columns == ["sent_id", "V", "O", "e"]
        expected = bank.sql(
            "select sentence.name as sent_id, word.head_index as V, word.index as O, word.deprel"
            " as e from word inner join sentence on sentence.id = word.sentence"
            " where without_subtype(word.deprel) = 'obj' order by sentence.id, V, O"
        )
        assert found.height > 50
        assert found.rows() == expected.rows()


def test_further_columns(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        asked = "V.lemma, O.Number, delta(V, O), length(O, V), e.length, e.1, V.__id__"
        found = bank.find(OBJECTS, columns=asked)
        assert ", ".join(found.columns) == f"sent_id, V, O, e, {asked}"
        words = {
            (name, index): (lemma, feats)
            for name, index, lemma, feats in bank.sql(
                "select sentence.name, word.index, lemma, feats from word"
                " inner join sentence on sentence.id = word.sentence"
            ).rows()
        }
        for sent_id, v, o, e, lemma, number, delta, length, span, one, id in found.rows():
            assert lemma == words[sent_id, v][0]
            feats = dict(each.split("=") for each in (words[sent_id, o][1] or "x=y").split("|"))
            assert number == feats.get("Number")
            assert (delta, length, span, one, id) == (o - v, abs(o - v), length, e.split(":")[0], v)


def test_a_corpus_alone(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        every = bank.find(OBJECTS)
        parts = [bank.find(OBJECTS, corpus=name) for name in ("press", "stories", "instructions")]
        assert all(0 < part.height < every.height for part in parts)
        assert parts[0].join(parts[1], on=every.columns).height == 0
        with pytest.raises(CallError, match="Did you mean stories"):
            bank.find(OBJECTS, corpus="storys")


def test_the_first_hits(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        every = bank.find(OBJECTS)
        assert bank.find(OBJECTS, limit=7).equals(every.head(7))
        assert bank.find(OBJECTS, limit=0).height == 0
        with pytest.raises(CallError, match="no number of hits"):
            bank.find(OBJECTS, limit=-1)


def test_the_answer_to_nothing_says_why(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        with pytest.warns(AttnbankWarning, match="relation objj. Did you mean obj"):
            bank.find("pattern { V -[objj]-> O }")
        with pytest.warns(AttnbankWarning, match="feature Numbr. Did you mean Number"):
            bank.find("pattern { V [Numbr=Plur] }")


def test_a_request_that_would_not_end(sample_text_bank: Path) -> None:
    nodes = "; ".join(f"N{number} []" for number in range(8))
    with open_bank(sample_text_bank) as bank:
        began = time.monotonic()
        with pytest.raises(QueryError, match=r"longer than 0.5 seconds|more memory"):
            bank.find(f"pattern {{ {nodes} }}", timeout=0.5)
        assert time.monotonic() - began < 20
        assert bank.find(OBJECTS).height


def test_sql_in_every_place(sample_text_bank: Path) -> None:
    evil = "'; drop table word; --"
    requests = [
        f'pattern {{ A [form="{evil}"] }}',
        f'pattern {{ A [Number="{evil}"] }}',
        f'pattern {{ A [upos<>"{evil}"|"x"], lemma=re"{evil}"] }}'.replace("], lemma", ", lemma"),
        f'pattern {{ A -["{evil}"]-> B }}',
        f'pattern {{ A -[1="{evil}", 2<>"{evil}"]-> B }}',
        f'pattern {{ A -[re"{evil}"]-> B }}',
        f'global {{ text = "{evil}"; "{evil}" = "{evil}"; "{evil}" }}',
        f'pattern {{ A []; A.form = "{evil}" }} without {{ A [xpos=/{evil}/] }}',
    ]
    with open_bank(sample_text_bank) as bank, pytest.warns(AttnbankWarning):
        for request in requests:
            assert bank.find(request).height == 0
        assert bank.find("pattern { A -[obj]-> B }").height > 50
