"""The paper's own format: a word and head-relation a line."""

from __future__ import annotations

from attnbank.ingest.corpora.document import Problem, Sentence, Word
from attnbank.ingest.corpora.formats.relations import read_relations

TEXT = "the 2-det\nmembers 3-nsubj\nvoted 0-root\n\nnobody\t2-nsubj\nleft 0-root"


def items(text: str) -> list[Sentence | Problem]:
    return list(read_relations(text.encode().splitlines(keepends=True), "dev"))


def test_sentences() -> None:
    first, second = items(TEXT)
    assert isinstance(first, Sentence) and isinstance(second, Sentence)
    assert first.words == (
        Word("the", head_index=2, deprel="det"),
        Word("members", head_index=3, deprel="nsubj"),
        Word("voted", head_index=0, deprel="root"),
    )
    assert first.document is not None and first.document.name == "dev"
    assert second.document is None
    assert (second.line, [word.form for word in second.words]) == (5, ["nobody", "left"])


def test_variants_read_the_same() -> None:
    wanted = [item.words for item in items(TEXT) if isinstance(item, Sentence)]
    crlf = items(TEXT.replace("\n", " \r\n") + "\r\n\r\n\r\n")
    assert [item.words for item in crlf if isinstance(item, Sentence)] == wanted


def test_the_relation_is_what_follows_the_first_hyphen() -> None:
    (sentence,) = items("x 0-root-like")
    assert isinstance(sentence, Sentence)
    assert sentence.words[0].deprel == "root-like"


def test_a_word_may_look_like_anything() -> None:
    (sentence,) = items("# 2-dep\n10-nsubj 0-root")
    assert isinstance(sentence, Sentence)
    assert [word.form for word in sentence.words] == ["#", "10-nsubj"]


def test_a_faulty_first_sentence_keeps_the_document() -> None:
    problem, sentence = items("bad\n\n" + TEXT.partition("\n\n")[0])
    assert isinstance(problem, Problem) and isinstance(sentence, Sentence)
    assert (problem.id, problem.line) == ("bad-relation", 1)
    assert sentence.document is not None
