"""CoNLL-U Plus: columns by name; and what else stands beside the ten columns of CoNLL-U."""

from __future__ import annotations

from dataclasses import replace

from corpus_text import read_problem, read_sentence, read_sentences

from attnbank.ingest.corpora.format import recognise

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


def test_columns_beside_the_ten_go_to_misc() -> None:
    assert recognise(CUPT.encode()) == "conllu"
    plus = read_sentence(CUPT)
    assert not plus.departures
    assert [word.misc for word in plus.words] == [
        None, "Note=a|PARSEME:MWE=1:VPC.full;2:IAV", None, "PARSEME:MWE=1%7Cx", None
    ]  # fmt: skip
    plain = "".join(
        line.rpartition("\t")[0] + "\n" if "\t" in line else line + "\n"
        for line in CUPT.splitlines()[1:]
    )
    bare = [replace(word, misc=None) for word in read_sentence(plain).words]
    assert [replace(word, misc=None) for word in plus.words] == bare


def test_columns_are_taken_by_name_and_others_are_not_annotated() -> None:
    assert recognise(FEW.encode()) == "conllu"
    first, second = read_sentences(
        FEW + FEW.partition("\n")[2]
    )  # they hold for the rest of the file
    assert [(w.form, w.head_index, w.deprel, w.upos) for w in first.words] == [
        ("Rain", 2, "nsubj", None), ("fell", 0, "root", None)
    ]  # fmt: skip
    assert first.words == second.words


def test_another_list_of_columns_holds_from_there_on() -> None:
    assert len(read_sentences(FEW + CUPT + FEW)) == 3


def test_a_row_has_as_many_columns_as_were_declared() -> None:
    other = read_problem(FEW.replace("fell\t2", "fell\tx\t2"))
    assert (other.id, other.line) == ("column-count", 3)
    assert other.fact == "expected 4 columns, found 5"
    assert "global.columns" in read_problem(CUPT.partition("\n")[2]).fact
    assert read_problem(FEW.replace("DEPREL", "HEAD")).id == "bad-global-columns"


def test_a_tab_at_the_end_of_a_line_is_no_column() -> None:
    for text in (CUPT, FEW):
        tabbed = "\n".join(line + "\t" * ("\t" in line) for line in text.split("\n"))
        assert read_sentence(tabbed) == read_sentence(text)
    ten = "1\tRain\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    assert read_sentence(ten.replace("_\n", "_\t\n")) == read_sentence(ten)
    assert read_problem(ten.replace("\t_\n", "\t\n")).id == "empty-column"  # MISC itself
