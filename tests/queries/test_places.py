"""Rows of a second corpus: their ids are large, and people read and write 2:12 instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from case_bank import make_bank
from command_line import Cli
from two_runs import SECOND, TWO_RUNS

from attnbank.queries import Bank, open_bank
from attnbank.queries.sentences.choosing import find_sentence
from attnbank.sql.errors import CallError

LAST = (1 << 40) + 3  # the third word of the second corpus
ROWS = TWO_RUNS | {
    "sentence": f"id,document,index,words,name\n1,1,1,1,2:9\n{SECOND},{SECOND},1,3,\n",
    "word": f"{TWO_RUNS['word']}{SECOND + 1},{SECOND},2,de\n{LAST},{SECOND},3,le\n",
    "position": f"sequence,position,kind,word,last_word\n{SECOND},0,word,{SECOND},{LAST}\n",
}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    path = make_bank(tmp_path_factory.mktemp("places") / "bank.duckdb", ROWS)
    with open_bank(path) as opened:
        yield opened


@pytest.mark.parametrize("named", ["2:1", "two:1", str(SECOND), " 2:1 "])
def test_a_sentence_is_found_by_its_place(bank: Bank, named: str) -> None:
    sentence = find_sentence(bank.backend, named, None)
    assert (sentence.id, sentence.corpus_name, sentence.name) == (SECOND, "two", "2:1")


def test_a_name_comes_before_a_place(bank: Bank) -> None:
    assert find_sentence(bank.backend, "2:9", None).id == 1
    with pytest.raises(
        CallError, match=r"No sentence of the bank is called two:9\..*\n?.*CORPUS:12"
    ):
        find_sentence(bank.backend, "two:9", None)


def test_sentences_of_one_name_are_told_by_their_places(tmp_path: Path) -> None:
    sentences = f"id,document,index,words,name\n1,1,1,1,s\n{SECOND},{SECOND},1,3,s\n"
    path = make_bank(tmp_path / "bank.duckdb", ROWS | {"sentence": sentences})
    told = r"or --corpus: 1:1 \(one\), 2:1 \(two\)\."
    with open_bank(path) as bank, pytest.raises(CallError, match=told):
        find_sentence(bank.backend, "s", None)


def test_tables_have_places_and_files_have_ids(bank: Bank, cli: Cli) -> None:
    statement = "select id as word, sentence, 5000000000000 as n from word order by id"
    command = ["-b", str(bank.path), "sql", statement]
    rows = [line.split() for line in cli(*command).out.splitlines()[2:]]
    assert rows == [
        ["1:1", "1:1", "5000000000000"], ["2:1", "2:1", "5000000000000"],
        ["2:2", "2:1", "5000000000000"], ["2:3", "2:1", "5000000000000"],
    ]  # fmt: skip
    assert cli(*command, "-f", "csv").out.splitlines()[2] == f"{SECOND},{SECOND},5000000000000"
    assert bank.sql("select place_name(12), place_name(1099511627788)").row(0) == ("12", "2:12")


def test_words_that_share_a_position(bank: Bank) -> None:
    words = bank.sql("select word from word_position order by word").to_series().to_list()
    assert words == [SECOND, SECOND + 1, LAST]
