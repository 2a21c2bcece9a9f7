"""A statement of anyone's reads the bank and nothing else, and changes nothing."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from attnbank.queries import Bank, open_bank
from attnbank.queries.results import frame_of_relation
from attnbank.sql.errors import QueryError

# {bank} is the bank's own path; data.csv stands in the working folder.
REFUSED = """
copy word to '{bank}'
copy (select 1) to 'stolen.csv'
copy (select 1) to '/dev/stdout'
copy word from 'data.csv'
copy from database attnbank to memory
with a as (copy (select 1) to 'stolen.csv') select 1
with a as (copy (select 1) to '{bank}') select * from a
export database 'stolen'
import database 'stolen'
attach 'stolen.duckdb'
attach ':memory:' as m
attach '{bank}' as again
detach attnbank
use memory
install httpfs
load httpfs
load 'stolen.duckdb_extension'
from read_csv('data.csv')
from 'data.csv'
from query_table('data.csv')
from read_text('data.csv')
from read_blob('data.csv')
from read_json('data.csv')
from read_parquet('https://example.org/x.parquet')
from read_duckdb('{bank}', table_name = 'word')
from sniff_csv('data.csv')
from glob('*')
from duckdb_extensions()
from json_execute_serialized_sql(json_serialize_sql('from read_text(''data.csv'')'))
from query('copy (select 1) to ''stolen.csv''')
pragma database_list
pragma enable_profiling
set memory_limit = '1TB'
set enable_external_access = true
set lock_configuration = false
set disabled_filesystems = ''
reset memory_limit
set variable x = 1
select getenv('HOME')
from enable_logging(storage = 'file', storage_path = 'stolen')
from enable_profiling()
call enable_logging()
create table x as select 1
create table memory.main.x as select 1
create temp table x as select 1
create macro f() as 1
create secret (type s3)
insert into word select * from word
update run set name = 'stolen'
delete from word
truncate word
drop table word
alter table word add column stolen integer
comment on table word is 'stolen'
merge into word using word as other on false when matched then delete
with x as (insert into word select * from word returning *) select * from x
with x as (delete from word returning *) select * from x
explain analyze copy word to 'stolen.csv'
explain analyze insert into word select * from word
explain analyze create temp table x as select 1
explain (analyze) create temp table x as select 1
/* a */ explain /* b */ analyze create temp table x as select 1
/* explain */ explain /* explain */ analyze (format json) create temp table x as select 1
explain (analyze, format ')') create temp table x as select 1
explain (analyze, format json) select ')'
explain (select 1)
explain (analyze /* ) select 1 -- */) create temp table z as select 1
explain (analyze /* ) select 1 -- */) create or replace temp macro best_head() as table select 1
explain /* ) */ (analyze) create temp table x as select 1
begin
checkpoint
from force_checkpoint()
vacuum
prepare p as select 1
select 1; select 2
select 1; drop table word
from frame_of_the_caller
"""

ALLOWED = """
select count(*) from word
from word
table word
values (1)
with a as (select 1 as n) select n from a
from best_head(relation := 'obj')
from paper.table_1
explain select 1
explain analyze select count(*) from word
/* explain */ explain /* (analyze) */ select 1
describe word
show tables
summarize word
pivot (select upos, sentence from word) on upos using count(*)
select 1;
-- a comment
from main.word limit 1
"""


@pytest.fixture(scope="module")
def bank(sample_bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    """A copy of the sample's bank, beside an otherwise empty working folder with one data file.

    All tests have the same, since none may change anything.
    """
    home = tmp_path_factory.mktemp("sandbox")
    (home / "work").mkdir()
    (home / "work" / "data.csv").write_text("a,b\n1,2\n")
    with (
        contextlib.chdir(home / "work"),
        open_bank(Path(shutil.copy(sample_bank, home / "copy.duckdb"))) as opened,
    ):
        yield opened


def _statements(text: str) -> list[str]:
    return text.strip().splitlines()


def test_nothing_gets_out_or_in(bank: Bank) -> None:
    before = hashlib.sha256(bank.path.read_bytes()).digest()
    frame_of_the_caller = pl.DataFrame({"a": [1]})
    passed = []
    for statement in _statements(REFUSED):
        try:
            bank.sql(statement.replace("{bank}", str(bank.path)))
            passed.append(statement)
        except QueryError as error:
            assert len(str(error).splitlines()) <= 2, error
    assert passed == []
    assert hashlib.sha256(bank.path.read_bytes()).digest() == before
    assert [path.name for path in Path.cwd().iterdir()] == ["data.csv"]
    assert [path.name for path in bank.path.parent.iterdir() if path.is_file()] == ["copy.duckdb"]
    assert bank.sql("select count(*) as n from word")["n"].item() > 0
    assert frame_of_the_caller.height == 1


@pytest.mark.parametrize(
    "statement",
    [
        "copy word to '{bank}'",
        "copy (select 1) to 'stolen.csv'",
        "from read_text('data.csv')",
        "attach 'stolen.duckdb'",
        "install httpfs",
        "set enable_external_access = true",
    ],
)
def test_the_connection_of_the_analyses_reaches_no_other_file(bank: Bank, statement: str) -> None:
    """It is not the sandbox, since DuckDB may put there what does not fit into memory."""
    before = bank.path.read_bytes()
    with pytest.raises(duckdb.Error):
        bank.connection.execute(statement.replace("{bank}", str(bank.path))).fetchall()
    assert bank.path.read_bytes() == before
    assert [path.name for path in Path.cwd().iterdir()] == ["data.csv"]


def test_statements_that_read_run(bank: Bank) -> None:
    text = ALLOWED.replace("-- a comment\nfrom", "-- a comment; with a stop|from")
    for statement in _statements(text):
        assert bank.sql(statement.replace("|", "\n")).height > 0, statement


def test_no_statement_is_refused(bank: Bank) -> None:
    for text in ("", "  ", "-- nothing"):
        with pytest.raises(QueryError, match=r"No statement was given\.\nGive one SELECT\."):
            bank.sql(text)


def test_a_statement_has_its_time(bank: Bank) -> None:
    with pytest.raises(QueryError, match=r"longer than 0\.2 seconds"):
        bank.sql("select count(*) from range(1000000000) as a, range(1000000) as b", seconds=0.2)
    assert bank.sql("select 1 as one").rows() == [(1,)]


def test_values_are_bound_not_pasted(bank: Bank) -> None:
    evil = "x'; drop table word; --"
    assert bank.sql("select $word as word", {"word": evil}).rows() == [(evil,)]
    assert bank.sql("select ? as n, ? as list", [1, [1, 2]]).rows() == [(1, [1, 2])]
    with pytest.raises(QueryError):
        bank.sql("select $word", {"other": 1})


def test_a_mistyped_name_gets_a_suggestion(bank: Bank) -> None:
    with pytest.raises(QueryError, match='wrod does not exist!\nDid you mean "word"'):
        bank.sql("from wrod")


@pytest.mark.parametrize(
    ("statement", "fact", "remedy"),
    [
        (
            "select form\nfrom word wher id = 1",
            'error at or near "id"',
            "line 2: from word wher id",
        ),
        ("select form from word where id = 'x'", "convert string 'x'", "line 1: select form from"),
        (
            "select form from word group by lemma",
            'column "form" must',
            "Either add it to the GROUP",
        ),
        (
            "from best_head(x := 1)",
            r"Macro best_head\(\)",
            r"macros: best_head\(relation := NULL, ",
        ),
        ("select sum(form) from word", "No function matches", r"-> HUGEINT, \.\.\.$"),
    ],
)
def test_an_error_says_where_or_what_fits(
    bank: Bank, statement: str, fact: str, remedy: str
) -> None:
    with pytest.raises(QueryError, match=rf"^[^\n]*{fact}[^\n]*\n[^\n]*{remedy}[^\n]*$"):
        bank.sql(statement)


def test_every_type_comes_back_as_something(bank: Bank) -> None:
    frame = bank.sql(
        "select sum(id) as total, interval 1 day as span, uuid() as id, '101'::bit as bits,"
        " map {'a': 1} as pairs, {'a': [1]} as nested, null as nothing, 1.5 as exact,"
        " timestamptz '2020-01-01 00:00:00+00' as moment, union_value(a := 1) as either,"
        " 170141183460469231731687303715884105727::hugeint as huge from word"
    )
    row = frame.row(0, named=True)
    assert frame.schema["total"] == pl.Int64
    assert (row["span"], row["bits"], row["either"]) == ("1 day", "101", "1")
    assert row["nested"] == {"a": [1]}


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    "nested", ["{}", "[{}]", "{{'a': {}}}", "map {{{}: 1}}", "map {{1: {}}}", "[{{'a': [{}]}}]",
               "array_value({})"]
)  # fmt: skip
def test_dates_that_a_frame_cannot_hold_are_refused(bank: Bank, nested: str) -> None:
    held = ["date '0001-01-01'", "timestamp '9999-12-31 23:59:59.9'", "timestamp_ns '2200-01-01'"]
    too_far = ["date '10000-01-01'", "date '-infinity'", "timestamp 'infinity'",
               "timestamp_s '10000-01-01 00:00:00'", "timestamptz 'infinity'"]  # fmt: skip
    ask = [bank.sql, lambda each: frame_of_relation(bank.connection.query(each))]
    for value, run in itertools.product(held, ask):
        assert run(f"select {nested.format(value)} as x union all select null").height == 2
    for value, run in itertools.product(too_far, ask):
        with pytest.raises(QueryError, match="The column x holds a date that a frame cannot hold"):
            run(f"select {nested.format(value)} as x union all select null")


@pytest.mark.slow
def test_a_script_that_leaves_a_bank_open_ends_in_silence(sample_bank: Path) -> None:
    script = (
        "import sys, attnbank; bank = attnbank.open_bank(sys.argv[1]);"
        " frame = bank.query('best_head'); found = bank.sql('select 1'); bank.info()"
    )
    ran = [sys.executable, "-c", script, str(sample_bank)]
    done = subprocess.run(ran, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.slow
def test_the_bank_can_be_asked_in_both_ways_in_turn(bank: Bank) -> None:
    for _ in range(2):
        rows = bank.query("best_head", relation="obj")
        assert bank.sql("from best_head(relation := 'obj')").equals(rows)
    with open_bank(bank.path) as second:  # a second one of the same file, at the same time
        assert second.query("best_head").height == bank.sql("from best_head()").height


def test_two_columns_of_one_name_are_told(bank: Bank) -> None:
    with pytest.raises(QueryError, match="Two columns are called form") as error:
        bank.sql("select form, upper(form) as form from word limit 1")
    assert "as NAME" in str(error.value.remedy)
