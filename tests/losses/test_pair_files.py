"""Minimal pairs from files: BLiMP's lines of JSON and tables, and what is wrong with others."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from attnbank.ingest.losses import minimal_pairs
from attnbank.ingest.losses.minimal_pairs import Pair, PairSide, read_pairs
from attnbank.sql.errors import CallError

BLIMP: dict[str, Any] = {
    "sentence_good": "Who should Derek hug after shocking Richard?",
    "sentence_bad": "Who should Derek hug Richard after shocking?",
    "field": "syntax",
    "linguistics_term": "island_effects",
    "UID": "adjunct_island",
    "simple_LM_method": True,
    "one_prefix_method": False,
    "pairID": "0",
}


def _side(text: str) -> PairSide:
    words = tuple(text.split(" "))
    return PairSide(words, (True,) * len(words))


def _pair(number: int, good: str, bad: str, paradigm: str = "pairs") -> Pair:
    return Pair(number, paradigm, _side(good), _side(bad), at=None)


def _read(folder: Path, content: str | bytes, name: str = "pairs.tsv") -> list[Pair]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_pairs(path)


def test_blimp(tmp_path: Path) -> None:
    """Its keys, and those of other files: the kind of pair is said, or it is the file's name."""
    others = [
        BLIMP,
        {"good": "He is.", "bad": "He are.", "linguistics_term": "agreement"},
        {"bad": "They is.", "good": "They are.", "paradigm": " of  verbs ", "UID": None},
        {"good": "It\tis.", "bad": "It\n are. ", "paradigm": ""},
    ]
    content = "\n".join(json.dumps(other) for other in others)
    assert _read(tmp_path, content, "blimp.jsonl") == [
        _pair(1, BLIMP["sentence_good"], BLIMP["sentence_bad"], "adjunct_island"),
        _pair(2, "He is.", "He are.", "agreement"),
        _pair(3, "They are.", "They is.", "blimp"),
        _pair(4, "It is.", "It are.", "blimp"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pairs.tsv", 'He is.\tHe are.\nA "b"\tA \'c\n'),
        ("pairs.txt", '\n  \ngood\tbad\nHe  is.\tHe are. \n\n A "b"\tA \'c'),
        ("pairs.tsv", '\ufeffSentence_Bad\tsentence_good\r\nHe are.\tHe is.\r\nA \'c\tA "b"\r\n'),
        ("pairs.tsv", 'id\tgood\tbad\n1\tHe is.\tHe are.\n2\tA "b"\tA \'c\n'),
        ("pairs.csv", 'He is.,He are.\n"A ""b""",A \'c\n'),
        ("pairs.csv", 'bad,good,x\n\n"He\n\nare.",He is.,"1,2"\nA \'c,"A ""b""",\n'),
        ("pairs.csv", 'good;bad\nHe is.;He are.\n"A ""b""";A \'c\n'),
        ("pairs.tsv", 'bad_sentence\tgood_sentence\nHe are.\tHe is.\nA \'c\tA "b"\n'),
        ("pairs.tsv", 'wrong_sen\tsen\tverb\nHe are.\tHe is.\tis\nA \'c\tA "b"\tb\n'),
        (
            "pairs.json",
            '[{"good": "He is.", "bad": "He are."},\n {"good": "A \\"b\\"", "bad": "A \'c"}]\n',
        ),
        ("pairs.csv.gz", gzip.compress(b'He is.,He are.\n"A ""b""",A \'c\n', mtime=0)),
    ],
)
def test_tables(tmp_path: Path, name: str, content: str | bytes) -> None:
    expected = [_pair(1, "He is.", "He are."), _pair(2, 'A "b"', "A 'c")]
    assert _read(tmp_path, content, name) == expected


def test_the_kind_of_a_row(tmp_path: Path) -> None:
    content = "uid\tgood\tbad\nverbs\tHe is.\tHe are.\n\tIt is.\tIt are.\n"
    assert [each.paradigm for each in _read(tmp_path, content)] == ["verbs", "pairs"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "", " has no pairs."),
        ("a.tsv", "good\tbad\n", " has no pairs."),
        ("a.tsv", "He is.\n", ":1: 1 column, and no header that names good and bad."),
        ("a.txt", "He is; yes\nShe; no\n", ":1: 1 column, and no header that names good and bad."),
        ("a.tsv", "a\tb\tc\n", ":1: 3 columns, and no header that names good and bad."),
        ("a.tsv", "good\tworse\na\tb\n", ":1: 2 columns, and no header that names good and bad."),
        ("a.tsv", "good\tbad\tGood\na\tb\tc\n", ":1: good is named twice."),
        ("a.tsv", "\na\tb\n\nc\n", ":4: expected 2 columns, found 1."),
        ("a.tsv", "good\tbad\na\tb\tc\n", ":2: expected 2 columns, found 3."),
        ("a.tsv", "a\tb\na b\t a  b\n", ":2: the good and the bad text are the same."),
        ("a.tsv", "a\tb\n\tb\n", ":2: the good text is empty."),
        ("a.tsv", "a\tb\na\t \n", ":2: the bad text is empty."),
        ("a.tsv", b"a\tb\n\xff\tb\n", ":2: byte 0xff is not valid UTF-8 here."),
        ("a.tsv", "a\tb\na\x00\tb\n", ":2: character U+0000."),
        ("a.tsv", "a\tb\ra\tc\n", ":1: a carriage return within the line."),
        ("a.csv", 'a,b\n\n"a\nb,c\n', ":3: the row that begins here is not valid CSV: "),
        ("a.csv", 'a,b\n"a" b,c\n', ":2: the row that begins here is not valid CSV: "),
        ("a.csv", 'a,b\n"c\nd",e,f\n', ":2: expected 2 columns, found 3."),
        ("a.jsonl", "{}\n", ":1: the line has no good or sentence_good."),
        ("a.jsonl", '{"good": "a"}\n', ":1: the line has no bad or sentence_bad."),
        ("a.jsonl", '{"good": "a", "bad": "b"}\n\n[]\n', ":3: the line is not a JSON object."),
        ("a.jsonl", '{"good": "a", "bad": \n', ":1: the line is not JSON."),
        ("a.jsonl", f'{{"good": {"[" * 20000}\n', ":1: the line is not JSON."),
        ("a.jsonl", f'{{"good": {"1" * 5000}}}\n', ":1: the line is not JSON."),
        ("a.jsonl", '{"good": 1, "bad": "b"}\n', ":1: the value of good is not text."),
        ("a.jsonl", '{"good": "a", "bad": null}\n', ":1: the value of bad is not text."),
        ("a.jsonl", '{"good": "a", "bad": "b", "uid": 1}\n', ":1: the value of paradigm is not"),
        ("a.jsonl", r'{"good": "a", "bad": "\ud800"}', ":1: bad has the character U+D800."),
        ("a.jsonl", r'{"good": "\u001b[2J", "bad": "b"}', ":1: good has the character U+001B."),
        ("a.jsonl", '{"good": "a", "Good": "c", "bad": "b"}\n', ":1: good is named twice."),
        ("a.json", '[{"good": "a", "bad": "b"}, 1]', ":1: item 2 of the list is not a JSON obj"),
        ("a.json", '\n[{"good": "a"}]', ":2: item 1 of the list has no bad or sentence_bad."),
        ("a.json", '[{"good": "a"', ":1: the list that begins here is not JSON."),
        ("a.json", "[]", " has no pairs."),
        ("a.tsv", "True\tHe is.\nFalse\tHe are.\n", ":1: 'True' is a label, not a text: these are"),
        ("a.tsv.gz", b"\x1f\x8b", ": "),
        ("a.tsv", b"a" * (minimal_pairs.MOST_LINE + 1), ":1: the line has more than 65,536 bytes."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_its_line(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(CallError) as caught:
        _read(tmp_path, content, name)
    assert caught.value.fact.startswith(f"{tmp_path / name}{message}")
    assert caught.value.remedy


def test_a_list_may_be_a_long_line(tmp_path: Path) -> None:
    pair = {"good": "He is.", "bad": "He are."}
    count = minimal_pairs.MOST_LINE // 20
    assert len(_read(tmp_path, json.dumps([pair] * count), "pairs.json")) == count


@pytest.mark.parametrize("name", ["missing.tsv", "."])
def test_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(CallError, match="Cannot read"):
        read_pairs(tmp_path / name)


def test_a_file_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimal_pairs, "MOST_PAIRS", 3)
    assert len(_read(tmp_path, "a\tb\n" * 3)) == 3
    with pytest.raises(CallError, match=":4: more than 3 pairs"):
        _read(tmp_path, "a\tb\n" * 4)
    monkeypatch.setattr(minimal_pairs, "MOST_BYTES", 12)
    assert len(_read(tmp_path, "a\tb\n" * 3)) == 3
    with pytest.raises(CallError, match=":3: the file has more than 12 bytes"):
        _read(tmp_path, "a\tb\n" * 2 + "aa\tb\n")
