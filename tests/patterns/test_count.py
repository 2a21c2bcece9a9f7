"""`count` is what loops over the hits of `find` count."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path

import pytest
from command_line import Cli
from judged import Judged

from attnbank.queries import Bank

OBJECTS = "pattern { e: V -[1=obj]-> O }"
KEYS = (
    "V.lemma",
    "O.upos, delta(V, O)",
    "e.label",
    "O.Number",
    "document.genre, O.upos",
    "{ O -[det]-> D }",
    "{ O =[3-1]=> V }, V.lemma",
    "{ O =[*]=> V; V << O }",
    "{ V -> S; S << V }, O.upos, length(V, O)",
    "length(V, O), O.upos",
    "delta(V, O) + V.__id__",
)


@pytest.fixture
def bank(judged_sample: Judged) -> Bank:
    return judged_sample[0]


@pytest.mark.usual(4)
@pytest.mark.parametrize("by", KEYS)
def test_counts_are_those_of_the_hits(by: str, bank: Bank) -> None:
    hits = bank.find(OBJECTS, columns=by)
    counts = bank.count(OBJECTS, by)
    own = [name for name in counts.columns if name not in ("n", "share", "run")]
    assert ", ".join(own) == by
    expected = Counter(hits.select(own).rows())
    assert {row[: len(own)]: row[len(own)] for row in counts.rows()} == expected
    assert sorted(counts["n"], reverse=True) == sorted(expected.values(), reverse=True)
    if counts[own[0]].dtype.is_numeric():
        assert counts.rows() == sorted(counts.rows())
    else:
        assert counts["n"].is_sorted(descending=True)
    assert counts["share"].to_list() == [n / hits.height for n in counts["n"]]
    assert ("run" in counts.columns) == ("=[" in by)
    most = counts.filter(counts["n"].rank("ordinal", descending=True) <= 2)
    assert bank.count(OBJECTS, by, limit=2).equals(most)


@pytest.mark.filterwarnings("ignore:No word has")
def test_without_keys(bank: Bank) -> None:
    assert bank.count(OBJECTS).rows() == [(bank.find(OBJECTS).height, 1.0)]
    assert bank.count("pattern { A [form=nowhere] }").rows() == [(0, None)]


def test_a_nested_pattern_splits_the_hits(bank: Bank) -> None:
    found = dict(bank.count(OBJECTS, "{ O =[3-1]=> V }").select("{ O =[3-1]=> V }", "n").rows())
    assert found[True] == bank.find(f"{OBJECTS} with {{ O =[3-1]=> V }}").height
    assert found[False] == bank.find(f"{OBJECTS} without {{ O =[3-1]=> V }}").height


@pytest.mark.usual("O.upos, *", "{ O -[[]det]-> D }")
@pytest.mark.parametrize("by", KEYS)
def test_each_row_has_the_find_that_lists_its_hits(by: str, sample_bank: Path, cli: Cli) -> None:
    args = ["-b", str(sample_bank)]
    lines = cli(*args, "count", OBJECTS, "--by", by, "--show", "-f", "jsonl").out.splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows[:3] + rows[-3:]:
        name, *command = shlex.split(row["find"])
        assert name == "attnbank"
        assert len(cli(*args, *command, "-f", "csv").out.splitlines()) - 1 == row["n"]


def test_people_see_a_cross_table(bank: Bank, sample_bank: Path, cli: Cli) -> None:
    by = "O.upos,{ O =[3-1]=> V }"
    args = ["-b", str(sample_bank), "count", OBJECTS, "--by", by]
    title, head, _, *lines = cli(*args).out.splitlines()
    assert title == "Run: sample/minilm"
    assert head.split()[0] == "O.upos" and head.split()[-1] == "n"
    counted = {row[:2]: row[2] for row in bank.count(OBJECTS, by).rows()}
    assert len(lines) == len({upos for upos, _ in counted})
    order = [True, False] if head.index("=yes") < head.index("=no") else [False, True]
    for line in lines:
        upos, *numbers = line.split()
        cells = [counted.get((upos, holds), 0) for holds in order]
        assert list(map(int, numbers)) == [*cells, sum(cells)]
    assert cli(*args, "--limit", "1").out.splitlines()[3:] == lines[:1]


def test_the_select_can_be_carried_on(bank: Bank, sample_bank: Path, cli: Cli) -> None:
    args = ["-b", str(sample_bank), "count", OBJECTS, "--by", "O.upos,{ O =[3-1]=> V }"]
    rows = bank.sql(cli(*args, "--show-sql").out)
    assert rows.equals(bank.count(OBJECTS, "O.upos, { O =[3-1]=> V }"))
