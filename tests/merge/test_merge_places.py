"""Ids are places: banks agree on those of one corpus, whatever else each has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bank_rows
import duckdb
import pytest
from bank_factory import BankFactory
from bank_rows import change_bank, query_bank
from fixture_types import Models

from attnbank.ingest import IngestOptions, add_text, ingest, merge_banks
from attnbank.sql.errors import BankError

BAD = "1\tRain\t_\tNOUN\t_\t_\t9\tnsubj\t_\t_\n\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Five documents, of which the second and the third have a sentence that cannot be read."""
    row = "{}\t{}\t_\tX\t_\t_\t{}\tdep\t_\tEntity=({}-person)"
    blocks = [
        "\n".join([f"# text = {text}", *(row.format(at, word, at - 1, at) for at, word in words)])
        for text in ("The dogs barked", "Rain fell", "The old door closed", "She saw him")
        for words in [[*enumerate(text.split(), start=1)]]
    ]
    path = tmp_path / "corpus.conllu"
    path.write_text(
        "".join(
            f"# newdoc id = d{at}\n# global.Entity = eid-etype\n{blocks[at % 4]}\n\n"
            f"{BAD if at in (1, 2) else ''}{blocks[(at + 1) % 4]}\n\n"
            for at in range(5)
        ).replace("\t0\tdep", "\t0\troot"),
        encoding="utf-8",
    )
    return path


def _hashable(row: tuple[Any, ...]) -> str:
    return repr(row)


@pytest.mark.slow
def test_shards_in_banks_with_other_corpora_are_the_whole(
    corpus: Path, few: Path, tmp_path: Path, tiny_model: Models
) -> None:
    """The banks give the corpus and its run other numbers, and so other ids."""
    model, banks = str(tiny_model("bert")), []
    other = (str(few / "stories.conllu"),)
    whole, merged = tmp_path / "whole.duckdb", tmp_path / "merged.duckdb"
    options: dict[str, Any] = {"batch_tokens": 1, "skip_bad": True}
    ingest(IngestOptions((str(corpus),), whole, model, **options))
    ingest(IngestOptions(other, whole, model, name="other", limit=3, **options))
    for number in (1, 2, 3):
        bank = tmp_path / f"{number}.duckdb"
        for at in range(1, number):
            # The corpus is the same under any name, so that the merged bank has it once.
            ingest(IngestOptions(other, bank, model, name=f"o{at}", limit=3, **options))
        ingest(IngestOptions((str(corpus),), bank, model, shard=f"{number}/3", **options))
        banks.append(bank)
    first = query_bank(banks[2], "select min(id) from sentence where document >> 40 = 2")
    assert first == [((2 << 40) + 5,)]  # of the third document, after two sentences each
    merge_banks(merged, banks)
    with duckdb.connect(str(merged)) as connection:
        connection.execute("update corpus set name = 'other' where name = 'o1'")
        connection.execute("update run set name = replace(name, 'o1/', 'other/')")
        connection.execute("update run set options = map_concat(options, map {'name': 'other'})"
                           " where options['name'] is not null")  # fmt: skip
        # A third of them had the other corpus twice, as two corpora.
        assert connection.execute("select name from corpus order by id").fetchall() == [
            ("corpus",), ("other",), ("o2",),
        ]  # fmt: skip
    rows, expected = bank_rows.rows(merged), bank_rows.rows(whole)
    assert len(expected["word"]) < len(rows["word"])
    for table in ("document", "sentence", "word", "mention", "sequence", "peak", "attention"):
        assert {*map(_hashable, expected[table])} <= {*map(_hashable, rows[table])}, table


def test_two_models_of_one_corpus_and_of_a_sample_of_it(
    corpus: Path, tmp_path: Path, bank_of: BankFactory
) -> None:
    banks = [tmp_path / "one.duckdb", tmp_path / "two.duckdb"]
    for bank, family, limit in zip(banks, ("bert", "gpt2"), (None, 3), strict=True):
        bank_of(corpus, family, skip_bad=True, limit=limit, to=bank)
    change_bank(
        banks[1],
        "insert into surprisal select 1, min(id), 1, 1, 1 from word",
        "insert into ablation values (1, 'none', null, null, null, 2, 3)",
    )
    ids = "select (id % 1099511627776)::int from sequence where run = {} order by id"
    whole, part = (query_bank(bank, ids.format(1)) for bank in banks)
    assert len(part) == 3 and {*part} < {*whole}
    merged = tmp_path / "both.duckdb"
    merge_banks(merged, banks)
    assert query_bank(merged, ids.format(2)) == part
    assert query_bank(merged, "from surprisal") == [(2, 1, 1.0, 1.0, 1)]
    assert query_bank(merged, "from ablation") == [(2, "none", None, None, None, 2.0, 3)]
    for table in ("document", "sentence", "word", "mention"):
        rows = f"from {table} order by all"
        same = query_bank(banks[0], rows)
        assert query_bank(merged, rows) == query_bank(banks[1], rows) == same != [], table
    peaks = "select * replace (sequence - {} as sequence) from peak where sequence >> 40 = {}"
    for number, bank in enumerate(banks):
        moved = query_bank(merged, f"{peaks.format(number << 40, number)} order by all")
        assert moved == query_bank(bank, f"{peaks.format(0, 0)} order by all") != []


@pytest.mark.slow
def test_a_corpus_that_grew_is_another(corpus: Path, tmp_path: Path) -> None:
    banks = [tmp_path / "one.duckdb", tmp_path / "two.duckdb"]
    for bank in banks:
        add_text(IngestOptions((str(corpus),), bank, "none", skip_bad=True))
        corpus.write_text(corpus.read_text("utf-8") * 2, encoding="utf-8")
    done = merge_banks(tmp_path / "both.duckdb", banks)
    assert "has another corpus called corpus: its content (SHA-256) differs" in done.notes[0]
    sizes = "select corpus.name, count(*) from document inner join corpus on corpus.id = corpus"
    assert query_bank(tmp_path / "both.duckdb", f"{sizes} group by all order by all") == [
        ("corpus", 5), ("corpus-2", 10),
    ]  # fmt: skip


def test_shards_that_left_out_other_sentences_are_refused(corpus: Path, tmp_path: Path) -> None:
    text = corpus.read_text("utf-8").replace("# text = ", "# text = Not ", 1)
    corpus.write_text(text.replace(BAD, ""), encoding="utf-8")  # a departure in the first sentence
    banks = [tmp_path / "one.duckdb", tmp_path / "two.duckdb"]
    for bank, shard, strict in zip(banks, ("1/2", "2/2"), (False, True), strict=True):
        add_text(
            IngestOptions((str(corpus),), bank, "none", shard=shard, strict=strict, skip_bad=strict)
        )
    message = r"Document 2 of the corpus corpus stands at another place in .*two\.duckdb"
    with pytest.raises(BankError, match=message):
        merge_banks(tmp_path / "out.duckdb", banks)


def test_ids_of_another_place_are_refused(corpus: Path, tmp_path: Path) -> None:
    """As a bank of a development version has them, where two corpora share one sequence of ids."""
    bank = tmp_path / "bank.duckdb"
    add_text(IngestOptions((str(corpus),), bank, "none", skip_bad=True))
    change_bank(
        bank,
        "update corpus set id = 2; update document set corpus = 2; update skipped set corpus = 2",
    )
    with pytest.raises(BankError, match="id of document 1 is not that of its place in its corpus"):
        merge_banks(tmp_path / "out.duckdb", [bank])
