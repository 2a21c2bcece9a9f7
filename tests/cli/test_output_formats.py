"""Results for people and for programs: every format, to standard output and to files."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import click
import duckdb
import polars as pl
import pytest
from case_bank import make_bank
from click.testing import CliRunner
from command_line import Cli
from polars.testing import assert_frame_equal

from attnbank.cli.app import app, run_command_line
from attnbank.cli.output import (
    ENDINGS,
    FORMATS,
    count_noun,
    duration,
    encode_frame,
    format_bytes,
    write_frame,
    write_frames,
)
from attnbank.queries.results import frame_of_relation
from attnbank.queries.table_formats import (
    cut,
    cut_start,
    display_width,
    markdown,
    table_lines,
    why_p_is_empty,
)
from attnbank.sql.errors import QueryError

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
    encode_frame(frame, format_, file, width)
    return file.getvalue().decode()


def test_a_table_rounds_and_aligns() -> None:
    assert list(table_lines(FRAME)) == [
        "relation    n  accuracy",
        "--------  ---  --------",
        "obj       102     0.657",
        "nsubj       7     1.000",
        "",
    ]


def test_rounding_suits_the_column() -> None:
    def column(*values: float) -> list[str]:
        return [line.strip() for line in table_lines(pl.DataFrame({"x": values}))][2:]

    assert column(0.5, -0.0001, 12.3456) == ["0.500", "0.000", "12.346"]
    assert column(0.00012345, 0.0) == ["0.000123", "0"]
    assert column(1234.56, 1.0) == ["1234.6", "1.0"]
    assert column(1.5e9) == ["1.5e+09"]
    assert column(float("nan"), float("-inf")) == ["nan", "-inf"]


def test_a_table_shows_every_row() -> None:
    assert len(list(table_lines(pl.DataFrame({"x": range(5000)})))) == 5002


def test_a_table_keeps_every_row_on_one_line() -> None:
    lines = list(table_lines(MIXED))
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
    lines = list(table_lines(frame, width))
    assert max(map(display_width, lines)) <= width
    assert any(line.endswith("\u2026") for line in lines)
    whole = list(table_lines(frame))
    assert "head_to_dependent" in whole[3] and "words words" in whole[2]


def test_identifiers_are_not_cut_but_the_text_beside_them() -> None:
    sent_id = "GUM_textbook_governments-26"
    frame = pl.DataFrame({"sent_id": [sent_id] * 2, "hit": ["some words " * 9] * 2, "n": [1, 2]})
    lines = list(table_lines(frame, 50))
    assert max(map(len, lines)) <= 50
    assert lines[2].startswith(f"{sent_id}  some words") and lines[2].endswith("1")


def test_a_text_is_cut_to_fill_its_columns() -> None:
    for width, start, end in ((2, "a…", "…f"), (5, "abcd…", "…cdef"), (6, "abcdef", "abcdef")):
        assert (cut("abcdef", width), cut_start("abcdef", width)) == (start, end)


@pytest.mark.parametrize(("width", "is_upright"), [(30, True), (200, False), (None, True)])
def test_one_row_that_is_too_wide_stands_upright(width: int | None, is_upright: bool) -> None:
    frame = pl.DataFrame({f"column_{at}": [at / 7] for at in range(12)})
    lines = list(table_lines(frame, width))
    assert (lines[:2] == ["column_0   0.000", "column_1   0.143"]) == is_upright
    assert len(lines) == (12 if is_upright else 3)
    assert len(list(table_lines(pl.concat([frame, frame]), width))) > 3  # not two rows


def test_a_last_column_can_go_on_below() -> None:
    frame = pl.DataFrame({"name": ["a", "b"], "comment": ["one two three four five " * 3, ""]})
    lines = list(table_lines(frame, 40, wraps=True))
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


ODD = pl.DataFrame(
    {
        "text": ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg", "tab\tand\rline\r\nend", "=1+1", "", None],
        "x": [0.1, float("nan"), float("inf"), float("-inf"), None],
        "n": [1, -(2**63), 2**63 - 1, None, 0],
    }
)
NESTED = """
    select
        [0.1, 'nan'::double, null] as doubles,
        [0.1::float] as floats,
        [[0.1::float], []] as deeper,
        {'x': 'inf'::float, 'y': 0.1::float, 'day': date '2020-01-02', 'raw': '\\xff'::blob}
            as record,
        [{'a': 1.10::decimal(9, 2)}] as decimals,
        map {'k': 0.1::float} as pairs,
        [0.1, 0.2]::float[2] as fixed,
        [timestamp '2020-01-02 03:04:05'] as times,
        ['a\u2028b'] as texts
    union all
    select null, [], null, null, [], map {}, null, null, [null]
"""


@pytest.mark.parametrize("format_", ["json", "jsonl"])
def test_polars_and_duckdb_read_the_json(format_: str, tmp_path: Path) -> None:
    file = tmp_path / f"rows.{format_}"
    file.write_text(_written(ODD, format_), encoding="utf-8", newline="")
    expected = ODD.with_columns(pl.when(pl.col("x").is_finite()).then("x"))
    read = pl.read_json if format_ == "json" else pl.read_ndjson
    assert_frame_equal(read(file, schema=ODD.schema), expected)
    by_duckdb = duckdb.execute(f"select text, n from read_json('{file}')").fetchall()
    assert by_duckdb == ODD.select("text", "n").rows()
    text = file.read_text("utf-8")  # lines of its own: str.splitlines sees other ones
    rows = json.loads(text) if format_ == "json" else [*map(json.loads, text.split("\n")[:-1])]
    assert rows == expected.to_dicts()


@pytest.mark.parametrize(("format_", "separator"), [("csv", ","), ("tsv", "\t")])
def test_others_read_the_csv(format_: str, separator: str, tmp_path: Path) -> None:
    file = tmp_path / f"rows.{format_}"
    file.write_text(_written(ODD, format_), encoding="utf-8", newline="")
    by_polars = pl.read_csv(file, separator=separator, schema=ODD.schema)
    by_polars = by_polars.with_columns(pl.col("text").fill_null(""))
    expected = ODD.with_columns(pl.col("text").fill_null(""))
    assert_frame_equal(by_polars, expected)
    by_duckdb = duckdb.execute(
        f"from read_csv('{file}', header = true, delim = '{separator}', auto_detect = false,"
        " quote = '\"', escape = '\"', parallel = false, new_line = '\\n',"
        " columns = {text: 'varchar', x: 'double', n: 'bigint'})"
    ).fetchall()
    assert [str(row[1:]) for row in by_duckdb] == [str(row[1:]) for row in ODD.rows()]
    assert [row[0] or "" for row in by_duckdb] == expected["text"].to_list()
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.reader(opened, delimiter=separator))
    assert [row[0] for row in rows[1:]] == expected["text"].to_list()
    assert str([float(row[1]) for row in rows[1:5]]) == str(ODD["x"].to_list()[:4])


def test_the_help_says_what_csv_and_json_hold() -> None:
    help_ = CliRunner().invoke(app, ["--help"]).output
    for message in ("a formula (=, +, -, @)", "json has null for NaN and infinity"):
        assert message in " ".join(help_.split())


@pytest.mark.parametrize("format_", ["csv", "tsv"])
def test_one_column_keeps_its_rows_where_some_are_null(format_: str) -> None:
    frame = pl.DataFrame({"form": ["a", None, "", "b"]})
    rows = list(csv.reader(io.StringIO(_written(frame, format_))))
    assert rows == [["form"], ["a"], [""], [""], ["b"]]
    assert pl.read_csv(io.StringIO(_written(frame, format_))).height == 4


def test_values_within_values_are_written() -> None:
    frame = frame_of_relation(duckdb.connect().query(NESTED))
    expected = {
        "doubles": [0.1, None, None],
        "floats": [0.1],
        "deeper": [[0.1], []],
        "record": {"x": None, "y": 0.1, "day": "2020-01-02", "raw": "ff"},
        "decimals": [{"a": 1.1}],
        "pairs": {"k": 0.1},
        "fixed": [0.1, 0.2],
        "times": ["2020-01-02T03:04:05.000000"],
        "texts": ["a\u2028b"],
    }
    first, second = json.loads(_written(frame, "json"))
    assert first == expected and second["texts"] == [None] and second["record"] is None
    assert [*map(json.loads, _written(frame, "jsonl").split("\n")[:-1])] == [first, second]
    for format_, separator in (("csv", ","), ("tsv", "\t")):
        text = io.StringIO(_written(frame, format_), newline="")
        row, after = csv.DictReader(text, delimiter=separator)
        assert {name: json.loads(value) for name, value in row.items()} == expected
        assert after["record"] == "" and after["floats"] == "[]"
    for format_ in ("table", "markdown", "latex"):
        shown = _written(frame, format_)
        assert "\u2028" not in shown and "0.100" in shown and "ff" in shown


def test_numbers_of_every_size_come_back_from_csv() -> None:
    exact = pl.Series(["12345678901234567890.0123456789", "-0.1"]).cast(pl.Decimal(38, 10))
    frame = pl.DataFrame({"x": [5e-324, 1.7976931348623157e308], "d": exact})
    rows = list(csv.DictReader(io.StringIO(_written(frame, "csv"))))
    assert [float(row["x"]) for row in rows] == frame["x"].to_list()
    assert [Decimal(row["d"]) for row in rows] == exact.to_list()


def test_markdown_shows_the_tokens_of_models() -> None:
    markdown_it = pytest.importorskip("markdown_it")
    texts = ["<s>", "**", "a|b", "`", "&amp;", "\\", "[CLS]", "*not bold*", "\u2581the", "</s>"]
    frame = pl.DataFrame({"<pad>|text": texts, "head_accuracy": [0.5] * len(texts)})
    tokens = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parse(
        _written(frame, "markdown")
    )
    cells = [token for token in tokens if token.type == "inline"]
    shown = ["".join(part.content for part in cell.children) for cell in cells]
    assert {part.type for cell in cells for part in cell.children} <= {"text", "text_special"}
    assert shown[:2] == ["<pad>|text", "head_accuracy"] and shown[2::2] == texts


def test_latex_prints_what_a_table_shows() -> None:
    texts = ["50 %", "a_b & c#d$e{f}", "~^\\", "<s>|", "[CLS]", "*", "--", "``''", "\u2581the", ""]
    frame = pl.DataFrame(
        {"[_text_]": texts, "accuracy": [-0.5, None, 0.25, *[0.125] * 7], "n": range(10)}
    )
    lines = _written(frame, "latex").split("\n")
    assert lines[0] == "% \\usepackage{booktabs}" and lines[1] == "\\begin{tabular}{lrr}"
    assert [lines[2], lines[4]] == ["\\toprule", "\\midrule"]
    assert lines[-3:] == ["\\bottomrule", "\\end{tabular}", ""]
    rows = [_printed(line) for line in [lines[3], *lines[5:-3]]]
    assert rows[0] == ["[_text_]", "accuracy", "n"]
    assert [row[0] for row in rows[1:]] == texts
    assert [row[1] for row in rows[1:4]] == ["-0.500", "", "0.250"]
    assert "$-$0.500" in lines[5]
    for line in lines[5:-3]:
        assert not line.startswith(("[", "*")), (
            "LaTeX would take it for an argument of the row above"
        )
        assert not re.search(r"--|``|''", line), "LaTeX would join them"


def _printed(row: str) -> list[str]:
    """The cells that LaTeX prints for a row of a tabular, character by character."""
    words = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<",
             "textgreater": ">", "textbar": "|"}  # fmt: skip
    cells, rest = [""], row
    while rest != " \\\\":
        word = re.match(r"\\([a-z]+)\{\}", rest)
        if word:
            cells[-1] += words[word[1]]
            rest = rest[word.end() :]
        elif rest.startswith(" & "):
            cells.append("")
            rest = rest[3:]
        elif rest[0] == "\\":
            assert rest[1] in "&%$#_{}"
            cells[-1] += rest[1]
            rest = rest[2:]
        else:
            assert rest[0] not in "&%#_~^", "LaTeX takes it for a command"
            cells[-1] += "" if rest[0] in "{}$" else rest[0]
            rest = rest[1:]
    return cells


def test_parquet_comes_back_as_it_was() -> None:
    file = io.BytesIO()
    encode_frame(MIXED, "parquet", file)
    file.seek(0)
    assert_frame_equal(pl.read_parquet(file), MIXED)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_ending_of_a_file_chooses_the_format(ending: str, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / f"result{ending}"
    assert cli("queries", "-o", file).out == ""
    by_ending = file.read_bytes()
    for other in ("other.dat", "other.csv", "other.md"):  # -f goes before the ending
        cli("queries", "-f", ENDINGS[ending], "-o", tmp_path / other)
        assert by_ending == (tmp_path / other).read_bytes() != b""
        (tmp_path / other).unlink()
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("format_", FORMATS)
def test_standard_output_is_the_same_as_a_file(
    format_: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    args = ["queries", "-f", format_]
    assert run_command_line(args) == 0
    printed = capfdbinary.readouterr().out
    assert run_command_line([*args, "-o", str(tmp_path / "file")]) == 0
    assert printed == (tmp_path / "file").read_bytes()


def test_a_file_is_replaced_but_never_the_bank(tmp_path: Path, cli: Cli) -> None:
    bank = make_bank(tmp_path / "bank.duckdb", {})
    old = tmp_path / "old.csv"
    old.write_text("old")
    cli("-b", bank, "queries", "-o", old)
    assert old.read_text().startswith("section,name,")
    before = bank.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(bank)
    for target in (bank, link):
        error = cli("-b", bank, "queries", "-f", "csv", "-o", target, status=2).err
        assert "is the bank itself" in error
    assert bank.read_bytes() == before


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, cli: Cli) -> None:
    args = ["queries", "-f", "csv", "-o"]
    assert "There is no folder" in cli(*args, tmp_path / "missing" / "x.csv", status=2).err
    assert "is a folder" in cli(*args, tmp_path, status=2).err
    assert "is a device" in cli(*args, os.devnull, status=2).err
    assert cli(*args, "-").out == cli(*args[:-1]).out != ""


def _context(**shared: str) -> click.Context:
    """The context of a command that was given these shared options."""
    context = click.Context(app)
    context.meta.update({f"attnbank.{name}": value for name, value in shared.items()})
    return context


def test_a_result_that_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    def rows() -> Iterator[pl.DataFrame]:
        yield FRAME
        raise QueryError("The memory is full.", "Ask for less.")

    old = tmp_path / "old.csv"
    old.write_text("old")
    with pytest.raises(QueryError):
        write_frames(_context(output=str(old)), rows(), count=lambda: 3)
    assert old.read_text() == "old" and [*tmp_path.iterdir()] == [old]


def test_no_rows_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    for format_, hint, error in (
        ("table", None, "No rows.\n"), ("table", "none fits", "No rows: none fits.\n"),
        ("csv", "none fits", "No rows: none fits.\n"), ("csv", None, ""),
    ):  # fmt: skip
        write_frame(_context(format_=format_), FRAME.clear(), hint=hint)
        printed = capfd.readouterr()
        assert printed.err == error and printed.out.startswith("relation")


def test_the_column_run_goes_where_all_rows_are_of_one_run(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It is shown where it tells two runs apart, and programs always get it."""
    for runs, format_, is_shown in (
        (["a", "b"], "table", True), (["a", "a"], "table", False), (["a", "a"], "csv", True),
    ):  # fmt: skip
        frame = pl.DataFrame({"run": runs, "n": [1, 2]})
        write_frame(_context(format_=format_), frame, title="Which:")
        assert ("run" in capfd.readouterr().out) == is_shown


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (60, "1 min 0 s"), (185, "3 min 5 s"),
     (3599.4, "59 min 59 s"), (3599.6, "1 h 0 min"), (3600, "1 h 0 min"), (7859, "2 h 10 min")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_counts_and_sizes() -> None:
    assert [count_noun(count, "word") for count in (0, 1, 2000)] == [
        "0 words", "1 word", "2,000 words",
    ]  # fmt: skip
    sizes = (0, 999, 1000, 9_640_000, 10**9, 2 * 10**12)
    assert [format_bytes(size) for size in sizes] == [
        "0 bytes", "999 bytes", "1.0 kB", "9.6 MB", "1.0 GB", "2000.0 GB",
    ]  # fmt: skip


@pytest.mark.slow
def test_on_a_terminal_the_table_is_as_wide_as_it(sample_bank: Path) -> None:
    command = [sys.executable, "-m", "attnbank", "-b", str(sample_bank)]
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clusters": [3], "p_value": [None]}, "fewer than 5 documents"),
        ({"clusters": [9, 40], "held_out_p": [None, 0.2]}, "(here: 9)"),  # four and five in a half
        ({"controls": [5], "p": [None]}, "fewer than 19 random sets"),
        ({"clusters": [3], "p_value": [0.03]}, None),
        ({"clusters": [8], "p_value": [0.2], "p_corrected": [None]}, None),  # outside the family
        ({"clusters": [12], "p_value": [None]}, None),  # of a request about attention
        ({"controls": [0], "p": [None]}, None),  # none were asked for
        ({"clusters": ["few"], "p_value": [None]}, None),  # of a statement of one's own
        ({"clusters": [3], "accuracy": [None]}, None),
    ],
)
def test_an_empty_p_value_is_explained(given: dict[str, list[object]], message: str | None) -> None:
    note = why_p_is_empty(pl.DataFrame(given))
    assert note is None if message is None else note is not None and message in note
