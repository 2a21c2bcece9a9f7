"""The paper's own format: a word and head-relation a line."""

from __future__ import annotations

from functools import partial

import corpus_text

from attnbank.ingest.corpora.document import Word
from attnbank.ingest.corpora.formats.relations import read_relations

TEXT = "the 2-det\nmembers 3-nsubj\nvoted 0-root\n\nnobody\t2-nsubj\nleft 0-root"
items = partial(corpus_text.read_items, read=read_relations)
sentences = partial(corpus_text.read_sentences, read=read_relations)


def test_sentences() -> None:
    first, second = sentences(TEXT, document="dev")
    assert first.words == (
        Word("the", head_index=2, deprel="det"),
        Word("members", head_index=3, deprel="nsubj"),
        Word("voted", head_index=0, deprel="root"),
    )
    assert first.document is not None and first.document.name == "dev"
    assert second.document is None
    assert (second.line, [word.form for word in second.words]) == (5, ["nobody", "left"])


def test_line_ends_and_blank_lines_make_no_difference() -> None:
    variant = TEXT.replace("\n", " \r\n") + "\r\n\r\n\r\n"
    assert [sentence.words for sentence in sentences(variant)] == [
        sentence.words for sentence in sentences(TEXT)
    ]


def test_the_relation_is_what_follows_the_first_hyphen() -> None:
    (sentence,) = sentences("x 0-root-like")
    assert sentence.words[0].deprel == "root-like"


def test_a_word_may_look_like_anything() -> None:
    (sentence,) = sentences("# 2-dep\n10-nsubj 0-root")
    assert [word.form for word in sentence.words] == ["#", "10-nsubj"]


def test_a_faulty_first_sentence_keeps_the_document() -> None:
    problem, sentence = corpus_text.problem_and_sentence(
        items("bad\n\n" + TEXT.partition("\n\n")[0])
    )
    assert (problem.id, problem.line) == ("bad-relation", 1)
    assert sentence.document is not None
