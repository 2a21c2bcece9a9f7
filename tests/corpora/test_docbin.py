"""spaCy's DocBin: words, trees, spaces, mentions and names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from corpus_text import Items, problem_and_sentence

from attnbank.ingest.corpora.document import Problem, Sentence, Word
from attnbank.ingest.corpora.formats.spacy_docs import read_docbin

if TYPE_CHECKING:
    from spacy.tokens import Doc

pytest.importorskip("spacy")


def doc(text: str, **annotation: object) -> Doc:
    """Make a Doc of words with a space between each two; | is a line end of its own."""
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    words = ["\n" if word == "|" else word for word in text.split()]
    return Doc(Vocab(), words=words, **annotation)


def items(*docs: Doc) -> Items:
    from spacy.tokens import DocBin

    data = DocBin(store_user_data=True, docs=docs).to_bytes()
    return list(read_docbin(data, "file"))


def sentences(*docs: Doc) -> list[Sentence]:
    read = items(*docs)
    assert [str(item) for item in read if isinstance(item, Problem)] == []
    return [item for item in read if isinstance(item, Sentence)]


def test_all_of_a_word() -> None:
    (sentence,) = sentences(
        doc(
            "Dogs bark .",
            lemmas=["dog", "bark", "."],
            pos=["NOUN", "VERB", "PUNCT"],
            tags=["NNS", "VBP", "."],
            morphs=["Number=Plur", "", ""],
            heads=[1, 1, 1],
            deps=["nsubj", "ROOT", "punct"],
            spaces=[True, False, False],
        )
    )
    assert sentence.words == (
        Word("Dogs", "dog", "NOUN", "NNS", "Number=Plur", 2, "nsubj"),
        Word("bark", "bark", "VERB", "VBP", None, 0, "ROOT", space_after=False),
        Word(".", ".", "PUNCT", ".", None, 2, "punct"),
    )
    assert sentence.text == "Dogs bark."
    assert sentence.document is not None and sentence.document.name == "file-1"


def test_sentences_and_heads_within_them() -> None:
    first, second = sentences(doc("it rained it stopped", heads=[1, 1, 3, 3], deps=["x"] * 4))
    assert [word.head_index for word in first.words] == [2, 0]
    assert [word.head_index for word in second.words] == [2, 0]
    assert second.document is None


def test_a_doc_without_annotation_is_a_sentence_without_a_tree() -> None:
    (sentence,) = sentences(doc("it rained"))
    assert sentence.words == (Word("it"), Word("rained"))
    starts = sentences(doc("it rained it stopped", sent_starts=[1, 0, 1, 0]))
    assert [[word.head_index for word in s.words] for s in starts] == [[None] * 2] * 2


def test_spaces_are_no_words() -> None:
    # The line end is below "fell", and "softly" below the line end.
    (sentence,) = sentences(
        doc("Rain fell | softly", heads=[1, 1, 1, 2], deps=["x"] * 4, spaces=[True, False] * 2)
    )
    assert [word.form for word in sentence.words] == ["Rain", "fell", "softly"]
    assert [word.head_index for word in sentence.words] == [2, 0, 2]
    assert [word.space_after for word in sentence.words] == [True, True, True]
    assert sentence.text == "Rain fell softly"


def test_a_space_at_the_root_gives_way_to_a_word() -> None:
    (sentence,) = sentences(doc("Rain | fell", heads=[1, 1, 1], deps=["x"] * 3))
    assert [word.head_index for word in sentence.words] == [0, 1]


def test_mentions() -> None:
    made = doc("the dog saw | its tail", heads=[1, 2, 2, 2, 5, 2], deps=["x"] * 6)
    made.spans["coref_clusters_1"] = [made[0:2], made[4:5]]
    made.spans["coref_clusters_2"] = [made[4:6]]
    made.spans["names"] = [made[0:1]]
    (sentence,) = sentences(made)
    assert [(m.entity, m.first, m.last, m.head, m.head_rule) for m in sentence.mentions] == [
        ("1", 1, 2, 2, "tree"),
        ("2", 4, 5, 5, "tree"),
        ("1", 4, 4, 4, "tree"),
    ]


def test_names_and_metadata() -> None:
    named, unnamed, again = doc("it rained"), doc("it rained"), doc("it rained")
    named.user_data.update({"id": "tale", "genre": "fiction", "pages": 3})
    again.user_data["id"] = "tale"
    starts = [sentence.document for sentence in sentences(named, unnamed, again)]
    assert [start and start.name for start in starts] == ["tale", "file-2", "file-3"]
    assert starts[0] is not None and starts[0].metadata == {"genre": "fiction"}


def test_a_faulty_first_sentence_keeps_the_document() -> None:
    made = doc("it rained it stopped", heads=[1, 1, 3, 3], deps=["x"] * 4)
    made.spans["coref_clusters_1"] = [made[1:3]]
    problem, sentence = problem_and_sentence(items(made))
    assert problem.sentence == "1 of document file-1"
    assert sentence.document is not None


@pytest.mark.parametrize("data", [b"", b"x\x9cnonsense", b"\x80" * 100])
def test_other_bytes(data: bytes) -> None:
    (problem,) = read_docbin(data)
    assert isinstance(problem, Problem) and problem.id == "bad-docbin"
