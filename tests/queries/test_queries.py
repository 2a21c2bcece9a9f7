"""The Python door: analyses, their parameters and runs, lazy tables, an analysis in Polars."""

from __future__ import annotations

import inspect
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from case_bank import make_bank
from command_line import Cli
from polars.testing import assert_frame_equal

from attnbank.queries import Bank, UnfinishedRunWarning, open_bank
from attnbank.sql.errors import AttnbankWarning, BankError, CallError, QueryError

RUNS = """
id,name,context,unit,finished
1,words,sentence,word,2020-01-01
2,documents,document,word,2020-01-02
3,tokens,sentence,token,2020-01-03
4,half,sentence,word,
"""
WORDS = """
id,sentence,index,form,head_index,deprel
1,1,1,Dogs,2,nsubj
2,1,2,chase,0,root
3,1,3,my,4,nmod:poss
4,1,4,cat,2,obj
"""


@pytest.fixture(scope="module")
def bank(sample_bank: Path) -> Iterator[Bank]:
    with open_bank(sample_bank) as opened:
        yield opened


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    path = tmp_path_factory.mktemp("small") / "small.duckdb"
    with open_bank(make_bank(path, {"run": RUNS, "word": WORDS})) as opened:
        yield opened


def test_what_must_be_done_first_is_told(bank: Bank) -> None:
    asks: list[Callable[[], pl.DataFrame]] = [
        lambda: bank.query("head_distance"),
        lambda: bank.sql("from head_distance()"),
    ]
    for ask in asks:
        with pytest.raises(QueryError) as error:
            ask()
        assert error.value.fact.endswith("are not computed yet.")
        typed = f"Type: attnbank -b {bank.path} compute head_distance"
        assert error.value.remedy.startswith(typed)


@pytest.mark.slow
def test_parameters_mean_the_same_as_in_the_macro(bank: Bank) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, ""),
        ({"relation": "obj"}, "relation := 'obj'"),
        ({"relation": None, "min_count": 50}, "min_count := 50"),
        ({"subtypes": True, "possessive": True}, "subtypes := true, possessive := true"),
        ({"offsets": [2, -5]}, "offsets := [2, -5]"),
        ({"offsets": (1,), "run": "sample/minilm"}, "offsets := [1], run := 'sample/minilm'"),
        ({"run": 1}, "run := '1'"),
    ]
    with duckdb.connect(str(bank.path), read_only=True) as plain:
        for given, text in cases:
            by_macro = plain.query(f"from best_head({text})").pl()
            assert_frame_equal(bank.query("best_head", **given), by_macro)


def test_names_of_analyses_may_be_written_in_several_ways(bank: Bank) -> None:
    assert bank.query("gold-dependency").equals(bank.query("gold_dependency"))
    assert bank.query("paper.table_1").equals(bank.query("table_1"))
    for name in ("best_hed", "paper.best_head"):
        with pytest.raises(CallError, match=r"Did you mean best_head"):
            bank.query(name)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"relaton": "obj"}, r"no parameter relaton\.\nDid you mean relation\?"),
        ({"min_count": "many"}, "min_count must be of type integer, not 'many'"),
        ({"min_count": 1.5}, r"min_count must be of type integer, not 1\.5"),
        ({"min_count": True}, "min_count must be of type integer, not True"),
        ({"min_count": 2**40}, "min_count must be of type integer"),
        ({"subtypes": 1}, "subtypes must be of type boolean, not 1"),
        ({"relation": 3}, "relation must be of type varchar, not 3"),
        ({"offsets": 1}, r"offsets must be of type integer\[\], not 1"),
        ({"offsets": "1,2"}, r"offsets must be of type integer\[\]"),
        ({"offsets": [1, "x"]}, r"offsets must be of type integer\[\], not 'x'"),
    ],
)
def test_a_wrong_parameter_is_told(bank: Bank, given: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        bank.query("best_head", **given)


def test_a_parameter_with_few_values_takes_no_other(bank: Bank) -> None:
    assert bank.query("best_head_held_out", choose="half").height > 0
    with pytest.raises(CallError, match=r"Did you mean train\? It is one of: half, train"):
        bank.query("best_head_held_out", choose="trian")


def test_a_relation_that_the_corpus_does_not_have_is_told(small: Bank) -> None:
    for relation, subtypes, fact in (
        ("nsub", False, r"has the relation nsub to its head\.\nDid you mean nsubj"),
        ("nmod:poss", False, "nmod:poss is counted as nmod"),
        ("nmod", True, "the relation nmod to its head"),
        ("root", False, "the relation root to its head"),
    ):
        with pytest.raises(CallError, match=fact):
            small.query("best_head", relation=relation, subtypes=subtypes)
    small.query("best_head", relation="nmod:poss", subtypes=True)
    small.query("best_head", relation="all")


def test_a_corpus_without_trees_is_told(tmp_path: Path) -> None:
    words = "id,sentence,index,form\n1,1,1,Dogs\n"
    with (
        open_bank(make_bank(tmp_path / "flat.duckdb", {"word": words})) as flat,
        pytest.raises(QueryError, match="its corpus has no dependency trees"),
    ):
        flat.query("best_head", relation="obj")


def test_a_run_must_exist_and_fit(small: Bank) -> None:
    with pytest.raises(CallError, match=r"no run wrds .*\nDid you mean words\? It has: "):
        small.query("best_head", run="wrds")
    with pytest.raises(
        CallError,
        match="best_head cannot read the run tokens: its positions are tokens"
        r"\.\nRuns that fit best_head: words, documents, half",
    ):
        small.query("best_head", run="tokens")
    with pytest.raises(CallError, match="cannot read the run 3"):
        small.query("best_head", run=3)


def test_an_unfinished_run_is_read_with_a_warning(small: Bank) -> None:
    with pytest.warns(UnfinishedRunWarning, match="run half is not finished"):
        small.query("gold_dependency", run="half")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.query("gold_dependency", run="words")


def test_a_lazy_table_reads_what_is_collected(bank: Bank) -> None:
    word = bank.table("word")
    rows = bank.sql("select id, upos from word order by id")
    verbs = rows.filter(pl.col("upos") == "VERB")
    assert word.select(pl.len()).collect().item() == rows.height
    assert word.select("id", "upos").collect().equals(rows)
    assert word.filter(pl.col("upos") == "VERB").select("id", "upos").collect().equals(verbs)
    assert word.filter(pl.col("upos") == "VERB").head(3).select("id").collect()["id"].to_list() == (
        verbs["id"].head(3).to_list()
    )
    assert word.head(3).filter(pl.col("upos") == "VERB").collect().height == (
        rows.head(3).filter(pl.col("upos") == "VERB").height
    )
    ids = word.select("id")
    twice = word.join(bank.table("word").select("id"), on="id").join(ids, on="id")  # three scans
    assert twice.select(pl.len()).collect().item() == rows.height


@pytest.mark.slow
def test_a_lazy_table_of_one_run(small: Bank, bank: Bank) -> None:
    assert bank.table("peak", run="sample/minilm").collect().height == (
        bank.table("peak").collect().height
    )
    assert small.table("sequence", run=2).collect().height == 0
    assert bank.table("paper.table_1").collect().height > 0
    with pytest.raises(CallError, match="Did you mean word"):
        bank.table("wrod")
    with pytest.raises(CallError, match="no run nothing"):
        bank.table("peak", run="nothing")
    with pytest.raises(CallError, match="Table word has no column run or sequence"):
        bank.table("word", run=1)


def test_closing_lets_go(sample_bank: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.duckdb"
    shutil.copy(sample_bank, path)
    with open_bank(path) as opened:
        opened.sql("select 1")
    opened.close()
    with pytest.raises(BankError, match="is closed"):
        opened.runs()
    with duckdb.connect(str(path)):  # to write, which no reader may be there for
        pass


def test_what_is_no_bank_is_told(tmp_path: Path) -> None:
    with pytest.raises(BankError, match=r"There is no bank .*\nFill one"):
        open_bank(tmp_path / "missing.duckdb")
    (tmp_path / "text.duckdb").write_text("no database")
    with pytest.raises(BankError, match="is not a bank"):
        open_bank(tmp_path / "text.duckdb")
    duckdb.connect(str(tmp_path / "other.duckdb")).close()
    with pytest.raises(BankError, match="is an empty DuckDB database, not a bank"):
        open_bank(tmp_path / "other.duckdb")


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("from best_head(relation := 'dobj')", "best_head: No word of .* has the relation dobj"),
        ("select * from best_head('dobj') as b where b.n > 1", "Did you mean .*obj"),
        ("from best_head(relation => 'obj') where n < 0", "best_head may have no rows: no rel"),
    ],
)
def test_a_macro_without_rows_is_told(
    statement: str, says: str, sample_bank: Path, cli: Cli
) -> None:
    with open_bank(sample_bank) as bank, pytest.warns(AttnbankWarning, match=says):
        assert not bank.sql(statement).height
    assert re.search(says, cli("-b", sample_bank, "sql", statement).err)


def test_an_empty_answer_of_tables_is_left_alone(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not bank.sql("select * from word where false").height
        assert bank.sql("from best_head(relation := 'obj')").height


@pytest.mark.parametrize("name", ["leaderboard", "compare_runs"])
def test_a_relation_of_no_corpus_is_wrong_where_several_runs_are_read(
    name: str, sample_bank: Path
) -> None:
    message = r"No word of the bank has the relation objx.*\nDid you mean obj"
    with open_bank(sample_bank) as bank, pytest.raises(CallError, match=message):
        bank.query(name, relation="objx")


def test_help_lists_what_a_user_calls_and_every_option(bank: Bank) -> None:
    names = {name for name, _ in inspect.getmembers(Bank, inspect.isfunction) if name[0] != "_"}
    assert names == {
        "answer", "cached", "choices", "close", "count", "find", "info", "pairs", "picture", "plot",
        "queries", "query", "release", "report", "run_of", "runs", "save",
        "saved", "schema", "score", "show", "sql", "stream", "table",
    }  # fmt: skip
    assert str(inspect.signature(bank.count)).startswith("(request: 'str', by: 'str' = '', *, ")
    assert inspect.signature(bank.show).parameters["least"].default == 0.01
    assert {"relation", "decoded", "words"} <= inspect.signature(bank.show).parameters.keys()
    with pytest.raises(TypeError, match=r"^Requests\.find\(\) got an unexpected .*'colums'"):
        bank.find("pattern { V [] }", colums="V.lemma")  # type: ignore[call-arg]
