"""People see their own script: concordances, tables and orders of texts of any language."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from bank_factory import BankFactory

from attnbank.cli.safe_echo import Terminal
from attnbank.queries import open_bank
from attnbank.queries.patterns import HitOptions, compile_request
from attnbank.queries.requests import add_context, run_hits
from attnbank.queries.table_formats import cut, cut_start, display_width, table_lines
from attnbank.sql.messages import END_ISOLATE, ISOLATE, escape_control, is_right_to_left, isolated

HEBREW, PERSIAN = "\u05e9\u05dc\u05d5\u05dd", "\u0645\u06cc\u200c\u0631\u0648\u0645"
THAI, GREEK = "\u0e20\u0e32\u0e29\u0e32", "\u1f49\u03bc\u03b7\u03c1\u03bf\u03c2"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


def _row(index: str, form: str, head: int | str, deprel: str, misc: str = "_") -> str:
    if "-" in index:
        return "\t".join([index, form, *["_"] * 7, misc])
    return "\t".join([index, form, "_", "X", "_", "_", str(head), deprel, "_", misc])


# They came out of the house: the token is written as one, and its two words do not spell it.
HEBREW_ROWS = [
    _row("1", "\u05d4\u05dd", 2, "nsubj"),
    _row("2", "\u05d9\u05e6\u05d0\u05d5", 0, "root"),
    _row("3-4", "\u05de\u05d4\u05d1\u05d9\u05ea", "_", "_"),
    _row("3", "\u05de", 4, "case"),
    _row("4", "\u05d1\u05d9\u05ea", 2, "obl"),
    _row("5", "\u05e9\u05dc\u05d5", 4, "nmod", "SpaceAfter=No"),
    _row("6", ".", 2, "punct"),
]
FRENCH_ROWS = [
    _row("1", "Sortez", 0, "root"),
    _row("2-3", "du", "_", "_"),
    _row("2", "de", 4, "case"),
    _row("3", "le", 4, "det"),
    _row("4", "lit", 1, "obl", "SpaceAfter=No"),
    _row("5", "!", 1, "punct"),
]


@pytest.fixture(scope="module")
def bank(bank_of: BankFactory) -> Path:
    texts = {
        name: f"# sent_id = {name}-1\n" + "\n".join(rows) + "\n\n"
        for name, rows in (("he-dev", HEBREW_ROWS), ("fr-dev", FRENCH_ROWS))
    }
    return bank_of.in_turn(*(({f"{name}.conllu": texts[name]}, "none", {}) for name in texts))


def _concordance(bank: Path, request: str) -> list[tuple[str, ...]]:
    with open_bank(bank) as opened:
        compiled = compile_request(request, choice=HitOptions(keys=True))
        hits = run_hits(opened.backend, compiled)
        return add_context(opened.backend, hits).select("left", "hit", "right").rows()


def test_what_follows_a_hit_from_right_to_left_is_left_of_it(bank: Path) -> None:
    verb = HEBREW_ROWS[1].split("\t")[1]
    assert _concordance(bank, f'pattern {{ V [form="{verb}"] }}') == [
        ("\u05de\u05d4\u05d1\u05d9\u05ea \u05e9\u05dc\u05d5.", f"[{verb}]", "\u05d4\u05dd")
    ]
    assert _concordance(bank, 'pattern { V [form="Sortez"] }') == [("", "[Sortez]", "du lit!")]


def test_a_multiword_token_is_shown_as_it_is_written(bank: Path) -> None:
    for form in ("de", "le"):
        found = _concordance(bank, f'pattern {{ N [form="{form}"] }}')
        assert found == [("Sortez", "[du]", "lit!")]
    both = _concordance(bank, 'pattern { N [form="de"]; M [form="le"]; L [form="lit"] }')
    assert both == [("Sortez", "[du] [lit]", "!")]


def test_the_language_is_in_the_name_of_the_file(bank: Path) -> None:
    with open_bank(bank) as opened:
        rows = opened.sql("select name, language from corpus order by id").rows()
    assert rows == [("he-dev", "he"), ("fr-dev", "fr")]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", 4),  # points take no room
        (GREEK, 6),
        ("\u1f41\u0301", 1),
        ("\u6f22\u5b57", 4),
        (FAMILY, 2),
        (PERSIAN, 5),
    ],
)
def test_widths_are_those_of_a_terminal(text: str, columns: int) -> None:
    assert display_width(text) == columns


@pytest.mark.parametrize("text", [HEBREW, THAI, GREEK, "\u6f22\u5b57" * 3, f"a{FAMILY}b{FAMILY}"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_a_cut_fits_and_parts_no_letter_from_its_marks(text: str, columns: int) -> None:
    first, last = cut(text, columns), cut_start(text, columns)
    assert display_width(first) <= columns and display_width(last) <= columns
    assert first == text or (text.startswith(first[:-1]) and first.endswith("\u2026"))
    assert last == text or (text.endswith(last[1:]) and last.startswith("\u2026"))
    assert "\u200d" not in (first[-2:-1], last[1:2])
    assert cut("e\u0301e\u0301e\u0301", 2) == "e\u0301\u2026"


def test_cells_from_right_to_left_are_set_apart() -> None:
    frame = pl.DataFrame({"form": [HEBREW, "rain"], "beside": [HEBREW, "\u0625"], "n": [1, 20]})
    lines = list(table_lines(frame))
    assert lines[2].count(f"{ISOLATE}{HEBREW}{END_ISOLATE}") == 2
    assert lines[3].startswith("rain ") and f"{ISOLATE}\u0625{END_ISOLATE}" in lines[3]
    assert len({display_width(line) for line in lines}) == 1
    assert isolated("rain") == "rain" and not is_right_to_left("rain \u05d0")
    assert is_right_to_left("1. \u05d0b")


class _Screen:
    """What was written to a terminal."""

    def __init__(self) -> None:
        self.text = b""

    def write(self, data: bytes) -> int:
        self.text += data
        return len(data)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (f"a  {ISOLATE}{HEBREW}{END_ISOLATE}  b", f"a  {ISOLATE}{HEBREW}{END_ISOLATE}  b"),
        (PERSIAN, PERSIAN),
        (f"a{ISOLATE}b", r"a\u2068b"),  # would turn the rest of the line
        (f"a{END_ISOLATE}b", r"a\u2069b"),
        (f"{ISOLATE}a{END_ISOLATE}{END_ISOLATE}", r"\u2068a\u2069\u2069"),
        (f"{ISOLATE}a\u202eb{END_ISOLATE}", f"{ISOLATE}a\\u202eb{END_ISOLATE}"),
        ("a\u202eb\x1b[31m", r"a\u202eb\x1b[31m"),
    ],
)
def test_a_terminal_gets_isolates_that_close_and_no_other_turning(line: str, seen: str) -> None:
    screen = _Screen()
    Terminal(screen).write(f"{line}\n".encode())  # type: ignore[arg-type]
    assert screen.text.decode() == f"{seen}\n"
    assert ISOLATE not in escape_control(line)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["count", "pattern { N [] }", "--by", "N.form"]])
def test_the_order_is_the_same_on_any_locale(bank: Path, command: list[str]) -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-m", "attnbank", "-b", str(bank), *command],
            env={**os.environ, "LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
        ).stdout
        for locale in ("C", "C.UTF-8", "tr_TR.UTF-8")
    }
    assert len(printed) == 1
