"""What people put into their banks, and what was computed, when banks are merged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bank_factory import BankFactory
from bank_rows import query_bank
from case_bank import make_bank
from command_line import Cli
from two_runs import SECOND, TWO_RUNS

from attnbank.ingest import merge_banks
from attnbank.ingest.store.deleting import set_default_run
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError
from attnbank.sql.export_format import export

FOURTH = (3 << 40) + 1  # as SECOND, of the fourth corpus and run


def _bank(path: Path, *statements: str, of: int = 0) -> Path:
    """A bank with two runs; `of` gives it other corpora and models."""
    make_bank(path, TWO_RUNS)
    with duckdb.connect(str(path)) as connection:
        if of:
            for table in ("corpus", "model"):
                connection.execute(f"update {table} set name = name || {of}, sha256 = '{of}' || id")
            connection.execute(f"update run set name = {of} || name")
        for statement in statements:
            connection.execute(statement)
    return path


def _tables(bank: Path) -> dict[str, list[tuple[Any, ...]]]:
    """How many rows each table has, and a digest of them in whatever order."""
    names = query_bank(bank, "select table_name from duckdb_tables() where schema_name <> 'kept'")
    digest = "select count(*), sum(hash(each)), bit_xor(hash(each))"
    return {
        name: query_bank(bank, f"{digest} from {name} as each")
        for (name,) in names
        if name != "bank"
    }


@pytest.mark.slow
def test_one_bank_merged_is_that_bank(full_bank: Path, tmp_path: Path) -> None:
    """With steps, probes, gradients and ablation."""
    merge_banks(tmp_path / "out.duckdb", [full_bank])
    assert _tables(tmp_path / "out.duckdb") == _tables(full_bank)


@pytest.mark.slow
def test_a_bank_and_its_export_are_that_bank(full_bank: Path, tmp_path: Path) -> None:
    with open_bank(full_bank) as bank:
        export(bank.path, tmp_path / "parquet")
    merge_banks(tmp_path / "out.duckdb", [tmp_path / "parquet", full_bank])
    assert _tables(tmp_path / "out.duckdb") == _tables(full_bank)


@pytest.mark.slow
def test_tables_and_columns_that_people_made_come_too(tmp_path: Path) -> None:
    name = 'my "table"; drop table word; --'
    own = '"' + name.replace('"', '""') + '"'
    one = _bank(
        tmp_path / "one.duckdb",
        f"create table {own} (x decimal(4, 1)[], word bigint)",
        f"insert into {own} values ([1.5], {SECOND}), (null, null), (null, 99), (null, {8 << 40})",
        f"alter table word add column {own} smallint",
        f"update word set {own} = 3",
        "create table home as select 5 as x",  # as a table that the merge makes for itself
        "create schema mine",
        "create table mine.word (kind enum('a', 'it''s'), run varchar, sequence bigint)",
        f"insert into mine.word values ('it''s', 'two/n', {SECOND})",
    )
    other = _bank(
        tmp_path / "other.duckdb",
        f"create table {own} (x decimal(4, 1)[], word bigint)",
        f"insert into {own} values ([1.5], {SECOND}), (null, null)",
        "create schema mine",
        "create table mine.word (kind enum('a', 'it''s'), run varchar, sequence bigint)",
        f"insert into mine.word values ('a', '2', {SECOND})",
        of=7,
    )
    out = tmp_path / "out.duckdb"
    done = merge_banks(out, [one, other])
    assert query_bank(out, "from home") == [(5,)]
    rows = query_bank(out, f"select word from {own} order by all")
    assert rows == [(SECOND,), (FOURTH,), (None,)]  # two rows of the first refer to nothing
    select = "select cast(kind as varchar), run, sequence from mine.word order by all"
    assert query_bank(out, select) == [
        ("a", "4", FOURTH), ("it's", "two/n", SECOND),
    ]  # fmt: skip
    assert query_bank(out, f"select id, {own} from word order by all") == [
        (1, 3), (SECOND, 3), ((2 << 40) + 1, None), (FOURTH, None),
    ]  # fmt: skip
    notes = "\n".join(done.notes)
    assert re.search("2 rows of .* they refer to nothing in the new bank", notes)
    assert "the ids in run, sequence were changed to those of the new bank" in notes
    assert "the numbers in x were copied unchanged" in notes
    with open_bank(out) as bank:
        assert bank.sql("select * from word").width == len(bank.schema("word")) > 10


@pytest.mark.slow
def test_tables_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    one = _bank(tmp_path / "one.duckdb", "create table mine (x integer)")
    other = _bank(tmp_path / "other.duckdb", "create table mine (x varchar)", of=7)
    with pytest.raises(
        CallError, match=r"mine\.x is VARCHAR in .*other\.duckdb, and INTEGER in an"
    ):
        merge_banks(tmp_path / "out.duckdb", [one, other])
    more = _bank(tmp_path / "more.duckdb", "alter table word add column mine integer")
    less = _bank(tmp_path / "less.duckdb", "alter table word add column mine varchar", of=7)
    with pytest.raises(CallError, match=r"word\.mine is VARCHAR in .*less\.duckdb, and INTEGER"):
        merge_banks(tmp_path / "out.duckdb", [more, less])


def test_views_macros_and_kept_answers_are_named(tmp_path: Path, cli: Cli) -> None:
    one = _bank(
        tmp_path / "one.duckdb",
        "create view mine as select 1 as x",
        "create macro twice(x) as 2 * x",
    )
    cli("-b", one, "compute", "entropy", "--run", "1", "-q")
    done = merge_banks(tmp_path / "out.duckdb", [one])
    assert any("were not copied: mine, twice." in note for note in done.notes), done.notes
    assert any("Kept answers" in note for note in done.notes)


@pytest.mark.slow
def test_a_column_that_only_one_bank_has_is_null_in_rows_of_the_other(tmp_path: Path) -> None:
    one = _bank(
        tmp_path / "one.duckdb", f"create table mine as select 1 as x, 5 as y, {SECOND} as word"
    )
    other = _bank(
        tmp_path / "other.duckdb", f"create table mine as select {SECOND} as word, 1 as x", of=7
    )
    merge_banks(tmp_path / "out.duckdb", [one, other])
    merge_banks(tmp_path / "again.duckdb", [tmp_path / "out.duckdb", one])
    for bank in ("out", "again"):
        rows = query_bank(tmp_path / f"{bank}.duckdb", "select x, y, word from mine order by all")
        assert rows == [(1, 5, SECOND), (1, None, FOURTH)]


SAVE = (
    "insert into saved_relation values"
    " ('mine', 'pattern {{ {} }}', 'A', 'B', null, 'select 1', {}, '0',"
    " timestamp '2026-01-01', false)",
    f"insert into saved_pair values ('mine', 1, 1), ('mine', {SECOND}, {SECOND})",
)


@pytest.mark.slow
def test_saved_relations(tmp_path: Path) -> None:
    one = _bank(tmp_path / "one.duckdb", SAVE[0].format("A -> B", SECOND), SAVE[1])
    same = _bank(tmp_path / "same.duckdb", SAVE[0].format("A -> B", 1), SAVE[1], of=7)
    other = _bank(
        tmp_path / "other.duckdb", SAVE[0].format("C -> D", SECOND),
        "update word set deprel = 'mine_2' where id = 1", of=8,
    )  # fmt: skip
    out = tmp_path / "out.duckdb"
    done = merge_banks(out, [one, same, other])
    assert query_bank(out, "from saved_pair order by all") == [
        ("mine", (number << 40) + 1, (number << 40) + 1) for number in range(4)
    ]
    # The second sentence of `same` was not looked at, nor any of `other` for `mine`.
    assert query_bank(out, "select name, last_sentence from saved_relation order by 1") == [
        ("mine", FOURTH - 1), ("mine_3", 0),
    ]  # fmt: skip
    assert query_bank(out, "select count(*) from saved.mine") == [(4,)]
    assert any("The saved relation mine of" in note for note in done.notes)
    assert any("a relation of the trees has that name" in note for note in done.notes)


@pytest.mark.slow
def test_saved_relations_of_one_name(tmp_path: Path) -> None:
    """Each request has a name of its own, whatever names were given before."""
    requests = ("A -> B", "C -> D", "E -> F")
    banks = [
        _bank(tmp_path / f"{at}.duckdb", SAVE[0].format(request, SECOND), SAVE[1], of=at)
        for at, request in enumerate(requests)
    ]
    merge_banks(tmp_path / "out.duckdb", banks)
    result = "regexp_extract(request, '[A-F] -> [A-F]')"
    assert query_bank(
        tmp_path / "out.duckdb",
        f"select name, {result}, min(word) from saved_relation"
        " inner join saved_pair on saved_pair.relation = name group by all order by 1",
    ) == [
        ("mine", "A -> B", 1),
        ("mine_2", "C -> D", (2 << 40) + 1),
        ("mine_3", "E -> F", (4 << 40) + 1),
    ]


@pytest.mark.slow
def test_preferred_runs_and_frequencies_of_the_first_bank(tmp_path: Path) -> None:
    one = _bank(tmp_path / "one.duckdb", "insert into word_frequency values ('a', 1)")
    other = _bank(tmp_path / "other.duckdb", "insert into word_frequency values ('a', 2)", of=7)
    set_default_run(one, 1)
    set_default_run(other, 2)
    done = merge_banks(tmp_path / "out.duckdb", [other, one])
    assert query_bank(tmp_path / "out.duckdb", "from preferred_run") == [(2,)]
    assert query_bank(tmp_path / "out.duckdb", "from word_frequency") == [("a", 2)]
    assert any("prefers the run one/m, an earlier bank 7two/n" in note for note in done.notes)
    assert any("word_frequency" in note and "were not copied" in note for note in done.notes)


@pytest.mark.slow
def test_what_was_computed_from_a_shard_is_left_out_and_told(tmp_path: Path) -> None:
    shard = "update run set shard = '{0}/2', name = name || '/shard{0}of2'"
    of = "update corpus set shard = '{}/2'"
    banks = [
        _bank(
            tmp_path / f"{at}.duckdb", shard.format(at), of.format(at),
            f"update document set index = {at}, id = id - 1 + {at}",
            f"update sentence set id = id - 1 + {at}, document = document - 1 + {at}",
            f"update word set id = id - 1 + {at}, sentence = sentence - 1 + {at}",
            f"update sequence set id = id - 1 + {at}, document = document - 1 + {at},"
            f" sentence = sentence - 1 + {at}",
            f"update position set sequence = sequence - 1 + {at}, word = word - 1 + {at}",
            f"update attention set sequence = sequence - 1 + {at}",
            f"update attention_map set sequence = sequence - 1 + {at}",
            f"update peak set sequence = sequence - 1 + {at}",
            "insert into computation values (1, 'head_embedding', map(), 1, '0', map(),"
            " '2026-01-01', '2026-01-02')",
            "insert into probe (id, kind, train_run, test_run, root_at, seed, options,"
            " train_sentences, held_out_sentences, test_sentences, epochs, best_epoch, device,"
            " code_version, libraries, started, finished) values (1, 'attention', 1, 2, 'root', 0,"
            " map(), 1, 1, 1, 1, 1, 'cpu', '0', map(), now()::timestamp, now()::timestamp)",
        )
        for at in (1, 2)
    ]  # fmt: skip
    out = tmp_path / "out.duckdb"
    done = merge_banks(out, banks)
    assert query_bank(out, "select name, finished is not null from run") == [
        ("one/m", True), ("two/n", True),
    ]  # fmt: skip
    for table in ("computation", "head_embedding", "probe"):
        assert query_bank(out, f"select count(*) from {table}") == [(0,)], table
    assert any("(head_embedding) was not copied" in note for note in done.notes)
    assert any("The probe 1 (attention)" in note for note in done.notes)


@pytest.mark.slow
def test_decoded_trees_go_with_their_sentences(
    tmp_path: Path, cli: Cli, bank_of: BankFactory
) -> None:
    """Their inputs and sentences get other ids, in a merge and where exports are imported."""
    banks = [tmp_path / "press.duckdb", tmp_path / "stories.duckdb"]
    for path in banks:
        bank_of(path.stem, then=("compute attention_tree",), to=path)
        cli("-b", path, "export", path.with_suffix(".parquet"), "-q")
    merge_banks(tmp_path / "both.duckdb", banks)
    exports = [path.with_suffix(".parquet") for path in banks]
    cli("-b", tmp_path / "imported.duckdb", "import", *exports, "-q")
    merge_banks(tmp_path / "again.duckdb", [tmp_path / "both.duckdb", banks[1]])
    arcs = (
        "select sentence.text, word.form, tree.source, tree.layer, tree.head, tree.direction,"
        " tree.heads, tree.first_position, tree.weight from main.attention_tree as tree"
        " join sentence on sentence.id = tree.sentence"
        " join position on position.sequence = tree.sequence"
        " and position.position = tree.first_position"
        " join word on word.id = position.word and word.sentence = sentence.id order by all"
    )
    own = sorted((row for path in banks for row in query_bank(path, arcs)), key=str)
    count = sum(
        query_bank(path, "select count(*) from main.attention_tree")[0][0] for path in banks
    )
    assert len(own) == count > 1000
    for made in ("both", "imported", "again"):
        assert sorted(query_bank(tmp_path / f"{made}.duckdb", arcs), key=str) == own, made
    with open_bank(tmp_path / "both.duckdb") as both:
        for path in banks:
            with open_bank(path) as alone:
                expected = alone.query("tree_accuracy")
                assert both.query("tree_accuracy", run=expected["run"][0]).equals(expected)
