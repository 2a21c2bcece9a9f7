"""Analyses of the user's own: a file with a header is a command, and a call, like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot
from command_line import Cli, run_attnbank

from attnbank.queries import open_bank
from attnbank.sql import registry
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.registry import (
    MOST_USER_BYTES,
    MOST_USER_FILES,
    QUERIES_VARIABLE,
    load_user_analyses,
)

LONG_WORDS = """-- title: Words of at least so many letters
-- grain: one row per form
-- param letters integer = 8: how many letters
-- param tag varchar = null {NOUN, VERB}: only words of this part of speech
-- column form varchar: the word
-- column n bigint: how often it stands in the text
select word.form, count(*) as n
from word
where length(word.form) >= $letters
    and ($tag is null or word.upos = $tag)
group by word.form
order by n desc, word.form
"""
PER_RUN = """-- title: Inputs of a run
-- grain: one row
-- run: unit=word usual=sentence
-- param run varchar = null: name or id of the run
-- column n bigint: inputs
-- column run varchar: name of the run that answered
select count(*) as n, min(chosen.name) as run
from sequence
inner join chosen_run(requested := $run, unit := 'word', usual := 'sentence') as chosen
    on chosen.id = sequence.run
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of queries; what joins in a test leaves with it."""
    monkeypatch.delenv(QUERIES_VARIABLE, raising=False)
    before = dict(registry.all_analyses()), registry.faults()
    (tmp_path / "long_words.sql").write_text(LONG_WORDS)
    yield tmp_path
    registry.user_analyses.clear()
    registry.user_faults.clear()
    assert (dict(registry.all_analyses()), registry.faults()) == before


def test_it_is_a_command_with_options_and_help(folder: Path, sample_bank: Path, cli: Cli) -> None:
    call = ["-b", str(sample_bank), "query", "--queries", str(folder), "long-words"]
    rows = json.loads(cli(*call, "--letters", "9", "--tag", "NOUN", "-f", "json").out)
    assert rows and all(len(row["form"]) >= 9 and row["n"] > 0 for row in rows)
    printed = cli(*call, "--help").out
    assert "How many letters. Default: 8." in printed and "[NOUN|VERB]" in printed
    assert "NOUN" in cli(*call, "--tag", "NUON", status=2).err
    assert "long_words" in cli("queries", "--queries", folder).out.split("Your own")[1]


def test_the_length_of_a_text_is_one_on_spark_too(
    folder: Path, sample_bank: Path, cli: Cli
) -> None:
    """DuckDB's len is the one for lists, which Spark calls size; length is the one for texts."""
    (folder / "pieces.sql").write_text(
        "-- title: Pieces\n-- grain: one row per word\n-- column n bigint: pieces\n"
        "select len(position.pieces) as n from position where length(position.text) > 3 order by n"
    )
    for name, calls in (("long-words", {"length"}), ("pieces", {"length", "size"})):
        call = ["-b", str(sample_bank), "query", "--queries", str(folder), name, "--show-sql"]
        statement = sqlglot.parse_one(cli(*call, "--dialect", "spark").out, read="spark")
        found = {each.sql("spark").partition("(")[0].lower() for each in statement.find_all(
            sqlglot.exp.Length, sqlglot.exp.ArraySize)}  # fmt: skip
        assert found == calls


def test_it_is_a_call(folder: Path, sample_bank: Path) -> None:
    (folder / "inputs.sql").write_text(PER_RUN)
    with open_bank(sample_bank, queries=folder) as bank:
        rows = bank.query("long_words", letters=9)
        assert rows.columns == ["form", "n"]
        assert rows.equals(bank.sql(LONG_WORDS.partition("select")[1] + _statement("9", "null")))
        assert bank.query("inputs").rows() == [(127, "sample/minilm")]
        run_of = bank.run_of("inputs")
        assert run_of is not None and run_of.name == "sample/minilm"
        with pytest.raises(CallError, match="There is no run none"):
            bank.query("inputs", run="none")
        with pytest.raises(CallError, match="letters"):
            bank.query("long_words", letters="many")


def _statement(letters: str, tag: str) -> str:
    statement = LONG_WORDS.partition("select")[2]
    return statement.replace("$letters", letters).replace("$tag", f"cast({tag} as varchar)")


def test_what_reads_weights_says_so(folder: Path, sample_bank: Path) -> None:
    """Or a run of --keep peaks would answer with no rows."""
    silent = (
        PER_RUN.replace("from sequence\n", "from distribution inner join sequence on true\n")
        .replace("count(*)", "count(distinct distribution.layer)")
    )  # fmt: skip
    (folder / "silent.sql").write_text(silent)
    (folder / "told.sql").write_text(
        silent.replace("usual=sentence\n", "usual=sentence\n-- weights: true\n").replace(
            "usual := 'sentence'", "usual := 'sentence', reads_weights := true"
        )
    )
    (folder / "part.sql").write_text(
        (folder / "told.sql").read_text().replace("distribution", "attention")
    )
    (folder / "odd.sql").write_text(PER_RUN.replace("-- param", "-- weights: 1 = 1\n-- param"))
    with open_bank(sample_bank, queries=folder) as bank:
        with pytest.raises(CallError, match="it reads distribution, which runs of") as no:
            bank.query("silent")
        assert "-- weights: true" in no.value.remedy
        assert bank.query("told").rows() == [(6, "sample/minilm")]
        with pytest.raises(CallError, match="it reads attention, which has rows of only some runs"):
            bank.query("part")
        with pytest.raises(CallError, match="can only be: -- weights: true"):
            bank.query("odd")


@pytest.mark.slow
def test_the_variable_names_the_folder(folder: Path, sample_bank: Path) -> None:
    own = {QUERIES_VARIABLE: str(folder)}
    done = run_attnbank("-b", sample_bank, "query", "long_words", env=own, check=True)
    assert done.stdout.splitlines()[0].split() == ["form", "n"]


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("select * from read_csv('/etc/passwd')", "tries to use a file"),
        ("copy (select 1) to 'stolen.csv'", "Only statements that read run here"),
        ("drop table word", "Only statements that read run here"),
        ("select form, 1 as m from word", "has the columns form, m; its header says form, n"),
    ],
)
def test_a_statement_from_outside_can_only_read_the_bank(
    folder: Path, sample_bank: Path, statement: str, message: str
) -> None:
    header = "".join(line for line in LONG_WORDS.splitlines(True) if line.startswith("-- "))
    plain = "".join(line for line in header.splitlines(True) if "param" not in line)
    (folder / "long_words.sql").write_text(plain + statement)
    before = sample_bank.read_bytes()
    with open_bank(sample_bank, queries=folder) as bank, pytest.raises(QueryError) as error:
        bank.query("long_words")
    assert message in f"{error.value}"
    assert sample_bank.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("best_head", LONG_WORDS, "attnbank already has an analysis with this name"),
        ("chosen_run", LONG_WORDS, "attnbank already has an analysis with this name"),
        ("Words", LONG_WORDS, "not valid for an analysis"),
        ("words", "select 1", "the header has no title, grain"),
        ("words", LONG_WORDS.replace("$letters", "8"), "header and statement disagree"),
        ("words", f"{LONG_WORDS.rstrip()}; select 1", "must be exactly one SELECT"),
        ("words", LONG_WORDS.partition("select")[0], "must be exactly one SELECT"),
        ("words", LONG_WORDS + " " * MOST_USER_BYTES, "not a regular file of at most 1 MB"),
        ("words", b"\xff\xfe", "it cannot be read"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_analysis_is_told(
    folder: Path, cli: Cli, name: str, text: str | bytes, message: str
) -> None:
    data = text.encode() if isinstance(text, str) else text
    (folder / f"{name}.sql").write_bytes(data)
    printed = cli("queries", "--queries", folder)
    assert f"Warning: {folder / name}.sql: " in printed.err and message in printed.err
    assert "long_words" in printed.out
    if name in ("Words", "words"):
        assert message in cli("query", "--queries", folder, name, status=2).err


def test_a_folder_that_is_none_is_told(folder: Path, cli: Cli) -> None:
    err = cli("query", "--queries", folder / "none", "long_words", status=2).err
    assert "cannot be read" in err
    for number in range(MOST_USER_FILES):
        (folder / f"q{number}.sql").touch()
    with pytest.raises(CallError, match=f"1,001 .sql files; the maximum is {MOST_USER_FILES:,}"):
        load_user_analyses(folder)


def test_it_is_no_part_of_what_a_bank_carries(folder: Path, tmp_path: Path) -> None:
    from attnbank.sql.registry import fingerprint, install

    before = fingerprint(), install()
    fingerprint.cache_clear()
    install.cache_clear()
    load_user_analyses(folder)
    assert "long_words" in registry.all_analyses()
    assert (fingerprint(), install()) == before
