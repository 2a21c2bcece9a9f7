"""Shards of a corpus: each document in one bank, always the same, and together all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import duckdb
import polars as pl
import pytest
from bank_factory import BankFactory
from command_line import Cli
from fixture_types import Options

from attnbank.ingest import IngestOptions, add_text, estimate, ingest
from attnbank.ingest.corpora.corpus import Corpus, CorpusFacts
from attnbank.ingest.corpora.document import DocumentStart, Problem, Sentence, Word
from attnbank.ingest.progress import ignore_progress
from attnbank.ingest.store.corpus import read_text
from attnbank.sql.errors import CallError

COUNT = 3
SHARDS = [None, *(f"{number}/{COUNT}" for number in range(1, COUNT + 1))]

TEXT = """
    select document.index as document, document.name, sentence.index as sentence,
        sentence.text, word.index as word, word.form, word.head_index, word.deprel
    from word
    inner join sentence on sentence.id = word.sentence
    inner join document on document.id = sentence.document
    order by document.index, sentence.index, word.index
"""


@pytest.fixture(scope="module")
def banks(few: Path, bank_of: BankFactory) -> list[Path]:
    """A bank of the text of ten documents, and one of each of their shards."""
    return [bank_of(few, "none", shard=shard) for shard in SHARDS]


@pytest.fixture(scope="module")
def runs(few: Path, bank_of: BankFactory) -> list[Path]:
    """The same with a run of a tiny model in each."""
    return [bank_of(few, shard=shard) for shard in SHARDS]


def _rows(bank: Path, select: str) -> pl.DataFrame:
    with duckdb.connect(str(bank), read_only=True) as connection:
        frame: pl.DataFrame = connection.query(select).pl()
        return frame


def test_together_they_hold_every_word_once(banks: list[Path]) -> None:
    """And every weight: tests/merge/test_merge.py."""
    whole, *shards = (_rows(bank, TEXT) for bank in banks)
    rows = pl.concat(shards).sort("document", "sentence", "word")
    assert rows.height > 0 and rows.equals(whole)


def test_a_document_has_its_place_in_the_whole_corpus(banks: list[Path]) -> None:
    for number, bank in enumerate(banks[1:], start=1):
        places = _rows(bank, "select index from document order by id")["index"].to_list()
        assert places == [*range(number, 11, COUNT)]


@pytest.mark.slow
def test_the_corpus_keeps_its_identity_and_the_run_tells_its_shard(
    runs: list[Path], cli: Cli
) -> None:
    whole = _rows(runs[0], "from corpus").drop("shard")
    for number, bank in enumerate(runs[1:], start=1):
        assert _rows(bank, "from corpus").drop("shard").equals(whole)
        (row,) = _rows(bank, "select name, shard from run").iter_rows()
        assert row[0].endswith(f"/shard{number}of{COUNT}") and row[1] == f"{number}/{COUNT}"
        printed = cli("-b", bank, "info").out
        assert f"  the shard {number}/{COUNT} of the documents\n" in printed
        assert f"which are its shard {number}/{COUNT}\n" in printed
    assert "the shard" not in cli("-b", runs[0], "info").out


def test_the_same_command_again_adds_nothing_and_another_shard_is_refused(
    banks: list[Path], few: Path, options_for: Options
) -> None:
    content = banks[2].read_bytes()
    add_text(options_for(banks[2], few, "none", shard=f"02/{COUNT}"))
    for bank, shard, error in (
        (banks[2], f"3/{COUNT}", "is shard 2/3, but this one is shard 3/3"),
        (banks[2], None, "is shard 2/3, but this one is the whole corpus"),
        (banks[0], f"2/{COUNT}", "is the whole corpus, but this one is shard 2/3"),
    ):
        with pytest.raises(CallError, match=f"{error}.*\nGive each shard a bank of its own"):
            add_text(options_for(bank, few, "none", shard=shard))
    assert banks[2].read_bytes() == content


def test_invalid_shards_are_refused(tmp_path: Path, options_for: Options) -> None:
    bank = tmp_path / "new.duckdb"
    long, arabic = "9" * 5000 + "/3", "\u0661/\u0663"
    wrong = ("0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3 ", "1-2/3", "1+2/3", "1/1000001")
    for shard in (*wrong, long, arabic):
        with pytest.raises(CallError, match="--shard must be K/N, with K from 1 to N"):
            ingest(options_for(bank, "sample", shard=shard))
    with pytest.raises(CallError, match="--limit draws from the whole corpus"):
        ingest(options_for(bank, "sample", shard="1/3", limit=2))
    with pytest.raises(CallError, match="11/11 of sample is empty"):
        ingest(options_for(bank, "sample", shard="11/11"))
    assert not bank.exists()


@pytest.mark.slow
def test_a_dry_run_counts_the_shard(banks: list[Path], few: Path, options_for: Options) -> None:
    expected = estimate(options_for(banks[1], few, shard=f"1/{COUNT}"))
    counts = _rows(banks[1], "select count(*), sum(words) from sentence").row(0)
    assert (expected.documents, expected.sentences, expected.words) == (4, *counts)


def test_unreadable_sentences_are_in_one_shard_only() -> None:
    def sentence(start: int | None) -> Sentence:
        document = None if start is None else DocumentStart(f"same name {start % 2}")
        return Sentence((Word("a"),), document=document)

    bad = [Problem("bad", f"{number}") for number in range(4)]
    items: list[Sentence | Problem] = [
        bad[0], sentence(1), bad[1], sentence(None), sentence(2), sentence(3), bad[2],
        sentence(4), sentence(5), sentence(None), bad[3],
    ]  # fmt: skip
    problems: list[list[Problem]] = []
    documents: list[list[int]] = []
    sentences: list[list[int]] = []
    for shard in ("1/2", "2/2", None):
        facts = CorpusFacts("c", "any", "c", "0", "none", None, shard=shard)
        options = IngestOptions(("c",), Path("unused"), skip_bad=True, shard=shard)
        checked = read_text(
            Corpus([], facts, options, generated=cast(Any, tuple(items))), ignore_progress
        )
        assert checked.text is not None
        problems.append(checked.problems)
        for table, ids in (("document", documents), ("sentence", sentences)):
            rows = checked.text.execute(f"select id from {table} order by id").fetchall()
            ids.append([id for (id,) in rows])
    assert problems == [bad, [], bad]
    assert documents == [[1, 3, 5], [2, 4], [1, 2, 3, 4, 5]]
    assert sentences == [[1, 2, 4, 6, 7], [3, 5], [1, 2, 3, 4, 5, 6, 7]]
