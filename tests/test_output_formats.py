"""Results for people and for programs: every format, to standard output and to files."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from attnbank.cli.app import run
from attnbank.cli.output import ENDINGS, FORMATS, write
from attnbank.cli.table import display_width, markdown, table

FRAME = pl.DataFrame(
    {
        "relation": ["obj", "nsubj", None],
        "n": [102, 7, None],
        "accuracy": [0.6568627450980392, 1.0, None],
    }
)
MIXED = pl.DataFrame(
    {
        "text": ['a "b", c|d', "two\nlines\x1b[31m", ""],
        "weights": pl.Series([[0.1, 0.2], [], None], dtype=pl.List(pl.Float32)),
        "record": [{"a": 1, "b": "x"}, None, None],
        "single": pl.Series([0.1, -0.0, None], dtype=pl.Float32),
        "exact": [Decimal("43.4"), None, None],
        "big": pl.Series([Decimal(2**70), None, None], dtype=pl.Decimal(38, 0)),
        "when": [datetime(2020, 1, 2, 3, 4, 5), None, None],
        "odd": [float("nan"), float("inf"), None],
        "yes": [True, False, None],
        "raw": [b"\x00\xff", None, None],
    }
)


def _written(frame: pl.DataFrame, format_: str, width: int | None = None) -> str:
    file = io.BytesIO()
    write(frame, format_, file, width)
    return file.getvalue().decode()


def test_a_table_rounds_and_aligns() -> None:
    assert list(table(FRAME)) == [
        "relation    n  accuracy",
        "--------  ---  --------",
        "obj       102     0.657",
        "nsubj       7     1.000",
        "",
    ]


def test_rounding_suits_the_column() -> None:
    def column(*values: float) -> list[str]:
        return [line.strip() for line in table(pl.DataFrame({"x": values}))][2:]

    assert column(0.5, -0.0001, 12.3456) == ["0.500", "0.000", "12.346"]
    assert column(0.00012345, 0.0) == ["0.000123", "0"]
    assert column(1234.56, 1.0) == ["1234.6", "1.0"]
    assert column(1.5e9) == ["1.5e+09"]
    assert column(float("nan"), float("-inf")) == ["nan", "-inf"]


def test_a_table_shows_every_row() -> None:
    assert len(list(table(pl.DataFrame({"x": range(5000)})))) == 5002


def test_a_table_keeps_every_row_on_one_line() -> None:
    lines = list(table(MIXED))
    assert len(lines) == 5
    assert r"two\nlines\x1b[31m" in lines[3]
    assert "[0.100, 0.200]" in lines[2] and "43.4" in lines[2] and "00ff" in lines[2]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_table_fits_the_terminal(width: int) -> None:
    frame = pl.DataFrame(
        {
            "relation": ["obj", "nsubj"],
            "offset_accuracy_of_it": [0.5, 0.25],
            "direction": ["dependent_to_head", "head_to_dependent"],
            "text": ["words " * 30, "\u6f22\u5b57" * 40],
        }
    )
    lines = list(table(frame, width))
    assert max(map(display_width, lines)) <= width
    assert any(line.endswith("\u2026") for line in lines)
    whole = list(table(frame))
    assert "head_to_dependent" in whole[3] and "words words" in whole[2]


def test_a_last_column_can_go_on_below() -> None:
    frame = pl.DataFrame({"name": ["a", "b"], "comment": ["one two three four five " * 3, ""]})
    lines = list(table(frame, 40, wraps=True))
    assert max(map(len, lines)) <= 40
    assert (
        " ".join(" ".join(lines[2:-1]).split()) == "a " + ("one two three four five " * 3).strip()
    )
    assert lines[-1] == "b"


def test_wide_characters_are_measured() -> None:
    assert display_width("abc") == 3
    assert display_width("\u6f22\u5b57") == 4
    assert display_width("e\u0301") == 1


def test_markdown_is_a_table_too() -> None:
    assert list(markdown(FRAME)) == [
        "| relation | n | accuracy |",
        "|---|--:|--:|",
        "| obj | 102 | 0.657 |",
        "| nsubj | 7 | 1.000 |",
        "|  |  |  |",
    ]
    assert r"a " '"b"' r", c\|d" in list(markdown(MIXED))[2]


@pytest.mark.parametrize(("format_", "separator"), [("csv", ","), ("tsv", "\t")])
def test_csv_is_whole_and_unrounded(format_: str, separator: str) -> None:
    rows = list(csv.DictReader(io.StringIO(_written(FRAME, format_)), delimiter=separator))
    assert rows[0] == {"relation": "obj", "n": "102", "accuracy": "0.6568627450980392"}
    assert rows[2] == {"relation": "", "n": "", "accuracy": ""}
    text = io.StringIO(_written(MIXED, format_), newline="")
    row, second, _ = csv.DictReader(text, delimiter=separator)
    assert row["text"] == 'a "b", c|d' and second["text"] == "two\nlines\x1b[31m"
    assert json.loads(row["weights"]) == [0.1, 0.2] and json.loads(second["weights"]) == []
    assert json.loads(row["record"]) == {"a": 1, "b": "x"}
    assert (row["single"], row["exact"], row["big"]) == ("0.1", "43.4", str(2**70))
    assert row["when"].startswith("2020-01-02T03:04:05") and row["raw"] == "00ff"


def test_json_is_an_array_of_rows() -> None:
    assert json.loads(_written(FRAME, "json")) == FRAME.to_dicts()
    row, second, third = json.loads(_written(MIXED, "json"))
    assert row["weights"] == [0.1, 0.2] and row["record"] == {"a": 1, "b": "x"}
    assert (row["single"], row["exact"], row["big"]) == (0.1, 43.4, 2**70)
    assert (row["odd"], second["odd"], row["yes"]) == (None, None, True)
    assert set(third.values()) == {None, ""}
    assert json.loads(_written(FRAME.clear(), "json")) == []


def test_jsonl_is_a_row_a_line() -> None:
    lines = _written(MIXED, "jsonl").splitlines()
    assert [json.loads(line)["text"] for line in lines] == MIXED["text"].to_list()
    assert _written(FRAME.clear(), "jsonl") == ""


def test_large_results_are_written_in_parts() -> None:
    frame = pl.DataFrame({"x": range(120_001)})
    assert _written(frame, "csv").splitlines() == ["x", *map(str, range(120_001))]
    assert len(json.loads(_written(frame, "json"))) == frame.height
    assert _written(frame, "jsonl").count("\n") == frame.height


def test_parquet_comes_back_as_it_was() -> None:
    file = io.BytesIO()
    write(MIXED, "parquet", file)
    file.seek(0)
    assert_frame_equal(pl.read_parquet(file), MIXED)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_ending_of_a_file_chooses_the_format(
    ending: str, sample_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"result{ending}"
    args = ["-b", str(sample_bank), "query", "best_head", "--relation", "obj"]
    assert run([*args, "-o", str(file)]) == 0
    assert capsys.readouterr().out == ""
    by_ending = file.read_bytes()
    assert run([*args, "-f", ENDINGS[ending], "-o", str(tmp_path / "other.dat")]) == 0
    assert by_ending == (tmp_path / "other.dat").read_bytes() != b""
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.dat", file.name]


@pytest.mark.parametrize("format_", FORMATS)
def test_standard_output_is_the_same_as_a_file(
    format_: str, sample_bank: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    args = ["-b", str(sample_bank), "sql", "from run", "-f", format_]
    assert run(args) == 0
    shown = capfdbinary.readouterr().out
    assert run([*args, "-o", str(tmp_path / "file")]) == 0
    assert shown == (tmp_path / "file").read_bytes()


def test_a_file_is_replaced_but_never_the_bank(
    sample_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.csv"
    old.write_text("old")
    args = ["-b", str(sample_bank), "sql", "select 1 as one"]
    assert run([*args, "-o", str(old)]) == 0
    assert old.read_text() == "one\n1\n"
    before = sample_bank.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(sample_bank)
    for target in (sample_bank, link):
        assert run([*args, "-f", "csv", "-o", str(target)]) == 2
        assert "is the bank itself" in capsys.readouterr().err
    assert sample_bank.read_bytes() == before


def test_a_place_that_cannot_be_written_is_told(
    sample_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["-b", str(sample_bank), "sql", "select 1 as one", "-f", "csv", "-o"]
    assert run([*args, str(tmp_path / "missing" / "x.csv")]) == 2
    assert "There is no folder" in capsys.readouterr().err
    assert run([*args, str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
    assert run([*args, os.devnull]) == 0
    assert run([*args[:-1], "-o", "-"]) == 0
    assert capsys.readouterr().out == "one\n1\n"


def test_a_failed_query_leaves_the_old_file(sample_bank: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.csv"
    old.write_text("old")
    assert run(["-b", str(sample_bank), "sql", "from nothing", "-o", str(old)]) == 1
    assert old.read_text() == "old"


def test_no_rows_are_told(sample_bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-b", str(sample_bank), "sql", "from word where false"]) == 0
    told = capsys.readouterr()
    assert told.err == "No rows.\n" and told.out.startswith("id  sentence")


def test_on_a_terminal_the_table_is_as_wide_as_it(sample_bank: Path) -> None:
    command = [sys.executable, "-m", "attnbank.cli", "-b", str(sample_bank)]
    text = _in_terminal([*command, "sql", "select name, text, words from sentence"], columns=60)
    lines = text.splitlines()
    assert len(lines) > 100 and max(map(len, lines)) == 60
    assert "cannot show Parquet" in _in_terminal([*command, "sql", "select 1", "-f", "parquet"], 60)


def _in_terminal(command: list[str], columns: int) -> str:
    """What a command shows on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    environment = {"PYTHONPATH": ":".join(sys.path), "COLUMNS": str(columns), "PATH": ""}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        process.wait()
    os.close(ours)
    return shown.decode()
