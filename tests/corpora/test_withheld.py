"""Treebanks that are published without their text: refused, and single words are counted."""

from __future__ import annotations

import corpus_text
import pytest

from attnbank.ingest.corpora.formats.conll2012 import read_conll2012

Rows = list[tuple[str, str, str]]  # form, lemma, UPOS


def conllu(rows: Rows) -> str:
    return "".join(
        f"{at}\t{form}\t{lemma}\t{upos}\t_\t_\t{at - 1}\t{'dep' if at > 1 else 'root'}\t_\t_\n"
        for at, (form, lemma, upos) in enumerate(rows, start=1)
    )


@pytest.mark.parametrize(
    "rows",
    [
        [("_", "_", "DET"), ("_", "_", "NOUN"), ("_", "_", "PUNCT")],
        [("_", "_", "INTJ")],
        [("___", "_", "PRON"), ("_____", "_", "VERB")],  # as long as the words
        [("_", "_", "_"), ("_", "_", "_")],
        [("_", "go", "VERB"), ("_", "_", "PUNCT")],
    ],
)
def test_a_sentence_without_its_text_is_refused(rows: Rows) -> None:
    problem = corpus_text.read_problem(conllu(rows))
    assert (problem.id, problem.line) == ("withheld-text", 1)
    assert "README" in problem.remedy and "--skip-bad" in problem.remedy


@pytest.mark.parametrize(
    "rows",
    [
        [("_", "_", "PUNCT")],
        [("_", "_", "SYM"), ("_", "_", "PUNCT")],  # a gap to fill in
        [("snake", "snake", "NOUN"), ("_", "_", "PUNCT"), ("case", "case", "NOUN")],
        [("snake", "snake", "NOUN"), ("_", "_", "_")],
    ],
)
def test_an_underscore_may_be_an_underscore(rows: Rows) -> None:
    assert not corpus_text.read_sentence(conllu(rows), strict=True).departures


def test_single_words_are_counted() -> None:
    text = conllu(
        [("indra", "indra", "NOUN"), ("_", "as", "AUX"), ("_", "_", "PRON"), ("_", "_", "PUNCT")]
    )
    sentence = corpus_text.read_sentence(text)
    assert sentence.words[1].form == "_"
    assert [(departure.id, departure.line) for departure in sentence.departures] == [
        ("withheld-form", 2), ("withheld-form", 3)
    ]  # fmt: skip
    assert corpus_text.read_problem(text, strict=True)


def test_ontonotes_without_its_text() -> None:
    text = "#begin document (d); part 000\nd 0 0 [WORD] NN * - - - - * (1)\n#end document\n"
    assert corpus_text.read_problem(text, read_conll2012).id == "withheld-text"
