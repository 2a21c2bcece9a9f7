"""Requests find what an independent slow matcher finds, hit by hit: by hand, and drawn.

The matcher (tests/oracles/patterns) tries one word after another in plain Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from judged import Judged, check, judged_bank
from patterns.corpus import Word
from patterns.matcher import hits
from patterns.requests import DOCUMENT, ENHANCED, PASTED, SENTENCE, draw

from attnbank.queries import open_bank
from attnbank.queries.patterns import request_for_count_row
from attnbank.sql.errors import CallError

DRAWN = 30
SMALL = """# sent_id = a
1	She	she	PRON	_	_	3	nsubj	3:nsubj|8:nsubj|12:nsubj:xsubj	_
2	soon	soon	ADV	_	_	3	advmod	3:advmod	_
3	bought	buy	VERB	_	_	0	root	0:root	_
4	two	two	NUM	_	_	5	nummod	5:nummod	_
5	apples	apple	NOUN	_	_	3	obj	3:obj|8:obj	_
6	,	,	PUNCT	_	_	8	punct	8:punct	_
7	and	and	CCONJ	_	_	8	cc	8:cc	_
8	ate	eat	VERB	_	_	3	conj	0:root|3:conj:and	_
8.1	tried	try	VERB	_	_	_	_	3:conj:and	_
9	them	they	PRON	_	_	8	obj	8:obj	_
10	happy	happy	ADJ	_	_	8	xcomp	8:xcomp	_
11	to	to	PART	_	_	12	mark	12:mark	_
12	sleep	sleep	VERB	_	_	10	advcl	10:advcl:to|8.1:dep	_

# sent_id = b
1	It	it	PRON	_	_	3	nsubj	3:nsubj|5:nsubj|15:nsubj	_
2	is	be	AUX	_	_	3	cop	3:cop	_
3	small	small	ADJ	_	_	0	root	0:root	_
4	or	or	CCONJ	_	_	5	cc	5:cc	_
5	new	new	ADJ	_	_	3	conj	0:root|3:conj:or	_
6	in	in	ADP	_	_	9	case	9:case	_
7	a	a	DET	_	_	9	det	9:det	_
8	big	big	ADJ	_	_	9	amod	9:amod	_
9	house	house	NOUN	_	_	5	obl	5:obl:in|15:obl:in	_
10	that	that	PRON	_	_	15	obl	9:ref	_
11	all	all	DET	_	_	12	det	12:det	_
12	birds	bird	NOUN	_	_	15	nsubj	15:nsubj	_
13	have	have	AUX	_	_	15	aux	15:aux	_
14	often	often	ADV	_	_	15	advmod	15:advmod	_
15	seen	see	VERB	_	_	9	acl:relcl	9:acl:relcl	_

"""
"""Shared and controlled subjects, an empty node, a second root, a cycle."""
SIZES = (
    "pattern { A [upos=VERB]; proj_size(A) > 9 }",
    "pattern { A -> B; B [upos=NOUN] } without { proj_size(A) < 12 }",
    "pattern { A [upos=PUNCT]; proj_size(A) = 0 }",
    "pattern { climb -> Subtree; proj_size(climb) - proj_size(Subtree) > 6 }",
    "pattern { A -> B; A -> C; B << C; proj_size(B) = proj_size(C) }",
)

ORDERS = (
    "pattern { e: X -[obj]-> Y; f: X -[E:obj]-> Y; e << f }",  # of equal spans neither is within
    "pattern { e: X -[nsubj]-> Y; f: V -[E:nsubj]-> Y; e << f }",
    "pattern { N$ [upos=NUM]; e: X -[obj]-> Y; N$ << e }",
    "pattern { N$ [upos=NOUN|VERB]; e: X -[obj]-> Y; N$ << e }",  # no end is within
    "pattern { X []; e: X -[obj]-> *; Y [upos=NUM]; Y << e }",
    "pattern { X []; e: * -[det]-> X; f: V -> W; e << f }",
    "pattern { e: X -[advmod]-> *; f: X -[obj]-> Y; e <> f }",
    "pattern { X [upos=VERB] } without { e: X -> *; Y [upos=NUM]; Y << e }",
)

WRITTEN_APART = {
    "pattern { e: X -> Y; e.enhanced = yes; Y [upos=PRON] }":
        "pattern { e: X -[enhanced=yes]-> Y; Y [upos=PRON] }",
    "pattern { e: X -[1=conj]-> Y; e.enhanced = * } without { e.2 = and }":
        "pattern { e: X -[1=conj, enhanced=yes]-> Y } without { e.2 = and }",
    "pattern { X [upos=VERB] } without { e: X -[1=obj]-> Y; e.enhanced }":
        "pattern { X [upos=VERB] } without { X -[E:obj]-> Y }",
    "pattern { e: X -[1=obj]-> Y; !e.enhanced }": "pattern { e: X -[1=obj]-> Y }",
}  # fmt: skip
"""Requests that say of a named edge that it is enhanced, and the same with a mark in its label."""


@pytest.fixture(scope="module")
def of_documents(bank_of: BankFactory) -> Iterator[Judged]:
    """The sample, whose documents the same model has read."""
    yield from judged_bank(bank_of("sample", "minilm", context="document"))


@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_by_hand(judged_sample: Judged) -> None:
    assert check(SENTENCE, judged_sample, step=4) == len(SENTENCE) >= 50


def test_sizes_of_what_is_below_a_word(judged_sample: Judged) -> None:
    assert check(SIZES, judged_sample) == len(SIZES)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No ")
def test_what_people_paste_from_grew_match(judged_sample: Judged) -> None:
    assert check(PASTED, judged_sample) == len(PASTED) - 1


def _order(*nodes: tuple[str, Word, int]) -> str:
    return " << ".join(name for name, _, _ in sorted(nodes, key=lambda node: node[2]))


def _between(one: tuple[str, Word, int], other: tuple[str, Word, int], mutual: bool) -> str | None:
    if other[1].head == one[2]:
        return other[1].deprel
    back = mutual and one[1].head == other[2]
    return f"-{one[1].deprel}" if back else "__none__"


def _interval(value: int, gap: int, least: int, most: int) -> str:
    if value < least:
        return f"]-∞, {least}["
    if value >= most:
        return f"[{most}, +∞["
    begin = max(each for each in range(least, most, gap) if each <= value)
    return f"[{begin}, {min(begin + gap, most)}["


KEYS: dict[str, Callable[..., Any]] = {
    "A#B#C": lambda a, b, c: _order(a, b, c),
    "C#A": lambda a, b, c: _order(c, a),
    "A -> B": lambda a, b, c: _between(a, b, False),
    "B <-> C": lambda a, b, c: _between(b, c, True),
    "B <-> A": lambda a, b, c: _between(b, a, True),
    "A << C": lambda a, b, c: a[2] < c[2],
    "C.Number/upos": lambda a, b, c: c[1].features.get("Number", c[1].features.get("upos")),
    "delta(A, B)[gap=3, min=-4, max=6]": lambda a, b, c: _interval(b[2] - a[2], 3, -4, 6),
    "C.__id__[gap=10]": lambda a, b, c: _interval(c[2], 10, 0, 1000),
    "delta(A, B) - C.__id__ + 1": lambda a, b, c: b[2] - a[2] - c[2] + 1,
    "(A.upos, B.upos)": lambda a, b, c: (a[1].features.get("upos"), b[1].features.get("upos")),
}
"""Keys of Grew-match, each with what it is of three nodes: name, word, index."""


@pytest.mark.usual(4)
@pytest.mark.parametrize("by", KEYS)
def test_keys_of_grew_match(by: str, judged_sample: Judged) -> None:
    request = "pattern { A -> B; B -> C }"
    bank, corpus = judged_sample
    words = {each.name: each.words for each in corpus.sentences}
    expected = Counter(
        KEYS[by](*((name, words[sentence][at], at) for name, (sentence, at) in hit.nodes))
        for hit in hits(request, corpus)
    )
    frame = bank.count(request, by)
    keys = [row if by[0] == "(" else row[0] for row in frame.drop("n", "share").rows()]
    assert dict(zip(keys, frame["n"], strict=True)) == expected and len(expected) > 1
    if by[0] != "(":  # each row has the request that lists its hits
        for key, n in zip(keys, frame["n"], strict=True):
            assert bank.find(request_for_count_row(request, by, (key,))).height == n, key


@pytest.fixture
def small_bank(bank_of: BankFactory) -> Path:
    return bank_of({"small.conllu": SMALL}, "none")


def test_what_is_within_an_edge(small_bank: Path) -> None:
    for judged in judged_bank(small_bank):
        assert check(ORDERS, judged) == len(ORDERS) - 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_the_enhanced_graph(small_bank: Path) -> None:
    for judged in judged_bank(small_bank):
        assert check(ENHANCED, judged) == len(ENHANCED) - 1
        with pytest.raises(CallError, match="of both the tree and the enhanced graph"):
            judged[0].find("pattern { X -[E:obj|obj]-> Y }")
        for asked, marked in WRITTEN_APART.items():
            found = judged[0].find(asked)
            assert found.height and found.equals(judged[0].find(marked)), asked
        for asked in (
            "pattern { e: X -[obj]-> Y; e.enhanced = yes }",
            "pattern { e: X -> Y } without { e.enhanced = yes }",
            "pattern { e: X -> Y; e.enhanced = no }",
            "pattern { e: X -> Y; e.enhanced <> yes }",
        ):
            with pytest.raises(CallError, match="e is an edge of the tree, not an enhanced edge"):
                judged[0].find(asked)


def test_a_bank_without_the_enhanced_graph_refuses(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        for request in (
            "pattern { X -[E:obj]-> Y }",
            "pattern { X [] } without { X -[E:obj]-> * }",
        ):
            with pytest.raises(CallError, match="The bank has no enhanced edges"):
                bank.find(request)
        with pytest.raises(CallError, match="The bank has no enhanced edges"):
            bank.score("pattern { X -[E:obj]-> Y }", dependent="Y", head="X")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_the_enhanced_graph_of_real_text(text_bank: Callable[[str], Path]) -> None:
    for judged in judged_bank(text_bank("gum-dev")):
        assert check(ENHANCED, judged) == len(ENHANCED) - 1  # no word is subject and object


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_within_documents(of_documents: Judged) -> None:
    assert check(DOCUMENT, of_documents, "document") == len(DOCUMENT) >= 12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_that_are_drawn(judged_sample: Judged) -> None:
    requests = [draw(seed, judged_sample[1]) for seed in range(DRAWN)]
    assert check(requests, judged_sample) > DRAWN / 2


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:No word has")
def test_more_requests_that_are_drawn(judged_sample: Judged, soak_seed: int) -> None:
    seeds = range(soak_seed, soak_seed + 20 * DRAWN)
    requests = [draw(seed, judged_sample[1]) for seed in seeds]
    assert check(requests, judged_sample) > len(requests) / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_sentences_of_a_run_over_documents(of_documents: Judged) -> None:
    """Nodes and stars stay in one sentence, though the model has read all of the document."""
    assert check(SENTENCE, of_documents) > len(SENTENCE) / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_on_real_text(text_bank: Callable[[str], Path]) -> None:
    for judged in judged_bank(text_bank("gum-dev")):
        requests = [draw(seed, judged[1]) for seed in range(DRAWN)]
        assert check(requests, judged) > DRAWN / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_on_real_text_with_attention(corpora: Path, bank_of: BankFactory) -> None:
    for judged in judged_bank(bank_of(corpora / "gum-dev.conllu", "minilm", limit=60)):
        requests = [draw(seed, judged[1]) for seed in range(DRAWN)]
        assert check([*SENTENCE, *requests], judged) > 40
