"""CoNLL-2012: OntoNotes with spaces, LitBank with tabs."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnbank.ingest.corpora.document import Problem, Sentence, Word
from attnbank.ingest.corpora.formats.conll2012 import read_conll2012


def document(name: str, *sentences: str, part: str = "000") -> str:
    """Write a document; each word of a sentence is form/POS/coreference."""
    blocks = []
    for sentence in sentences:
        rows = []
        for index, item in enumerate(sentence.split()):
            form, pos, coreference = item.split("/")
            rows.append(
                f"{name}   {part}  {index}   {form}  {pos}  (TOP*)  -  -  -  -  *  {coreference}"
            )
        blocks.append("\n".join(rows) + "\n\n")
    return f"#begin document ({name}); part {part}\n{''.join(blocks)}#end document\n"


def items(text: str) -> list[Sentence | Problem]:
    return list(read_conll2012(text.encode().splitlines(keepends=True)))


def sentences(text: str) -> list[Sentence]:
    read = items(text)
    assert [str(item) for item in read if isinstance(item, Problem)] == []
    return [item for item in read if isinstance(item, Sentence)]


def mentions(sentence: Sentence) -> list[tuple[str, int, int]]:
    return [(mention.entity, mention.first, mention.last) for mention in sentence.mentions]


def test_words_and_mentions() -> None:
    (sentence,) = sentences(document("nw/a", "the/DT/(1 mayor/NN/1) saw/VBD/- her/PRP/(2)"))
    assert sentence.words == (
        Word("the", xpos="DT"),
        Word("mayor", xpos="NN"),
        Word("saw", xpos="VBD"),
        Word("her", xpos="PRP"),
    )
    assert mentions(sentence) == [("1", 1, 2), ("2", 4, 4)]
    assert [(m.head, m.head_rule, m.kind, m.kind_rule) for m in sentence.mentions] == [
        (2, "surface", "nominal", "tag"),
        (4, "surface", "pronoun", "tag"),
    ]


def test_nested_mentions() -> None:
    text = "a/DT/(1|(2|(3) b/NN/2) c/NN/(1 d/NN/1)|1)"
    (sentence,) = sentences(document("x", text))
    assert mentions(sentence) == [("1", 1, 4), ("2", 1, 2), ("3", 1, 1), ("1", 3, 4)]


def test_an_entity_may_open_twice_on_a_word() -> None:
    (sentence,) = sentences(document("x", "a/DT/(1|(1 b/NN/1) c/NN/1)"))
    assert mentions(sentence) == [("1", 1, 3), ("1", 1, 2)]


def test_documents_and_parts() -> None:
    a, b = "a/NN/- b/NN/-", "c/NN/-"
    text = document("x", a, b) + document("x", a, part="001") + document("y", b)
    starts = [sentence.document and sentence.document.name for sentence in sentences(text)]
    assert starts == ["x", None, "x_1", "y"]


def test_marks_need_no_blank_lines_around() -> None:
    text = document("x", "a/NN/-").replace("\n\n", "\n") + document("y", "b/NN/-")
    assert [[word.form for word in s.words] for s in sentences(text)] == [["a"], ["b"]]


def test_tabs_and_an_empty_last_column() -> None:
    row = "\t".join(["x", "0", "0", "a", *"________", ""])
    other = "\t".join(["x", "0", "1", "b", *"________", "(3)"])
    text = f"#begin document (x); part 0\n{row}\n{other}\n#end document\n"
    (sentence,) = sentences(text.replace("\n", "\r\n"))
    assert sentence.words == (Word("a"), Word("b"))
    assert mentions(sentence) == [("3", 2, 2)]


def test_a_faulty_first_sentence_keeps_the_document() -> None:
    problem, sentence = items(document("x", "a/NN/1)", "b/NN/(1)"))
    assert isinstance(problem, Problem) and isinstance(sentence, Sentence)
    assert (problem.id, problem.line) == ("unbalanced-entity", 2)
    assert sentence.document is not None and sentence.document.name == "x"


def test_a_file_that_is_cut() -> None:
    *read, problem = items(document("x", "a/NN/-").removesuffix("#end document\n"))
    assert len(read) == 1
    assert isinstance(problem, Problem) and problem.id == "missing-end"


def test_litbank(corpora: Path) -> None:
    """Compare with counts that are slow and obvious."""
    paths = sorted((corpora / "litbank").glob("*.conll"))
    assert paths
    for path in paths:
        lines = path.read_text(encoding="utf-8").split("\n")
        with path.open("rb") as file:
            read = list(read_conll2012(file))
        found = [item for item in read if isinstance(item, Sentence)]
        assert len(found) == len(read)
        assert [s.document.name for s in found if s.document] == [path.stem]
        cells = [line.split("\t") for line in lines if line and not line.startswith("#")]
        assert [w.form for s in found for w in s.words] == [row[3] for row in cells]
        assert len(found) == sum(row[2] == "0" for row in cells)
        opened = sum(row[-1].count("(") for row in cells)
        assert sum(len(s.mentions) for s in found) == opened


@pytest.mark.parametrize("coreference", ["-", "_", "*"])
def test_no_coreference(coreference: str) -> None:
    assert sentences(document("x", f"a/NN/{coreference}"))[0].mentions == ()
