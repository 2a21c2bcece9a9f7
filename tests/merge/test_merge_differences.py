"""Banks that do not fit together: each gets one clear line, and no bank is made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bank_rows import query_bank
from case_bank import make_bank
from command_line import Cli
from two_runs import TWO_RUNS

from attnbank.ingest import merge_banks
from attnbank.sql.errors import AttnbankError, BankError, CallError


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.duckdb"


def _changed(bank: Path, copy: Path, *statements: str) -> Path:
    shutil.copy(bank, copy)
    with duckdb.connect(str(copy)) as connection:
        for statement in statements:
            connection.execute(statement)
    return copy


@pytest.mark.slow
def test_a_missing_shard_is_named_and_partial_goes_on(
    shards: Any, out: Path, tmp_path: Path, cli: Cli
) -> None:
    some = [str(shards.shards[at]) for at in (2, 0)]
    assert cli("merge", out, *some, status=2).err == (
        "Error: The shard 2/3 of the corpus sample is in none of the banks.\n"
        "Name its bank too, or give --partial: the corpus then says which shards it has.\n"
    )
    assert [*tmp_path.iterdir()] == []
    cli("merge", out, *some, "--partial", "-q")
    assert query_bank(out, "select shard from corpus") == [("1+3/3",)]
    ((name, shard),) = query_bank(out, "select name, shard from run")
    assert name.endswith("/shard1+3of3") and shard == "1+3/3"
    output = cli("-b", out, "info").out
    assert "the shards 1+3/3 of the documents" in output and "its shards 1+3/3" in output
    merge_banks(tmp_path / "all.duckdb", [out, shards.shards[1]])
    assert query_bank(tmp_path / "all.duckdb", "select shard from corpus") == [(None,)]
    count = "select count(*), sum(id), sum(document) from sequence"
    assert query_bank(tmp_path / "all.duckdb", count) == query_bank(shards.whole, count)


OTHERWISE = {
    "subword": (
        "update run set subword = 'first'",
        r"lacks the shard 3/3: .*other\.duckdb has 3/3 with another --subword \(first, not mean\)",
    ),
    "truncate": (
        "update run set truncate = true",
        r"another --truncate \(true, not none\)",
    ),
    "tokenizer": ("update model set tokenizer_sha256 = 'other'", r"by its tokenizer \(SHA-256\)"),
    "transformers": (
        "update run_part set libraries = map_concat(libraries, map(['transformers'], ['4.0']))",
        r"another version of transformers \(4\.0, not ",
    ),
    "unfinished": ("update run set finished = null", r"in .*other\.duckdb it is unfinished"),
    "no run": (
        "delete from run; delete from run_part; delete from sequence; delete from position;"
        " delete from ablation; delete from surprisal",
        "lacks the shard 3/3",
    ),
    "content": (
        "update corpus set sha256 = 'other'",
        r"3/3 of the corpus sample is in none .*other\.duckdb has another corpus called sample: its"
        r" content \(SHA-256\) differs",
    ),
    "another n": (
        "update corpus set shard = '3/4'",
        "The shards of sample do not match: .* has 1-2/3, and .* 3/4",
    ),
}
"""Changes of a shard, and how it is told apart: each column in tests/sql/test_matching.py."""


@pytest.mark.usual("unfinished")
@pytest.mark.parametrize("what", OTHERWISE)
def test_shards_of_different_options_are_told_apart(
    what: str, shards: Any, out: Path, tmp_path: Path
) -> None:
    statement, message = OTHERWISE[what]
    other = _changed(shards.shards[2], tmp_path / "other.duckdb", statement)
    with pytest.raises(AttnbankError, match=message) as raised:
        merge_banks(out, [*shards.shards[:2], other])
    assert str(raised.value).count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["other.duckdb"]


@pytest.mark.slow
def test_with_partial_they_are_runs_of_their_own(shards: Any, out: Path, tmp_path: Path) -> None:
    other = _changed(
        shards.shards[2], tmp_path / "other.duckdb", "update run set subword = 'first'"
    )
    merge_banks(out, [*shards.shards[:2], other], partial=True)
    rows = query_bank(out, "select shard, subword from run order by id")
    assert rows == [("1-2/3", "mean"), ("3/3", "first")]
    assert query_bank(out, "select shard from corpus") == [
        (None,)
    ]  # of the text nothing is missing
    count = "select count(*) from sequence"
    assert query_bank(out, count) == query_bank(shards.whole, count)


@pytest.mark.slow
def test_what_only_rounds_otherwise_is_joined_and_told(
    shards: Any, out: Path, tmp_path: Path
) -> None:
    other = _changed(
        shards.shards[2], tmp_path / "other.duckdb",
        "update run_part set device = 'cuda', batch_tokens = 64",
    )  # fmt: skip
    done = merge_banks(out, [*shards.shards[:2], other])
    (message,) = done.notes
    assert "differ only in rounding: device cpu and cuda, --batch-tokens 1 and 64" in message
    parts = query_bank(out, "select shard, device, batch_tokens from run_part order by shard")
    assert parts == [("1/3", "cpu", 1), ("2/3", "cpu", 1), ("3/3", "cuda", 64)]


@pytest.mark.slow
def test_nothing_is_there_twice(shards: Any, out: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(shards.shards[1], tmp_path / "copy.duckdb"))
    link = tmp_path / "link.duckdb"
    link.symlink_to(shards.shards[0])
    done = merge_banks(out, [shards.shards[2], *shards.shards, copy, shards.whole, link])
    assert sum("was named twice and is read once" in note for note in done.notes) == 2
    assert any("made at different times: the first is kept" in note for note in done.notes)
    for table in ("document", "word", "mention", "run", "sequence", "position", "peak"):
        count = f"select count(*) from {table}"
        assert query_bank(out, count) == query_bank(shards.whole, count), table


@pytest.mark.usual("update word*")
@pytest.mark.parametrize(
    "statement",
    [
        "update word set form = 'x' where id = (select min(id) + 3 from word)",
        "update sentence set paragraph = 99 where id = (select max(id) from sentence)",
        "update mention set type = 'x' where id = (select max(id) from mention)",
        "update document set split = 'dev'",
        "delete from mention where id = (select max(id) from mention)",
        "alter table word add column mine integer default 1",
    ],
)
def test_a_text_that_is_not_the_same_is_refused_by_name(
    statement: str, shards: Any, out: Path, tmp_path: Path
) -> None:
    other = _changed(shards.shards[1], tmp_path / "other.duckdb", statement)
    with pytest.raises(BankError, match=r"Document [0-9]+ of the corpus sample differs"):
        merge_banks(out, [shards.shards[1], other], partial=True)
    assert not out.exists()


@pytest.mark.slow
def test_a_run_of_other_inputs_is_refused_by_name(shards: Any, out: Path, tmp_path: Path) -> None:
    other = _changed(
        shards.whole, tmp_path / "other.duckdb",
        "update position set pieces = ['x'] where sequence = 3 and position = 1",
    )  # fmt: skip
    message = r"The run sample/.* of .*other\.duckdb has different inputs"
    with pytest.raises(BankError, match=message):
        merge_banks(out, [shards.whole, other])
    assert not out.exists()


@pytest.mark.slow
def test_another_corpus_of_the_name_is_kept_apart(tmp_path: Path, out: Path) -> None:
    made = make_bank(tmp_path / "made.duckdb", TWO_RUNS)
    one = _changed(made, tmp_path / "one.duckdb")
    other = _changed(one, tmp_path / "other.duckdb", "update corpus set sha256 = 'y' where id = 1")
    done = merge_banks(out, [one, other])
    assert query_bank(out, "select name from corpus order by id") == [
        ("one",),
        ("two",),
        ("one-2",),
    ]
    assert query_bank(out, "select name from run order by id") == [
        ("one/m",), ("two/n",), ("one-2/m",),
    ]  # fmt: skip
    corpus, renamed, *_ = done.notes
    assert "has another corpus called one: its content (SHA-256) differs" in corpus
    assert "The run one/m of" in renamed and "is called one-2/m here" in renamed


@pytest.mark.slow
def test_an_unfinished_run_is_kept_so_or_left_out_and_told(
    shards: Any, out: Path, tmp_path: Path
) -> None:
    unfinished = "update run set finished = null"
    whole = _changed(shards.whole, tmp_path / "whole.duckdb", unfinished)
    done = merge_banks(out, [whole])
    assert "is unfinished and stays so" in done.notes[0]
    assert query_bank(out, "select finished from run") == [(None,)]
    part = _changed(shards.shards[0], tmp_path / "part.duckdb", unfinished)
    done = merge_banks(tmp_path / "two.duckdb", [part, shards.shards[1]], partial=True)
    assert any("is unfinished and was not copied" in note for note in done.notes)
    assert query_bank(tmp_path / "two.duckdb", "select shard from run") == [("2/3",)]
    assert query_bank(tmp_path / "two.duckdb", "select shard from corpus") == [("1-2/3",)]


@pytest.mark.slow
def test_a_bank_of_another_format_is_refused(shards: Any, out: Path, tmp_path: Path) -> None:
    newer = _changed(shards.whole, tmp_path / "newer.duckdb", "update bank set format = 99")
    with pytest.raises(BankError, match=r"has format 99, .*\nUse the version that wrote it"):
        merge_banks(out, [shards.whole, newer])
    with pytest.raises(BankError, match="There is no bank"):
        merge_banks(out, [shards.whole, tmp_path / "none.duckdb"])
    with pytest.raises(CallError, match="No bank to merge was named"):
        merge_banks(out, [])
    with pytest.raises(CallError, match=r"already exists and was left unchanged"):
        merge_banks(newer, [shards.whole])
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        "alter table run alter name drop not null; update run set name = null",
        "insert into bank from bank",
    ],
)
def test_a_damaged_catalog_is_refused(damage: str, shards: Any, out: Path, tmp_path: Path) -> None:
    """Damaged rows: test_damaged_rows.py."""
    other = _changed(shards.whole, tmp_path / "other.duckdb", damage)
    with pytest.raises(BankError) as raised:
        merge_banks(out, [other])
    assert "other.duckdb" in str(raised.value) and str(raised.value).count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["other.duckdb"]


@pytest.mark.slow
def test_rows_of_no_run_are_told(shards: Any, out: Path, tmp_path: Path) -> None:
    other = _changed(
        shards.whole, tmp_path / "other.duckdb",
        "insert into peak (sequence, layer, head, position) values (99999, 1, 1, 1)",
    )  # fmt: skip
    done = merge_banks(out, [other])
    assert [note for note in done.notes if "1 rows of peak in" in note and "not copied" in note]
