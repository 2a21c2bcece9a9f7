"""A statement ends when its time or memory is over, whatever it does, and so does its result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hostile
import polars as pl
import psutil
import pytest
from command_line import Cli
from hostile import Refused

from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankError, QueryError

LATE = 2.0
"""Processor seconds, on each core, that a command may take after its limit to end."""

PATIENCE = 60.0
"""Seconds in which a command must have ended on a machine that is busy. Each statement of SLOW
fails, or takes hours if nothing ends it."""

SLOW = {
    "a function that waits": "select sleep_ms(6000000)",
    "one function call": "select levenshtein(repeat('ab', 150000), repeat('ba', 150000))",
    "a plan of 20,000 parts": " union all ".join(["select 1"] * 20_000),
    "lambdas in lambdas": "select " + "list_transform([1,2,3], lambda x: " * 40 + "1" + ")" * 40,
    "a text of 2 GB": "select md5(repeat('x', 2000000000))",
    "200 joins": "select count(*) from " + ", ".join(f"word as w{at}" for at in range(200)),
    "sorting one list": "select list_sort(range(200000000))[1]",
    "a product without end": "select count(*) from range(1000000000) a, range(1000000000) b",
    "recursion without end": "with recursive r as (select 1 as n union all select n + 1 from r)"
    " select max(n) from r",
    "a regular expression": "select regexp_matches(repeat('a', 40000000), '(a*)*b')",
    "brackets in brackets": "select " + "(" * 5000 + "1" + ")" * 5000,
    "rows without end": "from range(1000000000000)",
}
LARGE = {
    "rows without end": "from range(1000000000000)",
    "a list of 200 million": "select range(200000000) as l",
    "a text of 1 GB": "select repeat('x', 1000000000) as t",
    "long texts": "select repeat('x', 1000000) as t from range(100000)",
    "long lists": "select range(100000) as l from range(100000)",
    "all in one list": "select list(range) as l from range(1000000000)",
    "a sort of everything": "from range(2000000000) as r order by hash(r.range)",
    "groups without end": "select range, count(*) from range(2000000000) group by range",
    "a string_agg": "select string_agg(cast(range as varchar)) from range(1000000000)",
    "a window": "select sum(range) over (order by hash(range)) from range(1000000000)",
    "a cross join of lists": "select list(a.range) from range(100000) a, range(100000) b",
}


@pytest.fixture
def folder(tmp_path: Path, sample_bank: Path) -> Path:
    """A folder with a bank, x.duckdb."""
    (tmp_path / "x.duckdb").symlink_to(sample_bank)
    return tmp_path


def _ended(folder: Path, statement: str, *options: str, seconds: float) -> hostile.Ended:
    """Run a statement that a file holds, with a limit; checks what any end must be."""
    (folder / "s.sql").write_text(statement)
    (folder / "home").mkdir(exist_ok=True)
    made = [option for option in options if option.startswith("out")]
    with (folder / "s.sql").open("rb") as file, hostile.nothing_made(folder, but=made):
        ended = hostile.measured(
            ["-b", "x.duckdb", "sql", "-", "--timeout", str(seconds), *options],
            folder, stdin=file.fileno(), seconds=seconds + PATIENCE,
        )  # fmt: skip
    if ended.status:
        assert ended.status == 1
        hostile.check_lines(ended.err.strip().splitlines())
    assert ended.memory < hostile.MOST_MEMORY
    return ended


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory, sample_bank: Path) -> float:
    """The processor seconds that a command takes that has nothing to do."""
    folder = tmp_path_factory.mktemp("start")
    (folder / "x.duckdb").symlink_to(sample_bank)
    return _ended(folder, "select 1", seconds=60).processor


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    SLOW,
)
@pytest.mark.few("a function*", "one function*", "a plan*")
def test_the_time_ends_it(what: str, folder: Path, start: float) -> None:
    ended = _ended(folder, SLOW[what], "-f", "csv", "-o", "out.csv", seconds=1)
    assert ended.processor < start + (1 + LATE) * (os.cpu_count() or 1)
    if ended.status:
        assert not (folder / "out.csv").exists()
    (folder / "out.csv").unlink(missing_ok=True)


@pytest.mark.few("long lists-parquet")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "format_"),
    [
        *((what, "csv") for what in LARGE),
        *(("rows without end", format_) for format_ in ("table", "json")),
        *(("long lists", format_) for format_ in ("jsonl", "parquet")),
    ],
)
def test_no_result_takes_more_memory_than_it_may(what: str, format_: str, folder: Path) -> None:
    (folder / "out").touch()
    _ended(folder, LARGE[what], "-f", format_, "-o", "out", seconds=4)


def test_a_statement_that_needs_more_memory_is_refused(folder: Path, refused: Refused) -> None:
    statement = "select list(range) from range(10000000)"
    error = refused("-b", folder / "x.duckdb", "sql", statement, "--memory", "50MB", status=1)
    assert "memory" in error


@pytest.mark.slow
@pytest.mark.few("long texts")
@pytest.mark.parametrize("what", ["a list of 200 million", "long texts", "groups without end"])
def test_its_memory_can_be_less(what: str, folder: Path) -> None:
    ended = _ended(
        folder, LARGE[what], "-f", "csv", "-o", "out.csv", "--memory", "300MB", seconds=20
    )
    assert ended.memory < 1_300_000_000
    assert ended.status == 1


@pytest.mark.slow
def test_a_table_has_the_first_rows_and_their_number(folder: Path) -> None:
    ended = _ended(folder, "from range(3000000)", seconds=60)
    assert ended.status == 0
    assert len(ended.out.splitlines()) == 10_002
    assert ended.err == (
        "Showing the first 10,000 of 3,000,000 rows;"
        " use -f csv, jsonl or parquet for all of them.\n"
    )


@pytest.mark.usual("json")
@pytest.mark.few("parquet")
@pytest.mark.parametrize("format_", ["csv", "jsonl", "json", "parquet"])
def test_programs_get_every_row(format_: str, folder: Path, cli: Cli) -> None:
    """Rows that come in many parts are those of one frame, in their order and of one type."""
    statement = (
        "select range as n, cast(range as hugeint) as wide, range / 7 as share,"
        " case when range % 3 > 0 then cast(range as varchar) end as text,"
        " [range, range + 1] as list from range(40000)"
    )
    path = folder / f"out.{format_}"
    cli("-b", folder / "x.duckdb", "sql", statement, "-f", format_, "-o", path)
    with open_bank(folder / "x.duckdb") as bank:
        expected = bank.sql(statement)
    if format_ == "parquet":
        assert pl.read_parquet(path).equals(expected)
    elif format_ == "csv":
        assert pl.read_csv(path)["n"].to_list() == list(range(40_000))
        assert path.read_text().splitlines()[1:3] == [
            '0,0,0.0,,"[0, 1]"',
            '1,1,0.14285714285714285,1,"[1, 2]"',
        ]
    else:
        read = pl.read_ndjson(path) if format_ == "jsonl" else pl.read_json(path)
        assert read.equals(expected)


@pytest.mark.usual("csv-*")
@pytest.mark.few("table-select*")
@pytest.mark.parametrize(
    ("format_", "select"),
    [("table", "from"), ("table", "select range % 10 as n from"), ("csv", "from"),
     ("jsonl", "from"), ("json", "from")],
)  # fmt: skip
def test_who_has_read_enough_ends_it(format_: str, select: str, folder: Path) -> None:
    """A pipe that is closed after two lines, as by head, ends the process of the statement too.

    A table of short rows is in the pipe as a whole before its rows are counted.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "attnbank", "-b", str(folder / "x.duckdb"), "sql",
         f"{select} range(1000000000000)", "-f", format_],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(10_002 if select != "from" else 2):
        process.stdout.readline()
    children = psutil.Process(process.pid).children()
    process.stdout.close()
    _, error = process.communicate(timeout=PATIENCE)
    assert (process.returncode, error) == (0, b"")
    assert not psutil.wait_procs(children, timeout=PATIENCE)[1]


@pytest.mark.slow
def test_the_time_to_start_is_not_the_statements(folder: Path) -> None:
    """Every process here takes two seconds to start, and the statement has one."""
    (folder / "slow").mkdir()
    (folder / "slow" / "sitecustomize.py").write_text("import time\ntime.sleep(2)\n")
    ended = hostile.measured(
        ["-b", "x.duckdb", "sql", "select 1 as one", "--timeout", "1"],
        folder, env={"PYTHONPATH": str(folder / "slow")},
    )  # fmt: skip
    assert (ended.status, ended.out.split()) == (0, ["one", "---", "1"]), ended.err


# From Python.


@pytest.mark.usual("rows without end")
@pytest.mark.parametrize("what", ["a function that waits", "one function call", "rows without end"])
def test_a_statement_of_python_in_a_process_of_its_own_ends(what: str, folder: Path) -> None:
    with open_bank(folder / "x.duckdb") as bank:
        with pytest.raises(QueryError, match=r"longer than 0\.2 seconds|larger than"):
            bank.sql(SLOW[what], seconds=0.2, isolated=True)
        assert bank.sql("select count(*) as n from word")["n"].item() == 1606


@pytest.mark.slow
def test_a_process_of_its_own_gives_the_same_frame(folder: Path) -> None:
    with open_bank(folder / "x.duckdb") as bank:
        for statement, values in (
            ("from word order by id", None),
            ("select $a as a, $b as b", {"a": 1, "b": ["x", None]}),
            ("select ? as a", [2.5]),
            ("from word where false", None),
            ("from best_head()", None),
        ):
            frame = bank.sql(statement, values, isolated=True)
            assert frame.equals(bank.sql(statement, values))
            assert frame.schema == bank.sql(statement, values).schema
        with pytest.raises(QueryError, match="no_such"):
            bank.sql("select no_such from word", isolated=True)
        with bank.stream("from attention_weight") as running:
            assert sum(frame.height for frame in running) == running.count == 2_124_864


@pytest.mark.slow
def test_results_of_python_have_a_limit_too(folder: Path) -> None:
    with open_bank(folder / "x.duckdb") as bank:
        for isolated in (False, True):
            with pytest.raises(QueryError, match="memory"):
                bank.sql("from range(100000000)", memory=50_000_000, isolated=isolated)


def test_closing_a_bank_ends_its_statements(folder: Path) -> None:
    with open_bank(folder / "x.duckdb") as bank:
        running = bank.stream("from range(1000000000000)")
        next(iter(running))
        child = psutil.Process(running.pid)
    assert not psutil.wait_procs([child], timeout=PATIENCE)[1]
    with pytest.raises((AttnbankError, ValueError)):
        for _ in running:
            pass


@pytest.mark.parametrize("option", [
    ("--timeout", "inf"), ("--timeout", "nan"), ("--timeout", "-1"), ("--timeout", "0"),
    ("--timeout", "1e99"), ("--timeout", "x"), ("--memory", "0"), ("--memory", "-1GB"),
    ("--memory", "nan"), ("--memory", "1e99GB"), ("--memory", "much"), ("--memory", ""),
])  # fmt: skip
def test_a_limit_that_is_none_is_refused(
    option: tuple[str, str], folder: Path, refused: Refused
) -> None:
    refused("-b", folder / "x.duckdb", "sql", "select 1", *option, status=2)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "x"])
def test_a_parameter_is_a_finite_number(value: str, folder: Path, refused: Refused) -> None:
    refused("-b", folder / "x.duckdb", "query", "entropy", "--smoothing", value, status=2)
