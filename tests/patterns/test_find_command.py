"""`attnbank find`: a concordance for people, a row a hit for programs, errors with their place."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from bank_rows import query_bank
from command_line import Cli

from attnbank.queries import open_bank

OBJECTS = "pattern { V -[obj]-> O; O [upos=PRON] }"


def test_people_see_the_words(sample_text_bank: Path, cli: Cli) -> None:
    out, err = cli("-b", sample_text_bank, "find", OBJECTS, "--context", "2")
    lines = out.splitlines()
    assert not err
    assert lines[0].split() == ["sent_id", "left", "hit", "right"]
    with open_bank(sample_text_bank) as bank:
        hits = bank.find(OBJECTS, columns="V.form, O.form")
    assert len(lines) == hits.height + 2
    for line, (sent_id, _, _, verb, pronoun) in zip(lines[2:], hits.rows(), strict=True):
        assert line.startswith(sent_id)
        assert f"[{verb}]" in line and f"[{pronoun}]" in line


def test_programs_get_the_indexes(sample_text_bank: Path, tmp_path: Path, cli: Cli) -> None:
    call = ["-b", sample_text_bank, "find", OBJECTS]
    out = cli(*call, "-f", "jsonl", "--columns", "V.lemma").out
    rows = [json.loads(line) for line in out.splitlines()]
    with open_bank(sample_text_bank) as bank:
        hits = bank.find(OBJECTS, columns="V.lemma")
    assert rows == hits.to_dicts()
    file = tmp_path / "hits.parquet"
    cli(*call, "-o", file)
    assert pl.read_parquet(file).equals(hits.drop("V.lemma"))


def test_a_sample_is_the_same_for_a_seed(sample_text_bank: Path, cli: Cli) -> None:
    def drawn(*args: str) -> list[str]:
        call = ["-b", sample_text_bank, "find", OBJECTS, "-f", "csv", *args]
        return cli(*call).out.splitlines()[1:]

    every = drawn()
    first = drawn("--sample", "5", "--seed", "1")
    assert len(first) == 5 and first == drawn("--sample", "5", "--seed", "1")
    assert [each for each in every if each in first] == first  # in the order of the text
    assert first != drawn("--sample", "5", "--seed", "2")
    assert drawn("--sample", "100000") == every


def test_hits_can_be_sorted(sample_text_bank: Path, cli: Cli) -> None:
    args = (OBJECTS, "-f", "csv", "--columns", "V.lemma", "--sort", "V.lemma,delta(V,O)")
    out = cli("-b", sample_text_bank, "find", *args).out
    rows = [line.split(",") for line in out.splitlines()[1:]]
    keys = [(lemma, int(o) - int(v)) for _, v, o, lemma in rows]
    assert keys == sorted(keys) and len(set(keys)) > 3


def test_the_select_can_be_carried_on(sample_text_bank: Path, cli: Cli) -> None:
    out = cli("-b", "nowhere.duckdb", "find", OBJECTS, "--show-sql").out
    with open_bank(sample_text_bank) as bank:
        expected = bank.find(OBJECTS, context=False)
        assert bank.sql(out).equals(expected)
        counted = bank.sql(f"select count(*) as n from ({out})")
        assert counted["n"].to_list() == [expected.height]
    assert query_bank(sample_text_bank, out) == expected.rows()
    attention = "pattern { O =[3-1 > 0.5]=> V; V -[obj]-> O }"
    call = ["-b", sample_text_bank, "find"]
    cli(*call, attention, "--show-sql", status=1)  # it has no run
    assert "`O`" in cli(*call, OBJECTS, "--show-sql", "--dialect", "spark").out


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (["pattern { V -[obj]> O }"], 2, "Line 1, column 18 of the request"),
        (["pattern { V -[obj]-> O }", "--corpus", "pres"], 2, "Did you mean press"),
        (["pattern { V [] }", "--columns", "W.lemma"], 2, "W is not declared"),
        (["pattern { V [] }", "--columns", "V lemma"], 2, "Line 1, column 3"),
        (["pattern { V [] }", "--sample", "3", "--limit", "3"], 2, "Leave them out"),
        (
            ["pattern { V [] }", "--dialect", "klingon", "--show-sql"],
            2,
            "Dialect klingon is not supported",
        ),
        (["pattern { V [] }", "--timeout", "0"], 2, "range"),
    ],
)
def test_errors(
    args: list[str],
    status: int,
    says: str,
    sample_text_bank: Path,
    cli: Cli,
) -> None:
    out, err = cli("-b", sample_text_bank, "find", *args, status=status)
    assert not out
    assert says in err and "Traceback" not in err


def test_hits_over_sentences_are_shown_together(sample_text_bank: Path, cli: Cli) -> None:
    request = "pattern { A ~ B; A [mention=proper]; B [mention=pronoun] }"
    args = (request, "--within", "document", "--context", "0", "--columns", "A.form,B.form")
    lines = cli("-b", sample_text_bank, "find", *args).out.splitlines()[2:]
    with open_bank(sample_text_bank) as bank:
        hits = bank.find(request, within="document", columns="A.form, B.form")
    assert len(lines) == hits.height > 3
    apart = hits["A.sent_id"] != hits["B.sent_id"]
    for line, a, b, is_apart in zip(lines, hits["A.form"], hits["B.form"], apart, strict=True):
        assert f"[{a}]" in line and f"[{b}]" in line and (" … " in line) == is_apart
