"""What a head looks at as a key of a hit: weights and words, against loops over the maps."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sentence_maps import Sentence, read_sentences

from attnbank.cli.app import run_command_line
from attnbank.queries import Bank, open_bank
from attnbank.queries.patterns import RequestError
from attnbank.sql.errors import CallError

OBJECTS = "pattern { V -[obj]-> O }"


@pytest.fixture(scope="module")
def bank(sample_bank: Path) -> Iterator[Bank]:
    with open_bank(sample_bank) as opened:
        yield opened


@pytest.fixture(scope="module")
def sentences(bank: Bank) -> dict[str, Sentence]:
    return {each.name: each for each in read_sentences(bank)}


def test_every_key_is_what_loops_find(bank: Bank, sentences: dict[str, Sentence]) -> None:
    keys = (
        "weight(3-1, O, V)", "weight(3-1, V, O)", "looks_at(3-1, O)", "looks_at(3-1, O).upos",
        "looks_at(3-1, O).deprel", "looks_at(3-1, O).__id__", "looks_at(3-1, O).weight",
        "weight(2-12, V, CLS)", "weight(2-12, V, SEP)",
    )  # fmt: skip
    found = bank.find(OBJECTS, columns=", ".join(keys))
    assert found.columns == ["sent_id", "V", "O", *keys, "run"]
    assert found.height > 40
    for name, v, o, *values, _ in found.rows():
        each = sentences[name]
        to_head, to_dependent, form, upos, deprel, index, weight, to_cls, to_sep = values
        assert to_head == each.weight(3, 1, o, v)
        assert to_dependent == each.weight(3, 1, v, o)
        peak = each.peak(3, 1, o)
        assert peak is not None and index == peak
        word = each.words[peak - 1]
        assert (form, upos, deprel) == (word["form"], word["upos"], word["deprel"])
        assert weight == each.weight(3, 1, o, peak)
        row = each.maps[1, 11, each.place[v]]
        for kind, told in (("cls", to_cls), ("sep", to_sep)):
            assert told == sum(row[at] for at, other in enumerate(each.kinds) if other == kind)


@pytest.mark.slow
def test_counts_by_what_is_looked_at_instead(
    bank: Bank, sentences: dict[str, Sentence], sample_bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    missed = f"{OBJECTS} without {{ O =[3-1]=> V }}"
    found = bank.count(missed, "looks_at(3-1, O).deprel, looks_at(3-1, O).upos")
    expected: Counter[tuple[Any, ...]] = Counter()
    for each in sentences.values():
        for v, o in each.edges("obj"):
            peak = each.peak(3, 1, o)
            if peak != v:
                word = each.words[peak - 1] if peak is not None else {"deprel": None, "upos": None}
                expected[word["deprel"], word["upos"]] += 1
    assert {row[:2]: row[2] for row in found.rows()} == expected
    args = ["-b", str(sample_bank)]
    by = "looks_at(3-1, O).deprel,looks_at(3-1, O)"
    assert run_command_line([*args, "count", missed, "--by", by, "--show", "-f", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr()[0].splitlines()]
    for row in rows[:2] + rows[-2:]:
        _, *command = shlex.split(row["find"])
        assert run_command_line([*args, *command, "-f", "csv"]) == 0
        assert len(capfd.readouterr()[0].splitlines()) - 1 == row["n"]
    assert run_command_line([*args, "count", OBJECTS, "--by", "weight(3-1, O, V)", "--show"]) == 2
    assert "No request can ask for" in capfd.readouterr()[1]


def test_a_word_that_the_run_has_not_read_has_none(full_bank: Path) -> None:
    """A sentence is found where the run has read a part of it: the rest has no weights."""
    with open_bank(full_bank) as opened:
        found = opened.find("pattern { V -[obj]-> O }", columns="weight(1-1, O, V)")
        assert found["weight(1-1, O, V)"].null_count() == 0


@pytest.mark.slow
def test_the_option_says_what_the_keys_say(
    bank: Bank, sample_bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def found(*args: str) -> list[Any]:
        assert run_command_line(["-b", str(sample_bank), "find", *args, "-f", "jsonl"]) == 0
        return [json.loads(line) for line in capfd.readouterr()[0].splitlines()]

    def asked(request: str, keys: str) -> list[Any]:
        return bank.find(request, columns=keys).to_dicts()

    looks = "looks_at(3-1, {0}), looks_at(3-1, {0}).weight"
    to_head = f"weight(3-1, O, V), {looks.format('O')}"
    assert found(OBJECTS, "--head", "3-1") == asked(OBJECTS, to_head)
    two = to_head + ", " + to_head.replace("3-1", "2-4")
    assert found(OBJECTS, "--head", "3-1, 2-4") == asked(OBJECTS, two)
    turned = f"V.lemma, weight(3-1, V, O), {looks.format('V')}"
    args = (OBJECTS, "--head", "3-1", "--from", "V", "--to", "O", "--columns", "V.lemma")
    assert found(*args) == asked(OBJECTS, turned)
    alone = 'pattern { N [form="it"] }'
    assert found(alone, "--head", "3-1") == asked(alone, looks.format("N"))
    attends = "pattern { A =[3-1]=> B; A [upos=DET] }"
    keys = f"weight(3-1, A, B), {looks.format('A')}"
    assert found(attends, "--head", "3-1") == asked(attends, keys)


@pytest.mark.parametrize(
    "keys, says",
    [
        ("weight(7-1, O, V)", "has no head 7-1"),
        ("looks_at(3-*, O)", "takes one head"),
        ("weight(3-1, O)", "takes two nodes"),
        ("looks_at(3-1, O, V)", "takes one node"),
        ("looks_at(3-1, X)", "X is not declared"),
        ("looks_at(3-1, SEP)", "SEP is not declared"),
        ("looks_at(3-1, O).mention", "is not available"),
        ("looks_at(O)", "Expected: a head"),
    ],
)
def test_errors(bank: Bank, keys: str, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        bank.find(OBJECTS, columns=keys)


def test_a_request_that_names_no_pair(sample_bank: Path, capfd: pytest.CaptureFixture[str]) -> None:
    two = "pattern { A [upos=NOUN]; B [upos=VERB]; A << B }"
    assert run_command_line(["-b", str(sample_bank), "find", two, "--head", "3-1"]) == 2
    assert "two of A, B" in capfd.readouterr()[1]
    assert run_command_line(["-b", str(sample_bank), "find", two, "--from", "A"]) == 2
    assert "--head" in capfd.readouterr()[1]


def test_metadata_that_there_is_not(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as opened:
        for request in ("global { speeker = x }", "pattern { V []; meta.speeker = x }"):
            with pytest.warns(UserWarning, match="No sentence .* has the metadata speeker"):
                opened.find(request)
        with pytest.raises(CallError, match="within cannot be page"):
            opened.find(OBJECTS, within="page")
