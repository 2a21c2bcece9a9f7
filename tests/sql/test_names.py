"""A mistyped name is told what it was probably meant to be."""

from __future__ import annotations

import pytest
from command_line import Cli

from attnbank.sql.messages import did_you_mean, join_names


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("best_hed", ["best_head", "other"], "Did you mean best_head?"),
        ("Best-Head", ["best_head"], "Did you mean best_head?"),
        ("ob", ["obj", "obl", "det"], "Did you mean obj or obl?"),
        ("aaab", ["aaaa", "aaac", "aaad"], "Did you mean aaaa, aaac or aaad?"),
        ("sample", ["sample/minilm", "news/bert"], "Did you mean sample/minilm?"),
        ("zzz", ["best_head"], ""),
        ("", ["best_head"], ""),
    ],
)
def test_near_names_are_named(name: str, known: list[str], expected: str) -> None:
    assert did_you_mean(name, known) == expected


def test_a_long_list_is_cut_short() -> None:
    assert join_names(["a", "b"]) == "a, b"
    assert join_names(map(str, range(25)), most=2) == "0, 1 and 23 more"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["qery"], "There is no command qery. Did you mean query"),
        (["query", "best_hed"], "There is no analysis best_hed. Did you mean best_head"),
        (["query", "best_head", "--relaton", "obj"], "Did you mean '--relation'?"),
        (["info", "--formt", "json"], "Did you mean '--format'?"),
        (["ingest", "x", "--unit", "words"], "'words' is not one of 'word', 'token'"),
        (["query", "best_head", "-o", "x.jsn"], "Did you mean .json"),
        (["queries", "-f", "excel"], "'excel' is not one of"),
    ],
)
def test_the_command_line_suggests(args: list[str], message: str, cli: Cli) -> None:
    printed = cli(*args, status=2)
    assert message in printed.err
    assert len(printed.err.splitlines()) <= 2 and not printed.out
