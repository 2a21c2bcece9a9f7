"""A request that cannot be read says where, and what was expected there."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnbank.queries import open_bank
from attnbank.queries.patterns import RequestError, compile_request
from attnbank.sql.errors import CallError


@pytest.mark.parametrize(
    ("request_", "line", "column", "says"),
    [
        ("pattern { A -[obj]> B }", 1, 18, "Unexpected ']'"),
        ("pattern { A [upos=NOUN }", 1, 24, "]"),
        ("pattern { N [Number[psor]=Sing] }", 1, 20, "Write Number__psor"),
        ("pattern {\n  A [upos=NOUN];\n  A <-[obj]- B }", 3, 6, "from head to dependent"),
        ("pattern { A -[obj]-> B", 1, 23, "end of the request"),
        ("Pattern { A [] }", 1, 1, "pattern"),
        ("pattern { A << B }", 1, 11, "A is not declared"),
        ("pattern { A [] } without { A < B }", 1, 32, "B is not declared"),
        ("pattern { A [lemma=with] }", 1, 20, 'Quote it: "with"'),
        ("pattern { e: A -> B; e: A -> C }", 1, 22, "two edges are called e"),
        ("pattern { e: e -> B }", 1, 14, "a node and an edge"),
        ("pattern { A -> B; A.form < B.form }", 1, 19, "a text"),
        ("pattern { A -> B; proj_size(A, B) > 3 }", 1, 19, "proj_size takes one node"),
        ("pattern { A -> B; e: A -> B; e.weight > 3 }", 1, 30, "has no weight"),
        ("pattern { A -> B; delta(A, B) > x }", 1, 33, "must be followed by a number"),
        ("pattern { A -> B; delta(A, B) > 3 + x }", 1, 37, "x is not a number"),
        ("pattern { X -> Y; X.Number <> Z.Number }", 1, 31, "Z is not declared"),
        ("pattern { X [] } without { X.lemma = Z.lemma }", 1, 38, "Z is not declared"),
        ("pattern { X []; X.lemma = lex.lemma }", 1, 27, 'quote a text: "lex.lemma"'),
        ("pattern { X [lemma=lex.lemma] }", 1, 20, "requests have no lexicons"),
        ("pattern { X []; X.xpos = NNP.a-b }", 1, 26, 'Quote a text with a full stop: "NNP.a-b"'),
        ("pattern { A -> B; height(B) > 6 }", 1, 19, "height is not supported"),
        ("pattern { A []; cont_proj_size(A) > 6 }", 1, 17, "cont_proj_size is not supported"),
        ("pattern { A []; constituent_size(A) > 6 }", 1, 17, "proj_size(A)"),
        ("pattern { A []; A.form <> * }", 1, 17, "Write N.f = *"),
        ("pattern { X -[E:obj|obj]-> Y }", 1, 11, "of both the tree and the enhanced graph"),
        ("pattern { X -[^E:obj]-> Y }", 1, 11, "of both the tree and the enhanced graph"),
        ("pattern { X -[enhanced=no]-> Y }", 1, 11, "-[enhanced=yes]->"),
        ("global { is_tee }", 1, 10, "Did you mean is_tree"),
        ("pattern { global.is_tee }", 1, 11, "Did you mean is_tree"),
        ("pattern { sent_id [] }", 1, 11, "sent_id"),
        ("pattern { A [form=/(a)(?=b)/] }", 1, 23, "look-ahead is not supported"),
        (r'pattern { A [form=re"\(a\)\1"] }', 1, 27, r"back-reference \1"),
        (r'pattern { A [form=re"\"\"\1"] }', 1, 26, r"back-reference \1"),
        ("pattern { A [form=/(a/] }", 1, 20, "a group is not closed"),
        ("pattern { A [form=/a{9}{9}{9}{9}{9}/] }", 1, 36, "10,000"),
        ("pattern { A [form=/a{1001}/] }", 1, 27, "1000 times"),
        ("pattern { A [form=/a++/] }", 1, 22, "possessive"),
    ],
)
def test_errors_have_a_place(request_: str, line: int, column: int, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        compile_request(request_)
    assert says in str(caught.value)
    assert (caught.value.position.line, caught.value.position.column) == (line, column)
    assert str(caught.value).startswith(f"Line {line}, column {column} of the request: ")
    assert len(str(caught.value).splitlines()) <= 2
    assert caught.value.status == 2


@pytest.mark.parametrize(
    ("keys", "column", "says"),
    [
        ("lemma", 1, "Name a node: V.lemma"),
        ("A.upos, lemma", 9, "lemma is not a key by itself"),
        ("length", 1, "Name two nodes: length(A, B)"),
        ("A.upos, Z.lemma", 9, "Z is not declared"),
        ("A#Z", 3, "Z is not declared"),
        ("A -> Z", 6, "Z is not declared"),
        ("A << Z", 6, "Z is not declared"),
        ("A.f[min=3]", 1, "a gap of 1 or more"),
        ("A.f[gap=0.5]", 9, "gap must be a whole number"),
        ("A.f[gaps=5]", 5, "Give gap, min or max"),
        ("A#B#A#B#A#B#A#B#A", 1, "9 nodes are too many"),
        ("meta.a/b", 1, "not a key of the metadata"),
        ("weight(3-1, A)", 1, "weight takes two nodes"),
    ],
)
def test_errors_in_keys_have_a_place(keys: str, column: int, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        compile_request("pattern { A -> B }", columns=keys)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"Line 1, column {column} of the keys: ")


@pytest.mark.parametrize("request_", ["", "  ", "pattern { A [] }\0"])
def test_what_is_no_request(request_: str) -> None:
    with pytest.raises(CallError):
        compile_request(request_)


def test_too_long_a_request() -> None:
    with pytest.raises(CallError, match="200,000"):
        compile_request("pattern { A [lemma=" + "|".join(["x"] * 200_000) + "] }")


@pytest.mark.parametrize(
    ("request_", "same"),
    [
        ("pattern{A[upos=NOUN,];B[];A->B;}", "pattern { A [upos=NOUN]; B []; A -> B }"),
        ("pattern { A [upos=NOUN] % a word }\n}", "pattern { A [upos=NOUN] }"),
        ('pattern { A -["obj"]-> B }', "pattern { A -[obj]-> B }"),
        ("pattern { A -> B; B > A }", "pattern { A -> B; A < B }"),
        ("pattern { A -> B } pattern { B [lemma=x] }", "pattern { A -> B; B [lemma=x] }"),
        ("pattern { A ->> A }", "pattern { A [] }"),
        ("pattern { A []; A.form = * }", "pattern { A []; A.form }"),
        ("global { text = * }", "global { text }"),
        ("pattern { A -[enhanced=yes]-> B }", "pattern { A -[enhanced=*]-> B }"),
        ("pattern { A -[!enhanced]-> B }", "pattern { A -> B }"),
        ("pattern { A -[E:obj]-> B }", 'pattern { A -["E:obj"]-> B }'),
        ("pattern { A [form=007] }", "pattern { A [form=7] }"),
        ("pattern { A [form=2.0] }", 'pattern { A [form="2"] }'),
        ('pattern { A [lemma=re"a\\|b"] }', "pattern { A [lemma=a|b] }"),
        ("pattern { A [lemma=/a|b/] }", "pattern { A [lemma=a|b] }"),
        ("pattern { A [lemma=/a|ab|b/] }", "pattern { A [lemma=a|b] }"),
        ('pattern { A [lemma="e\u0301"] }', "pattern { A [lemma=\u00e9] }"),
    ],
)
def test_two_ways_to_write_one_request(request_: str, same: str) -> None:
    assert compile_request(request_).statement == compile_request(same).statement


def test_nodes_whose_names_differ_in_capitals(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        hits = bank.find("pattern { N -[det]-> n }", context=False)
        assert hits.columns == ["sent_id", "N", "n"]
        before = hits.filter(hits["N"] > hits["n"]).height  # a determiner precedes its noun
        assert before > 0.9 * hits.height


def test_names_that_sql_knows(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        hits = bank.find(
            "pattern { select -[det]-> order; word [upos=VERB]; position [] }",
            limit=3,
            context=False,
        )
        assert hits.columns == ["sent_id", "select", "order", "word", "position"]
        odd = bank.find("pattern { N' -[det]-> d-1$ }", context=False)
        assert odd.columns == ["sent_id", "N'", "d-1$"]
