"""The style of the .sql files, by sqlglot's tokens: lower case, four spaces, one idea in each CTE.

sqlfluff cannot read a call with named arguments and parameters (`f(run := $run)`), and sqlglot's
own formatter would undo the input_tokenizer of lists and conditions.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from attnbank.sql import registry
from attnbank.sql.registry import analyses

ROOT = Path(str(registry.root()))
FILES = sorted(ROOT.rglob("*.sql"))
MOST_COLUMNS = 120
QUOTED = (sqlglot.TokenType.STRING, sqlglot.TokenType.IDENTIFIER)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_a_file_is_written_as_the_others(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n") and not text.endswith("\n\n") and "\t" not in text
    for number, line in enumerate(text.splitlines(), start=1):
        is_comment = line.startswith(("--", "comment on"))
        assert line == line.rstrip(), number
        assert is_comment or len(line) <= MOST_COLUMNS, number
        assert is_comment or (len(line) - len(line.lstrip())) % 4 == 0, number
        assert is_comment or not line.lstrip().startswith(","), number
    for token in sqlglot.tokenize(text, read="duckdb"):
        if token.token_type not in QUOTED:
            written = text[token.start : token.end + 1]
            assert written == written.lower(), token.line


@pytest.mark.parametrize("name", [*registry.shared(), *analyses()])
def test_an_analysis_names_what_it_reads(name: str) -> None:
    """No bare select *, and every CTE is read."""
    analysis = (registry.shared() | analyses())[name]
    tree = sqlglot.parse_one(analysis.body, dialect="duckdb")
    stars = [
        each
        for each in tree.find_all(exp.Star)
        if not isinstance(each.parent, (exp.Count, exp.Column))
    ]
    assert not stars
    read = {each.name for each in tree.find_all(exp.Table)}
    assert {each.alias for each in tree.find_all(exp.CTE)} <= read
