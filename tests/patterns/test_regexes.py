"""Regular expressions fit where the first match at the start is the whole value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from attnbank.queries import Bank, open_bank
from attnbank.queries.patterns import RequestError, compile_request

PCRE = (
    "the", "[Tt]he", "the|The", "a|an|and", "and|an|a", "(a|an)(d|t)?", "th.*", ".*e", ".*o.*",
    ".*", ".+", "a+?b*", r"\w+", r"\w+?", r"[^\W\d]{3}", r"\d+", r".*[^a-z].*", "t(h(e|a)|o)n?",
    "(?:a|b)*", r"\bin\b", "^in$", r"[.?!]", r"\.", "[a-m][n-z]", "x{0}i?", "(?:th|t).*?",
    r"\S*-\S*", "[[:upper:]].*",
    "(is|i)s?", "(i|is)s?", "(?P<first>a).?", "a|", "|a", r"[\]\[-]", r"wa[rs]", "w(a|as|ar)e?",
)  # fmt: skip


@pytest.fixture(scope="module")
def bank(sample_text_bank: Path) -> Iterator[Bank]:
    with open_bank(sample_text_bank) as opened:
        yield opened


@pytest.fixture(scope="module")
def forms(bank: Bank) -> list[tuple[str, int, str]]:
    """The name of the sentence, the index and the form of every word."""
    return bank.sql(
        "select sentence.name, word.index, word.form from word inner join sentence"
        " on sentence.id = word.sentence order by word.id"
    ).rows()


@pytest.mark.parametrize("pattern", PCRE)
def test_pcre_fits_what_a_backtracking_engine_fits(
    pattern: str, bank: Bank, forms: list[tuple[str, int, str]]
) -> None:
    in_python = re.compile(pattern.replace("[[:upper:]]", "[A-Z]"), re.ASCII)
    expected = [
        (name, index)
        for name, index, form in forms
        if (found := in_python.match(form)) and found[0] == form
    ]
    found_here = bank.find(f"pattern {{ A [form=/{pattern}/] }}", context=False)
    assert found_here.filter(pl.col("A") > 0).rows() == expected
    of_anchor = in_python.match("__0__")
    is_anchor = of_anchor is not None and of_anchor[0] == "__0__"
    assert (found_here["A"] == 0).any() == is_anchor


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        (r"a\|an", ["a"], ["an", "a|an"]),
        (r"an\|a", ["a", "an"], ["and"]),
        ("a|an", ["a|an"], ["a", "an"]),
        (r"\(th\|t\)e", ["the", "te"], ["(the)"]),
        ("(th)", ["(th)"], ["th"]),
        ("[0-9]{4}", ["1{4}"], ["1234"]),
        (r"\d", ["d"], ["1"]),
        ("[]x]", ["]", "x"], ["[]x]"]),
        (r"[\.]", [".", "\\"], ["x"]),
        ("[^a-c]", ["d"], ["b"]),
        ("*a", ["*a"], ["a"]),
        ("a+b?", ["aab", "a"], ["b"]),
        (r"\.\*", [".*"], ["abc"]),
        ("x**", ["xx"], ["y"]),
        (r".*\bis\b.*", ["this is it", "is"], ["this"]),
        ("$5", [], ["$5"]),
        (r"\$5", ["$5"], ["5"]),
        ("a&b~c", ["a&b~c"], []),
        ("é.", ["éa"], ["é"]),
    ],
)
def test_str(pattern: str, fits: list[str], fits_not: list[str]) -> None:
    written = pattern.replace('"', r"\"")
    statement = compile_request(f'global {{ text = re"{written}" }}').statement
    with duckdb.connect() as connection:
        connection.execute("create table sentence (id int, name varchar, text varchar)")
        for value, expected in [(fit, 1) for fit in fits] + [(each, 0) for each in fits_not]:
            connection.execute("delete from sentence")
            connection.execute("insert into sentence values (1, 'x', ?)", [value])
            assert len(connection.execute(statement).fetchall()) == expected, value


def test_case_can_be_ignored(bank: Bank) -> None:
    both = bank.find('pattern { A [form="the"|"The"|"THE"] }', context=False)
    assert bank.find("pattern { A [form=/THE/i] }", context=False).equals(both)
    assert both.height > bank.find("pattern { A [form=/the/] }").height


@pytest.mark.parametrize("depth", [61, 1000, 20_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(RequestError, match="nested"):
        compile_request("pattern { A [form=/" + "(" * depth + "a" + ")" * depth + "/] }")


def test_a_catastrophic_expression_ends(bank: Bank) -> None:
    """RE2 answers in linear time what a backtracking engine would not in our lives."""
    assert not bank.find("pattern { A [form=/(((a*)*)*)*b(x+x+)+y/] }").height
    assert not bank.find(f"pattern {{ A [form=/{'a?' * 60}{'a' * 60}/] }}").height
