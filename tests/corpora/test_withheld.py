"""Treebanks that are published without their text: refused, and single words are counted."""

from __future__ import annotations

import pytest

from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.ingest.corpora.formats.conll2012 import read_conll2012
from attnbank.ingest.corpora.formats.conllu import read_conllu

Rows = list[tuple[str, str, str]]  # form, lemma, UPOS


def read(rows: Rows, *, strict: bool = False) -> Sentence | Problem:
    lines = [
        f"{at}\t{form}\t{lemma}\t{upos}\t_\t_\t{at - 1}\t{'dep' if at > 1 else 'root'}\t_\t_\n"
        for at, (form, lemma, upos) in enumerate(rows, start=1)
    ]
    (item,) = read_conllu([line.encode() for line in lines], "f", strict=strict)
    return item


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
    item = read(rows)
    assert isinstance(item, Problem) and (item.id, item.line) == ("withheld-text", 1)
    assert "README" in item.remedy and "--skip-bad" in item.remedy


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
    item = read(rows, strict=True)
    assert isinstance(item, Sentence) and not item.departures


def test_single_words_are_counted() -> None:
    rows = [("indra", "indra", "NOUN"), ("_", "as", "AUX"), ("_", "_", "PRON"), ("_", "_", "PUNCT")]
    item = read(rows)
    assert isinstance(item, Sentence) and item.words[1].form == "_"
    assert [(each.id, each.line) for each in item.departures] == [
        ("withheld-form", 2), ("withheld-form", 3)
    ]  # fmt: skip
    assert isinstance(read(rows, strict=True), Problem)


def test_ontonotes_without_its_text() -> None:
    text = "#begin document (d); part 000\nd 0 0 [WORD] NN * - - - - * (1)\n#end document\n"
    (item,) = read_conll2012(text.encode().splitlines(keepends=True))
    assert isinstance(item, Problem) and item.id == "withheld-text"
