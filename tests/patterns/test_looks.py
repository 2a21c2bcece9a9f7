"""What a head looks at as a key of a hit: weights and words, against loops over the maps."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli
from judged import Judged
from patterns.binding import Place
from patterns.corpus import Corpus

from attnbank.queries import Bank, open_bank
from attnbank.queries.patterns import RequestError
from attnbank.sql.errors import CallError

OBJECTS = "pattern { V -[obj]-> O }"


@pytest.fixture
def bank(judged_sample: Judged) -> Bank:
    return judged_sample[0]


@pytest.fixture
def corpus(judged_sample: Judged) -> Corpus:
    return judged_sample[1]


def _looks_at(corpus: Corpus, place: Place) -> int | None:
    """The index of the word that a word looks at most in head 3-1."""
    ((at, position),) = corpus.positions[place]
    peak = int(corpus.inputs[at].peaks[2, 0, position]) if corpus.inputs else -1
    return corpus.inputs[at].positions[peak][1][0][1] if corpus.inputs and peak >= 0 else None


def _weight(corpus: Corpus, layer: int, head: int, one: Place, other: Place | str) -> float:
    """The weight from a word to another one, or to all special tokens of a kind."""
    assert corpus.inputs is not None
    ((at, position),) = corpus.positions[one]
    input = corpus.inputs[at]
    to = [place for place, (kind, words) in enumerate(input.positions) if other in (kind, *words)]
    return float(input.weights[layer - 1, head - 1, position, to].sum())


def test_every_key_is_what_loops_find(bank: Bank, corpus: Corpus) -> None:
    keys = (
        "weight(3-1, O, V)", "weight(3-1, V, O)", "looks_at(3-1, O)", "looks_at(3-1, O).upos",
        "looks_at(3-1, O).deprel", "looks_at(3-1, O).__id__", "looks_at(3-1, O).weight",
        "weight(2-12, V, CLS)", "weight(2-12, V, SEP)",
    )  # fmt: skip
    hits = bank.find(OBJECTS, columns=", ".join(keys))
    assert hits.columns == ["sent_id", "V", "O", *keys, "run"]
    assert hits.height > 40
    spots = {sentence.name: spot for spot, sentence in enumerate(corpus.sentences)}
    for name, v, o, *values, _ in hits.rows():
        verb, object = (spots[name], v), (spots[name], o)
        peak = _looks_at(corpus, object)
        assert peak is not None
        word = corpus.sentences[spots[name]].words[peak]
        assert values == [
            _weight(corpus, 3, 1, object, verb),
            _weight(corpus, 3, 1, verb, object),
            word.features["form"],
            word.features["upos"],
            word.deprel,
            peak,
            _weight(corpus, 3, 1, object, (spots[name], peak)),
            _weight(corpus, 2, 12, verb, "cls"),
            _weight(corpus, 2, 12, verb, "sep"),
        ]


@pytest.mark.slow
def test_counts_by_what_is_looked_at_instead(
    bank: Bank, corpus: Corpus, sample_bank: Path, cli: Cli
) -> None:
    missed = f"{OBJECTS} without {{ O =[3-1]=> V }}"
    counts = bank.count(missed, "looks_at(3-1, O).deprel, looks_at(3-1, O).upos")
    expected: Counter[tuple[Any, ...]] = Counter()
    for spot, sentence in enumerate(corpus.sentences):
        for index, word in enumerate(sentence.words):
            peak = _looks_at(corpus, (spot, index)) if word.deprel == "obj" else word.head
            if peak != word.head:
                other = None if peak is None else sentence.words[peak]
                expected[other and other.deprel, other and other.features["upos"]] += 1
    assert {row[:2]: row[2] for row in counts.rows()} == expected
    args = ["-b", str(sample_bank)]
    by = "looks_at(3-1, O).deprel,looks_at(3-1, O)"
    lines = cli(*args, "count", missed, "--by", by, "--show", "-f", "jsonl").out.splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows[:2] + rows[-2:]:
        _, *command = shlex.split(row["find"])
        assert len(cli(*args, *command, "-f", "csv").out.splitlines()) - 1 == row["n"]
    weight = ["count", OBJECTS, "--by", "weight(3-1, O, V)", "--show"]
    assert "No request can ask for" in cli(*args, *weight, status=2).err


def test_a_word_that_the_run_has_not_read_has_none(full_bank: Path) -> None:
    """A sentence is found where the run has read a part of it: the rest has no weights."""
    with open_bank(full_bank) as opened:
        hits = opened.find("pattern { V -[obj]-> O }", columns="weight(1-1, O, V)")
        assert hits["weight(1-1, O, V)"].null_count() == 0


@pytest.mark.slow
def test_the_option_says_what_the_keys_say(bank: Bank, sample_bank: Path, cli: Cli) -> None:
    def by_command(*args: str) -> list[Any]:
        out = cli("-b", sample_bank, "find", *args, "-f", "jsonl").out
        return [json.loads(line) for line in out.splitlines()]

    def by_keys(request: str, keys: str) -> list[Any]:
        return bank.find(request, columns=keys).to_dicts()

    looks = "looks_at(3-1, {0}), looks_at(3-1, {0}).weight"
    to_head = f"weight(3-1, O, V), {looks.format('O')}"
    assert by_command(OBJECTS, "--head", "3-1") == by_keys(OBJECTS, to_head)
    two = to_head + ", " + to_head.replace("3-1", "2-4")
    assert by_command(OBJECTS, "--head", "3-1, 2-4") == by_keys(OBJECTS, two)
    turned = f"V.lemma, weight(3-1, V, O), {looks.format('V')}"
    args = (OBJECTS, "--head", "3-1", "--from", "V", "--to", "O", "--columns", "V.lemma")
    assert by_command(*args) == by_keys(OBJECTS, turned)
    alone = 'pattern { N [form="it"] }'
    assert by_command(alone, "--head", "3-1") == by_keys(alone, looks.format("N"))
    attends = "pattern { A =[3-1]=> B; A [upos=DET] }"
    keys = f"weight(3-1, A, B), {looks.format('A')}"
    assert by_command(attends, "--head", "3-1") == by_keys(attends, keys)


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


def test_a_request_that_names_no_pair(sample_bank: Path, cli: Cli) -> None:
    two = "pattern { A [upos=NOUN]; B [upos=VERB]; A << B }"
    assert "two of A, B" in cli("-b", sample_bank, "find", two, "--head", "3-1", status=2).err
    assert "--head" in cli("-b", sample_bank, "find", two, "--from", "A", status=2).err


def test_metadata_that_there_is_not(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as opened:
        for request in ("global { speeker = x }", "pattern { V []; meta.speeker = x }"):
            with pytest.warns(UserWarning, match="No sentence .* has the metadata speeker"):
                opened.find(request)
        with pytest.raises(CallError, match="within cannot be page"):
            opened.find(OBJECTS, within="page")
