"""The headers of the analyses: what they may say, and that they say what the statements do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
import sqlglot
from case_bank import make_bank

from attnbank.queries import Bank, analyses, open_bank
from attnbank.sql.bank import bank_format
from attnbank.sql.header import OWN, Analysis, HeaderError, RunChoice, parse
from attnbank.sql.registry import shared
from attnbank.sql.statements import sources

HEADER = """\
-- title: How many words there are
-- paper: nowhere
-- grain: one row
-- formula: n = |W|, where W are
--   the words
-- formula: share = n / n
-- run: unit=word contexts=document,sentence
-- note: words are counted,
--   and nothing else
-- param least integer = 1: the least, or 0
-- param names varchar[] = ['a', 'b']: some names
-- column n bigint: how many
-- column share decimal(4,1): per cent
"""
BODY = "select count(*) as n, 1.0 as share\nfrom word where $least > 0 and 'a' in $names;\n"

every = pytest.mark.parametrize("analysis", analyses().values(), ids=lambda each: each.name)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    """A bank without words."""
    with open_bank(make_bank(tmp_path_factory.mktemp("banks") / "empty.duckdb", {})) as bank:
        yield bank


def test_a_header_is_read() -> None:
    analysis = parse("words", "surface", HEADER + BODY)
    assert (analysis.title, analysis.paper, analysis.grain) == (
        "How many words there are",
        "nowhere",
        "one row",
    )
    assert analysis.run == RunChoice(unit="word", contexts=("document", "sentence"))
    assert analysis.formulas == ("n = |W|, where W are the words", "share = n / n")
    assert parse("words", "surface", HEADER.replace("-- formula", "-- note") + BODY).formulas == ()
    assert analysis.notes == ("words are counted, and nothing else",)
    least, names, run = analysis.parameters
    assert (run.name, run.type, run.default) == ("run", "varchar", "null")
    assert run.help.endswith("newest finished one of trained weights that fits")
    assert (least.name, least.type, least.default, least.help) == (
        "least",
        "integer",
        "1",
        "the least, or 0",
    )
    assert (names.type, names.default) == ("varchar[]", "['a', 'b']")
    assert [(column.name, column.type) for column in analysis.columns] == [
        ("n", "bigint"),
        ("share", "decimal(4,1)"),
    ]
    assert analysis.statement == (
        "with chosen_run as (\n"
        "    select chosen.id, chosen.name, chosen.corpus, chosen.model, chosen.is_causal\n"
        "    from chosen_run(\n"
        "        requested := cast($run as varchar),\n"
        "        unit := 'word',\n"
        "        contexts := ['document', 'sentence']\n"
        "    ) as chosen\n)\n\n"
        "select count(*) as n, 1.0 as share\n"
        "from word where cast($least as integer) > 0 and 'a' in cast($names as varchar[])"
    )
    assert not analysis.is_view
    assert parse("table_9", "paper", HEADER + BODY).relation == "paper.table_9"


def test_a_caption_is_of_one_analysis_or_of_all() -> None:
    captions = {column.name: column.caption for column in analyses()["offset_baseline"].columns}
    assert (captions["offset"], captions["accuracy"]) == ("Fixed offset", "Accuracy")
    assert captions["relation"] is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-- title: How many words there are\n", "", "has no title"),
        ("-- paper: nowhere\n", "", "has no paper"),
        ("-- grain: one row\n", "", "has no grain"),
        ("-- column n bigint: how many\n-- column share decimal(4,1): per cent\n", "", "no column"),
        (
            "-- grain: one row\n",
            "-- grain: one row\n-- grain: two\n",
            "'grain' is unknown or repeated",
        ),
        (
            "-- param least integer = 1: the least, or 0",
            "-- param least integer: the least",
            "param",
        ),
        ("-- column n bigint: how many", "-- column n: how many", "cannot read the header line"),
        ("-- grain: one row\n", "-- grain: one row\n-- caption m: M\n", "captions m, which is no"),
        ("$least", "$most", "disagree on the parameters: least, most"),
        ("-- param names varchar[] = ['a', 'b']: some names\n", "", "disagree .*: names"),
        (" and 'a' in $names", "", "disagree .*: names"),
    ],
)
def test_a_faulty_header_is_told(old: str, new: str, message: str) -> None:
    text = HEADER + BODY
    assert old in text
    with pytest.raises(HeaderError, match=message):
        assert parse("words", "surface", text.replace(old, new)).statement


@pytest.fixture(scope="module")
def parameters(empty: Bank) -> dict[str, list[str]]:
    """The parameters of each table macro of a bank."""
    rows = empty.connection.execute(
        "select function_name, parameters from duckdb_functions()"
        " where function_type = 'table_macro'"
    )
    return dict(rows.fetchall())


@every
def test_macro_and_header_have_the_same_parameters(
    analysis: Analysis, parameters: dict[str, list[str]]
) -> None:
    assert parameters[analysis.name] == [parameter.name for parameter in analysis.parameters]


@every
def test_an_analysis_of_a_run_says_how_it_chooses_and_which_answered(analysis: Analysis) -> None:
    """The header says what the first common table expression asks for; the last column answers."""
    names = [parameter.name for parameter in analysis.parameters]
    tree = sqlglot.parse_one(analysis.statement, dialect="duckdb")
    calls = [
        table.this
        for table in tree.find_all(sqlglot.exp.Table)
        if isinstance(table.this, sqlglot.exp.Anonymous) and table.this.name == "chosen_run"
    ]
    if analysis.run is None:
        assert "run" not in names or analysis.name == "table_3"
        compared = [parameter.name for parameter in analysis.parameters if parameter.names_run]
        if calls:  # of several runs each is asked for by its name, and told
            assert len(compared) > 1
            assert [column.name for column in analysis.columns[-len(compared) :]] == compared
        return
    given = {"requested": "$run"} | analysis.run.arguments
    wanted = ", ".join(f"{name} := {value}" for name, value in given.items())
    for each in analysis.parameters:  # the statement gives each value its type
        wanted = re.sub(rf"\${each.name}\b", f"cast(${each.name} as {each.type})", wanted)
    assert [_normal(call.sql(dialect="duckdb")) for call in calls] == [
        _normal(f"chosen_run({wanted})")
    ]
    assert "run" in names and analysis.columns[-1].name == "run"


@every
def test_an_analysis_that_reads_weights_says_when(analysis: Analysis) -> None:
    read = sources(analysis.body)
    assert not read & {"attention", "attention_top"}, "distribution has the rows of both"
    if analysis.run is not None and read & {"attention_weight", "distribution"}:
        assert analysis.run.weights is not None


def _normal(call: str) -> str:
    return sqlglot.parse_one(f"select {call}", dialect="duckdb").sql(dialect="duckdb").casefold()


@pytest.mark.parametrize("line", ["unit", "unit=", "colour=red", "unit=word unit=token"])
def test_a_faulty_choice_of_runs_is_told(line: str) -> None:
    text = HEADER.replace("unit=word contexts=document,sentence", line) + BODY
    with pytest.raises(HeaderError, match="in the header line 'run'"):
        parse("words", "surface", text)


NAMED = """\
-- title: Words
-- grain: one row
-- run: unit=word
-- param run, min_count
-- column relation, run
"""


@pytest.mark.parametrize(
    ("body", "start"),
    [
        ("select 1 from word where $min_count > 0", "with chosen_run as (\n"),
        ("with a as (select $min_count)\n\nfrom a", "with chosen_run as (\n"),
        ("\n-- Few.\nwith a as (select $min_count) from a", "with chosen_run as (\n"),
        ("with recursive a as (select $min_count) from a", "with recursive chosen_run as (\n"),
        ("WITH a as (select $min_count) from a", "with chosen_run as (\n"),
    ],
)
def test_what_a_header_names_is_written_out(body: str, start: str) -> None:
    analysis = parse("words", OWN, f"{NAMED}{body}\n")
    assert [(parameter.name, parameter.default) for parameter in analysis.parameters] == [
        ("run", "null"),
        ("min_count", "10"),
    ]
    assert [column.type for column in analysis.columns] == ["varchar", "varchar"]
    assert analysis.body.startswith(start) and analysis.body.count("chosen_run as (") == 1
    assert sqlglot.parse_one(analysis.body, dialect="duckdb").find(sqlglot.exp.With) is not None
    # What --show-sql prints is a whole file, which means the same in a folder of one's own.
    again = parse("words", OWN, analysis.text)
    assert (again.text, again.body, again.parameters) == (
        analysis.text,
        analysis.body,
        analysis.parameters,
    )


def test_a_header_that_declares_the_run_chooses_it_itself() -> None:
    text = NAMED.replace("run, min_count", "run varchar = null: name or id")
    analysis = parse("words", OWN, f"{text}select 1 from chosen_run(requested := $run)")
    assert analysis.body == "select 1 from chosen_run(requested := $run)"


def test_a_comment_before_the_select_stays_apart_from_the_header() -> None:
    text = NAMED.replace("-- run: unit=word\n", "").replace("run, min_count", "min_count")
    text = f"{text.replace('relation, run', 'relation')}\n-- Few.\nselect $min_count as relation\n"
    analysis = parse("words", OWN, text)
    assert analysis.body == "-- Few.\nselect $min_count as relation"
    assert parse("words", OWN, analysis.text) == analysis


def test_a_header_takes_what_a_shared_macro_describes() -> None:
    text = NAMED.replace("relation, run", "value, low of head_measure").replace(
        "run: unit=word", "note: 1"
    )
    text = text.replace("run, min_count", "measure of head_measure")
    analysis = parse("words", OWN, f"{text}select $measure as value, 1.0 as low")
    macro = shared()["head_measure"]
    described = {column.name: column for column in macro.columns}
    assert analysis.columns == (described["value"], described["low"])
    assert [parameter.name for parameter in analysis.parameters] == ["measure"]
    assert analysis.parameters[0] in macro.parameters
    for unknown in ("most of head_measure", "value of ../header", "value of nothing"):
        with pytest.raises(HeaderError, match=r"does not describe|cannot read"):
            parse("words", OWN, text.replace("value, low of head_measure", unknown) + "select 1")


def test_an_unknown_name_in_a_header_is_told() -> None:
    for text in (NAMED.replace("min_count", "most"), NAMED.replace("relation", "most")):
        with pytest.raises(HeaderError, match="does not describe most"):
            parse("words", OWN, f"{text}select 1")


@every
def test_the_text_of_an_analysis_means_the_same(analysis: Analysis) -> None:
    assert parse(analysis.name, analysis.section, analysis.text) == analysis


def test_what_is_shared_is_no_analysis() -> None:
    assert not set(shared()) & set(analyses())
    assert {"run_candidate", "chosen_run"} <= set(shared())


@every
def test_the_text_of_a_header_reads_well(analysis: Analysis) -> None:
    texts = [
        analysis.title,
        *(parameter.help for parameter in analysis.parameters),
        *(column.help for column in analysis.columns),
    ]
    assert analysis.title[0].isupper()
    for text in texts:
        assert text.strip() and not text.endswith("."), text
    assert analysis.text.endswith("\n")


@every
def test_a_statement_keeps_to_the_common_subset(analysis: Analysis) -> None:
    """What Spark, or a reader of tomorrow, would take differently (docs: DESIGN, section 3)."""
    code = re.sub(r"'[^']*'|--[^\n]*", "''", analysis.statement)
    assert not re.search(r"\basof\b|\bpivot\b|\bu(tiny|small|big)?int", code)
    assert not re.search(r"[\w)]\[(?!\])", code), "index with list_extract"
    assert not re.search(r"\barg_(max|min)\([^(]*\)", code), "arg_max must break ties"
    assert code == code.lower()


def test_the_columns_that_are_kept_are_those_of_a_new_bank() -> None:
    """The file that a bank's tables are checked against; how it is written anew, where it fails."""
    kept = (files("attnbank.sql") / "schema" / "columns.json").read_text(encoding="utf-8")
    assert kept == bank_format.columns_as_text(), "python -m attnbank.sql.bank.bank_format"
