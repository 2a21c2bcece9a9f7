"""CoNLL-U Plus: columns by name; and what else stands beside the ten columns of CoNLL-U."""

from __future__ import annotations

from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.ingest.corpora.format import recognise
from attnbank.ingest.corpora.formats.conllu import read_conllu

CUPT = """# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC PARSEME:MWE
# text = She takes it up.
1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_\t*
2\ttakes\ttake\tVERB\t_\t_\t0\troot\t_\tNote=a\t1:VPC.full;2:IAV
3\tit\tit\tPRON\t_\t_\t2\tobj\t_\t_\t_
4-5\tup.\t_\t_\t_\t_\t_\t_\t_\t_\t*
4\tup\tup\tADP\t_\t_\t2\tcompound:prt\t_\t_\t1|x
5\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_\t*

"""
FEW = """# global.columns = FORM ID DEPREL HEAD
Rain\t1\tnsubj\t2
fell\t2\troot\t0

"""


def read(text: str) -> list[Sentence | Problem]:
    assert recognise(text.encode()) == "conllu"
    return [*read_conllu(text.encode().splitlines(keepends=True), "f")]


def test_columns_beside_the_ten_go_to_misc() -> None:
    (sentence,) = read(CUPT)
    assert isinstance(sentence, Sentence) and not sentence.departures
    assert [word.misc for word in sentence.words] == [
        None, "Note=a|PARSEME:MWE=1:VPC.full;2:IAV", None, "PARSEME:MWE=1%7Cx", None
    ]  # fmt: skip
    plain = "".join(
        line.rpartition("\t")[0] + "\n" if "\t" in line else line + "\n"
        for line in CUPT.splitlines()[1:]
    )
    (ten,) = read(plain)
    assert isinstance(ten, Sentence)
    for word, own in zip(sentence.words, ten.words, strict=True):
        for name in ("form", "lemma", "upos", "head_index", "deprel", "space_after", "surface"):
            assert getattr(word, name) == getattr(own, name)


def test_columns_are_taken_by_name_and_others_are_not_annotated() -> None:
    first, second = read(FEW + FEW.partition("\n")[2])  # they hold for the rest of the file
    assert isinstance(first, Sentence) and isinstance(second, Sentence)
    assert [(w.form, w.head_index, w.deprel, w.upos) for w in first.words] == [
        ("Rain", 2, "nsubj", None), ("fell", 0, "root", None)
    ]  # fmt: skip
    assert first.words == second.words


def test_another_list_of_columns_holds_from_there_on() -> None:
    joined = read(FEW + CUPT + FEW)
    assert [isinstance(each, Sentence) for each in joined] == [True] * 3


def test_a_row_of_another_length_is_told_by_what_was_declared() -> None:
    (problem,) = read(FEW.replace("fell\t2", "fell\tx\t2"))
    assert isinstance(problem, Problem)
    assert (problem.id, problem.line, problem.fact) == (
        "column-count", 3, "expected 4 columns, found 5"
    )  # fmt: skip
    (problem,) = read(CUPT.partition("\n")[2])
    assert isinstance(problem, Problem) and "global.columns" in problem.fact
    (problem,) = read(FEW.replace("DEPREL", "HEAD"))
    assert isinstance(problem, Problem) and problem.id == "bad-global-columns"


def test_a_tab_at_the_end_of_a_line_is_no_column() -> None:
    for text in (CUPT, CUPT.replace("FORM LEMMA", "FORM LEMMA"), FEW):
        tabbed = "\n".join(line + "\t" * ("\t" in line) for line in text.split("\n"))
        assert read(tabbed) == read(text)
    ten = "1\tRain\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    assert read(ten.replace("_\n", "_\t\n")) == read(ten)
    (problem,) = read(ten.replace("\t_\n", "\t\n"))  # MISC itself is empty
    assert isinstance(problem, Problem) and problem.id == "empty-column"
