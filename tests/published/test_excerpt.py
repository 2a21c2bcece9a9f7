"""An excerpt of a bank: its figures are those of the bank, or it says whose they are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from bank_rows import change_bank, query_bank
from case_bank import make_bank

from attnbank.ingest.derived.computations import compute
from attnbank.ingest.merge.excerpt import chosen_runs, take
from attnbank.queries import open_bank
from attnbank.sql.bank.bank_format import columns_of_this_format
from attnbank.sql.bank.opening import fault_of_rows
from attnbank.sql.errors import CallError
from attnbank.sql.ids import refers_to


@pytest.mark.slow
def test_one_run_answers_as_in_the_bank(two_runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "one.duckdb"
    runs = chosen_runs(two_runs)
    name = [*runs.values()][-1]
    found = take(two_runs, out, [name])
    assert found.notes == ()
    with open_bank(two_runs) as before, open_bank(out) as after:
        assert after.runs()["name"].to_list() == [name]
        assert after.info().corpora.height == 1
        for analysis in ("best_head", "entropy", "head_accuracy", "relative_position"):
            own = after.query(analysis)
            assert own.equals(before.query(analysis, run=name)), analysis
            assert own.height
        request = "pattern { V -[nsubj]-> S; S =[1-1]=> V }"
        assert after.find(request).equals(before.find(request, run=name, corpus="stories"))
        assert after.saved()["name"].to_list() == ["subject"]
        figures = [
            bank.query("best_head", relation="subject", run=name) for bank in (before, after)
        ]
        assert figures[0].equals(figures[1])
        shown = [bank.show("1", head="1-1", corpus="stories", run=name) for bank in (before, after)]
        assert shown[0].weights.equals(shown[1].weights)


def test_runs_are_chosen_by_name_or_number(few_words: Path) -> None:
    every = chosen_runs(few_words)
    (last,) = chosen_runs(few_words, [str(max(every))]).values()
    assert chosen_runs(few_words, [last]) == {max(every): last}
    with pytest.raises(CallError, match="There is no run nothing"):
        chosen_runs(few_words, ["nothing"])


@pytest.mark.slow
def test_peaks_alone_keep_the_figures_and_refuse_the_weights(
    two_runs: Path, tmp_path: Path
) -> None:
    out, runs = tmp_path / "peaks.duckdb", chosen_runs(two_runs)
    name = [*runs.values()][-1]
    rows = take(two_runs, out, [name], keep={name: "peaks"}).rows
    assert rows["attention"] == rows["attention_top"] == 0 < rows["peak"]
    with open_bank(two_runs) as before, open_bank(out) as after:
        assert after.query("best_head").equals(before.query("best_head", run=name))
        shown = [
            bank.show("1", head="1-1", corpus="stories", run=name).rows.drop("special")
            for bank in (before, after)
        ]
        assert shown[0].equals(shown[1])
    with pytest.raises(CallError, match="only its peaks and sums"):
        compute(out, "head_distance", run=name)


def test_as_many_inputs_are_taken_as_are_asked_for(tmp_path: Path) -> None:
    """The first ones of the text, in the order of its sentences; a run of no more is whole."""
    given = {
        "run": "id,name\n1,long\n2,short\n",
        "sentence": "id,index,words\n1,1,1\n2,2,1\n3,3,1\n",
        "word": "id,sentence,index\n1,1,1\n2,2,1\n3,3,1\n",
        "sequence": "id,run,sentence,positions\n1,1,3,1\n2,1,1,1\n3,1,2,1\n4,2,1,1\n5,2,2,1\n",
    }
    bank = make_bank(tmp_path / "bank.duckdb", given)
    excerpt = take(bank, tmp_path / "out.duckdb", inputs=2)
    assert excerpt.notes == (
        "Of long the first 2 inputs are taken, without what was computed from all of them.",
        "Of the text of x the 2 sentences of these inputs are taken, of 3; it is called x, first"
        " 2.",
    )
    rows = query_bank(tmp_path / "out.duckdb", "select run, sentence from sequence order by all")
    assert rows == [(1, 1), (1, 2), (2, 1), (2, 2)]
    names = query_bank(tmp_path / "out.duckdb", "select name from run order by id")
    assert names == [("long, first 2",), ("short",)]
    # As many as there are: nothing is left out.
    assert take(bank, tmp_path / "whole.duckdb", inputs=3).notes == ()
    corpus = "select name, sha256 from corpus"
    assert query_bank(tmp_path / "whole.duckdb", corpus) == query_bank(bank, corpus)
    assert query_bank(tmp_path / "out.duckdb", corpus) != query_bank(bank, corpus)


OF_TWO_SENTENCES = {
    "corpus": "id,name\n1,novel\n",
    "document": "id,index,name\n1,1,taken\n2,2,LEFT\n",
    "sentence": "id,document,index,words,text\n1,1,1,1,taken\n2,1,2,1,LEFT\n3,2,1,1,LEFT\n",
    "word": "id,sentence,index,form\n1,1,1,taken\n2,2,1,LEFT\n3,3,1,LEFT\n",
    "enhanced_dependency": "sentence,relation\n1,taken\n2,LEFT\n3,LEFT\n",
    "constituent": "sentence,label\n1,taken\n2,LEFT\n",
    "mention": "id,document,entity_name,first_word,last_word,head_word\n"
    "1,1,taken,1,1,1\n2,1,LEFT,2,2,2\n3,1,LEFT,1,2,1\n4,2,LEFT,3,3,3\n",
    "departure": "corpus,sentence,detail\n1,1,taken\n1,2,LEFT\n",
    "skipped": "corpus,run,sentence,detail\n1,,,LEFT\n1,1,3,LEFT\n1,1,1,taken\n1,,2,LEFT\n",
    "saved_relation": "name,last_sentence\nown,3\n",
    "saved_pair": "relation,word,head_word\nown,1,1\nown,2,2\nown,1,2\nown,3,1\n",
    "run": "id,name,context\n1,whole,sentence\n2,long,document\n",
    "position": "sequence,position,word,text\n"
    "1,0,1,taken\n{0},0,1,taken\n{1},0,2,LEFT\n{2},0,3,LEFT\n",
    "sequence": "id,run,document,sentence\n1,1,1,1\n{0},2,1,\n{1},2,1,\n{2},2,2,\n",
    "attention_tree": "run,sequence,sentence,source\n1,1,1,taken\n2,{1},2,LEFT\n",
    "attention_span": "run,sequence,sentence,source\n1,1,1,taken\n2,{1},2,LEFT\n",
    "surprisal": "run,word\n1,1\n2,2\n",
    "ablated_surprisal": "run,word,ablation\n1,1,taken\n2,2,LEFT\n",
    "ablated_edge": "run,word,attended_word,ablation\n1,1,1,taken\n2,2,1,LEFT\n",
    "minimal_pair": "run,word,good\n1,1,taken\n2,2,LEFT\n",
}  # fmt: skip


def test_of_the_text_only_what_these_inputs_read_is_taken(tmp_path: Path) -> None:
    """No row of any table names another document, sentence or word."""
    ids = [(1 << 40) + ordinal for ordinal in (1, 2, 3)]
    given = {table: rows.format(*ids) for table, rows in OF_TWO_SENTENCES.items()}
    of_text = [
        table
        for table, columns in columns_of_this_format().items()
        if table != "sequence" and any(refers_to(table, name) == "corpus" for name in columns)
    ]
    assert {*of_text} <= {*given}, "the rows below have what each table of text may have"
    bank, out = make_bank(tmp_path / "bank.duckdb", given), tmp_path / "out.duckdb"
    counts = take(bank, out, inputs=1).rows
    for table in given:
        rows = str(query_bank(out, f"from {table}"))
        assert "LEFT" not in rows, table
        kept = given[table].count("taken")
        assert not kept or counts[table] == kept, table
    pairs = query_bank(out, "select word, head_word from saved_pair")
    assert pairs == [(1, 1)]
    assert query_bank(out, "select name from corpus") == [("novel, first 1",)]
    assert b"LEFT" not in out.read_bytes()


@pytest.mark.slow
def test_the_first_inputs_are_those_of_the_text_under_a_name_of_their_own(
    two_runs: Path, tmp_path: Path
) -> None:
    out, runs = tmp_path / "first.duckdb", chosen_runs(two_runs)
    name = [*runs.values()][-1]
    found = take(two_runs, out, [name], inputs=3)
    assert found.rows["sequence"] == 3
    with duckdb.connect(str(out), read_only=True) as connection:
        assert fault_of_rows(connection) is None
    of_run, of_text = found.notes
    assert of_run.startswith(f"Of {name} the first 3 inputs are taken")
    assert of_text.endswith("it is called stories, first 3.")
    with open_bank(out) as bank:
        (run,) = bank.runs().to_dicts()
        assert run["name"] == f"{name}, first 3"
        options = bank.sql("select run.limit, options['taken'] from run").rows()
        assert options == [(3, "first")], "not a random sample, as ingest --limit 3 draws"
        ids = bank.sql("select sentence from sequence order by sentence")["sentence"].to_list()
        every = bank.sql(
            "select sentence.id from sentence inner join document on document.id ="
            " sentence.document inner join run on run.corpus = document.corpus order by 1 limit 3"
        )["id"].to_list()
        assert ids == every
        counted = bank.sql("select count(*) as n from head_distance")["n"].to_list()
        assert counted == [0]  # it was computed from all inputs
        n = bank.query("best_head", min_count=1).filter(relation="all")["n"].to_list()
        words = bank.sql(
            "select count(*) as n from word where deprel is not null and sentence in"
            " (select sentence from sequence)"
        )["n"].to_list()
        assert n == words


@pytest.mark.slow
def test_what_is_of_the_user_alone_stays_at_home(two_runs: Path, tmp_path: Path) -> None:
    import shutil

    own, out = tmp_path / "own.duckdb", tmp_path / "out.duckdb"
    shutil.copy(two_runs, own)
    change_bank(own, "create table reading_times as select 1 as word, 300 as ms")
    found = take(own, out)
    assert found.notes == ("Tables of your own are left out: reading_times.",)
    with open_bank(out) as bank:
        assert "reading_times" not in bank.schema()["name"].to_list()
