"""CoNLL-2012: OntoNotes with spaces, LitBank with tabs."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import corpus_text
import pytest

from attnbank.ingest.corpora.document import Problem, Sentence, Word
from attnbank.ingest.corpora.formats.conll2012 import read_conll2012

items = partial(corpus_text.read_items, read=read_conll2012)
sentences = partial(corpus_text.read_sentences, read=read_conll2012)


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


def mentions(sentence: Sentence) -> list[tuple[str, int, int]]:
    return [(mention.entity, mention.first, mention.last) for mention in sentence.mentions]


def test_columns_of_the_reference_scorers() -> None:
    """Document, part, number, word and coreference, or the last two: there are no tags."""
    rows = [("Ann", "(0)"), ("saw", "-"), ("her", "(1"), ("dog", "1)")]
    for row in ("d\t0\t{}\t{}\t{}", "{1}\t{2}", "{1} {2}"):
        lines = "\n".join(row.format(at, *word) for at, word in enumerate(rows))
        (sentence,) = sentences(f"#begin document (d); \n{lines}\n#end document\n")
        assert sentence.words == tuple(Word(form) for form, _ in rows)
        assert mentions(sentence) == [("0", 1, 1), ("1", 3, 4)]
    (problem,) = items("#begin document (d); \nd\t0\tAnn\t(0)\n#end document\n")
    assert isinstance(problem, Problem) and problem.fact.endswith("found 4")


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a/DT/(1|(2|(3) b/NN/2) c/NN/(1 d/NN/1)|1)",
            [("1", 1, 4), ("2", 1, 2), ("3", 1, 1), ("1", 3, 4)],
        ),
        ("a/DT/(1|(1 b/NN/1) c/NN/1)", [("1", 1, 3), ("1", 1, 2)]),  # one entity, twice on a word
        *((f"a/NN/{nothing}", []) for nothing in "-_*"),
    ],
)
def test_nested_mentions(text: str, expected: list[tuple[str, int, int]]) -> None:
    (sentence,) = sentences(document("x", text))
    assert mentions(sentence) == expected


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
    read = items(document("x", "a/NN/1)", "b/NN/(1)"))
    problem, sentence = corpus_text.problem_and_sentence(read)
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
        read = sentences(path.read_bytes())
        assert [s.document.name for s in read if s.document] == [path.stem]
        cells = [line.split("\t") for line in lines if line and not line.startswith("#")]
        assert [w.form for s in read for w in s.words] == [row[3] for row in cells]
        assert len(read) == sum(row[2] == "0" for row in cells)
        opened = sum(row[-1].count("(") for row in cells)
        assert sum(len(s.mentions) for s in read) == opened


# OntoNotes gives each word its part of the brackets.
PARSE = ["(TOP(S(NP(NP*", "*)", "(PP*", "(NP*)))", "(VP*", "(NP*))", "*))"]
PHRASES = [
    ("TOP", 1, 7, None), ("S", 1, 7, 1), ("NP", 1, 4, 2), ("NP", 1, 2, 3), ("PP", 3, 4, 3),
    ("NP", 4, 4, 5), ("VP", 5, 6, 2), ("NP", 6, 6, 7),
]  # fmt: skip


def parse(*cells: str) -> str:
    rows = "".join(f"x 0 {at} w{at} NN {cell} - - - - * -\n" for at, cell in enumerate(cells))
    return f"#begin document (x); part 000\n{rows}\n#end document\n"


def phrases(*cells: str) -> list[tuple[str, int, int, int | None]]:
    (sentence,) = sentences(parse(*cells))
    assert not sentence.departures
    return [
        (phrase.label, phrase.first, phrase.last, phrase.parent) for phrase in sentence.constituents
    ]


def test_constituents() -> None:
    assert phrases(*PARSE) == PHRASES
    assert phrases("*", "*") == phrases("-", "_") == []
    assert phrases("(TOP*)", "(FRAG*)") == [("TOP", 1, 1, None), ("FRAG", 2, 2, None)]


def _grown(rng: random.Random, words: list[str], parent: int | None, tree: list[object]) -> None:
    """Grow a random phrase after `words`, whose brackets are written where they belong."""
    number, first = len(tree) + 1, len(words) + 1
    label = rng.choice(("NP", "VP-TMP", "S|<x>", "-NONE-"))
    tree.append(None)
    opening = "(" + label
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.5 and len(words) < 60:
            before = len(words)
            _grown(rng, words, number, tree)
            words[before] = opening + words[before]
        else:
            words.append(opening + "*")
        opening = ""
    words[-1] += ")"
    tree[number - 1] = (label, first, len(words), parent)


def test_any_tree_is_read() -> None:
    for seed in range(200):
        rng, words, tree = random.Random(seed), list[str](), list[object]()
        for _ in range(rng.randint(1, 2)):
            _grown(rng, words, None, tree)
        assert phrases(*words) == tree


@pytest.mark.parametrize(
    ("cells", "line", "fact"),
    [
        (("(TOP(NP*)", "*"), 2, "TOP is not closed"),
        (("(TOP(NP*)", "(VP*"), 3, "VP is not closed"),
        (("(TOP*)", "*)"), 3, "a word is outside every constituent"),
        (("(TOP*)", "*"), 3, "a word is outside every constituent"),
        (("*", "(TOP*)"), 2, "a word is outside every constituent"),
        (("(TOP*))", "*"), 2, ") closes a constituent that is not open"),
        (("(TOP*", "-)"), 3, "cannot read '-)'"),
        (("(TOP*", "*)("), 3, "cannot read '*)('"),
        (("(TOP*", "(*)"), 3, "cannot read '(*)'"),
        (("(TOP", "*)"), 2, "cannot read '(TOP'"),
        (("(TOP" + "(X" * 40_000 + "*", "*)"), 2, "over 32,767 constituents"),
    ],
)
def test_a_parse_that_is_not_a_tree(cells: tuple[str, ...], line: int, fact: str) -> None:
    (sentence,) = sentences(parse(*cells))
    assert len(sentence.words) == 2 and sentence.constituents == ()
    assert corpus_text.facts(sentence.departures) == [("bad-parse", fact, line)]
    problem = corpus_text.read_problem(parse(*cells), read_conll2012, strict=True)
    assert (problem.id, problem.line) == ("bad-parse", line)


def test_the_last_of_six_columns_is_no_parse() -> None:
    text = "#begin document (x); part 0\nx 0 0 a NN (1)\n\n#end document\n"
    (sentence,) = sentences(text)
    assert sentence.constituents == () and sentence.departures == ()
    assert mentions(sentence) == [("1", 1, 1)]


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_words_and_documents_may_begin_with_a_number_sign(separator: str) -> None:
    """Outside documents such a line is a comment."""
    words = [("#tea", "(1)"), ("#", "-"), ("#end", "(1)")]
    rows = "\n".join(separator.join(word) for word in words)
    of_scorers = "\n".join(
        separator.join(("#d", "0", str(at), *word)) for at, word in enumerate(words)
    )
    for text in (rows, of_scorers):
        (sentence,) = sentences(f"# a comment\n#begin document (#d); \n{text}\n\n#end document\n")
        assert [word.form for word in sentence.words] == ["#tea", "#", "#end"]
        assert mentions(sentence) == [("1", 1, 1), ("1", 3, 3)]
        assert sentence.document is not None and sentence.document.name == "#d"


def test_marks_behind_invalid_bytes_are_read() -> None:
    text = document("x", "a/NN/-", "b/NN/-").encode().replace(b" a ", b" \xff ")
    text += document("y", "#c/NN/-").encode().replace(b"#begin", b"\xff\n#begin", 1)
    read = list(read_conll2012(text.splitlines(keepends=True)))
    assert [getattr(item, "id", None) for item in read] == ["not-utf8", None, "not-utf8"]
    assert read[2].line == 7
