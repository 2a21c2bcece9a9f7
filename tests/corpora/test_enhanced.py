"""Enhanced dependencies: the DEPS column."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_text import read_problem, read_sentence, read_sentences

# Two conjuncts share a subject, once told twice; an empty node stands for what is left out.
ROWS = """1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t2:nsubj|4:nsubj|4:nsubj\t_
2\tsang\tsing\tVERB\t_\t_\t0\troot\t0:root\t_
3\tand\tand\tCCONJ\t_\t_\t4\tcc\t4:cc\t_
4\tdanced\tdance\tVERB\t_\t_\t2\tconj\t0:root|2:conj:and\t_
4.1\tsang\tsing\tVERB\t_\t_\t_\t_\t2:conj\t_
5\twell\twell\tADV\t_\t_\t4\tadvmod\t4.1:advmod|4:advmod\t_
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_
"""
EDGES = [
    (1, 2, "nsubj"), (1, 4, "nsubj"), (2, 0, "root"), (3, 4, "cc"), (4, 0, "root"),
    (4, 2, "conj:and"), (5, 4, "advmod"),
]  # fmt: skip


def test_edges_are_told_once() -> None:
    words = enumerate(read_sentence(ROWS).words, 1)
    assert [(at, *edge) for at, word in words for edge in word.edges] == EDGES


@pytest.mark.parametrize(
    "deps",
    ["2", "2:", ":nsubj", "2:nsubj|", "-1:nsubj", "7:nsubj", "02:nsubj", "2:n subj", "4.2:nsubj",
     "1.1:nsubj", "2.0:nsubj", "9999999999:nsubj", "\u0663:nsubj"],
)  # fmt: skip
def test_what_is_no_edge_is_refused(deps: str) -> None:
    problem = read_problem(ROWS.replace("2:nsubj|4:nsubj|4:nsubj", deps))
    assert (problem.id, problem.line) == ("bad-deps", 1)
    assert repr(deps.partition("|")[0] or deps) in problem.fact or "''" in problem.fact


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gum-dev.conllu", "ewt-dev.conllu"])
def test_the_edges_of_real_text(name: str, corpora: Path) -> None:
    """Against a reading of the column line by line."""
    path = corpora / name
    wanted: list[tuple[str, str, str]] = []
    for line in path.read_text("utf-8").splitlines():
        cells = line.split("\t")
        if len(cells) == 10 and cells[0].isdigit() and cells[8] != "_":
            for edge in cells[8].split("|"):
                head, _, relation = edge.partition(":")
                if head.isdigit():
                    wanted.append((cells[0], head, relation))
    edges = [
        (str(at), str(head), relation)
        for sentence in read_sentences(path.read_bytes())
        for at, word in enumerate(sentence.words, 1)
        for head, relation in word.edges
    ]
    assert len(edges) > 10_000 and edges == wanted
