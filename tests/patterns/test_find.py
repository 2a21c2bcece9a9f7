"""`bank.find`: columns, corpora, limits, and what is said where nothing is found."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from bank_factory import BankFactory

from attnbank.queries import Bank, open_bank
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError

OBJECTS = "pattern { e: V -[1=obj]-> O }"


@pytest.fixture(scope="module")
def bank(sample_text_bank: Path) -> Iterator[Bank]:
    with open_bank(sample_text_bank) as opened:
        yield opened


def test_a_row_is_a_hit(bank: Bank) -> None:
    hits = bank.find(OBJECTS, context=False)
    assert hits.columns == ["sent_id", "V", "O", "e"]
    expected = bank.sql(
        "select sentence.name as sent_id, word.head_index as V, word.index as O, word.deprel"
        " as e from word inner join sentence on sentence.id = word.sentence"
        " where without_subtype(word.deprel) = 'obj' order by sentence.id, V, O"
    )
    assert hits.height > 50
    assert hits.rows() == expected.rows()


def test_further_columns(bank: Bank) -> None:
    asked = "V.lemma, O.Number, delta(V, O), length(O, V), e.length, e.1, V.__id__"
    hits = bank.find(OBJECTS, columns=asked)
    assert ", ".join(hits.columns) == f"sent_id, V, O, e, {asked}"
    words = {
        (name, index): (lemma, feats)
        for name, index, lemma, feats in bank.sql(
            "select sentence.name, word.index, lemma, feats from word"
            " inner join sentence on sentence.id = word.sentence"
        ).rows()
    }
    for sent_id, v, o, e, lemma, number, delta, length, span, one, id in hits.rows():
        assert lemma == words[sent_id, v][0]
        feats = dict(each.split("=") for each in (words[sent_id, o][1] or "x=y").split("|"))
        assert number == feats.get("Number")
        assert (delta, length, span, one, id) == (o - v, abs(o - v), length, e.split(":")[0], v)


def test_sums_and_features_instead_of_others(bank: Bank) -> None:

    def hits(request: str) -> list[tuple[object, ...]]:
        return bank.find(f"pattern {{ {request} }}", context=False).rows()

    third = [hit for hit in hits("A -> B") if hit[1] == 3]
    assert hits("A -> B; delta(A, B) - B.__id__ + 3 = 0") == third != []
    either = sorted(hits("A [Tense=Past]") + hits("A [!Tense, upos=ADV]"))
    assert sorted(hits("A [Tense=Past/upos=ADV]")) == either
    assert hits("A []; A.Tense/upos = ADV") == hits("A [!Tense, upos=ADV]") != []


def test_a_corpus_alone(bank: Bank) -> None:
    every = bank.find(OBJECTS, context=False)
    parts = [
        bank.find(OBJECTS, corpus=name, context=False)
        for name in ("press", "stories", "instructions")
    ]
    assert all(0 < part.height < every.height for part in parts)
    assert parts[0].join(parts[1], on=every.columns).height == 0
    with pytest.raises(CallError, match="Did you mean stories"):
        bank.find(OBJECTS, corpus="storys")


def test_the_first_hits(bank: Bank) -> None:
    every = bank.find(OBJECTS, context=False)
    assert bank.find(OBJECTS, limit=7, context=False).equals(every.head(7))
    assert bank.find(OBJECTS, limit=0).height == 0
    with pytest.raises(CallError, match="not a valid number of hits"):
        bank.find(OBJECTS, limit=-1)


def test_the_answer_to_nothing_says_why(bank: Bank) -> None:
    with pytest.warns(AttnbankWarning, match="relation objj. Did you mean obj"):
        bank.find("pattern { V -[objj]-> O }")
    with pytest.warns(AttnbankWarning, match="feature Numbr. Did you mean Number"):
        bank.find("pattern { V [Numbr=Plur] }")


NOUNS = "pattern { N [upos=NOUN] }"
TOLD = {
    "pattern { N [upos=VREB] }": "No word has the upos VREB. Did you mean VERB",
    "pattern { N [Tense=Pst] }": "No word has Tense=Pst. Did you mean Past",
    NOUNS + " without { N [Tense=Pst] }": "No word has Tense=Pst. Did you mean Past",
    NOUNS + " without { N [Numbr=Sing] }": "the feature Numbr. Did you mean Number",
    NOUNS + " without { N -[objj]-> * }": "the relation objj. Did you mean obj",
    NOUNS + " without { N -[1=objj]-> * }": "the relation objj. Did you mean obj",
    NOUNS + " without { e: N -> *; e.label = objj }": "the relation objj. Did you mean obj",
    NOUNS + " without { e: N -> *; e.lable = obj }": "the feature lable. Did you mean label",
    "pattern { N []; N.upos <> NOWN }": "the upos NOWN. Did you mean NOUN",
    "pattern { N [Nosuch=x/upos=NOUN] }": "the feature Nosuch",
    "pattern { N [lemma=hav] }": r"the lemma hav. Did you mean .*have",
    "pattern { N [mention=pronom] }": "mention=pronom. Did you mean pronoun",
    "global { genr = news }": "No sentence or document has the metadata genr",
    'global { sent_id = "none" }': "has sent_id=none",
    NOUNS + "; N.lema": "the feature lema. Did you mean lemma",
    NOUNS + "; document.gnre": "the metadata gnre",
}
"""Requests (and after a semicolon a key), and what is told, also if they find something."""


@pytest.mark.usual(4)
@pytest.mark.parametrize("request_", TOLD)
def test_names_that_nothing_has_are_told(request_: str, bank: Bank) -> None:
    request, _, key = request_.partition("}; ")
    with pytest.warns(AttnbankWarning, match=TOLD[request_]) as caught:
        bank.count(f"{request} }}" if key else request, key)
    assert len(caught) == 1


def test_a_list_of_words_may_have_others(bank: Bank) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bank.find('pattern { N [lemma=have|nosuch, form<>"__0__"] }').height


def test_a_bank_without_coreference_says_so(bank_of: BankFactory) -> None:
    text = "# sent_id = a\n1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
    with open_bank(bank_of({"a.conllu": text}, "none")) as bank:
        for request in ("pattern { A ~ B }", "pattern { A [] } without { A ~ * }"):
            with pytest.warns(AttnbankWarning, match="No word has a mention in this bank"):
                bank.find(request)


@pytest.mark.slow
def test_a_request_that_would_not_end(bank: Bank) -> None:
    nodes = "; ".join(f"N{number} []" for number in range(8))
    began = time.monotonic()
    with pytest.raises(QueryError, match=r"longer than 0.5 seconds|more memory"):
        bank.find(f"pattern {{ {nodes} }}", timeout=0.5)
    assert time.monotonic() - began < 20
    assert bank.find(OBJECTS).height


def test_sql_in_every_place(bank: Bank) -> None:
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
    with pytest.warns(AttnbankWarning):
        for request in requests:
            assert bank.find(request).height == 0
        assert bank.find("pattern { A -[obj]-> B }").height > 50


def test_hits_stand_in_their_sentence(bank: Bank) -> None:
    plain = bank.find(OBJECTS, columns="V.form, O.form", limit=20)
    hits = bank.find(OBJECTS, columns="V.form, O.form", limit=20, context=2)
    assert hits.columns == ["sent_id", "left", "hit", "right", *plain.columns[1:]]
    assert hits.select(plain.columns).equals(plain)
    for row in hits.iter_rows(named=True):
        marked = sorted([row["V.form"], row["O.form"]])
        assert sorted(re.findall(r"\[([^\]]*)\]", row["hit"])) == marked
        assert len(row["left"].split()) <= 2
    usual = bank.find(OBJECTS, limit=20)
    assert {"left", "hit", "right"} <= set(usual.columns) - set(plain.columns)
    assert usual.equals(bank.find(OBJECTS, limit=20, context=10))
    bare = bank.find(OBJECTS, limit=20, context=False)
    assert usual.drop("left", "hit", "right").equals(bare)
    wide = bank.find("pattern { A ~ B }", within="document", limit=5, context=1)
    assert wide["hit"].str.count_matches(r"\[").to_list() == [2] * wide.height > []


def test_a_name_like_a_column_of_the_words_around(bank: Bank) -> None:
    with pytest.raises(CallError, match="hit is a name in the request and also a column"):
        bank.find("pattern { hit -[obj]-> O }")
    assert bank.find("pattern { hit -[obj]-> O }", context=False).height > 50


SUD = """# sent_id = a
1\twe\t_\tPRON\t_\t_\t2\tsubj@expl\t_\t_
2\tdey\t_\tAUX\t_\t_\t0\troot@scrap\t_\t_
3\tgo\t_\tVERB\t_\t_\t2\tcomp:aux@lvc\t_\t_

# sent_id = b
1\tdem\t_\tPRON\t_\t_\t2\tsubj\t_\t_
2\tsee\t_\tVERB\t_\t_\t0\troot\t_\t_
3\tam\t_\tPRON\t_\t_\t2\tcomp:obj$purp\t_\t_
4\tnow\t_\tADV\t_\t_\t2\tmod$time@x\t_\t_

"""


def test_relations_of_sud_have_a_part_behind_an_at_sign(bank_of: BankFactory) -> None:
    with open_bank(bank_of({"sud.conllu": SUD}, "none")) as bank:
        for request, hits in (
            ("pattern { A -[1=subj]-> B }", [("a", 2, 1), ("b", 2, 1)]),
            ("pattern { A -[subj]-> B }", [("b", 2, 1)]),
            ('pattern { A -[1=re"su.*"]-> B }', [("a", 2, 1), ("b", 2, 1)]),
            ("pattern { A -[1=comp, 2=aux, deep=lvc]-> B }", [("a", 2, 3)]),
            ("pattern { A -[1=comp, 2=aux]-> B }", [("a", 2, 3)]),
            ("pattern { A -[2=aux, !deep]-> B }", []),
            ("pattern { A -[1=comp, !deep]-> B }", [("b", 2, 3)]),
            ("pattern { A -[deep=expl|lvc]-> B }", [("a", 2, 1), ("a", 2, 3)]),
            ("pattern { A -[deep<>expl]-> B }", [("a", 0, 2), ("a", 2, 3), ("b", 2, 4)]),
            ("pattern { A -[1=root]-> B }", [("a", 0, 2), ("b", 0, 2)]),
            ("pattern { A -[deep=scrap]-> B }", [("a", 0, 2)]),
            ("pattern { A -[root@scrap]-> B }", [("a", 0, 2)]),
            ('pattern { A -[re".*@scrap"]-> B }', [("a", 0, 2)]),
            ('pattern { A -[re".*scrap"]-> B }', [("a", 0, 2)]),
            ("pattern { A -[1=comp, 2=obj]-> B }", [("b", 2, 3)]),
            ("pattern { A -[1=mod]-> B }", [("b", 2, 4)]),
            (
                "pattern { A -[1=mod|comp|root]-> B }",
                [("a", 0, 2), ("a", 2, 3), ("b", 0, 2), ("b", 2, 3), ("b", 2, 4)],
            ),
            ("pattern { A -[subsem=purp]-> B }", [("b", 2, 3)]),
            ("pattern { A -[subsem=time, deep=x]-> B }", [("b", 2, 4)]),
            ("pattern { e: A -> B; e.deep = lvc }", [("a", 2, 3)]),
            ("pattern { e: A -> B; f: A -> C; e.1 = f.1; e.deep <> f.deep }", []),
        ):
            found = bank.find(request, context=False).select("sent_id", "A", "B")
            assert [*found.iter_rows()] == hits, request
        with pytest.warns(AttnbankWarning, match="@lcv"):
            assert bank.find("pattern { A -[deep=lcv]-> B }").height == 0
        relations = bank.sql("select without_subtype(deprel) from word order by id")
        assert [*relations.to_series()] == ["subj", "root", "comp", "subj", "root", "comp", "mod"]


TWO_MENTIONS_OF_ONE_HEAD = """# newdoc id = d
# sent_id = a
1\tA\t_\tDET\t_\t_\t2\tdet\t_\tEntity=(e1-animal-2-new
2\tdog\t_\tNOUN\t_\t_\t3\tnsubj\t_\tEntity=(e1-animal-1-new)e1)
3\tsaw\t_\tVERB\t_\t_\t0\troot\t_\t_
4\titself\t_\tPRON\t_\t_\t3\tobj\t_\tEntity=(e1-animal-1-giv)

"""


def test_words_that_corefer_by_several_mentions_are_one_hit(bank_of: BankFactory) -> None:
    with open_bank(bank_of({"nested.conllu": TWO_MENTIONS_OF_ONE_HEAD}, "none")) as bank:
        assert bank.sql("select head_word from mention")["head_word"].to_list() == [2, 2, 4]
        hits = bank.find("pattern { A ~ B }", context=False)
        assert hits.rows() == [("a", 2, 4), ("a", 4, 2)]
