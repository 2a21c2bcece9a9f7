"""A request that cannot be read says where, and what was expected there."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnbank.queries import open_bank
from attnbank.queries.patterns import RequestError, question
from attnbank.sql.errors import CallError


@pytest.mark.parametrize(
    ("request_", "line", "column", "says"),
    [
        ("pattern { A -[obj]> B }", 1, 18, "cannot stand here"),
        ("pattern { A [upos=NOUN }", 1, 24, "]"),
        ("pattern {\n  A [upos=NOUN];\n  A <-[obj]- B }", 3, 6, "from head to dependent"),
        ("pattern { A -[obj]-> B", 1, 23, "the end"),
        ("Pattern { A [] }", 1, 1, "pattern"),
        ("pattern { A << B }", 1, 11, "nothing declares A"),
        ("pattern { A [] } without { A < B }", 1, 32, "nothing declares B"),
        ("pattern { A [lemma=with] }", 1, 20, 'Quote it: "with"'),
        ("pattern { e: A -> B; e: A -> C }", 1, 22, "named twice"),
        ("pattern { e: e -> B }", 1, 14, "a node and an edge"),
        ("pattern { A -> B; A.form < B.form }", 1, 19, "a text"),
        ("pattern { A -> B; proj_size(A, B) > 3 }", 1, 19, "proj_size is of one node"),
        ("pattern { A -> B; e: A -> B; e.weight > 3 }", 1, 30, "has no weight"),
        ("pattern { A -> B; delta(A, B) > x }", 1, 33, "followed by a number"),
        ("global { is_tee }", 1, 10, "Did you mean is_tree"),
        ("pattern { global.is_tee }", 1, 11, "Did you mean is_tree"),
        ("pattern { sent_id [] }", 1, 11, "sent_id"),
        ("pattern { A [form=/(a)(?=b)/] }", 1, 23, "look-ahead cannot be run"),
        (r'pattern { A [form=re"\(a\)\1"] }', 1, 27, r"back-reference \1"),
        (r'pattern { A [form=re"\"\"\1"] }', 1, 26, r"back-reference \1"),
        ("pattern { A [form=/(a/] }", 1, 20, "a group does not end"),
        ("pattern { A [form=/a{9}{9}{9}{9}{9}/] }", 1, 36, "10,000"),
        ("pattern { A [form=/a{1001}/] }", 1, 27, "1000 times"),
        ("pattern { A [form=/a++/] }", 1, 22, "possessive"),
    ],
)
def test_errors_have_a_place(request_: str, line: int, column: int, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        question(request_)
    assert says in str(caught.value)
    assert (caught.value.place.line, caught.value.place.column) == (line, column)
    assert str(caught.value).startswith(f"Line {line}, column {column} of the request: ")
    assert len(str(caught.value).splitlines()) <= 2
    assert caught.value.status == 2


@pytest.mark.parametrize("request_", ["", "  ", "pattern { A [] }\0"])
def test_what_is_no_request(request_: str) -> None:
    with pytest.raises(CallError):
        question(request_)


def test_too_long_a_request() -> None:
    with pytest.raises(CallError, match="200,000"):
        question("pattern { A [lemma=" + "|".join(["x"] * 200_000) + "] }")


@pytest.mark.parametrize(
    ("request_", "same"),
    [
        ("pattern{A[upos=NOUN,];B[];A->B;}", "pattern { A [upos=NOUN]; B []; A -> B }"),
        ("pattern { A [upos=NOUN] % a word }\n}", "pattern { A [upos=NOUN] }"),
        ('pattern { A -["obj"]-> B }', "pattern { A -[obj]-> B }"),
        ("pattern { A -> B; B > A }", "pattern { A -> B; A < B }"),
        ("pattern { A -> B } pattern { B [lemma=x] }", "pattern { A -> B; B [lemma=x] }"),
        ("pattern { A [form=007] }", "pattern { A [form=7] }"),
        ("pattern { A [form=2.0] }", 'pattern { A [form="2"] }'),
        ('pattern { A [lemma=re"a\\|b"] }', "pattern { A [lemma=a|b] }"),
        ("pattern { A [lemma=/a|b/] }", "pattern { A [lemma=a|b] }"),
        ("pattern { A [lemma=/a|ab|b/] }", "pattern { A [lemma=a|b] }"),
        ('pattern { A [lemma="e\u0301"] }', "pattern { A [lemma=\u00e9] }"),
    ],
)
def test_two_ways_to_write_one_request(request_: str, same: str) -> None:
    assert question(request_).statement == question(same).statement


def test_nodes_whose_names_differ_in_capitals(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        found = bank.find("pattern { N -[det]-> n }")
        assert found.columns == ["sent_id", "N", "n"]
        before = found.filter(found["N"] > found["n"]).height  # a determiner precedes its noun
        assert before > 0.9 * found.height


def test_names_that_sql_knows(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        found = bank.find(
            "pattern { select -[det]-> order; word [upos=VERB]; position [] }", limit=3
        )
        assert found.columns == ["sent_id", "select", "order", "word", "position"]
        odd = bank.find("pattern { N' -[det]-> d-1$ }")
        assert odd.columns == ["sent_id", "N'", "d-1$"]
