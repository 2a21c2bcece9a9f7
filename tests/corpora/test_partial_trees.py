"""A word without a gold head in a tree: it is read, counted, and judged by nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from bank_rows import query_bank
from command_line import Cli
from corpus_text import facts, read_problem, read_sentence
from fixture_types import Options

from attnbank.ingest import ingest
from attnbank.ingest.corpora.document import NO_HEAD, FaultError, check_tree
from attnbank.queries import open_bank

HEADS = {1: (2, "det"), 2: (3, "nsubj"), 3: (0, "root"), 4: (6, "case"), 5: (6, "det"),
         6: (3, "obl"), 7: (3, "punct")}  # fmt: skip
FORMS = ["The", "dog", "slept", "in", "the", "rain", "."]
UPOS = ["DET", "NOUN", "VERB", "ADP", "DET", "NOUN", "PUNCT"]


def conllu(name: str, without: dict[int, str] | None = None) -> str:
    """A sentence; `without` says which words lack their HEAD, their DEPREL or both."""
    rows = [f"# sent_id = {name}"]
    for at, (form, upos) in enumerate(zip(FORMS, UPOS, strict=True), start=1):
        head, deprel = map(str, HEADS[at])
        lacks = (without or {}).get(at, "")
        head, deprel = "_" if "head" in lacks else head, "_" if "deprel" in lacks else deprel
        misc = "Entity=(e1--2-" if at == 1 else "Entity=e1)" if at == 2 else "_"
        rows.append(f"{at}\t{form}\t_\t{upos}\t_\t_\t{head}\t{deprel}\t_\t{misc}")
    return "\n".join(rows) + "\n\n"


def test_the_word_has_no_head_and_the_others_keep_theirs() -> None:
    sentence = read_sentence(conllu("a", {2: "head", 5: "deprel", 7: "head deprel"}))
    assert [word.head_index for word in sentence.words] == [2, None, 0, 6, None, 3, None]
    assert [word.deprel for word in sentence.words] == [
        "det", "nsubj", "root", "case", None, "obl", None
    ]  # fmt: skip
    assert facts(sentence.departures) == [
        ("missing-head", "'dog' has no head", 3),
        ("missing-head", "HEAD is 6 but DEPREL is _", 6),
        ("missing-head", "'.' has no head", 8),
    ]
    assert read_problem(conllu("a", {2: "head"}), strict=True).id == "missing-head"


def test_a_text_without_trees_and_one_without_relations_are_as_before() -> None:
    bare = read_sentence(conllu("a", dict.fromkeys(HEADS, "head deprel")))
    assert not bare.departures and {word.head_index for word in bare.words} == {None}
    assert read_problem(conllu("a", dict.fromkeys(HEADS, "deprel"))).id == "empty-deprel"


@pytest.mark.parametrize(
    ("heads", "id"),
    [
        ([2, NO_HEAD, 0], None),
        ([NO_HEAD, 1, 2], None),  # the root itself may lack
        ([NO_HEAD, 3, 2], "cycle"),
        ([NO_HEAD, 0, 0], "two-roots"),
        ([NO_HEAD, 4, 0], "head-out-of-range"),
        ([NO_HEAD, 2, 0], "head-self"),
        ([2, 3, 2], "no-root"),
    ],
)
def test_the_heads_that_there_are_form_a_part_of_a_tree(heads: list[int], id: str | None) -> None:
    if id is None:
        check_tree(heads)
        return
    with pytest.raises(FaultError) as error:
        check_tree(heads)
    assert error.value.problem.id == id


def test_a_mention_with_such_a_word_has_its_head_by_another_rule() -> None:
    text = conllu("a", {1: "head"}).replace("--2-", "---")
    (mention,) = read_sentence("# global.Entity = eid-etype-head-other\n" + text).mentions
    assert (mention.head, mention.head_rule) == (2, "surface")


def test_what_a_request_means(bank_of: BankFactory) -> None:
    text = conllu("whole") + conllu("part", {3: "head", 5: "head deprel"})
    with open_bank(bank_of({"part.conllu": text}, "none")) as opened:
        for request, hits in (
            ("pattern { A -> B }", 7 + 5),
            ("pattern { A -[root]-> B }", 1),
            ("pattern { A [form=the]; * -[det]-> A }", 1),
            ("pattern { A []; B [form=the]; A ->> B }", 3),
            ("pattern { A [form=slept] } global { is_tree }", 1),
            ("pattern { A [form=slept] } global { is_not_tree }", 1),
            ("pattern { A [form=slept] } global { is_forest }", 2),
            ("pattern { A [form=slept] } global { is_projective }", 2),
        ):
            assert opened.find(request, context=False).height == hits, request


@pytest.mark.slow
def test_no_analysis_judges_it(tmp_path: Path, cli: Cli, options_for: Options) -> None:
    """The gold pairs are those of the whole trees, but for the words without a head."""
    lacking = {2: "head", 5: "deprel", 7: "head deprel"}
    texts = {"whole": conllu("a") + conllu("b"), "part": conllu("a") + conllu("b", lacking)}
    gold: dict[str, set[tuple[Any, ...]]] = {}
    for name, text in texts.items():
        path = tmp_path / f"{name}.conllu"
        path.write_text(text)
        bank = tmp_path / f"{name}.duckdb"
        report = ingest(options_for(bank, path))
        assert [(departure.id, departure.count) for departure in report.departures] == (
            [("missing-head", 3)] if name == "part" else []
        )
        with open_bank(bank) as opened:
            gold[name] = {*opened.query("gold_dependency").drop("run").iter_rows()}
            columns = opened.query("gold_dependency").drop("run").columns
            judged = opened.query("head_accuracy", relation="all")
            assert {*judged["n"]} == {14 if name == "whole" else 11}
    dependent = columns.index("dependent")
    lost = {7 + at for at in lacking}
    assert gold["part"] == {row for row in gold["whole"] if row[dependent] not in lost}
    assert len(gold["whole"]) - len(gold["part"]) == 3
    part = str(tmp_path / "part.duckdb")
    assert "dog" in cli("-b", part, "show", "b", "--head", "1-1").out
    headless = "select index from word where head_index is null order by index"
    assert query_bank(part, headless) == [(2,), (5,), (7,)]
